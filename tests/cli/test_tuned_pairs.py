"""Agents with tuned values on environments of extras: they learn a little, end and play."""

from __future__ import annotations

import json

import pytest

# Pairs, and what makes them short: each comes to several updates.
PAIRS = {
    "agent=dqn env=lunar_lander": "total_timesteps=1200",
    "agent=ppo env=lunar_lander": "total_timesteps=512 agent.n_steps=16",
    "agent=ppo env=lunar_lander_continuous": "total_timesteps=512 agent.n_steps=16",
    "agent=ppo env=bipedal_walker": "total_timesteps=1024 agent.n_steps=16",
    "agent=ppo env=half_cheetah": "total_timesteps=1024",
    "agent=ppo env=hopper": "total_timesteps=1024",
    "agent=sac env=half_cheetah": "total_timesteps=150 agent.learning_starts=100",
    "agent=sac env=ant": "total_timesteps=150 agent.learning_starts=100",
    "agent=dqn env=minatar_asterix": "total_timesteps=600 agent.learning_starts=500",
    "agent=ppo env=minatar_breakout": "total_timesteps=2048 agent.n_steps=16",
    "agent=pqn env=minatar_breakout": "total_timesteps=2048 agent.n_steps=16",
    "agent=impala env=doom_basic": "total_timesteps=1280",
    "agent=dqn env=doom_basic": "total_timesteps=600 agent.learning_starts=500",
}


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("pair", PAIRS)
def test_a_tuned_pair_learns_and_plays(rlg, folder, pair):
    short = [*PAIRS[pair].split(), "evaluation.episodes=1", "evaluation.max_steps=100"]
    result = rlg("train", *pair.split(), *short, "hydra.run.dir=run")
    assert result.code == 0, result.err
    status = json.loads((folder / "run/status.json").read_text())
    assert status["updates"] > 0
    assert status["state"] == "done"
