"""The reference cases that these components cover, as they stand in the bank, on every backend."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from rlg.errors import BackendError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.common.slice import Slice
from rlg.graph.components.common.splitter import ContainerSplitter
from rlg.graph.components.explorations.epsilon_greedy import EpsilonGreedy
from rlg.graph.components.heads.dueling import DuelingHead
from rlg.graph.components.layers.conv2d import Conv2D
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.losses.dqn import DQNLoss
from rlg.graph.components.memories.replay import ReplayMemory
from rlg.graph.components.networks.stack import Stack
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple
from rlg.testing import ComponentTest
from rlg.testing.component_test import compare
from tests import bank
from tests.bank import Runner

RUNNERS: dict[str, Runner] = {}
runs = partial(bank.runs, runners=RUNNERS)


# -- layers ---------------------------------------------------------------------------------------
@runs("layer.dense_ones")
def dense_ones(backend, given):
    ones = {"type": "constant", "value": given["w"]}
    layer = Dense(given["units"], bias=given["bias"] is not None, kernel_init=ones)
    test = ComponentTest(layer, {"inputs": Box((2,))}, backend)
    return {"y": test.call("call", given["x"])}


@runs("layer.conv2d_valid")
def conv2d_valid(backend, given):
    kernel = {"type": "constant", "value": given["kernel"]}
    layer = Conv2D(given["filters"], 2, kernel_init=kernel)
    return {"y": ComponentTest(layer, {"inputs": Box((2, 2, 3))}, backend).call("call", given["x"])}


class Halve(Component):
    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        x, y = inputs
        return x + 0.5, y * 0.5


@runs("layer.repeater_stack")
def repeater_stack(backend, given):
    stack = Stack([Halve() for _ in range(given["repeats"])])
    number = FloatBox(ranks="")
    test = ComponentTest(stack, {"inputs": Tuple(number, number)}, backend)
    return {"out": np.stack(test.call("call", (given["x"], given["y"])))}


# -- the DQN family -------------------------------------------------------------------------------
def space_of(value: Any, dtype: str) -> Any:
    """The space of a case's nested lists, whose keys are flat paths."""
    if isinstance(value, dict):
        return Dict({key: space_of(item, dtype) for key, item in value.items()})
    return Box(np.shape(value)[1:], dtype)


def td_and_items(backend, given, **options):
    """TD errors and loss per item; Q-values of the next state default to the target's."""
    loss = DQNLoss(given["gamma"], **options)
    q, actions, q_next_target = given["q_s"], given["actions"], given["qt_sp"]
    arguments = {
        "q": (q, space_of(q, "float32")),
        "actions": (actions, space_of(actions, "int64")),
        "rewards": (given["rewards"], FloatBox()),
        "terminals": (given["terminals"], BoolBox()),
        "q_next": (given.get("q_sp", q_next_target), space_of(q, "float32")),
        "q_next_target": (q_next_target, space_of(q, "float32")),
    }
    spaces = {name: space for name, (_, space) in arguments.items()}
    test = ComponentTest(loss, spaces, backend, apis=["td_errors"])
    td = test.call("td_errors", *(value for value, _ in arguments.values()))
    return td, *loss_of(backend, td, loss=DQNLoss(given["gamma"], **options))


def loss_of(backend, td, weights=None, loss=None):
    spaces = {"td": Box(np.shape(td)[1:]), "weights": FloatBox()}
    test = ComponentTest(loss or DQNLoss(), spaces, backend, apis=["loss"])
    return test.call("loss", td) if weights is None else test.call("loss", td, weights)


@runs("dqn.loss")
def dqn_loss(backend, given):
    _, mean, items = td_and_items(backend, given, double=False)
    return {"loss": mean, "loss_per_item": items}


@runs("dqn.multi_discrete_loss")
def multi_discrete_loss(backend, given):
    td, _, items = td_and_items(backend, given, double=False)
    return {"td_errors": td, "mean_of_squares": items}


def shared_target(given, td):
    """The target comes back by adding the estimate of the first leaf."""
    q, actions = np.asarray(given["q_s"]["a"]), np.asarray(given["actions"]["a"])
    return td[:, 0] + np.take_along_axis(q, actions[:, None], -1)[:, 0]


@runs("dqn.container_actions_shared_target")
def container_actions(backend, given):
    td, _, items = td_and_items(backend, given, double=False)
    return {"shared_target": shared_target(given, td), "mean_of_squares": items}


@runs("dqn.double_container_actions")
def double_container_actions(backend, given):
    td, _, items = td_and_items(backend, given, double=True)
    return {"shared_target": shared_target(given, td), "mean_of_squares": items}


@runs("dqn.importance_weights")
def importance_weights(backend, given):
    mean, items = loss_of(backend, given["td"], given["weights"])
    return {"loss": mean, "weighted_loss": items, "new_priorities": np.abs(given["td"])}


