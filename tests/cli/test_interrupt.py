"""Ctrl-C: the run is saved, says 130, and goes on where it stopped."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import psutil
import pytest

from tests.cli.conftest import PROGRAM, TINY
from tests.patience import PATIENCE

LONG = [*TINY, "total_timesteps=100_000_000", "logger.interval=500", "hydra.run.dir=run"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_is_saved_and_resumed(rlg, folder, number):
    words = [PROGRAM, "train", *LONG]
    with subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, text=True) as process:
        try:
            wait_for(folder / "run/metrics.jsonl", process)
            process.send_signal(number)
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130
    assert "interrupted, saved: " in out
    assert "rlg resume run\n" in out
    status = json.loads((folder / "run/status.json").read_text())
    assert (status["state"], status["exit_code"]) == ("interrupted", 130)
    steps = status["steps"]
    assert (folder / f"run/checkpoints/step-{steps:09}").is_dir()

    resumed = rlg("resume", "run", f"total_timesteps={steps + 100}")
    assert resumed.code == 0, resumed.err
    assert f"(resumed at {steps:,})" in resumed.out
    assert json.loads((folder / "run/status.json").read_text())["state"] == "done"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_looks_for_a_signal_between_its_updates(folder, number):
    """Its first round alone has a million of them, hours of learning."""
    words = [*LONG, "agent.learning_starts=64", "agent.gradient_steps=1_000_000"]
    with subprocess.Popen(
        [PROGRAM, "train", *words], cwd=folder, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_for(folder / "run/run.log", process)
            wait_for_work(process, seconds=2.0)  # It is in its updates by then.
            process.send_signal(number)
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130
    status = json.loads((folder / "run/status.json").read_text())
    assert status["state"] == "interrupted"
    assert 0 < status["updates"] < 1_000_000
    assert f"interrupted, saved: {status['steps']:,} steps, {status['updates']:,} updates" in out


HANGING = """
import time
from pathlib import Path
import gymnasium
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

class Hanging(CartPoleEnv):
    steps = 0
    def step(self, action):
        self.steps += 1
        if self.steps == 30:
            Path("hanging.txt").write_text("now")
            time.sleep(1000)
        return super().step(action)

gymnasium.register("Hanging-v0", Hanging, max_episode_steps=30)
"""


def test_a_second_ctrl_c_stops_at_once_and_says_what_is_saved(folder):
    (folder / "hanging_plugin.py").write_text(HANGING)
    words = [*LONG, "plugins=[hanging_plugin]", "env.name=Hanging-v0", "checkpoint.interval=64"]
    with subprocess.Popen(
        [PROGRAM, "train", *words, "env.num_envs=8"],
        cwd=folder,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            wait_for(folder / "hanging.txt", process)
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)  # equal signals that come at once count as one
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130
    assert out == "results:    run\nresume:     rlg resume run  # from step 192\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_command_that_is_stopped_before_it_has_begun_says_so(folder, number):
    words = [PROGRAM, "train", *LONG]
    with subprocess.Popen(words, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        try:
            until = time.monotonic() + PATIENCE
            while not (folder / "run/.hydra").exists():  # frameworks are loaded next
                assert time.monotonic() < until
                time.sleep(0.01)
            process.send_signal(number)
            _, error = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130
    assert error == "rlg: interrupted\n"


def test_a_ctrl_c_before_anything_is_loaded_is_one_line_too(folder):
    """As if it came while the first library is imported."""
    (folder / "typer.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    done = subprocess.run(
        [PROGRAM, "train"],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert (done.returncode, done.stderr) == (130, "rlg: interrupted\n")


def wait_for_work(process, seconds) -> None:
    """Until it has computed for so long: other work on the machine doesn't count."""
    child = psutil.Process(process.pid)
    goal = child.cpu_times().user + seconds
    until = time.monotonic() + PATIENCE
    while child.cpu_times().user < goal:
        assert process.poll() is None, "the run ended too early"
        assert time.monotonic() < until, "the run doesn't compute"
        time.sleep(0.05)


def wait_for(path, process) -> None:
    """Until something was logged: then the run is in its loop."""
    until = time.monotonic() + PATIENCE
    while not path.exists() or not path.stat().st_size:
        assert process.poll() is None, "the run ended too early"
        assert time.monotonic() < until, "the run doesn't log"
        time.sleep(0.05)
