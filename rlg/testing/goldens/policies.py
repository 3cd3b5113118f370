"""Goldens of distributions, action heads, policies and explorations."""

from __future__ import annotations

from typing import Any

from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Space, Tuple
from rlg.testing.goldens.golden import Golden

VECTOR = Box((3,))
NORMAL = Dict(mean=VECTOR, log_std=FloatBox(-2.0, 1.0, (3,)))
SHAPES = FloatBox(0.5, 4.0, (3,))
MIXED = Dict(logits=Box((3, 2)), mean=Box((3, 2)), log_std=FloatBox(-2.0, 1.0, (3, 2)))
TORQUE = FloatBox(-2.0, 2.0, (2,))
GAUSS = Dict(mean=Box((2,)), log_std=FloatBox(-2.0, 1.0, (2,)))
NESTED = Dict(choice=IntBox([2, 4], shape=(2,)), flags=BoolBox((3,)), torque=TORQUE)
MLP = {"type": "mlp", "units": [4], "activation": "tanh"}
STEPS = {
    "states": VECTOR,
    "resets": BoolBox(),
    "masks": BoolBox((3,)),
}
INSIDE = FloatBox(-0.9, 0.9, (3,))


def _distribution(spec: dict[str, Any], parameters: Space, values: Space) -> Golden:
    spaces = {"parameters": parameters, "other": parameters, "values": values}
    return Golden(spec["type"], spec, spaces)