@runs("nstep.target_discount")
def target_discount(backend, given):
    case = {
        "q_s": [[0.0, 0.0]],
        "actions": [0],
        "rewards": [given["reward"]],
        "terminals": [given["terminal"]],
        "qt_sp": [given["qt_sp"]],
        "gamma": given["gamma"],
    }
    td, *_ = td_and_items(backend, case, n_step=given["n"])
    return {"target": td[0]}


@runs("dueling.aggregate")
def aggregate(backend, given):
    spaces = {"inputs": Box((2,)), "value": Box((1,)), "advantages": Box((3,))}
    head = DuelingHead(IntBox(3))
    head.register_api("combine", lambda self, value, advantages: self.aggregate(value, advantages))
    return {"Q": ComponentTest(head, spaces, backend).call("combine", given["V"], given["A"])}


# -- learning -------------------------------------------------------------------------------------
class Number(Component):
    """One variable, x, and the loss (ln x)^2."""

    def create_variables(self) -> None:
        self._x = self.variable("x", value=1.0, trainable=True)

    @api
    @graph_fn
    def loss(self) -> Tensor:
        return self.ops.square(self.ops.log(self._x))


class Descent(Component):
    def __init__(self, learning_rate: float) -> None:
        self.number = Number()
        self.optimizer = SGD(learning_rate)

    @api
    def gradients(self) -> Any:
        return self.optimizer.gradients(self.number.loss(), self.number.variables())

    @api
    def apply(self, gradients: Any) -> Any:
        return self.optimizer.apply(self.number.variables(), gradients)


@runs("optimizer.sgd_log_square")
def sgd_log_square(backend, given):
    test = ComponentTest(Descent(given["lr"]), {"gradients": Dict(x=FloatBox(ranks=""))}, backend)
    gradients = []
    for x in given["x"]:
        test.write({"number/x": x})
        if backend == "numpy":  # Forward only: the gradient comes by hand, the step is its own.
            with pytest.raises(BackendError):
                test.call("gradients")
            gradients.append(np.float32(2 * np.log(x) / x))
        else:
            gradients.append(test.call("gradients")["x"])
    test.call("apply", {"x": gradients[-1]})
    return {"grads": np.stack(gradients), "x_after_step_from_2": test.read("number/x")}


@runs("explore.epsilon_rate")
def epsilon_rate(backend, given):
    choices, n = 50, 8000
    spaces = {"q_values": Box((choices,)), "epsilon": FloatBox(0.0, 1.0)}
    test = ComponentTest(EpsilonGreedy(IntBox(choices)), spaces, backend)
    q_values = np.eye(1, choices, dtype="float32").repeat(n, 0)  # 0 is the best.

    def rate(times: Any) -> Any:
        share = np.clip(np.broadcast_to(times, n), 0.0, 1.0)
        epsilon = given["from_"] + (given["to"] - given["from_"]) * share
        actions = test.call("explore", q_values, epsilon.astype("float32"))
        return np.mean(actions != 0) / (1.0 - 1.0 / choices)

    rates = [rate(time) for time in given["time"]]
    return {"p_explore": np.array(rates), "mean_over_uniform": rate(np.linspace(0.0, 1.0, n))}


@runs("replay.capacity_wrap")
def capacity_wrap(backend, given):
    memory = ReplayMemory(given["capacity"])
    test = ComponentTest(memory, {"records": Dict(rewards=FloatBox())}, backend)
    test.call("insert", {"rewards": np.arange(given["insert"], dtype="float32")})
    np.testing.assert_array_equal(test.read("rewards"), [10, *range(1, 10)])
    return {"size": test.call("size"), "index": test.read("index")}


# -- connections ----------------------------------------------------------------------------------
@runs("splitter.dict_order")
def dict_order(backend, given):
    spaces = {"inputs": Dict(dict.fromkeys(given["x"], IntBox(ranks="")))}
    test = ComponentTest(ContainerSplitter(given["order"]), spaces, backend)
    return {"out": np.stack(test.call("call", given["x"]))}


@runs("slice.time_axis")
def time_axis(backend, given):
    inputs = np.zeros(given["shape"], "float32")
    space = {"inputs": Box(inputs.shape[2:], ranks="TB")}
    one = ComponentTest(Slice(1, 2, squeeze=True), space, backend).call("call", inputs)
    two = ComponentTest(Slice(0, 2), space, backend).call("call", inputs)
    return {"shape_1_2": np.array(one.shape), "shape_0_2": np.array(two.shape)}


# What the original does and we don't.
LEFT_OUT = {"square_of_mean"}


@pytest.mark.parametrize("name", RUNNERS)
def test_case(name, backend):
    case = bank.CASES[name]
    expected = {key: case["expected"][key] for key in case["expected"].keys() - LEFT_OUT}
    compare(RUNNERS[name](backend, case["inputs"]), expected, case["tol"])
