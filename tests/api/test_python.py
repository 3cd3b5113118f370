"""rlg from Python: what the command line does, as functions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rlg
from rlg.api.agents.factory import AGENTS
from rlg.errors import CheckpointError, SpecError
from tests.api.runs import cartpole_demonstrations
from tests.cli.conftest import TINY

HEAVY = ("numpy", "torch", "tensorflow", "hydra", "omegaconf", "gymnasium", "ray", "yaml", "typer")


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_importing_rlg_loads_nothing_else():
    script = "import rlg, sys; print(*sys.modules); rlg.__version__"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert [name for name in HEAVY if name in done.stdout.split()] == []


def test_what_it_offers_is_there_and_nothing_else():
    assert all(callable(getattr(rlg, name)) for name in rlg.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'tarin'"):
        rlg.tarin  # noqa: B018


def test_values_are_overrides_in_python():
    config = rlg.compose(
        "env=acrobot",
        seed=7,
        agent={"double": False, "exploration": {"type": "linear", "initial": 1.0, "final": 0.1}},
        network={"units": [8, 4]},
        evaluation={"stop_at": None},
        expected={"source": "a, b = 'c'"},
    )
    assert (config["seed"], config["env"]["name"]) == (7, "acrobot")
    assert config["agent"]["double"] is False
    assert config["agent"]["exploration"] == {"type": "linear", "initial": 1.0, "final": 0.1}
    assert config["network"]["units"] == [8, 4]
    assert config["evaluation"]["stop_at"] is None
    assert config["expected"]["source"] == "a, b = 'c'"


def test_mistakes_are_raised_in_the_words_of_the_command_line():
    with pytest.raises(SpecError, match=r"Did you mean 'memory.buffer_size'"):
        rlg.compose(memory={"bufer_size": 3})
    with pytest.raises(SpecError, match=r"agent\.gamma"):
        rlg.train(*TINY, agent={"gamma": 7})
    assert list(Path().iterdir()) == []
    with pytest.raises(TypeError, match="not both"):
        rlg.train("seed=3", config={})


def test_a_run_is_trained_loaded_evaluated_and_resumed():
    outcome = rlg.train(*TINY, seed=2)
    assert (outcome.exit_code, outcome.steps) == (0, 640)
    assert outcome.folder.parent.parent.name == "outputs"
    agent = rlg.load(outcome.folder)
    observations = np.array([[0.1, 0.0, 0.2, 0.0], [0.0, 1.0, -0.2, 0.0]], np.float32)
    actions = agent.get_actions(observations, explore=False)
    assert actions.shape == (2,)
    assert agent.get_actions(observations[0], explore=False) == actions[0]
    assert not any("memory" in path for path in agent.get_weights())
    again = rlg.load(outcome.folder, checkpoint=640)
    for path, weight in agent.get_weights().items():
        np.testing.assert_array_equal(again.get_weights()[path], weight)
    first = rlg.evaluate(outcome.folder, episodes=3)
    assert len(first.returns) == 3
    assert rlg.evaluate(outcome.folder, episodes=3, checkpoint=640).returns == first.returns
    resumed = rlg.resume(outcome.folder, total_timesteps=700)
    assert (resumed.steps, resumed.resumed_at) == (704, 640)


@pytest.mark.parametrize("agent", sorted(AGENTS))
def test_every_agents_run_is_evaluated_and_acts_without_its_memory(agent, tmp_path):
    # Of a step on Pendulum the reward is between -16.3 and 0.
    task = ("pendulum", -3_255, 0) if agent in ("ddpg", "td3") else ("cartpole", 1, 500)
    env, least, most = task
    words = [f"agent={agent}", f"env={env}", "executor=local", "total_timesteps=300"]
    if agent == "dqfd":
        file = cartpole_demonstrations(tmp_path / "d.npz")
        words += [f"agent.demonstrations={file}", "agent.pretrain_updates=2"]
    folder = rlg.train(*words, evaluation={"interval": 0}).folder
    played = rlg.evaluate(folder, episodes=2)
    assert len(played.returns) == 2
    assert all(least <= reward <= most for reward in played.returns)
    loaded = rlg.load(folder)
    assert not any("memory" in path for path in loaded.executor.kinds())


def test_an_agent_is_loaded_as_the_checkpoint_of_a_step_holds_it():
    kept = {"interval": 128, "keep": None}
    folder = rlg.train(*TINY, checkpoint=kept, evaluation={"interval": 0}).folder
    first, last = (rlg.load(folder, checkpoint=step).get_weights() for step in (128, None))
    assert any((first[path] != last[path]).any() for path in last)
    for step in (77, "step-000000077"):
        with pytest.raises(CheckpointError):
            rlg.load(folder, checkpoint=step)
        with pytest.raises(CheckpointError):
            rlg.evaluate(folder, episodes=1, checkpoint=step)
    with pytest.raises(CheckpointError, match="no best model"):
        rlg.evaluate(folder, episodes=1, checkpoint="best")
    for call in (rlg.load, rlg.evaluate, rlg.resume):
        with pytest.raises(SpecError, match="--checkpoint: 'last' does not name a checkpoint"):
            call(folder, checkpoint="last")


def test_a_whole_configuration_trains_into_a_folder_of_its_own():
    config = rlg.compose(*TINY, evaluation={"interval": 0})
    folders = {rlg.train(config=config).folder.resolve() for _ in range(2)}
    assert len(folders) == 2
    assert rlg.train(config=config, folder="mine").folder.name == "mine"
    with pytest.raises(SpecError, match="holds a run already"):
        rlg.train(config=config, folder="mine")
