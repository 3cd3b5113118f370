"""What executors promise on every backend: equal courses, portable weights, counted calls."""

from __future__ import annotations

import gc
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.errors import BackendError, ExecutionError
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox

FRAMEWORKS = ("torch", "tf", "tf-graph")
ACTIONS = IntBox(4)
STATES = FloatBox(shape=(6,))
FRAMES = Box((84, 84, 4), "uint8", low=0, high=255)


def records(states: Box) -> Dict:
    return Dict(
        states=states,
        actions=ACTIONS,
        rewards=FloatBox(),
        terminals=BoolBox(),
        next_states=states,
    )


def dqn(backend: str, states: Box = STATES, seed: int = 3, **options: Any) -> GraphExecutor:
    network: Any = {"type": "mlp", "units": [32, 32]} if states is STATES else "nature_cnn"
    root = make(
        {
            "type": "dqn",
            "policy": {"type": "q_policy", "network": network, "head": "dueling_head"},
            "action_space": ACTIONS,
            "memory": {"type": "replay", "buffer_size": 300},
            "optimizer": {"type": "adam", "learning_rate": 1e-3},
        }
    )
    executor = make_executor(backend, seed=seed, **options)
    spaces = {"states": states, "epsilon": FloatBox(ranks=""), "records": records(states)}
    executor.build(root, spaces)
    return executor


def course(backend: str, **options: Any) -> tuple[list[float], dict[str, Any]]:
    """200 updates with a sync of the target network every 50."""
    executor = dqn(backend, **options)
    executor.execute("observe", records(STATES).sample(0, batch=200))
    losses = []
    for update in range(200):
        losses.append(float(executor.execute("update", 32)[0]))
        if update % 50 == 49:
            executor.execute("sync_target")
    return losses, executor.get_weights(trainable=None)


@pytest.fixture(scope="module")
def torch_course() -> tuple[list[float], dict[str, Any]]:
    return course("torch")


@pytest.mark.parametrize("backend", ["tf", "tf-graph"])
def test_200_updates_from_one_seed_are_equal_on_torch_and_tensorflow(backend, torch_course):
    losses, weights = course(backend)
    expected, others = torch_course
    np.testing.assert_allclose(losses, expected, rtol=1e-5, atol=1e-5)
    assert weights.keys() == others.keys()
    for path, value in others.items():
        np.testing.assert_allclose(weights[path], value, rtol=1e-5, atol=1e-5, err_msg=path)


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_200_updates_are_equal_without_a_plan(backend, torch_course):
    losses, weights = course(backend, define_by_run=True)
    np.testing.assert_allclose(losses, torch_course[0], rtol=1e-5, atol=1e-5)
    for path, value in torch_course[1].items():
        np.testing.assert_allclose(weights[path], value, rtol=1e-5, atol=1e-5, err_msg=path)


class Gradients(Component):
    """The gradients of a mean Q-value, as they are before any optimizer."""

    def __init__(self) -> None:
        self.policy = make(
            {
                "type": "q_policy",
                "network": "nature_cnn",
                "head": "dueling_head",
                "action_space": ACTIONS,
            }
        )

    @api
    def call(self, states: Any) -> Any:
        q = self.policy.q_values(states)
        return self.take(q, self.policy.variables())

    @graph_fn
    def take(self, q: Tensor, variables: Tensor) -> Tensor:
        return self.ops.gradients(self.ops.mean(self.ops.square(q)), variables)


@pytest.mark.parametrize("backend", ["tf", "tf-graph"])
def test_gradients_of_the_nature_cnn_are_equal_on_torch_and_tensorflow(backend):
    found = []
    for name in ("torch", backend):
        executor = make_executor(name, seed=1)
        executor.build(Gradients(), {"states": FRAMES})
        found.append(executor.execute("call", FRAMES.sample(0, batch=4)))
    ours, theirs = found
    assert ours.keys() == theirs.keys()
    for path, gradient in ours.items():
        scale = np.abs(gradient).max()
        assert np.abs(gradient - theirs[path]).max() <= 1e-5 * scale, path


