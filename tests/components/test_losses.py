"""The DQN loss by literal numbers; the bank holds more of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.losses.dqn import DQNLoss
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.spaces import BoolBox, Box, FloatBox, IntBox
from rlg.testing import ComponentTest


def loss_test(loss, backend, ranks="B", terminals=None):
    q = Box((2,), ranks=ranks)
    spaces = {
        "q": q,
        "q_next": q,
        "q_next_target": q,
        "actions": IntBox(2, ranks=ranks, dtype="int32"),
        "rewards": FloatBox(ranks=ranks),
        "terminals": terminals or BoolBox(ranks=ranks),
        "td": FloatBox(ranks=ranks),
        "weights": FloatBox(ranks=ranks),
    }
    return ComponentTest(loss, spaces, backend)


Q = np.array([[1.0, 2.0], [3.0, 4.0]], "float32")
ACTIONS = np.array([1, 0], "int32")
REWARDS = np.array([0.5, -1.0], "float32")
Q_NEXT = np.array([[5.0, 6.0], [8.0, 7.0]], "float32")
Q_NEXT_TARGET = np.array([[10.0, -20.0], [1.0, 30.0]], "float32")


@pytest.mark.parametrize(
    ("options", "terminals", "expected"),
    [
        # The online network chooses -20 and 1, the target network alone 10 and 30.
        ({"double": True}, [False, False], [0.5 - 10.0 - 2.0, -1.0 + 0.5 - 3.0]),
        ({"double": False}, [False, False], [0.5 + 5.0 - 2.0, -1.0 + 15.0 - 3.0]),
        ({"double": False}, [True, False], [0.5 - 2.0, -1.0 + 15.0 - 3.0]),
        ({"double": False, "n_step": 3}, [False, True], [0.5 + 1.25 - 2.0, -4.0]),
    ],
)
def test_td_errors(options, terminals, expected, backend):
    test = loss_test(DQNLoss(gamma=0.5, **options), backend)
    arguments = (Q, ACTIONS, REWARDS, np.array(terminals), Q_NEXT, Q_NEXT_TARGET)
    test.test("td_errors", *arguments, expected=expected)


def test_huber_is_linear_beyond_delta(backend):
    test = loss_test(DQNLoss(huber_delta=2.0), backend)
    td, weights = [0.5, -1.5, 4.0, -3.0], [1.0, 2.0, 0.0, 0.5]
    test.test("loss", td, expected=(2.8125, [0.125, 1.125, 6.0, 4.0]))
    test.test("loss", td, weights, expected=(1.09375, [0.125, 2.25, 0.0, 2.0]))


def test_batch_and_time_give_items_of_both(backend):
    test = loss_test(DQNLoss(gamma=0.5), backend, ranks="TB")

    def timed(x):
        return np.stack([x, x, x])

    arguments = (Q, ACTIONS, REWARDS, np.array([False, False]), Q_NEXT, Q_NEXT_TARGET)
    td = test.call("td_errors", *map(timed, arguments))
    np.testing.assert_allclose(td, [[-11.5, -3.5]] * 3)
    mean, items = test.call("loss", td)
    np.testing.assert_allclose(items, [[66.125, 6.125]] * 3)
    np.testing.assert_allclose(mean, 36.125)


class Estimate(Component):
    """Q and its own target from one variable."""

    def create_variables(self) -> None:
        self._w = self.variable("w", value=2.0, trainable=True)

    @api
    @graph_fn
    def values(self, states: Tensor) -> tuple[Tensor, Tensor]:
        return self._w * states, 3.0 * self._w * states


class Learner(Component):
    def __init__(self) -> None:
        self.estimate = Estimate()
        self.loss = DQNLoss(gamma=1.0)
        self.optimizer = SGD()

    @api
    def gradients(self, states: Any, actions: Any, rewards: Any, terminals: Any) -> Any:
        q, target = self.estimate.values(states)
        td = self.loss.td_errors(q, actions, rewards, terminals, target, target)
        loss, _ = self.loss.loss(td)
        return self.optimizer.gradients(loss, self.estimate.variables())

    @api
    def apply(self, gradients: Any) -> Any:
        return self.optimizer.apply(self.estimate.variables(), gradients)


@pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
def test_targets_are_constants_for_gradients(backend):
    spaces = {"states": Box((2,)), "actions": IntBox(2), "rewards": FloatBox()}
    test = ComponentTest(
        Learner(),
        {**spaces, "terminals": BoolBox(), "gradients": {"w": FloatBox(ranks="")}},
        backend,
    )
    # td = 3 * 2 * 1 - 2 * 1 = 4, d loss / d w = -td * 1; through the target it would be 8.
    gradients = test.call("gradients", [[1.0, 1.0]], [0], [0.0], [False])
    np.testing.assert_allclose(gradients["w"], -4.0)


def test_terminals_must_be_a_mask():
    with pytest.raises(SpaceError, match=r"`terminals` is .*Give a BoolBox\(\)"):
        loss_test(DQNLoss(), "numpy", terminals=FloatBox())


@pytest.mark.parametrize("options", [{"gamma": 1.5}, {"n_step": 0}, {"huber_delta": 0.0}])
def test_numbers_out_of_range_are_refused(options):
    with pytest.raises(ComponentError, match=f"dqn-loss: .*{next(iter(options))} "):
        loss_test(DQNLoss(**options), "numpy")
