"""A3C on a TensorFlow cluster: gradients of the actor's task are those of A3C anywhere, and so is
what the learner makes of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.execution.engines.local import make_sampler
from rlg.execution.roles import never
from rlg.execution.trainers import GradientTrainer
from rlg.execution.types import Clock
from tests.api import masked
from tests.api.runs import config
from tests.execution.clusters import Both

MLP = {"type": "mlp", "units": [8], "activation": "tanh"}
LSTM = {"type": "lstm", "units": 4, "network": {"type": "mlp", "units": [6]}}
# Episodes are cut by a time limit after 5 steps: values of true last states matter.
CARTPOLE = {"name": "cartpole", "num_envs": 3, "max_episode_steps": 5}
PENDULUM = {"name": "pendulum", "num_envs": 3, "max_episode_steps": 5}
MASKED = {"name": "plain/Masked-v0", "num_envs": 3, "max_episode_steps": 5}
CASES = {
    "mlp": (MLP, CARTPOLE),
    "floats": (MLP, PENDULUM),
    "lstm, masks": (LSTM, MASKED),
    "lstm": (LSTM, CARTPOLE),
    "masks": (MLP, MASKED),
    "lstm, floats": (LSTM, PENDULUM),
}
SLOW = [pytest.param(case, marks=pytest.mark.slow) for case in list(CASES)[3:]]
RATE = {"type": "linear", "initial": 1e-2, "final": 0.0}


def settings(case: str = "mlp", **changes: Any) -> dict[str, Any]:
    network, env = CASES[case]
    agent = {"type": "a3c", "n_steps": 7, "ent_coef": 0.01, "gae_lambda": 0.9}
    agent["normalize_advantage"] = "lstm" in case
    given = {**config(), "agent": agent, "network": network, "env": env}
    given |= {"backend": {"type": "tf-graph"}, "executor": {"type": "tf_cluster"}}
    given.pop("memory")
    return validate(given | {"optimizer": {"type": "rmsprop", "learning_rate": RATE}} | changes)


def local(given: dict[str, Any]) -> dict[str, Any]:
    return {**given, "executor": {"type": "local", "actor_backend": None}}


@pytest.mark.parametrize("case", [*list(CASES)[:3], *SLOW])
def test_gradients_and_updates_are_those_of_the_local_engine_number_by_number(case):
    masked.register()
    given = settings(case)
    cluster = Both(given)
    cluster.begin()
    factory = ConfiguredAgents(local(given))
    agent = factory.make("actor", "gradient_worker", "learner")
    agent.set_streams(cluster.streams_of_the_actor())
    sampler, trainer = make_sampler(factory, agent), GradientTrainer(agent)
    sampler.start()
    clock, episodes = Clock(horizon=1000), 0
    for number in range(3):
        cluster.actor.rollout()
        report, gradients = sampler.sample(clock)  # type: ignore[misc]
        trainer.absorb(gradients)
        clock = clock.after(steps=report.steps)
        assert clock.steps == 21 * (number + 1)
        iteration = cluster.loop.iterate(never)
        expected = trainer.learn(clock).metrics
        clock = clock.after(updates=1)
        assert cluster.loop.clock == clock
        assert set(expected) == {
            *("loss", "policy_loss", "value_loss", "entropy", "explained_variance"),
            *("gradient_norm", "learning_rate"),
        }
        for name, value in expected.items():
            found = iteration.train[f"train/{name}"]
            assert found == pytest.approx(float(value), rel=1e-4, abs=1e-5), name
        assert iteration.train["train/policy_lag"] == 0.0
        assert iteration.returns == pytest.approx(report.returns, rel=1e-5)
        assert iteration.lengths == report.lengths
        episodes += len(report.lengths)
        weights = cluster.learner.get_weights()
        for path, value in agent.get_weights().items():
            np.testing.assert_allclose(weights[path], value, rtol=1e-4, atol=1e-6, err_msg=path)
    assert episodes >= 8


def test_an_actor_has_no_optimizer_and_a_checkpoint_no_actor():
    given = settings()
    factory = ConfiguredAgents(given)
    actor, learner = factory.make("fused_actor"), factory.make("fused_learner")
    assert not [path for path in actor.executor.kinds() if "optimizer" in path]
    assert {path.split("/")[1] for path in learner.executor.kinds()} == {
        *("policy", "optimizer", "version")
    }
    agent = ConfiguredAgents(local(given)).make("actor", "gradient_worker", "learner")
    assert learner.get_model().keys() == agent.get_model().keys()
    factory.close()


def test_actors_run_ahead_by_what_may_wait_and_the_lag_is_logged():
    cluster = Both(settings())
    cluster.begin()
    for _ in range(4):
        cluster.actor.rollout()
    assert cluster.trainer.look()
    assert cluster.trainer.is_full
    found = [cluster.loop.iterate(never).train for _ in range(4)]
    assert [train["train/policy_lag"] for train in found] == [0.0, 1.0, 2.0, 3.0]
    assert [train["train/queue"] for train in found] == [3.0, 2.0, 1.0, 0.0]
    assert cluster.loop.clock == Clock(84, 4, 1000)
    assert cluster.pool.workers()["actor 0"]["steps"] == 84.0
    assert cluster.loop.iterate(never).train == {}
