"""Environments without a time limit: evaluations end all the same, and say so."""

from __future__ import annotations

import json

import pytest

from tests.cli.conftest import TINY

PLUGIN = """
import gymnasium
import numpy as np
from gymnasium import spaces
from rlg.api.plugins import register_env

class Endless(gymnasium.Env):
    observation_space = spaces.Box(0.0, 1.0, (2,), np.float32)
    action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return np.zeros(2, np.float32), {}

    def step(self, action):
        return np.zeros(2, np.float32), 0.5, False, False, {}

register_env("endless_plugin", Endless)
"""
NOTE = "4 of 4 episodes were cut off after 50 steps (evaluation.max_steps)"


@pytest.fixture
def words(folder):
    (folder / "endless_plugin.py").write_text(PLUGIN)
    return [*TINY, "plugins=[endless_plugin]", "env.name=endless_plugin", "hydra.run.dir=run"]


def test_a_run_in_an_environment_that_never_ends_is_evaluated_and_says_so(rlg, folder, words):
    done = rlg("train", *words, "evaluation.max_steps=50", "evaluation.interval=300")
    assert done.code == 0, done.err
    assert "mean reward 25.00 +- 0.00 over 4 episodes of 50 steps" in done.out
    assert NOTE in done.out
    assert f"evaluation at step 320: {NOTE}" in (folder / "run/run.log").read_text()
    played = rlg("eval", "run", "--episodes", "4", "--trust-plugins")
    assert NOTE in played.out
    found = json.loads(rlg("eval", "run", "--episodes", "2", "--trust-plugins", "--json").out)
    assert (found["returns"], found["lengths"], found["cut"]) == ([25.0, 25.0], [50, 50], 2)


def test_tests_of_experiments_end_there_too(rlg, words):
    words += ["evaluation.max_steps=50", "evaluation.interval=0", "expected.mean_reward=25"]
    done = rlg("train", *words, "--as-test")
    assert done.code == 0, done.err
    assert "reached: mean reward 25.00" in done.out


def test_there_is_a_limit_by_default(rlg, words):
    done = rlg("train", *words, "evaluation.episodes=1")
    assert done.code == 0, done.err
    assert "over 1 episode of 27000 steps; 1 of 1 episodes were cut off after 27,000" in done.out
