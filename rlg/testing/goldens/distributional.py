"""Goldens of noisy layers and of DQNs that estimate distributions of returns."""

from __future__ import annotations

from typing import Any

from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing.goldens.golden import Golden
from rlg.testing.goldens.proof import (
    ACTIONS,
    BRANCHES,
    CHOICES,
    EPSILON,
    FEATURES,
    RATES,
    RECORDS,
    SEVERAL,
    STEPS,
)

NOISY_MLP = {"type": "mlp", "units": [4], "activation": "tanh", "noisy": True}
ATOMS = {"n_atoms": 5, "v_min": -1.0, "v_max": 2.0}
WINDOWS = Dict({**RECORDS, "discounts": FloatBox(0.0, 1.0)})
NOISY_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("call", {}),
    ("call", {"noise": True}),
    ("distributions", {"noise": True}),
]


def _loss(spec: dict[str, Any], size: int) -> Golden:
    z = Box((3, size))
    return Golden(
        spec["type"],
        spec,
        {
            "z": z,
            "z_next_target": z,
            "q_next": Box((3,)),
            "actions": ACTIONS,
            "rewards": FloatBox(-3.0, 3.0),
            "terminals": BoolBox(),
            "discounts": FloatBox(0.0, 1.0),
            "items": FloatBox(),
            "weights": FloatBox(0.0, 1.0),
        },
    )


def _policy(head: dict[str, Any]) -> dict[str, Any]:
    return {"type": "distributional_q_policy", "network": NOISY_MLP, "head": head}


DISTRIBUTIONAL: list[Golden] = [
    Golden(
        "noisy_dense",
        {"type": "noisy_dense", "units": 2, "activation": "tanh"},
        {"inputs": FEATURES},
        [("call", {}), ("call", {"noise": True}), ("call", {"noise": True})],
    ),
    Golden(
        "noisy_dense-time",
        {"type": "noisy_dense", "units": 2, "bias": False, "sigma_init": 0.1},
        {"inputs": Box((3,), ranks="BT")},
        [("call", {"noise": True}), ("call", {})],
    ),
    Golden(
        "dueling_head-noisy",
        {"type": "dueling_head", "action_space": SEVERAL, "units": 4, "noisy": True},
        {"inputs": FEATURES},
        [("call", {"noise": True}), ("call", {})],
    ),
    Golden(
        "categorical_head",
        {"type": "categorical_head", "action_space": SEVERAL, **ATOMS, "noisy": True},
        {"inputs": Box((3,), ranks="BT"), "means.distributions": Box((2, 3, 5), ranks="BT")},
        NOISY_CALLS,
    ),
    Golden(
        "quantile_head",
        {"type": "quantile_head", "action_space": CHOICES, "n_quantiles": 4, "dueling": True},
        {"inputs": FEATURES, "means.distributions": Box((3, 4))},
    ),
    Golden(
        "distributional_q_policy",
        {
            **_policy({"type": "quantile_head", "n_quantiles": 4, "units": 3, "noisy": True}),
            "action_space": CHOICES,
        },
        {"states": FEATURES, "means.distributions": Box((3, 4))},
        [("q_values", {}), ("q_values", {"noise": True}), ("distributions", {"noise": True})],
    ),
    _loss({"type": "categorical_dqn_loss", "gamma": 0.9, "n_step": 2, **ATOMS}, 5),
    _loss({"type": "quantile_dqn_loss", "gamma": 0.9, "huber_delta": 0.5}, 4),
    Golden(
        "distributional_dqn",
        {
            "type": "distributional_dqn",
            "policy": _policy(
                {"type": "categorical_head", **ATOMS, "dueling": True, "noisy": True}
            ),
            "loss": {"type": "categorical_dqn_loss", **ATOMS},
            "action_space": CHOICES,
            "memory": {"type": "prioritized_replay", "buffer_size": 8},
            "n_step": 2,
        },
        {
            "states": FEATURES,
            "epsilon": EPSILON,
            "observe.records": Dict({**RECORDS, "truncations": BoolBox()}).with_ranks("TB"),
            "records": WINDOWS,
            "weights": FloatBox(0.0, 1.0),
            **RATES,
        },
        [
            ("observe", {}),
            ("get_actions", {}),
            ("update", {"n": 4}),
            ("sync_target", {}),
            ("update_from", {}),
            ("get_actions", {"explore": False}),
        ],
    ),
    Golden(
        "distributional_apex_dqn",
        {
            "type": "distributional_apex_dqn",
            "policy": _policy({"type": "quantile_head", "n_quantiles": 4}),
            "loss": {"type": "quantile_dqn_loss", "double": True},
            "action_space": SEVERAL,
            "memory": {"type": "prioritized_replay", "buffer_size": 8},
            "n_step": 1,
        },
        {
            "states": FEATURES,
            "epsilon": FloatBox(0.0, 1.0),
            "prepare.records": STEPS,
            "observe.records": STEPS,
            "records": Dict({**WINDOWS, "actions": BRANCHES}),
            "weights": FloatBox(0.0, 1.0),
            "priorities": FloatBox(0.0, 1.0),
            "keys": IntBox(8),
            **RATES,
            "get_actions.epsilon": EPSILON,
        },
        [("act", {}), ("prepare", {}), ("observe", {}), ("insert", {}), ("update", {"n": 4})],
    ),
]
