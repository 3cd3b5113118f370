"""PPO and A2C put together from policies, returns, losses and optimizers: they learn a bandit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.graph import Component, api, graph_fn
from rlg.graph.components.common.iterative_optimization import IterativeOptimization
from rlg.graph.components.losses.a2c import A2CLoss
from rlg.graph.components.losses.ppo import PPOLoss
from rlg.graph.components.optimizers.adam import Adam
from rlg.graph.components.policies.actor_critic import ActorCritic
from rlg.graph.components.returns.gae import GAE
from rlg.graph.spaces import BoolBox, Box, FloatBox, IntBox
from rlg.testing import ComponentTest

MLP = {"type": "mlp", "units": [8], "activation": "tanh"}
T, B = 4, 16


def policy():
    return ActorCritic(MLP, IntBox(2))


class PPOLearner(Component):
    """One update from records."""

    def __init__(self, policy: Any) -> None:
        self.policy = policy
        self.loss = PPOLoss(ent_coef=0.01)
        self.optimizer = Adam(0.02, max_grad_norm=0.5)

    @api
    def update_from(self, records: Any) -> Any:
        log_probs, entropies, values = self.policy.evaluate(records["states"], records["actions"])
        loss, _, means = self.loss.loss(
            log_probs,
            entropies,
            values,
            records["log_probs"],
            records["values"],
            records["advantages"],
            records["returns"],
        )
        self.optimizer.step(loss, self.policy.variables())
        return loss, means


class PPO(Component):
    """Several epochs from one time-major batch, in one call."""

    def __init__(self) -> None:
        self.policy = policy()
        self.gae = GAE(0.9, 0.9)
        self.iterative_optimization = IterativeOptimization(PPOLearner(self.policy), 4, 16)

    @api
    def act(self, states: Any) -> Any:
        return self.policy.act(states)

    @api
    def update(
        self,
        states: Any,
        actions: Any,
        log_probs: Any,
        values: Any,
        rewards: Any,
        terminals: Any,
        bootstrap: Any,
    ) -> Any:
        advantages, returns = self.gae.call(rewards, values, bootstrap, terminals)
        columns = (states, actions, log_probs, values, advantages, returns)
        return self.iterative_optimization.update(self.together(*columns))

    @graph_fn
    def together(
        self, states: Any, actions: Any, log_probs: Any, values: Any, advantages: Any, returns: Any
    ) -> Any:
        return {
            "states": states,
            "actions": actions,
            "log_probs": log_probs,
            "values": values,
            "advantages": advantages,
            "returns": returns,
        }


class A2C(Component):
    """One update from one time-major batch."""

    def __init__(self) -> None:
        self.policy = policy()
        self.gae = GAE(0.9, 1.0)
        self.loss = A2CLoss(ent_coef=0.01)
        self.optimizer = Adam(0.05)

    @api
    def act(self, states: Any) -> Any:
        return self.policy.act(states)

    @api
    def update(
        self,
        states: Any,
        actions: Any,
        log_probs: Any,
        values: Any,
        rewards: Any,
        terminals: Any,
        bootstrap: Any,
    ) -> Any:
        advantages, returns = self.gae.call(rewards, values, bootstrap, terminals)
        log_probs, entropies, values = self.policy.evaluate(states, actions)
        loss, _, means = self.loss.loss(log_probs, entropies, values, advantages, returns)
        self.optimizer.step(loss, self.policy.variables())
        return loss, means


SPACES = {
    "act.states": Box((2,)),
    "states": Box((2,), ranks="TB"),
    "actions": IntBox(2, ranks="TB"),
    **dict.fromkeys(["log_probs", "values", "rewards"], FloatBox(ranks="TB")),
    "terminals": BoolBox(ranks="TB"),
    "bootstrap": FloatBox(),
}


def built(component, backend):
    return ComponentTest(component, SPACES, backend, apis=["act", "update"])


def play(test, rng):
    """A batch of one-step episodes, in which the action to take is the one that is shown."""
    shown = rng.integers(0, 2, (T, B))
    states = np.eye(2, dtype="float32")[shown]
    steps = [test.call("act", row) for row in states]
    actions, log_probs, values = (np.stack(column) for column in zip(*steps, strict=True))
    rewards = (actions == shown).astype("float32")
    ends = np.ones((T, B), bool)
    batch = (states, actions, log_probs, values, rewards, ends, np.zeros(B, "float32"))
    return batch, rewards.mean()


@pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
@pytest.mark.parametrize(("make", "rounds"), [(PPO, 12), (A2C, 40)])
def test_they_learn_a_bandit(make, rounds, backend):
    test, rng, scores = built(make(), backend), np.random.default_rng(0), []
    for _ in range(rounds):
        batch, score = play(test, rng)
        scores.append(score)
        test.call("update", *batch)
    assert scores[0] < 0.75
    assert scores[-1] > 0.9


@pytest.mark.parametrize("make", [PPO, A2C])
def test_frameworks_learn_alike(make):
    outputs, weights = [], []
    batch = None
    for backend in ("torch", "tf"):
        test = built(make(), backend)
        batch = batch or play(test, np.random.default_rng(1))[0]
        outputs.append([test.call("update", *batch)[0] for _ in range(3)])
        weights.append(test.executor.get_weights())
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=1e-4, atol=1e-6)
    for path, value in weights[0].items():
        np.testing.assert_allclose(weights[1][path], value, rtol=1e-3, atol=1e-4, err_msg=path)
