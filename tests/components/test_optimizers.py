"""Optimizers against torch.optim on every backend, clipping, slots and the hook for averages."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.layers.conv2d import Conv2D
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.optimizers.adam import Adam
from rlg.graph.components.optimizers.optimizer import Optimizer
from rlg.graph.components.optimizers.rmsprop import RMSProp
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.spaces import Box, Dict, FloatBox
from rlg.testing import ComponentTest

GRADIENTS = np.array([[1.0, -2.0], [0.5, 0.1], [-3.0, 0.0]], "float32")
FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])


class Pair(Component):
    """Two numbers, from (1, -1)."""

    def create_variables(self) -> None:
        self._x = self.variable("x", (2,), value=[1.0, -1.0], trainable=True)


class Applied(Component):
    def __init__(self, optimizer: Optimizer) -> None:
        self.pair = Pair()
        self.optimizer = optimizer

    @api
    def apply(self, gradients: Any) -> Any:
        return self.optimizer.apply(self.pair.variables(), gradients)


def applied(optimizer, backend):
    return ComponentTest(Applied(optimizer), {"gradients": Dict(x=Box((2,), ranks=""))}, backend)


def steps(optimizer, backend, gradients=GRADIENTS):
    test, found = applied(optimizer, backend), []
    for gradient in gradients:
        test.call("apply", {"x": gradient})
        found.append(test.read("pair/x"))
    return np.array(found)


# torch.optim's numbers, with learning rate 0.1 from (1, -1) on GRADIENTS.
LITERALS = [
    (Adam(0.1), [[0.9, -0.9], [0.806782, -0.836796], [0.841504, -0.787939]]),
    (Adam(0.1, weight_decay=0.05), [[0.895, -0.895], [0.797307, -0.827321], [0.828043, -0.774327]]),
    (SGD(0.1), [[0.9, -0.8], [0.85, -0.81], [1.15, -0.81]]),
    (SGD(0.1, momentum=0.9), [[0.9, -0.8], [0.76, -0.63], [0.934, -0.477]]),
    (RMSProp(0.1), [[0.0, 0.0], [-0.449013, -0.050189], [0.489055, -0.050189]]),
    (
        RMSProp(0.1, centered=True, momentum=0.5),
        [[-0.005038, 0.005038], [-0.960644, 0.457143], [-0.499311, 0.683196]],
    ),
]


@pytest.mark.parametrize("case", range(len(LITERALS)))
def test_three_steps_give_torchs_numbers(case, backend):
    optimizer, expected = LITERALS[case]
    np.testing.assert_allclose(
        steps(type(optimizer)(**settings(optimizer)), backend), expected, atol=1e-6
    )


def settings(optimizer):
    """A built component can't be built again: this makes another one of it."""
    private = {"average"} | {name for name in vars(optimizer) if name.startswith("_")}
    known = type(optimizer).__init__.__code__.co_varnames[1:]
    return {k: v for k, v in vars(optimizer).items() if k in known and k not in private}


REFERENCES = {
    "adam": (
        lambda: Adam(0.02, 0.8, 0.95, 1e-3),
        "Adam",
        {"lr": 0.02, "betas": (0.8, 0.95), "eps": 1e-3},
    ),
    "adamw": (lambda: Adam(0.02, weight_decay=0.1), "AdamW", {"lr": 0.02, "weight_decay": 0.1}),
    "sgd": (lambda: SGD(0.02, 0.7), "SGD", {"lr": 0.02, "momentum": 0.7}),
    "rmsprop": (
        lambda: RMSProp(0.02, 0.9, 0.01, 0.5),
        "RMSprop",
        {"lr": 0.02, "alpha": 0.9, "eps": 0.01, "momentum": 0.5},
    ),
    "centered": (lambda: RMSProp(0.02, centered=True), "RMSprop", {"lr": 0.02, "centered": True}),
}


@pytest.mark.parametrize("name", REFERENCES)
def test_twenty_steps_follow_torch_optim(name, backend):
    make, reference, words = REFERENCES[name]
    gradients = np.random.default_rng(1).standard_normal((20, 2)).astype("float32")
    x = torch.tensor([1.0, -1.0], requires_grad=True)
    optimizer, expected = getattr(torch.optim, reference)([x], **words), []
    for gradient in gradients:
        x.grad = torch.from_numpy(gradient.copy())
        optimizer.step()
        expected.append(x.detach().numpy().copy())
    np.testing.assert_allclose(steps(make(), backend, gradients), expected, rtol=1e-5, atol=1e-5)


def test_epsilon_may_be_inside_the_root(backend):
    # v = 0.5 * 2^2 = 2, so the steps are 0.1 * 2 / sqrt(2 + 7) and 0.1 * 2 / (sqrt(2) + 7).
    inside = steps(RMSProp(0.1, 0.5, 7.0, epsilon_inside_root=True), backend, [[2.0, 0.0]])
    outside = steps(RMSProp(0.1, 0.5, 7.0), backend, [[2.0, 0.0]])
    np.testing.assert_allclose(inside, [[1.0 - 0.2 / 3.0, -1.0]], rtol=1e-6)
    np.testing.assert_allclose(outside, [[1.0 - 0.2 / 8.41421356, -1.0]], rtol=1e-6)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [-2.0, -5.0]),
        ({"max_grad_norm": 10.0}, [-2.0, -5.0]),
        ({"max_grad_norm": 1.0}, [0.4, -1.8]),
        ({"clip_value": 3.5}, [-2.0, -4.5]),
    ],
)
def test_apply_clips_and_gives_the_norm_before(options, expected, backend):
    test = applied(SGD(1.0, **options), backend)
    test.test("apply", {"x": [3.0, 4.0]}, expected=5.0)
    np.testing.assert_allclose(test.read("pair/x"), expected, rtol=1e-5)