def test_weights_move_between_backends():
    rng = np.random.default_rng(0)
    source = dqn("torch", FRAMES, seed=1)
    frames = FRAMES.sample(rng, batch=3)
    epsilon = np.float32(0.0)
    weights = source.get_weights(trainable=None)
    expected = source.execute("get_actions", frames, epsilon, False)
    for backend in ("tf", "tf-graph", "numpy"):
        other = dqn(backend, FRAMES, seed=2)
        other.set_variables(weights)
        np.testing.assert_array_equal(
            other.execute("get_actions", frames, epsilon, False), expected
        )
        back = other.get_weights(trainable=None)
        assert all(np.array_equal(back[path], value) for path, value in weights.items())


def test_weights_below_a_scope_are_those_of_its_components():
    executor = dqn("torch")
    policy = executor.get_weights("dqn/policy")
    assert policy
    assert all(path.startswith("dqn/policy/") for path in policy)
    assert executor.get_weights("dqn/polic") == {}


def test_nothing_is_written_unless_all_weights_fit(backend):
    executor = dqn(backend)
    before = executor.get_weights()
    path, value = next(iter(before.items()))
    with pytest.raises(ExecutionError, match="there is no variable 'dqn/policy/none'"):
        executor.set_weights({path: value + 1, "dqn/policy/none": value}, partial=True)
    with pytest.raises(ExecutionError, match="the variable is float32"):
        executor.set_weights(
            {path: value + 1, list(before)[1]: np.zeros(77, "float32")}, partial=True
        )
    np.testing.assert_array_equal(executor.get_weights()[path], value)


