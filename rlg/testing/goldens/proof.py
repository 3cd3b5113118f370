"""Goldens of the components that a dueling DQN is made of."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.common.sync import TargetSync
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.optimizers.optimizer import Optimizer
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple
from rlg.testing.goldens.golden import Golden


class Fitted(Component):
    """A linear model that an optimizer fits."""

    def __init__(self, optimizer: Optimizer) -> None:
        self.model = Dense(2)
        self.optimizer = optimizer

    @api
    def call(self, inputs: Any) -> Any:
        return self.model.call(inputs)

    @api
    def fit(self, inputs: Any, targets: Any) -> Any:
        loss = self.error(self.model.call(inputs), targets)
        return loss, self.optimizer.step(loss, self.model.variables())

    @api
    def apply(self, gradients: Any) -> Any:
        return self.optimizer.apply(self.model.variables(), gradients)

    @graph_fn
    def error(self, outputs: Tensor, targets: Tensor) -> Tensor:
        return self.ops.mean(self.ops.square(outputs - targets))


class Followed(Component):
    """Two models, of which the second follows the first."""

    def __init__(self, target_sync: TargetSync) -> None:
        self.source = Dense(2)
        self.target = Dense(2)
        self.target_sync = target_sync

    @api
    def call(self, inputs: Any) -> Any:
        return self.source.call(inputs), self.target.call(inputs)

    @api
    def sync(self) -> None:
        self.target_sync.sync(self.source.variables(), self.target.variables())


FEATURES = Box((3,))
ACTIONS = IntBox(3)
BRANCHES = IntBox(3, shape=(2,))
# Plain forms: specs can be written to YAML and JSON.
CHOICES, SEVERAL = ACTIONS.to_spec(), BRANCHES.to_spec()
MLP = {"type": "mlp", "units": [4], "activation": "tanh"}
EPSILON = FloatBox(0.0, 1.0, ranks="")
RATES = {
    "syncs": BoolBox(ranks="T"),
    "beta": FloatBox(0.0, 1.0, ranks=""),
    "learning_rate": FloatBox(0.0, 0.01, ranks=""),
}
RECORDS = Dict(
    states=FEATURES,
    actions=ACTIONS,
    rewards=FloatBox(),
    terminals=BoolBox(),
    next_states=FEATURES,
)
SEGMENTS = Dict({**RECORDS, "truncations": BoolBox()}).with_ranks("TB")
Q_VALUES = Box((3,))
ACTED = {"actions": BRANCHES, "q_values": Box((2, 3)), "truncations": BoolBox()}
STEPS = Dict({**RECORDS, **ACTED}).with_ranks("TB")  # of an actor
FIT = {
    "inputs": FEATURES,
    "targets": Box((2,)),
    "gradients": Dict(bias=Box((2,), ranks=""), kernel=Box((3, 2), ranks="")),
}
FIT_CALLS: list[tuple[str, dict[str, Any]]] = [
    ("apply", {}),
    ("call", {}),
    ("fit", {}),
    ("fit", {}),
    ("call", {}),
]
NESTED = Dict(a=FEATURES, b=Dict(c=IntBox(5), d=BoolBox()))

PROOF: list[Golden] = [
    # layers and networks
    Golden("dense", {"type": "dense", "units": 2, "activation": "tanh"}, {"inputs": FEATURES}),
    Golden("dense-time", {"type": "dense", "units": 2}, {"inputs": Box((3,), ranks="BT")}),
    Golden(
        "conv2d",
        {"type": "conv2d", "filters": 2, "kernel_size": [3, 2], "stride": 2, "padding": "same"},
        {"inputs": Box((5, 4, 3))},
    ),
    Golden("activation", {"type": "activation", "activation": "gelu"}, {"inputs": FEATURES}),
    Golden("flatten", {"type": "flatten"}, {"inputs": Box((2, 2, 3), ranks="TB")}),
    Golden("scale", {"type": "scale"}, {"inputs": Box((2, 3), "uint8")}),
    Golden(
        "stack",
        {"type": "stack", "layers": ["flatten", {"type": "dense", "units": 2, "bias": False}]},
        {"inputs": Box((2, 3))},
    ),
    Golden("mlp", {"type": "mlp", "units": [4, 2]}, {"inputs": FEATURES}),
    Golden(
        "nature_cnn",
        {"type": "nature_cnn", "features_dim": 4},
        {"inputs": Box((36, 36, 1), "uint8")},
    ),
    # from features to actions
    Golden("q_head", {"type": "q_head", "action_space": CHOICES}, {"inputs": FEATURES}),
    Golden(
        "dueling_head",
        {"type": "dueling_head", "action_space": CHOICES, "units": 4},
        {"inputs": FEATURES},
    ),
    Golden(
        "q_policy",
        {"type": "q_policy", "action_space": SEVERAL, "network": MLP, "head": "dueling_head"},
        {"states": FEATURES},
    ),
    Golden(
        "q_policy-masks",
        {"type": "q_policy", "action_space": SEVERAL, "network": MLP, "sees": ["seen"]},
        {"states": Dict(seen=FEATURES, action_mask=BoolBox((2, 3)))},
    ),
    Golden(
        "epsilon_greedy-masks",
        {"type": "epsilon_greedy", "action_space": SEVERAL, "masked": True},
        {"q_values": Box((2, 3)), "epsilon": EPSILON},
    ),
    Golden(
        "epsilon_greedy",
        {"type": "epsilon_greedy", "action_space": SEVERAL},
        {"q_values": Box((2, 3)), "epsilon": EPSILON},
    ),
    # learning
    Golden(
        "replay",
        {"type": "replay", "buffer_size": 5},
        {"records": NESTED},
        [("insert", {}), ("sample", {"n": 4}), ("insert", {}), ("size", {}), ("sample", {"n": 3})],
    ),
    Golden(
        "dqn_loss",
        {"type": "dqn_loss", "gamma": 0.9, "n_step": 2, "huber_delta": 1.0},
        {
            **dict.fromkeys(["q", "q_next", "q_next_target"], Q_VALUES),
            "actions": ACTIONS,
            "rewards": FloatBox(),
            "terminals": BoolBox(),
            "discounts": FloatBox(0.0, 1.0),
            "td": FloatBox(),
            "weights": FloatBox(0.0, 1.0),
        },
    ),
    Golden("adam", {"type": "adam", "learning_rate": 0.01}, FIT, FIT_CALLS, Fitted),
    Golden("sgd", {"type": "sgd", "momentum": 0.9, "clip_value": 0.5}, FIT, FIT_CALLS, Fitted),
    Golden("rmsprop", {"type": "rmsprop", "max_grad_norm": 0.5}, FIT, FIT_CALLS, Fitted),
    # connections
    Golden(
        "container_splitter", {"type": "container_splitter", "keys": ["b", "a"]}, {"inputs": NESTED}
    ),
    Golden(
        "container_merger",
        {"type": "container_merger", "keys": ["b", "a"]},
        {"inputs": Tuple(FEATURES, IntBox(5))},
    ),
    Golden(
        "slice",
        {"type": "slice", "start": -1, "squeeze": True},
        {"inputs": Box((3,), ranks="TB")},
    ),
    Golden(
        "target_sync",
        {"type": "target_sync", "tau": 0.25},
        {"inputs": FEATURES},
        [("call", {}), ("sync", {}), ("call", {})],
        Followed,
    ),
    # algorithms
    Golden(
        "dqn",
        {
            "type": "dqn",
            "policy": {"type": "q_policy", "network": MLP, "head": "dueling_head"},
            "action_space": CHOICES,
            "memory": {"type": "replay", "buffer_size": 8},
            "tau": 0.5,
        },
        {
            "states": FEATURES,
            "epsilon": EPSILON,
            "records": RECORDS,
            "weights": FloatBox(0.0, 1.0),
            **RATES,
        },
        [
            ("observe", {}),
            ("get_actions", {}),
            ("update", {"n": 4}),
            ("updates", {"n": 3, "count": 2}),
            ("sync_target", {}),
            ("update_from", {}),
            ("get_actions", {"explore": False}),
        ],
    ),
    Golden(
        "apex_dqn",
        {
            "type": "apex_dqn",
            "policy": {"type": "q_policy", "network": MLP, "head": "dueling_head"},
            "action_space": SEVERAL,
            "memory": {"type": "prioritized_replay", "buffer_size": 8},
            "n_step": 1,
        },
        {
            "states": FEATURES,
            "epsilon": FloatBox(0.0, 1.0),
            "prepare.records": STEPS,
            "observe.records": STEPS,
            "records": Dict({**RECORDS, "actions": BRANCHES, "discounts": FloatBox(0.0, 1.0)}),
            "weights": FloatBox(0.0, 1.0),
            "priorities": FloatBox(0.0, 1.0),
            "keys": IntBox(8),
            **RATES,
            "get_actions.epsilon": EPSILON,
        },
        [
            ("act", {}),
            ("act", {"explore": False}),
            ("prepare", {}),
            ("observe", {}),
            ("insert", {}),
            ("sample", {"n": 4}),
            ("update_priorities", {}),
            ("update", {"n": 4}),
            ("updates", {"n": 3, "count": 2}),
        ],
    ),
    Golden(
        "dqfd",
        {
            "type": "dqfd",
            "policy": {"type": "q_policy", "network": MLP, "head": "dueling_head"},
            "action_space": CHOICES,
            "memory": {"type": "demonstration_replay", "buffer_size": 40},
            "n_step": 1,
        },
        {
            "states": FEATURES,
            "epsilon": EPSILON,
            "demonstrate.records": SEGMENTS,
            "observe.records": SEGMENTS,
            "records": Dict(
                {
                    **RECORDS,
                    "n_step_rewards": FloatBox(),
                    "n_step_terminals": BoolBox(),
                    "n_step_next_states": FEATURES,
                    "discounts": FloatBox(0.0, 1.0),
                }
            ),
            "weights": FloatBox(0.0, 1.0),
            "demonstrated": BoolBox(),
            **RATES,
        },
        [
            ("demonstrate", {}),
            ("update", {"n": 4}),
            ("observe", {}),
            ("updates", {"n": 3, "count": 2}),
            ("update_from", {}),
            ("sync_target", {}),
        ],
    ),
    Golden(
        "dqn-windows",
        {
            "type": "dqn",
            "policy": {"type": "q_policy", "network": MLP, "head": "q_head"},
            "action_space": CHOICES,
            "memory": {"type": "prioritized_replay", "buffer_size": 8},
            "n_step": 2,
        },
        {
            "states": FEATURES,
            "epsilon": EPSILON,
            "observe.records": SEGMENTS,
            "records": Dict({**RECORDS, "discounts": FloatBox(0.0, 1.0)}),
            "weights": FloatBox(0.0, 1.0),
            **RATES,
        },
        [("observe", {}), ("update", {"n": 4}), ("observe", {}), ("updates", {"n": 3})],
    ),
]