class Halving(Component):
    """Stands for the average over two replicas of which one has zeros."""

    @api
    @graph_fn(split=True)
    def average(self, gradients: Tensor) -> Tensor:
        return 0.5 * gradients


class Model(Component):
    """Convolution and dense layer; a second dense layer is not part of the loss."""

    def __init__(self) -> None:
        self.convolution = Conv2D(2, 2)
        self.output = Dense(1)
        self.unused = Dense(1)

    @api
    def call(self, inputs: Any) -> Any:
        return self.convolution.call(inputs)

    @api
    def value(self, features: Any) -> Any:
        return self.output.call(features), self.unused.call(features)

    @graph_fn
    def vector(self, images: Tensor) -> Tensor:
        return self.ops.flatten(images)

    @api
    def loss(self, inputs: Any) -> Any:
        value, _ = self.value(self.vector(self.call(inputs)))
        return self.mean(value)

    @graph_fn
    def mean(self, value: Tensor) -> Tensor:
        return self.ops.mean(self.ops.square(value - 1.0))


class Trained(Component):
    def __init__(self, optimizer: Optimizer) -> None:
        self.model = Model()
        self.optimizer = optimizer

    @api
    def train(self, inputs: Any) -> Any:
        loss = self.model.loss(inputs)
        return loss, self.optimizer.step(loss, self.model.variables())

    @api
    def gradients(self, inputs: Any) -> Any:
        return self.optimizer.gradients(self.model.loss(inputs), self.model.variables())


def trained(optimizer, backend):
    return ComponentTest(Trained(optimizer), {"inputs": Box((3, 3, 2))}, backend)


IMAGES = Box((3, 3, 2)).sample(0, 5)


@FRAMEWORKS
def test_what_the_loss_does_not_use_has_zero_gradients_and_stays(backend):
    test = trained(Adam(), backend)
    gradients = test.call("gradients", IMAGES)
    np.testing.assert_array_equal(gradients["unused/kernel"], np.zeros((8, 1)))
    assert np.abs(gradients["convolution/kernel"]).max() > 0.01
    before = test.read("model/unused/kernel")
    test.call("train", IMAGES)
    np.testing.assert_array_equal(test.read("model/unused/kernel"), before)


@FRAMEWORKS
@pytest.mark.parametrize(
    "make", [lambda: Adam(0.05), lambda: SGD(0.01, 0.5), lambda: RMSProp(0.01)]
)
def test_steps_lower_the_loss(make, backend):
    test = trained(make(), backend)
    losses = [test.call("train", IMAGES)[0] for _ in range(30)]
    assert losses[-1] < 0.5 * losses[0]


@FRAMEWORKS
def test_step_is_gradients_then_apply(backend):
    test = trained(SGD(0.1), backend)
    gradients, before = test.call("gradients", IMAGES), test.executor.get_weights()
    _, norm = test.call("train", IMAGES)
    total = sum((gradient.astype("float64") ** 2).sum() for gradient in gradients.values())
    np.testing.assert_allclose(norm, np.sqrt(total), rtol=1e-5)
    for key, gradient in gradients.items():
        expected = before[f"trained/model/{key}"] - 0.1 * gradient
        np.testing.assert_allclose(test.read(f"model/{key}"), expected, rtol=1e-5, atol=1e-6)


@FRAMEWORKS
def test_an_average_stands_between_gradients_and_apply(backend):
    alone, averaged = trained(SGD(0.1), backend), trained(SGD(0.2, average=Halving()), backend)
    norm, half = alone.call("train", IMAGES)[1], averaged.call("train", IMAGES)[1]
    np.testing.assert_allclose(half, 0.5 * norm, rtol=1e-5)
    for path, value in alone.executor.get_weights().items():
        np.testing.assert_allclose(
            averaged.executor.get_weights()[path], value, rtol=1e-5, atol=1e-6
        )


def test_slots_lie_beside_their_variables_by_name():
    test = applied(Adam(), "numpy")
    slots = test.executor.get_weights("applied/optimizer", trainable=False)
    assert {path: value.shape for path, value in slots.items()} == {
        "applied/optimizer/first/x": (2,),
        "applied/optimizer/second/x": (2,),
        "applied/optimizer/step": (),
    }


def test_the_norm_is_left_out_of_plans_that_do_not_use_it():
    class Quiet(Applied):
        @api
        def change(self, gradients: Any) -> None:
            self.optimizer.apply(self.pair.variables(), gradients)

    spaces = {"gradients": Dict(x=Box((2,), ranks=""))}
    assert ComponentTest(Quiet(SGD()), spaces).executor.plan("change").calls == 1
    assert ComponentTest(Quiet(SGD()), spaces).executor.plan("apply").calls == 2


@pytest.mark.parametrize(
    ("optimizer", "message"),
    [
        (SGD(-0.1), "learning_rate must be at least 0, got -0.1"),
        (Adam(max_grad_norm=1.0, clip_value=1.0), "Choose one of them"),
    ],
)
def test_settings_that_make_no_sense_are_refused(optimizer, message):
    with pytest.raises(ComponentError, match=f"applied/optimizer: .*{message}"):
        applied(optimizer, "numpy")


def test_variables_must_be_a_dict():
    with pytest.raises(SpaceError, match=r"hand in a component's variables"):
        ComponentTest(SGD(), {"variables": FloatBox(), "gradients": FloatBox(), "loss": FloatBox()})
