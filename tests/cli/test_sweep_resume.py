"""A sweep that was cut off goes on with what is missing, and with nothing else."""

from __future__ import annotations

import contextlib
import json
import shutil
import signal
import subprocess
import time

import pytest

from tests.cli.conftest import PROGRAM, TINY
from tests.patience import PATIENCE

# Six jobs, the third of which takes long enough to be cut off after its first checkpoint.
SIX = ["total_timesteps=600,640,9000,660,680,700", "checkpoint.interval=500", "logger.interval=500"]


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGKILL,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGTERM, marks=pytest.mark.slow),
    ],
)
def test_an_interrupted_sweep_of_six_goes_on_with_the_missing_ones(rlg, folder, number):
    words = [PROGRAM, "train", "-m", *TINY, *SIX, "hydra.sweep.dir=s"]
    with subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            wait_for_checkpoint(folder / "s/2", process)
            process.send_signal(number)
            out, _ = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    was_killed = number == signal.SIGKILL
    assert process.returncode == (-9 if was_killed else 130)
    cut_off = "killed" if was_killed else "interrupted"
    before = json.loads(rlg("sweep", "s", "--json").out)
    states = {job["number"]: job["state"] for job in before["jobs"]}
    assert states == {
        0: "done",
        1: "done",
        2: cut_off,
        **dict.fromkeys((3, 4, 5), "not started"),
    }
    assert before["next"][0] == "rlg sweep s --resume"
    if not was_killed:  # the summary came out before the end
        assert "resume:     rlg sweep s --resume" in out
    kept = (folder / "s/0/metrics.jsonl").stat().st_mtime_ns

    result = rlg("sweep", "s", "--resume")
    assert result.code == 0, result.err
    lines = result.out.splitlines()
    assert lines[0].startswith("job 0 (total_timesteps=600): kept, it was done before")
    assert lines[1].startswith("job 1 (total_timesteps=640): kept")
    assert lines[2].startswith("job 2 (total_timesteps=9000): done: 9,024 steps (resumed at ")
    steps = json.loads((folder / "s/2/status.json").read_text())["resumed_from"][0]["step"]
    assert steps >= 512
    assert [line.split(":")[1].strip() for line in lines[3:6]] == ["done"] * 3
    assert (folder / "s/0/metrics.jsonl").stat().st_mtime_ns == kept


def wait_for_checkpoint(run, process) -> None:
    """Until a run has one, whichever: older ones are removed."""
    until = time.monotonic() + PATIENCE
    while not any(run.glob("checkpoints/step-*/manifest.json")):
        assert process.poll() is None, "the sweep ended too early"
        assert time.monotonic() < until, "the sweep doesn't get there"
        time.sleep(0.02)


def sweep(rlg, *words: str):
    return rlg("train", "-m", *TINY, *words, "hydra.sweep.dir=s")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A sweep of two seeds that is done."""
    from rlg.cli.main import main

    folder = tmp_path_factory.mktemp("made")
    with contextlib.chdir(folder):
        assert main(["train", "-m", *TINY, "seed=1,2", "hydra.sweep.dir=s"]) == 0
    return folder / "s"


@pytest.fixture
def two(made, folder):
    return shutil.copytree(made, folder / "s")


def test_the_same_words_into_the_same_folder_run_what_is_missing(rlg, two, folder):
    shutil.rmtree(folder / "s/1")
    again = sweep(rlg, "seed=1,2")
    assert again.code == 0, again.err
    assert "job 0 (seed=1): kept" in again.out
    assert "job 1 (seed=2): done" in again.out
    longer = sweep(rlg, "seed=1,2,3")
    assert longer.code == 0, longer.err
    assert longer.out.count("kept") == 2
    assert "job 2 (seed=3): done" in longer.out
    assert sweep(rlg, "seed=1").code == 0  # fewer: the record still holds all three
    assert len(json.loads((folder / "s/sweep.json").read_text())["jobs"]) == 3


def test_a_job_that_reached_its_goal_before_its_budget_is_done(rlg, folder):
    words = ["seed=1,2", "evaluation.stop_at=0", "evaluation.interval=64", "total_timesteps=9000"]
    assert sweep(rlg, *words).code == 0
    before = [path.read_bytes() for path in sorted(folder.glob("s/?/metrics.jsonl"))]
    again = sweep(rlg, *words)
    assert again.code == 0, again.err
    assert again.out.count("kept, it was done before") == 2
    assert [path.read_bytes() for path in sorted(folder.glob("s/?/metrics.jsonl"))] == before


def test_another_sweep_in_the_same_folder_is_refused_and_nothing_is_touched(rlg, two, folder):
    before = (folder / "s/sweep.json").read_bytes()
    other = sweep(rlg, "seed=2,3")
    assert other.code == 2
    assert "job 0 is seed=1 there and seed=2 here" in other.err
    assert (folder / "s/sweep.json").read_bytes() == before
    changed = sweep(rlg, "seed=1,2", "agent.gamma=0.5")
    assert changed.code == 2
    assert "job 0 (seed=1) was configured differently" in changed.err


def test_a_failed_job_runs_again_once_its_configuration_is_mended(rlg, folder):
    mine = folder / "mine/agent"
    mine.mkdir(parents=True)
    (mine / "good.yaml").write_text("type: dqn\n")
    (mine / "bad.yaml").write_text("type: dqn\ngamma: 7\n")
    words = ["--config-dir", "mine", "agent=good,bad"]
    tiny = [word for word in TINY if not word.startswith("agent.")]
    assert rlg("train", "-m", *words, *tiny, "hydra.sweep.dir=s").code == 1
    (mine / "bad.yaml").write_text("type: dqn\ngamma: 0.7\n")
    mended = rlg("sweep", "s", "--resume")
    assert mended.code == 0, mended.err
    assert "job 0 (agent=good): kept" in mended.out
    assert "job 1 (agent=bad): done" in mended.out


def test_a_resumed_sweep_keeps_its_values(rlg, two):
    refused = rlg("sweep", "s", "--resume", "seed=4")
    assert refused.code == 2
    assert "hydra.launcher.n_jobs=4" in refused.err


def test_a_sweep_is_resumed_from_any_folder(rlg, two, folder, monkeypatch):
    shutil.rmtree(folder / "s/0")
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    result = rlg("sweep", "../s", "--resume")
    assert result.code == 0, result.err
    assert "job 1 (seed=2): kept" in result.out
    assert (folder / "s/0/status.json").exists()
    assert list((folder / "elsewhere").iterdir()) == []


def test_a_sweep_that_runs_is_left_alone(rlg, two):
    from rlg.tracking.lock import FolderLock

    lock = FolderLock(two)
    try:
        assert json.loads(rlg("sweep", "s", "--json").out)["running"]
        refused = rlg("sweep", "s", "--resume")
        assert refused.code != 0
        assert "in use by process" in refused.err
    finally:
        lock.release()