# -- counts: what CI gates instead of times -------------------------------------------------------
def python_calls(function: Any) -> int:
    """Calls of Python functions while `function` runs."""
    count = 0

    def note(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event == "call"

    # A collection in between would run finalizers of earlier tests, which are calls too.
    gc.collect()
    gc.disable()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


def chain(length: int) -> Component:
    component: Component = make(
        {"type": "stack", "layers": [{"type": "dense", "units": 4} for _ in range(length)]}
    )
    return component


# Python functions that one `dense` costs: its graph function, and the operations that are no alias.
PER_LAYER = {"numpy": 2, "torch": 1}


@pytest.mark.parametrize("backend", ["numpy", "torch"])
def test_an_act_call_costs_its_graph_functions_plus_a_constant(backend):
    counts, calls = [], []
    for length in (1, 5, 20):
        executor = make_executor(backend)
        executor.build(chain(length), {"inputs": FloatBox(shape=(4,))})
        inputs = np.zeros((2, 4), np.float32)
        executor.execute("call", inputs)
        counts.append(python_calls(lambda: executor.execute("call", inputs)))  # noqa: B023
        calls.append(executor.plan("call").calls)
    assert calls == [1, 5, 20]
    constant = counts[0] - PER_LAYER[backend] * calls[0]
    assert counts == [PER_LAYER[backend] * n + constant for n in calls]
    assert constant <= 10


def test_a_call_on_tensorflow_costs_the_same_for_any_graph():
    counts = []
    for length in (1, 20):
        executor = make_executor("tf")
        executor.build(chain(length), {"inputs": FloatBox(shape=(4,))})
        inputs = np.zeros((2, 4), np.float32)
        executor.execute("call", inputs)
        counts.append(python_calls(lambda: executor.execute("call", inputs)))  # noqa: B023
    assert counts[0] == counts[1]


def test_acting_assigns_no_variable(backend):
    executor = dqn(backend)
    for explore in (True, False):
        assert executor.plan("get_actions", explore=explore).writes == 0
    assert executor.plan("update", n=32).writes > 0


# -- options --------------------------------------------------------------------------------------
def test_a_compiled_plan_gives_the_same():
    states = STATES.sample(0, batch=5)
    plain, compiled = dqn("torch"), dqn("torch", compile="eager")
    for executor in (plain, compiled):
        executor.execute("observe", records(STATES).sample(0, batch=50))
    epsilon = np.float32(0.5)
    for _ in range(3):
        np.testing.assert_array_equal(
            plain.execute("get_actions", states, epsilon),
            compiled.execute("get_actions", states, epsilon),
        )


def test_an_unknown_device_is_refused_with_the_valid_ones(backend):
    with pytest.raises(BackendError, match=r"(?i)tpu.*cpu"):
        make_executor(backend, device="tpu:7")


def test_an_unknown_backend_is_refused_with_the_valid_ones():
    with pytest.raises(BackendError, match="no backend 'jax'; choose numpy, torch, tf or tf-graph"):
        make_executor("jax")


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_a_profile_is_written(backend, tmp_path: Path):
    executor = dqn(backend)
    target = tmp_path / "trace.json"
    with executor.profile(str(target)):
        executor.execute("get_actions", STATES.sample(0), np.float32(0.1))
    assert target.exists()


def test_statistics_time_every_phase(backend):
    executor = dqn(backend)
    executor.prepare("get_actions")
    built = executor.builder.statistics
    # The root, 2 x 9 in the policies, memory, loss, optimizer, exploration and sync.
    assert built.components == 24
    assert built.assembly > 0
    assert built.build > 0
    assert built.plans > 0


class Named(Component):
    """Names what it computes."""

    @api
    def call(self, inputs: Any) -> Any:
        doubled = self.double(inputs)
        self.summary("doubled", doubled, "histogram")
        return doubled

    @graph_fn
    def double(self, inputs: Tensor) -> Tensor:
        return inputs * 2.0


def test_summaries_are_kept_beside_the_outputs(backend):
    executor = make_executor(backend, summaries=True)
    executor.build(Named(), {"inputs": FloatBox()})
    np.testing.assert_array_equal(executor.execute("call", [1.5]), [3.0])
    np.testing.assert_array_equal(executor.summaries["named/doubled"], [3.0])


class Defaults(Component):
    """Arguments of every sort: required, optional, static, and a number in place of a tensor."""

    @api
    @graph_fn
    def call(
        self, x: Tensor, y: Tensor = None, scale: Static[int] = 2, shift: Tensor = 1.0
    ) -> Tensor:
        total = x if y is None else x + y
        return total * float(scale) + shift


class Optional(Component):
    """Arguments that calls are remembered by: absent ones, and static ones of several types."""

    @api
    @graph_fn
    def call(self, x: Tensor, y: Tensor = None, scale: Static[int] = 2, z: Tensor = None) -> Tensor:
        total = x if y is None else x + y
        return (total if z is None else total - z) * float(scale)


def test_remembered_calls_tell_absent_arguments_from_given_ones(backend):
    executor = make_executor(backend)
    executor.build(Optional(), {name: FloatBox() for name in "xyz"})
    x, y, z = (np.array([value], "float32") for value in (3.0, 4.0, 1.0))
    calls: list[tuple[tuple[Any, ...], float]] = [
        ((x,), 6.0),
        ((x, None), 6.0),
        ((x, y), 14.0),
        ((x, None, 3), 9.0),
        ((x, y, 3), 21.0),
        ((x, y, True), 7.0),
        ((x, y, 1), 7.0),
        ((x, None, 3, z), 6.0),
        ((x, y, 3, z), 18.0),
        ((x, y, 3, None), 21.0),
    ]
    for given in (calls, calls[::-1], calls):
        for args, expected in given:
            assert executor.execute("call", *args).tolist() == [expected]


def test_remembered_calls_are_those_of_their_arguments(backend):
    """Each call is made twice: the second one takes the short way of the first."""
    executor = make_executor(backend)
    spaces = {"x": FloatBox(), "y": FloatBox(), "shift": FloatBox()}
    executor.build(Defaults(), spaces)
    x, y, shift = (np.array([value], "float32") for value in (3.0, 4.0, 10.0))
    calls: list[tuple[tuple[Any, ...], dict[str, Any], float]] = [
        ((x,), {}, 7.0),
        ((x, None), {}, 7.0),
        ((x, y), {}, 15.0),
        ((x, y, 3), {}, 22.0),
        ((x, None, 3), {}, 10.0),
        ((x, y, 3, 1.0), {}, 22.0),
        ((x, y, 3, shift), {}, 31.0),
        ((x,), {"scale": 5}, 16.0),
        ((x,), {"shift": shift}, 16.0),
        ((x,), {}, 7.0),
    ]
    for _ in range(2):
        for args, kwargs, expected in calls:
            assert executor.execute("call", *args, **kwargs).tolist() == [expected]
