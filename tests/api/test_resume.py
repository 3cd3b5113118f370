"""N steps equal N/2 steps, a kill -9, a resume and N/2 steps: bit by bit."""

from __future__ import annotations

import os
import signal

import pytest
import yaml

from rlg.api import session
from rlg.api.agents.factory import agent_of
from rlg.api.config.environments import spaces_of
from rlg.api.run import resume, train
from rlg.errors import CheckpointError, SpecError
from rlg.tracking.folder import RunFolder
from tests.api.runs import config, course, killed


@pytest.mark.parametrize(
    ("backend", "env", "at"),
    [
        ("torch", "cartpole", 1024),
        ("tf", "cartpole", 1024),
        ("torch", "pong", 64),
        ("tf", "pong", 64),
        # Games whose emulator state was not restored whole in earlier versions of ale-py.
        ("torch", "qbert", 64),
        ("torch", "tetris", 64),
    ],
)
def test_a_killed_and_resumed_run_equals_one_that_was_not(backend, env, at, tmp_path):
    settings = config(backend, env)
    train(settings, tmp_path / "whole")
    killed(settings, tmp_path / "killed", at)
    assert RunFolder(tmp_path / "killed").status.state == "running"
    outcome = resume(tmp_path / "killed")
    assert outcome.resumed_at is not None
    assert at <= outcome.resumed_at < settings["total_timesteps"]
    assert course(tmp_path / "killed") == course(tmp_path / "whole")


def test_an_evaluation_that_ctrl_c_stops_is_made_when_the_run_goes_on(tmp_path, monkeypatch):
    settings = config("torch", total_timesteps=1024)
    train(settings, tmp_path / "whole")
    play, calls = session.evaluate, []

    def interrupted(agent, env, episodes, seed, after_step, **limits):
        def after() -> None:
            calls.append(seed)
            os.kill(os.getpid(), signal.SIGINT)
            after_step()

        return play(agent, env, episodes, seed, after, **limits)

    monkeypatch.setattr(session, "evaluate", interrupted)
    stopped = train(settings, tmp_path / "stopped")
    assert (stopped.exit_code, stopped.steps, len(calls)) == (130, 512, 1)
    monkeypatch.undo()
    assert resume(tmp_path / "stopped").resumed_at == 512
    assert course(tmp_path / "stopped") == course(tmp_path / "whole")


def rich(backend: str) -> dict:
    """Everything that has a state of its own: priorities, waiting windows, schedules."""
    settings = config(
        backend,
        total_timesteps=1024,
        memory={"type": "prioritized_replay", "buffer_size": 300},
        optimizer={
            "type": "adam",
            "learning_rate": {"type": "linear", "initial": 1e-3, "final": 0.0},
        },
    )
    settings["agent"] |= {"n_step": 3, "exploration": [[0.0, 1.0], [0.8, 0.1]]}
    return settings


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_priorities_waiting_windows_and_schedules_go_on_exactly(backend, tmp_path):
    train(rich(backend), tmp_path)
    expected = course(tmp_path)
    assert resume(tmp_path, checkpoint=512).resumed_at == 512
    assert course(tmp_path) == expected
    assert {"pending", "memory"} <= expected[1].keys()
    # The rate at the end is the last one but one update's; what is left of 1e-3 after 7/8 and more.
    assert 0.0 < expected[2][-2]["train/learning_rate"] < 2e-4
    assert expected[2][-2]["train/beta"] > 0.9


def test_what_a_network_remembers_and_half_sequences_go_on_exactly(tmp_path):
    network = {"type": "lstm", "units": 8, "network": None}
    settings = config("torch", total_timesteps=512, network=network)
    settings["agent"]["sequence_length"] = 7  # No divisor of a round's 8 steps.
    settings["checkpoint"]["interval"] = 256
    train(settings, tmp_path)
    expected = course(tmp_path)
    assert resume(tmp_path, checkpoint=256).resumed_at == 256
    assert course(tmp_path) == expected


def test_a_killed_run_with_priorities_and_windows_equals_one_that_was_not(tmp_path):
    settings = rich("torch")
    train(settings, tmp_path / "whole")
    killed(settings, tmp_path / "killed", 512)
    resume(tmp_path / "killed")
    assert course(tmp_path / "killed") == course(tmp_path / "whole")


