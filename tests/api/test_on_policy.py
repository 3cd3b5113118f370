"""Agents of one's own on the loop `batches`: what acting makes of a root's outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.on_policy import OnPolicyAgent
from rlg.execution.types import Clock
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.spaces import Box, Dict, FloatBox, IntBox, Tuple

PAIR = Tuple(IntBox(3), FloatBox(low=-1.0, high=1.0))


class Doubling(Component):
    """Acts by what it sees: one is added to it, or it is doubled."""

    @api
    def act(self, states: Any, explore: Static[bool] = True) -> Any:
        return self.count(states), self.double(states)

    @graph_fn
    def count(self, states: Tensor) -> Tensor:
        return self.ops.cast(states, "int64") + 1

    @graph_fn
    def double(self, states: Tensor) -> Tensor:
        return states * 2.0


class DoublingAgent(OnPolicyAgent):
    def make_root(self) -> Component:
        return Doubling().configure(scope="agent")

    def input_spaces(self) -> dict[str, Any]:
        return {"states": self.observation_space}


class WithValues(DoublingAgent):
    @property
    def columns(self) -> dict[str, Any]:
        return {"actions": IntBox(3), "values": FloatBox()}


def built(kind: type[OnPolicyAgent], actions: Any) -> OnPolicyAgent:
    agent = kind(FloatBox(), actions)
    agent.build(BuildOptions("numpy"), ["actor"])
    return agent


def test_actions_of_a_tuple_space_are_one_column():
    action = built(DoublingAgent, PAIR).act(np.float32([0.0, 1.0]), None, None, Clock())
    assert list(action.columns) == ["actions"]
    np.testing.assert_array_equal(action.columns["actions"][0], [1, 2])
    np.testing.assert_array_equal(action.columns["actions"][1], [0.0, 2.0])
    # The environment gets what is inside of its bounds.
    np.testing.assert_array_equal(action.env[0], [1, 2])
    np.testing.assert_array_equal(action.env[1], [0.0, 1.0])


def test_outputs_behind_the_actions_are_the_other_columns():
    action = built(WithValues, IntBox(3)).act(np.float32([0.0, 1.0]), None, None, Clock())
    np.testing.assert_array_equal(action.env, [1, 2])
    np.testing.assert_array_equal(action.columns["values"], [0.0, 2.0])


@pytest.mark.parametrize("keys", [("camera", "speed"), ("speed", "camera")])
def test_the_order_of_keys_says_nothing_about_the_batch_axis(keys):
    space = Dict(camera=Box((4, 4, 1)), speed=Box((2,)))
    agent = OnPolicyAgent(space, IntBox(2))
    batch = space.sample(0, batch=3)
    states, is_single = agent._batched({key: batch[key] for key in keys})
    assert not is_single
    assert {key: np.shape(x) for key, x in states.items()} == {
        "camera": (3, 4, 4, 1),
        "speed": (3, 2),
    }
    states, is_single = agent._batched({key: batch[key][0] for key in keys})
    assert is_single
    assert {key: np.shape(x) for key, x in states.items()} == {
        "camera": (1, 4, 4, 1),
        "speed": (1, 2),
    }