POLICIES: list[Golden] = [
    _distribution(
        {"type": "categorical"}, Box((2, 3), ranks="BT"), IntBox(3, shape=(2,), ranks="BT")
    ),
    _distribution({"type": "gumbel_softmax", "temperature": 0.5}, VECTOR, FloatBox(0.1, 0.9, (3,))),
    _distribution(
        {"type": "bernoulli", "dtype": "int8"}, VECTOR, IntBox(2, shape=(3,), dtype="int8")
    ),
    _distribution({"type": "normal"}, NORMAL, VECTOR),
    _distribution({"type": "diag_normal"}, NORMAL, VECTOR),
    _distribution({"type": "squashed_normal", "low": [-1, -2, -3], "high": 1.0}, NORMAL, INSIDE),
    _distribution(
        {"type": "beta", "low": -1.0, "high": 2.0}, Dict(alpha=SHAPES, beta=SHAPES), INSIDE
    ),
    _distribution({"type": "normal_mixture"}, MIXED, VECTOR),
    _distribution(
        {"type": "joint", "distributions": {"a": "categorical", "b": ["normal", "bernoulli"]}},
        Dict(a=Box((4,)), b=Tuple(NORMAL, VECTOR)),
        Dict(a=IntBox(4), b=Tuple(VECTOR, BoolBox((3,)))),
    ),
    Golden(
        "action_head",
        {"type": "action_head", "action_space": NESTED.to_spec(), "bounded": "beta"},
        {"inputs": VECTOR, "actions": NESTED, "masks": Dict(choice=BoolBox((2, 4)))},
    ),
    Golden(
        "action_head-clips",
        {
            "type": "action_head",
            "action_space": Dict(choice=IntBox(3), torque=TORQUE).to_spec(),
            "bounded": "normal",
            "state_dependent_std": True,
            "log_std_init": -1.0,
        },
        {
            "inputs": VECTOR,
            "actions": Dict(choice=IntBox(3), torque=Box((2,))),
            "masks": Dict(choice=BoolBox((3,))),
        },
    ),
    Golden("value_head", {"type": "value_head", "units": 4}, {"inputs": Box((3,), ranks="TB")}),
    Golden(
        "policy",
        {"type": "policy", "action_space": NESTED.to_spec(), "network": MLP},
        {
            "states": VECTOR,
            "actions": NESTED,
            "masks": Dict(choice=BoolBox((2, 4))),
            "parameters": Dict(
                choice=Box((2, 4)),
                flags=Box((3,)),
                torque=Dict(mean=Box((2,)), log_std=FloatBox(-2.0, 1.0, (2,))),
            ),
        },
    ),
    Golden(
        "actor_critic",
        {
            "type": "actor_critic",
            "action_space": IntBox(3).to_spec(),
            "network": MLP,
            "separate": True,
        },
        {
            "states": VECTOR,
            "actions": IntBox(3),
            "parameters": Box((3,)),
            "masks": BoolBox((3,)),
        },
    ),
    Golden(
        "shared_value_policy",
        {
            "type": "shared_value_policy",
            "action_space": [FloatBox(shape=(2,)).to_spec(), IntBox(3).to_spec()],
            "network": MLP,
        },
        {
            "states": Box((3,), ranks="BT"),
            "actions": Tuple(Box((2,), ranks="BT"), IntBox(3, ranks="BT")),
            "parameters": Tuple(GAUSS.with_ranks("BT"), Box((3,), ranks="BT")),
            "masks": Dict({"1": BoolBox((3,), ranks="BT")}),
        },
    ),
    Golden(
        "recurrent_actor_critic",
        {
            "type": "recurrent_actor_critic",
            "action_space": IntBox(3).to_spec(),
            "network": {"type": "lstm", "units": 2, "network": MLP},
        },
        {
            **{f"act.{name}": space for name, space in STEPS.items()},
            **{name: space.with_ranks("TB") for name, space in STEPS.items()},
            "actions": IntBox(3, ranks="TB"),
            "hidden": Dict(c=Box((2,)), h=Box((2,))),
        },
    ),
    Golden(
        "recurrent_actor_critic-separate",
        {
            "type": "recurrent_actor_critic",
            "action_space": IntBox(3).to_spec(),
            "network": {"type": "gru", "units": 2, "network": MLP},
            "separate": True,
        },
        {
            **{f"act.{name}": space for name, space in STEPS.items()},
            **{name: space.with_ranks("TB") for name, space in STEPS.items()},
            "actions": IntBox(3, ranks="TB"),
            "hidden": Dict(policy=Box((2,)), value=Box((2,))),
        },
    ),
    Golden(
        "recurrent_q_policy",
        {
            "type": "recurrent_q_policy",
            "action_space": IntBox(3).to_spec(),
            "network": {"type": "gru", "units": 2, "network": MLP},
            "head": "dueling_head",
        },
        {
            **{f"act.{name}": STEPS[name] for name in ("states", "resets")},
            **{name: STEPS[name].with_ranks("BT") for name in ("states", "resets")},
            "hidden": Box((2,)),
        },
    ),
    Golden(
        "recurrent_dqn",
        {
            "type": "recurrent_dqn",
            "action_space": IntBox(3).to_spec(),
            "policy": {
                "type": "recurrent_q_policy",
                "network": {"type": "lstm", "units": 2, "network": MLP},
            },
            "memory": {"type": "prioritized_replay", "buffer_size": 8},
        },
        {
            "states": VECTOR,
            "resets": BoolBox(),
            "hidden": Dict(c=Box((2,)), h=Box((2,))),
            "epsilon": FloatBox(0.0, 1.0, ranks=""),
            "records": Dict(
                states=Box((4, 3)),
                resets=BoolBox((4,)),
                actions=IntBox(3, shape=(3,)),
                rewards=VECTOR,
                terminals=BoolBox((3,)),
                masks=FloatBox(0.0, 1.0, (3,)),
            ),
            "weights": FloatBox(0.0, 1.0),
            "beta": FloatBox(0.0, 1.0, ranks=""),
            "learning_rate": FloatBox(0.0, 0.01, ranks=""),
            "syncs": BoolBox(ranks="T"),
        },
        [
            ("observe", {}),
            ("get_actions", {}),
            ("updates", {"n": 3}),
            ("sync_target", {}),
            ("update_from", {}),
        ],
    ),
    Golden(
        "recurrent_dqn-burn_in",
        {
            "type": "recurrent_dqn",
            "action_space": IntBox(3).to_spec(),
            "policy": {
                "type": "recurrent_q_policy",
                "network": {"type": "gru", "units": 2, "network": MLP},
            },
            "loss": {"type": "dqn_loss", "value_rescaling": True},
            "burn_in": 1,
            "stored_state": True,
        },
        {
            "states": VECTOR,
            "resets": BoolBox(),
            "hidden": Box((2,)),
            "epsilon": FloatBox(0.0, 1.0, ranks=""),
            "records": Dict(
                states=Box((4, 3)),
                resets=BoolBox((4,)),
                actions=IntBox(3, shape=(3,)),
                rewards=VECTOR,
                terminals=BoolBox((3,)),
                masks=FloatBox(0.0, 1.0, (3,)),
                hidden=Box((2,)),
            ),
            "weights": FloatBox(0.0, 1.0),
            "beta": FloatBox(0.0, 1.0, ranks=""),
            "learning_rate": FloatBox(0.0, 0.01, ranks=""),
            "syncs": BoolBox(ranks="T"),
        },
        [("observe", {}), ("update", {"n": 3}), ("update_from", {})],
    ),
    Golden(
        "curiosity",
        {
            "type": "curiosity",
            "action_space": IntBox(3).to_spec(),
            "network": MLP,
            "features": 2,
            "units": 4,
        },
        {"states": VECTOR, "actions": IntBox(3), "next_states": VECTOR},
    ),
    Golden(
        "curiosity-floats",
        {"type": "curiosity", "action_space": TORQUE.to_spec(), "network": MLP, "units": 4},
        {
            "states": VECTOR.with_ranks("TB"),
            "actions": TORQUE.with_ranks("TB"),
            "next_states": VECTOR.with_ranks("TB"),
        },
    ),
    Golden(
        "gaussian_noise",
        {"type": "gaussian_noise", "action_space": TORQUE.to_spec(), "sigma": 0.5},
        {"actions": TORQUE, "scale": FloatBox(0.0, 1.0)},
    ),
    Golden(
        "ornstein_uhlenbeck_noise",
        {"type": "ornstein_uhlenbeck_noise", "action_space": TORQUE.to_spec(), "n_envs": 7},
        {"actions": TORQUE, "resets": BoolBox(), "scale": FloatBox(0.0, 1.0, ranks="")},
        [("explore", {}), ("explore", {}), ("reset", {}), ("explore", {})],
    ),
]
