"""Goldens of actor-critics with a replay memory and what they are made of."""

from __future__ import annotations

from typing import Any

from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Space, Tuple
from rlg.testing.goldens.golden import Golden

STATES = Box((3,))
MLP = {"type": "mlp", "units": [4]}
CHOICE = IntBox(3)
TORQUE = FloatBox(-2.0, 2.0, (2,))
UNITS = FloatBox(-1.0, 1.0, (2,))
NUMBER = FloatBox(0.0, 0.01, ranks="")
ANY = Tuple(IntBox([2, 3], shape=(2,)), Dict(on=BoolBox(), torque=TORQUE))
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("observe", {}),
    ("act", {}),
    ("act", {"uniform": True}),
    ("update", {"n": 4}),
    ("update", {"n": 3, "count": 2}),
    ("update_from", {}),
    ("act", {"explore": False}),
]


def _records(actions: Space, **more: Space) -> Dict:
    ends = {"rewards": FloatBox(), "terminals": BoolBox(), **more}
    return Dict({"states": STATES, "actions": actions, **ends, "next_states": STATES})


def _spaces(actions: Space) -> dict[str, Any]:
    return {
        "states": STATES,
        "records": _records(actions),
        "keys": IntBox(8),
        "priorities": FloatBox(0.0, 1.0),
        "weights": FloatBox(0.0, 1.0),
        "learning_rate": NUMBER,
        "beta": FloatBox(0.0, 1.0, ranks=""),
    }


def _windows(actions: Space) -> dict[str, Any]:
    segments = _records(actions, truncations=BoolBox()).with_ranks("TB")
    return {
        **_spaces(actions),
        "records": _records(actions, discounts=FloatBox(0.0, 1.0)),
        "observe.records": segments,
        "prepare.records": segments,
    }


OFF_POLICY: list[Golden] = [
    Golden(
        "uniform_actions",
        {"type": "uniform_actions", "action_space": ANY.to_spec()},
        {"states": Dict(a=STATES, b=IntBox(2))},
    ),
    Golden(
        "unit_actions",
        {"type": "unit_actions", "action_space": TORQUE.to_spec()},
        {"scale.actions": UNITS, "unscale.actions": TORQUE},
    ),
    Golden(
        "critics",
        {"type": "critics", "network": MLP},
        {"states": STATES, "actions": UNITS},
    ),
    Golden(
        "critics-late",
        {"type": "critics", "network": MLP, "n": 1, "joined": False, "units": 3},
        {"states": STATES, "actions": UNITS},
    ),
    Golden(
        "discrete_critics",
        {"type": "discrete_critics", "network": MLP, "action_space": CHOICE.to_spec(), "n": 3},
        {"states": STATES},
    ),
    Golden(
        "deterministic_policy",
        {"type": "deterministic_policy", "network": MLP, "shape": [2, 1]},
        {"states": STATES},
    ),
    Golden(
        "clipped_noise",
        {"type": "clipped_noise", "action_space": UNITS.to_spec(), "sigma": 0.5, "limit": 0.2},
        {"actions": UNITS, "scale": FloatBox(0.0, 1.0)},
    ),
    Golden(
        "td3_loss",
        {"type": "td3_loss", "gamma": 0.9},
        {
            **dict.fromkeys(["q", "q_next"], Tuple(FloatBox(), FloatBox())),
            "q_first": FloatBox(),
            "rewards": FloatBox(),
            "terminals": BoolBox(),
            "weights": FloatBox(0.0, 1.0),
            "discounts": FloatBox(0.0, 1.0),
        },
    ),
    Golden(
        "sac",
        {
            "type": "sac",
            "network": MLP,
            "action_space": TORQUE.to_spec(),
            "memory": {"type": "replay", "buffer_size": 8},
        },
        _spaces(UNITS),
        CALLS,
    ),
    Golden(
        "discrete_sac",
        {
            "type": "discrete_sac",
            "network": MLP,
            "action_space": CHOICE.to_spec(),
            "memory": {"type": "replay", "buffer_size": 8},
            "ent_coef": 0.1,
        },
        _spaces(CHOICE),
        CALLS,
    ),
    Golden(
        "td3",
        {
            "type": "td3",
            "network": MLP,
            "action_space": TORQUE.to_spec(),
            "memory": {"type": "prioritized_replay", "buffer_size": 8},
            "n_step": 2,
        },
        _windows(UNITS),
        CALLS,
    ),
    Golden(
        "random_policy",
        {"type": "random_policy", "action_space": ANY.to_spec()},
        {"states": STATES},
        [("act", {}), ("act", {"explore": False})],
    ),
]
