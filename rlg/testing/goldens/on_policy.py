"""Goldens of on-policy algorithms and what they are made of."""

from __future__ import annotations

from typing import Any

from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Space
from rlg.testing.goldens.golden import Golden

STATES = Box((3,))
MLP = {"type": "mlp", "units": [4], "activation": "tanh"}
FEED_FORWARD = {"type": "actor_critic", "network": MLP, "separate": True}
RECURRENT = {
    "type": "recurrent_actor_critic",
    "network": {"type": "lstm", "units": 2, "network": MLP},
}
# Of IMPALA: its network also sees the action and reward before.
WITH_PREVIOUS = {
    "type": "recurrent_actor_critic",
    "network": {
        "type": "lstm",
        "units": 2,
        "network": {"type": "multi_input", "networks": {"states": MLP, "previous": "vectors"}},
    },
}
HIDDEN = {"hidden": Dict(c=Box((2,)), h=Box((2,)))}
NUMBERS = FloatBox(ranks="TB")
ENDS = {"terminals": BoolBox(ranks="TB"), "truncations": BoolBox(ranks="TB")}
RATE = {"learning_rate": FloatBox(0.0, 0.01, ranks="")}
CLIP = {"clip_range": FloatBox(0.1, 0.3, ranks="")}


def batch_of(states: Space, actions: Space, **more: Space) -> Dict:
    """The space of what an on-policy algorithm learns from."""
    names = ("log_probs", "values", "rewards", "bootstrap_values")
    steps = {"states": states.with_ranks("TB"), "actions": actions.with_ranks("TB")}
    return Dict({**steps, **dict.fromkeys(names, NUMBERS), **ENDS, **more})


def _spaces(actions: Space, masks: Space, **more: Any) -> dict[str, Any]:
    return {
        "states": STATES,
        "act.masks": masks,
        "update.masks": masks.with_ranks("TB"),
        "batch": batch_of(STATES, actions),
        "last_values": FloatBox(),
        **RATE,
        **more,
    }


def _recurrent(actions: Space, masks: Space, **more: Any) -> dict[str, Any]:
    batch = batch_of(STATES, actions, resets=BoolBox(ranks="TB"))
    spaces = {**_spaces(actions, masks, **more), "batch": batch, "resets": BoolBox()}
    return {**spaces, **HIDDEN}


def _rollouts(spaces: dict[str, Any], **more: Space) -> dict[str, Any]:
    """The same for IMPALA: the values of a batch are the learner's, of the last states too."""
    steps = {name: space for name, space in spaces["batch"].items() if name != "values"}
    kept = {name: space for name, space in spaces.items() if name != "last_values"}
    return {**kept, "batch": Dict(steps), "last_states": STATES, **more}


CHOICE = IntBox(3)
TORQUE = FloatBox(-2.0, 2.0, (2,))
MIXED = Dict(choice=IntBox([2, 3], shape=(2,)), torque=TORQUE)
MASKS, SOME_MASKS = BoolBox((3,)), Dict(choice=BoolBox((2, 3)))
SEVERAL = IntBox(3, shape=(2,))
DRAWS = Dict(choice=IntBox([2, 3], shape=(2,)), torque=Box((2,)))
CALLS: list[tuple[str, dict[str, Any]]] = [
    ("act", {}),
    ("act", {"explore": False}),
    ("value", {}),
    ("update", {}),
    ("update", {}),
    ("act", {}),
]

# Of A3C: gradients are an input of their own.
HALVES = [*CALLS, ("gradients", {}), ("apply", {}), ("act", {})]
HEADS = {"head/outputs-all/output/bias": (3,), "value_head/output/dense-0/bias": (1,)}
WEIGHTS = {
    **HEADS,
    "head/outputs-all/output/kernel": (4, 3),
    "network/dense-0/bias": (4,),
    "network/dense-0/kernel": (3, 4),
    "value_head/output/dense-0/kernel": (4, 1),
    "value_network/dense-0/bias": (4,),
    "value_network/dense-0/kernel": (3, 4),
}
RECURRENT_WEIGHTS = {
    **HEADS,
    "head/outputs-all/output/kernel": (2, 3),
    "network/layer/bias": (8,),
    "network/layer/kernel": (6, 8),
    "network/network/dense-0/bias": (4,),
    "network/network/dense-0/kernel": (3, 4),
    "value_head/output/dense-0/kernel": (2, 1),
}


def _gradients(masks: Space, shapes: dict[str, tuple[int, ...]]) -> dict[str, Space]:
    boxes = {name: Box(shape, ranks="") for name, shape in shapes.items()}
    return {"gradients": Dict(boxes), "gradients.masks": masks.with_ranks("TB")}


