"""Goldens of optimizers whose learning rate comes from outside, and of what feeds batches."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, api
from rlg.graph.components.common.iterative_optimization import IterativeOptimization
from rlg.graph.spaces import FloatBox
from rlg.testing.goldens.golden import Golden
from rlg.testing.goldens.proof import (
    CHOICES,
    EPSILON,
    FEATURES,
    FIT,
    FIT_CALLS,
    MLP,
    NESTED,
    RECORDS,
    Fitted,
)


class Scheduled(Fitted):
    """A linear model that an optimizer fits at a learning rate that comes with the call."""

    @api
    def fit(self, inputs: Any, targets: Any, learning_rate: Any = None) -> Any:
        loss = self.error(self.model.call(inputs), targets)
        return loss, self.optimizer.step(loss, self.model.variables(), learning_rate)

    @api
    def apply(self, gradients: Any, learning_rate: Any = None) -> Any:
        return self.optimizer.apply(self.model.variables(), gradients, learning_rate)


class Iterated(Component):
    """All that a DQN needs around it, with several updates in one call."""

    def __init__(self, iterative_optimization: IterativeOptimization) -> None:
        self.iterative_optimization = iterative_optimization
        self.dqn = iterative_optimization.learner

    @api
    def get_actions(self, states: Any, epsilon: Any) -> Any:
        return self.dqn.get_actions(states, epsilon)

    @api
    def observe(self, records: Any) -> None:
        self.dqn.observe(records)

    @api
    def update(self, records: Any) -> Any:
        return self.iterative_optimization.update(records)

    @api
    def sync_target(self) -> None:
        self.dqn.sync_target()


RATED = {**FIT, "learning_rate": FloatBox(0.001, 0.01, ranks="")}

OPTIMIZERS: list[Golden] = [
    Golden("adam-rated", {"type": "adam", "clip_norm": 0.5}, RATED, FIT_CALLS, Scheduled),
    Golden("adamw", {"type": "adamw", "learning_rate": 0.01}, FIT, FIT_CALLS, Fitted),
    Golden(
        "sgd-nesterov",
        {"type": "sgd", "momentum": 0.9, "nesterov": True},
        RATED,
        FIT_CALLS,
        Scheduled,
    ),
    Golden(
        "adagrad",
        {"type": "adagrad", "initial_accumulator_value": 0.1},
        RATED,
        FIT_CALLS,
        Scheduled,
    ),
    Golden("adadelta", {"type": "adadelta", "rho": 0.8}, RATED, FIT_CALLS, Scheduled),
    Golden("nadam", {"type": "nadam", "learning_rate": 0.01}, RATED, FIT_CALLS, Scheduled),
    Golden("radam", {"type": "radam", "beta2": 0.8}, RATED, FIT_CALLS, Scheduled),
    # batches
    # One part: goldens run on batches that can't be divided.
    Golden("batch_splitter", {"type": "batch_splitter", "num_parts": 1}, {"inputs": NESTED}),
    Golden("sampler", {"type": "sampler"}, {"records": NESTED}, [("sample", {"n": 3})] * 2),
    Golden(
        "iterative_optimization",
        {
            "type": "iterative_optimization",
            "learner": {
                "type": "dqn",
                "policy": {"type": "q_policy", "network": MLP},
                "action_space": CHOICES,
                "memory": {"type": "replay", "buffer_size": 4},
            },
            "n_epochs": 2,
            "batch_size": 2,
        },
        {"states": FEATURES, "epsilon": EPSILON, "records": RECORDS},
        [("get_actions", {}), ("observe", {}), ("update", {}), ("sync_target", {}), ("update", {})],
        Iterated,
    ),
]