@pytest.mark.parametrize(("agent", "n_step"), [("dqn", 1), ("apex", 3)])
def test_frames_that_are_kept_once_go_on_exactly(agent, n_step, tmp_path):
    memory = {"type": "frame_replay", "buffer_size": 160, "num_envs": 4, "alpha": 0.5}
    settings = config("torch", "pong", memory=memory)
    settings["agent"] |= {"type": agent, "n_step": n_step}
    train(settings, tmp_path)
    expected = course(tmp_path)
    assert resume(tmp_path, checkpoint=64).resumed_at == 64
    assert course(tmp_path) == expected


def test_a_checkpoint_of_torch_resumes_on_tensorflow_and_goes_on_learning(tmp_path):
    settings = config("torch")
    first = train(settings, tmp_path)
    outcome = resume(tmp_path, changes={"backend": {"type": "tf"}, "total_timesteps": 3072})
    assert outcome.resumed_at == first.steps == 2048
    assert outcome.steps == 3072
    assert outcome.updates > first.updates
    assert [entry["step"] for entry in RunFolder(tmp_path).status.resumed_from] == [2048]


def test_a_finished_run_says_how_to_go_on(tmp_path):
    train(config(total_timesteps=256), tmp_path)
    with pytest.raises(SpecError, match=r"at step 256 of 256 already. Raise the budget"):
        resume(tmp_path)
    assert RunFolder(tmp_path).status.state == "done"


def test_a_resume_may_start_from_an_earlier_checkpoint(tmp_path):
    settings = config()
    train(settings, tmp_path)
    expected = course(tmp_path)
    outcome = resume(tmp_path, checkpoint=1024)
    assert outcome.resumed_at == 1024
    assert course(tmp_path) == expected


def test_a_broken_checkpoint_is_skipped_and_named(tmp_path):
    settings = config()
    train(settings, tmp_path)
    expected = course(tmp_path)
    newest = tmp_path / "checkpoints" / "step-000002048"
    victim = next(newest.glob("model*"))
    victim.write_bytes(victim.read_bytes()[:-7])
    with pytest.raises(CheckpointError, match="model"):
        resume(tmp_path, checkpoint=2048, changes={"total_timesteps": 4096})
    outcome = resume(tmp_path)
    assert outcome.resumed_at == 1536
    assert "model" in outcome.skipped[0]
    assert course(tmp_path) == expected


def test_without_its_memory_a_run_fills_a_new_one_before_it_learns(tmp_path):
    checkpoint = {"interval": 512, "keep": None, "memory": False}
    settings = config(checkpoint=checkpoint, total_timesteps=1024)
    train(settings, tmp_path)
    outcome = resume(tmp_path, changes={"total_timesteps": 1024 + 96})
    # 64 records fill the new memory; updates follow in the last two of three rounds.
    assert outcome.updates == (1024 - 64 + 32) // 32 * 8 + 2 * 8


def test_the_run_folder_holds_what_a_run_is(tmp_path):
    settings = config(total_timesteps=512, logger={"interval": 128, "tensorboard": True})
    outcome = train(settings, tmp_path / "run", command=["rlg", "train"])
    folder = RunFolder(outcome.folder)
    names = {path.name for path in folder.path.iterdir()}
    assert names >= {
        "config.yaml",
        "meta.json",
        "status.json",
        "metrics.jsonl",
        "progress.csv",
        "tb",
        "checkpoints",
        "graph.svg",
    }
    assert yaml.safe_load(folder.read_config())["agent"]["batch_size"] == 32
    assert folder.read_meta()["seed"] == 5
    status = folder.status
    assert (status.state, status.exit_code, status.steps) == ("done", 0, 512)
    assert status.last_evaluation is not None
    assert status.last_evaluation["mean_reward"] == outcome.evaluation.mean_reward


def test_an_agents_own_clock_runs_by_the_schedules_of_the_run():
    settings = config("torch", total_timesteps=1024)
    for given, horizon in ((None, 1024), (20_000, 20_000)):
        agent = agent_of({**settings, "schedule_timesteps": given}, *spaces_of(settings["env"]))
        assert agent.clock.horizon == horizon
