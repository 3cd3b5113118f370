"""A plugin's environment, component and agent train beside ours: the template of the docs."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rlg.api.agents.factory import register_agent
from rlg.api.plugins import register_env
from rlg.errors import SpecError
from rlg.tracking.metrics import read_metrics

TEMPLATE = Path(__file__).parents[2] / "examples" / "plugin"


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_the_template_opens_its_door(tmp_path, backend):
    """7 steps to the door and 100 for opening it: 93."""
    shutil.copytree(TEMPLATE, tmp_path / "mine")
    words = ["--config-dir", "conf", "experiment=corridor", f"backend={backend}"]
    result = subprocess.run(
        [sys.executable, "-m", "rlg", "train", *words],
        cwd=tmp_path / "mine",
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    assert "evaluation: mean reward 93.00 +- 0.00" in result.stdout


def test_a_taken_name_is_refused():
    with pytest.raises(SpecError, match="the environment name 'cartpole' is taken"):
        register_env("cartpole", object)
    with pytest.raises(SpecError, match="the environment name 'pong' is taken"):
        register_env("pong", object)
    with pytest.raises(SpecError, match="the agent name 'dqn' is taken"):
        register_agent("dqn", type("Mine", (), {}))


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_an_agent_of_ones_own_learns(tmp_path, backend):
    """REINFORCE from the page docs/agents.md; a random policy plays 22 on average."""
    shutil.copytree(TEMPLATE, tmp_path / "mine")
    words = ["agent=reinforce", "env=cartpole", "plugins=[reinforce]", f"backend={backend}"]
    budget = ["total_timesteps=30_000", "evaluation.interval=0", "evaluation.episodes=4"]
    result = subprocess.run(
        [sys.executable, "-m", "rlg", "train", "--config-dir", "conf", *words, *budget],
        cwd=tmp_path / "mine",
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    (metrics,) = (tmp_path / "mine").glob("outputs/*/*/metrics.jsonl")
    last = read_metrics(metrics)[-1]
    assert last["rollout/ep_rew_mean"] > 80.0
    # It samples from its policy: there is no exploration rate to speak of.
    assert "rollout/exploration_rate" not in last
