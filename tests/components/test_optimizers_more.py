"""More optimizers against torch.optim, clipping of each variable, and learning rates as data."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, api
from rlg.graph.components.optimizers.adadelta import Adadelta
from rlg.graph.components.optimizers.adagrad import Adagrad
from rlg.graph.components.optimizers.adam import Adam
from rlg.graph.components.optimizers.adamw import AdamW
from rlg.graph.components.optimizers.nadam import Nadam
from rlg.graph.components.optimizers.radam import RAdam
from rlg.graph.components.optimizers.rmsprop import RMSProp
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.components.schedules.ramps import LinearSchedule
from rlg.graph.spaces import Box, Dict, FloatBox
from rlg.testing import ComponentTest

START = {"x": [1.0, -1.0], "y": [0.5]}
GRADIENTS = Dict(x=Box((2,), ranks=""), y=Box((1,), ranks=""))


class Numbers(Component):
    """Two variables, with two numbers and one."""

    def __init__(self, dtype: str = "float32") -> None:
        self.dtype = dtype

    def create_variables(self) -> None:
        for name, value in START.items():
            self.variable(name, (len(value),), dtype=self.dtype, value=value, trainable=True)


class Applied(Component):
    def __init__(self, optimizer: Any, dtype: str = "float32") -> None:
        self.numbers = Numbers(dtype)
        self.optimizer = optimizer

    @api
    def apply(self, gradients: Any, learning_rate: Any = None) -> Any:
        return self.optimizer.apply(self.numbers.variables(), gradients, learning_rate)


def applied(optimizer, backend, dtype="float32", rate=None):
    gradients = Dict({key: Box(box.shape, dtype, ranks="") for key, box in GRADIENTS.items()})
    spaces = {"gradients": gradients, "learning_rate": rate or FloatBox(ranks="")}
    return ComponentTest(Applied(optimizer, dtype), spaces, backend)


def read(test):
    return np.concatenate([test.read("numbers/x"), test.read("numbers/y")])


def random_gradients(n=20, dtype="float32"):
    return np.random.default_rng(1).standard_normal((n, 3)).astype(dtype)


def steps(test, gradients, rates=None):
    found = []
    for number, gradient in enumerate(gradients):
        rate = [] if rates is None else [rates[number]]
        test.call("apply", {"x": gradient[:2], "y": gradient[2:]}, *rate)
        found.append(read(test))
    return np.array(found)


def torch_steps(name, words, gradients, rates=None):
    dtype = torch.from_numpy(gradients).dtype
    xs = [torch.tensor(value, dtype=dtype, requires_grad=True) for value in START.values()]
    optimizer, found = getattr(torch.optim, name)(xs, **words), []
    for number, gradient in enumerate(gradients):
        if rates is not None:
            optimizer.param_groups[0]["lr"] = rates[number]
        for x, part in zip(xs, (gradient[:2], gradient[2:]), strict=True):
            x.grad = torch.from_numpy(part.copy())
        optimizer.step()
        found.append(np.concatenate([x.detach().numpy() for x in xs]))
    return np.array(found)


MORE = {
    "adamw": (lambda: AdamW(0.02), "AdamW", {"lr": 0.02}),
    "adamw-decay": (
        lambda: AdamW(0.02, 0.8, 0.95, 1e-3, 0.2),
        "AdamW",
        {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3, "weight_decay": 0.2},
    ),
    "adagrad": (lambda: Adagrad(0.1), "Adagrad", {"lr": 0.1}),
    "adagrad-start": (
        lambda: Adagrad(0.1, 0.01, 0.5),
        "Adagrad",
        {"lr": 0.1, "eps": 0.01, "initial_accumulator_value": 0.5},
    ),
    "adadelta": (Adadelta, "Adadelta", {}),
    "adadelta-slow": (
        lambda: Adadelta(0.5, 0.7, 1e-3),
        "Adadelta",
        {"lr": 0.5, "rho": 0.7, "eps": 1e-3},
    ),
    "nadam": (Nadam, "NAdam", {}),
    "nadam-fast": (
        lambda: Nadam(0.05, 0.8, 0.95, 1e-3, 0.1),
        "NAdam",
        {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-3, "momentum_decay": 0.1},
    ),
    "radam": (RAdam, "RAdam", {}),
    "radam-fast": (
        lambda: RAdam(0.05, 0.8, 0.95, 1e-3),
        "RAdam",
        {"lr": 0.05, "betas": (0.8, 0.95), "eps": 1e-3},
    ),
    "nesterov": (
        lambda: SGD(0.02, 0.7, nesterov=True),
        "SGD",
        {"lr": 0.02, "momentum": 0.7, "nesterov": True},
    ),
}


@pytest.mark.parametrize("name", MORE)
def test_twenty_steps_follow_torch_optim(name, backend):
    make, reference, words = MORE[name]
    gradients = random_gradients()
    expected = torch_steps(reference, words, gradients)
    found = steps(applied(make(), backend), gradients)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


ALL = {
    "adam": (Adam, "Adam", {}),
    "rmsprop": (RMSProp, "RMSprop", {}),
    "sgd": (lambda: SGD(momentum=0.9), "SGD", {"momentum": 0.9}),
    **{name: MORE[name] for name in ("adamw", "adagrad", "adadelta", "nadam", "radam")},
}


@pytest.mark.parametrize("name", ALL)
def test_a_learning_rate_may_come_with_each_step(name, backend):
    make, reference, words = ALL[name]
    gradients, rates = random_gradients(6), np.linspace(0.1, 0.0, 6).tolist()
    expected = torch_steps(reference, words, gradients, rates)
    test = applied(make(), backend)
    np.testing.assert_allclose(steps(test, gradients, rates), expected, rtol=1e-5, atol=1e-5)
    # Without one, the constant holds again.
    before = read(test)
    test.call("apply", {"x": gradients[0][:2], "y": gradients[0][2:]})
    assert np.abs(read(test) - before).max() > 0.0


@pytest.mark.parametrize("backend", ["tf", "tf-graph"])
def test_another_learning_rate_traces_nothing_anew(backend):
    test = applied(Adam(), backend)
    plan = test.executor.plan("apply", learning_rate=True)
    for rate in (0.1, 0.01, 0.001):
        test.call("apply", {"x": [1.0, 1.0], "y": [1.0]}, rate)
    assert test.executor.plan("apply", learning_rate=True) is plan


@pytest.mark.parametrize("make", [Adam, SGD, RMSProp, Adagrad, Adadelta, Nadam, RAdam])
def test_variables_may_be_float64(make, backend):
    gradients = random_gradients(3, "float64")
    test = applied(make(0.1), backend, "float64")
    reference = {"RMSProp": "RMSprop", "Nadam": "NAdam"}.get(make.__name__, make.__name__)
    expected = torch_steps(reference, {"lr": 0.1}, gradients)
    found = steps(test, gradients[:2])
    assert found.dtype == "float64"
    np.testing.assert_allclose(found, expected[:2], rtol=1e-6)
    found = steps(test, gradients[2:], [0.1])
    np.testing.assert_allclose(found, expected[2:], rtol=1e-5)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [1 - 3.0, -1 - 4.0, 0.5 - 12.0]),
        # Together they are 13 long, x alone 5, y alone 12.
        ({"max_grad_norm": 6.5}, [1 - 1.5, -1 - 2.0, 0.5 - 6.0]),
        ({"clip_norm": 10.0}, [1 - 3.0, -1 - 4.0, 0.5 - 10.0]),
        ({"clip_norm": 1.0}, [1 - 0.6, -1 - 0.8, 0.5 - 1.0]),
        ({"clip_value": 3.5}, [1 - 3.0, -1 - 3.5, 0.5 - 3.5]),
    ],
)
def test_clipping_by_value_by_norm_and_by_global_norm(options, expected, backend):
    test = applied(SGD(1.0, **options), backend)
    test.test("apply", {"x": [3.0, 4.0], "y": [12.0]}, expected=13.0)
    np.testing.assert_allclose(read(test), expected, rtol=1e-5)


def test_zero_gradients_are_not_divided_by_their_norm(backend):
    test = applied(SGD(1.0, clip_norm=1.0), backend)
    test.call("apply", {"x": [0.0, 0.0], "y": [0.0]})
    np.testing.assert_array_equal(read(test), [1.0, -1.0, 0.5])


@pytest.mark.parametrize("make", [Adam, AdamW, SGD, RMSProp, Adagrad, Adadelta, Nadam, RAdam])
@pytest.mark.parametrize("options", [{"clip_norm": 1.0}, {"max_grad_norm": 1.0, "average": None}])
def test_every_optimizer_takes_the_common_settings(make, options):
    optimizer = make(**options)
    for name, value in options.items():
        assert getattr(optimizer, name) == value


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clip_norm": 1.0, "clip_value": 2.0}, "clip_norm is 1.0 and clip_value is 2.0. Choose"),
        ({"max_grad_norm": 0.0}, "max_grad_norm is 0.0. Choose one of them, above 0"),
    ],
)
def test_limits_that_make_no_sense_are_refused(options, message):
    with pytest.raises(ComponentError, match=f"applied/optimizer: {message}"):
        applied(Adam(**options), "numpy")


def test_a_learning_rate_is_one_float():
    with pytest.raises(SpaceError, match=r"`learning_rate` is .*give one float: FloatBox\(ranks"):
        applied(SGD(), "numpy", rate=FloatBox())


def test_nesterov_needs_momentum():
    with pytest.raises(ComponentError, match="nesterov looks ahead by the momentum"):
        SGD(nesterov=True)


class Annealed(Component):
    """A schedule and an optimizer, connected in the graph."""

    def __init__(self) -> None:
        self.numbers = Numbers()
        self.schedule = LinearSchedule(1.0, 0.0, length=4)
        self.optimizer = SGD(100.0)

    @api
    def apply(self, gradients: Any, time: Any) -> Any:
        rate = self.schedule.value(time)
        return self.optimizer.apply(self.numbers.variables(), gradients, rate)


def test_a_schedule_drives_the_learning_rate(backend):
    spaces = {"gradients": GRADIENTS, "time": FloatBox(ranks="")}
    test = ComponentTest(Annealed(), spaces, backend)
    for time, expected in ((0.0, [0.0, -2.0, -0.5]), (3.0, [-0.25, -2.25, -0.75])):
        test.call("apply", {"x": [1.0, 1.0], "y": [1.0]}, time)
        np.testing.assert_allclose(read(test), expected, rtol=1e-6)
