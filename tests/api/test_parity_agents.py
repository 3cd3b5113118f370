"""The same transitions through every agent of `conf/agent/` on torch and on TensorFlow: losses and
weights agree over 100 updates.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rlg.api.agents.agent import Agent, BuildOptions
from rlg.api.agents.factory import agent_of
from rlg.api.config.environments import spaces_of
from rlg.api.config.groups import groups
from rlg.execution.types import Batch, Clock, LearnResult
from tests.api.anything import anything
from tests.api.runs import demonstrations
from tests.api.test_actor_critic import segment
from tests.api.test_agent_options import FLOATS, composed

UPDATES, T, B = 100, 5, 2
CASES: dict[str, list[str]] = {
    **{name: [f"agent={name}"] for name in groups()["agent"] if name != "random"},
    "pqn": ["agent=pqn", "optimizer.learning_rate=1e-3"],  # rectified Adam starts slowly
    "dqn, single": ["agent=dqn", "agent.double=false", "agent.dueling=false"],
    "dqn, windows": ["agent=dqn", "agent.n_step=3", "memory=prioritized", "agent.tau=0.3"],
    "dqn, recurrent": ["agent=dqn", "network=gru"],
    "apex, quantiles": ["agent=apex", "agent.distributional=quantile", "agent.n_quantiles=9"],
    "sac, choices": ["agent=sac"],
    "sac, windows": ["agent=sac", "memory=prioritized", "agent.n_step=3"],
    "ppo, floats": ["agent=ppo", "agent.curiosity=0.1", "agent.normalize_observations=true"],
    "ppo, recurrent": ["agent=ppo", "network=lstm"],
    "a2c, recurrent": ["agent=a2c", "network=lstm"],
    "a3c, recurrent": ["agent=a3c", "network=lstm"],
    "impala, recurrent": ["agent=impala", "network=lstm"],
}
FLOAT_CASES = {*FLOATS, "sac", "sac, windows", "ppo, floats"}


def settings(case: str, tmp_path: Any) -> dict[str, Any]:
    """Of a case, with a round of T steps of B environments."""
    words = [*CASES[case], f"env={anything('numbers', kind(case))}", "env.num_envs=2"]
    if case == "dqfd":
        file = demonstrations(tmp_path / "d.npz", features=3)
        words += [f"agent.demonstrations={file}", "agent.pretrain_updates=0"]
    config = composed(CASES[case][0].removeprefix("agent="), *words)
    found = config["agent"]
    sizes = {"n_steps": T, "train_freq": T * B, "gradient_steps": 4, "n_epochs": 2}
    sizes |= {"target_update_interval": 40, "batch_size": 8, "sequence_length": 4}
    found |= {key: value for key, value in sizes.items() if key in found}
    if "memory" in config:
        config["memory"]["buffer_size"] = 200
    return config


def kind(case: str) -> str:
    return "bounded" if case in FLOAT_CASES else "choice"


def learned(agent: Agent, batches: list[Batch], part: Any, clock: Clock) -> list[LearnResult]:
    """The updates of one round, by the loop that the agent runs on."""
    whole = Batch({"segment": part}, part.steps)
    if agent.loops[0] == "gradients":
        found: Any = agent
        return [found.apply(found.gradients(whole), clock)]
    if agent.loops[0] != "replay":
        return [agent.learn(whole, clock)]
    for batch in batches:
        agent.insert(batch)
    results: list[LearnResult] = []
    while (made := sum(result.updates for result in results)) < 4:
        results.append(agent.learn_due(4 - made, clock.after(updates=made)))
    return results


@pytest.mark.parametrize("case", CASES)
def test_torch_and_tensorflow_agree_over_100_updates(case, tmp_path):
    config = settings(case, tmp_path)
    actor, *agents = [agent_of(config, *spaces_of(config["env"])) for _ in range(3)]
    actor.build(BuildOptions("numpy"), ["actor"])
    for agent, backend in zip(agents, ("torch", "tf"), strict=True):
        agent.build(BuildOptions(backend, seed=3))
    adder, before = actor.make_adder(), agents[0].get_weights()
    clock = Clock(horizon=UPDATES * T * B)
    while clock.updates < UPDATES:
        actor.load_weights(agents[0].weights(clock.updates))
        part = segment(actor, T, B, seed=clock.updates)
        clock = replace(clock, steps=clock.steps + part.steps)
        is_segment = actor.loops[0] != "replay"
        batches = [] if is_segment else list(adder.batches(part.transitions()))
        one, other = (learned(agent, batches, part, clock) for agent in agents)
        for mine, theirs in zip(one, other, strict=True):
            assert mine.metrics.keys() == theirs.metrics.keys()
            for name, value in mine.metrics.items():
                expected = theirs.metrics[name]
                np.testing.assert_allclose(value, expected, 1e-4, 1e-4, err_msg=name)
        clock = clock.after(updates=sum(result.updates for result in one))
    mine, theirs = (agent.get_model() for agent in agents)
    assert mine.keys() == theirs.keys()
    for path, value in mine.items():
        np.testing.assert_allclose(value, theirs[path], 1e-4, 1e-4, err_msg=path)
    assert max(np.abs(mine[path] - value).max() for path, value in before.items()) > 0.01