ON_POLICY: list[Golden] = [
    Golden(
        "minibatches",
        {"type": "minibatches", "n_epochs": 2, "batch_size": 2},
        {
            "records": Dict(a=Box((2,)), b=IntBox(5, ranks="BT")),
            "rows": Box((2,), "int64", 0, 0, ""),
        },
        [("rows", {}), ("take", {"n": 2})],
    ),
    Golden(
        "return_scaling",
        {"type": "return_scaling", "gamma": 0.9, "num_envs": 7},
        {"rewards": FloatBox(ranks="BT"), **{k: v.with_ranks("BT") for k, v in ENDS.items()}},
    ),
    Golden(
        "ppo",
        {
            "type": "ppo",
            "policy": FEED_FORWARD,
            "action_space": CHOICE.to_spec(),
            "n_epochs": 2,
            "batch_size": 2,
        },
        _spaces(CHOICE, MASKS, **CLIP),
        CALLS,
    ),
    Golden(
        "ppo-within",
        {
            "type": "ppo",
            "policy": {"type": "shared_value_policy", "network": MLP},
            "action_space": MIXED.to_spec(),
            "n_epochs": 2,
            "batch_size": 3,
            "clip_range_vf": 0.5,
            "ent_coef": 0.1,
            "target_kl": 0.01,
            "normalize_observations": True,
        },
        _spaces(DRAWS, SOME_MASKS, **CLIP),
        CALLS,
    ),
    Golden(
        "recurrent_ppo",
        {
            "type": "recurrent_ppo",
            "policy": RECURRENT,
            "action_space": MIXED.to_spec(),
            "n_steps": 3,
            "n_epochs": 2,
            "batch_size": 6,
            "ent_coef": 0.01,
        },
        _recurrent(DRAWS, SOME_MASKS, **CLIP),
        CALLS,
    ),
    Golden(
        "a2c",
        {
            "type": "a2c",
            "policy": FEED_FORWARD,
            "action_space": MIXED.to_spec(),
            "ent_coef": 0.01,
            "normalize_advantage": True,
            "normalize_observations": True,
        },
        _spaces(DRAWS, SOME_MASKS),
        CALLS,
    ),
    Golden(
        "recurrent_a2c",
        {"type": "recurrent_a2c", "policy": RECURRENT, "action_space": CHOICE.to_spec()},
        _recurrent(CHOICE, MASKS),
        CALLS,
    ),
    Golden(
        "a3c",
        {"type": "a3c", "policy": FEED_FORWARD, "action_space": CHOICE.to_spec(), "ent_coef": 0.01},
        _spaces(CHOICE, MASKS, **_gradients(MASKS, WEIGHTS)),
        HALVES,
    ),
    Golden(
        "recurrent_a3c",
        {"type": "recurrent_a3c", "policy": RECURRENT, "action_space": CHOICE.to_spec()},
        _recurrent(CHOICE, MASKS, **_gradients(MASKS, RECURRENT_WEIGHTS)),
        HALVES,
    ),
    Golden(
        "pqn",
        {
            "type": "pqn",
            "policy": {"type": "q_policy", "network": {**MLP, "layer_norm": True}},
            "action_space": SEVERAL.to_spec(),
            "n_epochs": 2,
            "batch_size": 2,
        },
        {
            "states": STATES,
            "epsilon": FloatBox(0.0, 1.0, ranks=""),
            "batch": Dict({k: v for k, v in batch_of(STATES, SEVERAL).items() if k != "log_probs"}),
            "last_values": FloatBox(),
            **RATE,
        },
        CALLS,
    ),
    Golden(
        "impala",
        {
            "type": "impala",
            "policy": FEED_FORWARD,
            "action_space": MIXED.to_spec(),
            "optimizer": {"type": "rmsprop", "learning_rate": 0.01, "momentum": 0.5},
        },
        _rollouts(_spaces(DRAWS, SOME_MASKS)),
        CALLS,
    ),
    Golden(
        "impala-appo",
        {
            "type": "impala",
            "policy": {"type": "shared_value_policy", "network": MLP},
            "action_space": CHOICE.to_spec(),
            "clip_range": 0.2,
        },
        _rollouts(_spaces(CHOICE, MASKS)),
        CALLS,
    ),
    Golden(
        "recurrent_impala",
        {"type": "recurrent_impala", "policy": WITH_PREVIOUS, "action_space": MIXED.to_spec()},
        _rollouts(
            _recurrent(DRAWS, SOME_MASKS),
            hidden=Dict(policy=HIDDEN["hidden"], actions=DRAWS, rewards=FloatBox()),
        ),
        CALLS,
    ),
    Golden(
        "recurrent_impala-alone",
        {
            "type": "recurrent_impala",
            "policy": RECURRENT,
            "action_space": CHOICE.to_spec(),
            "previous_inputs": False,
        },
        _rollouts(_recurrent(CHOICE, MASKS)),
        CALLS,
    ),
]
