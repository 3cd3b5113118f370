"""Sweeps whose jobs run in processes of their own: hydra/launcher=joblib."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time

import psutil
import pytest

from tests.cli.conftest import PROGRAM, TINY
from tests.cli.test_sweep_resume import wait_for_checkpoint
from tests.patience import PATIENCE

JOBLIB = ["hydra/launcher=joblib", "hydra.launcher.n_jobs=2", "hydra.sweep.dir=s"]
# A package of the user's, which registers an environment and leaves a note about its process.
PLUGIN = """
import os
from pathlib import Path
import gymnasium
gymnasium.register("Mine-v0", entry_point="gymnasium.envs.classic_control:CartPoleEnv",
                   max_episode_steps=50)
threads = {name: os.environ.get(name) for name in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")}
Path(f"worker-{os.getpid()}.txt").write_text(repr(threads))
"""


def test_workers_have_plugins_and_the_users_folder_and_report_their_failures(
    process, folder, monkeypatch
):
    (folder / "library/my_plugin").mkdir(parents=True)
    (folder / "library/my_plugin/__init__.py").write_text(PLUGIN)
    (folder / "mine/env").mkdir(parents=True)
    (folder / "mine/env/mine.yaml").write_text("name: Mine-v0\nnum_envs: 4\n")
    words = ["--config-dir", "mine", "env=mine", "plugins=[my_plugin]"]
    for name in ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS"):
        monkeypatch.delenv(name, raising=False)
    result = process(
        "train", "-m", *words, *TINY, *JOBLIB, "agent.gamma=0.9,7,0.8,8", PYTHONPATH="library"
    )
    assert result.code == 1
    errors = [line for line in result.err.splitlines() if "rlg: error:" in line]
    assert sorted(errors[:-1]) == [
        "rlg: error: job 1 (agent.gamma=7): agent.gamma: must be between 0 and 1, got 7.0.",
        "rlg: error: job 3 (agent.gamma=8): agent.gamma: must be between 0 and 1, got 8.0.",
    ]
    assert errors[-1].startswith("rlg: error: 2 of 4 jobs failed: 1, 3.")
    assert "Traceback" not in result.err
    assert all(line.startswith(("job ", "rlg: ")) for line in result.err.splitlines())
    jobs = json.loads(process("sweep", "s", "--json").out)["jobs"]
    assert sorted(job["state"] for job in jobs) == ["done", "done", "failed", "failed"]
    notes = [path.read_text() for path in folder.glob("worker-*.txt")]
    assert len(notes) == 2
    share = str(max(1, len(os.sched_getaffinity(0)) // 2))
    assert set(notes) == {repr({"OMP_NUM_THREADS": share, "TF_NUM_INTRAOP_THREADS": share})}


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        pytest.param(signal.SIGINT, marks=pytest.mark.slow),
        pytest.param(signal.SIGKILL, marks=pytest.mark.slow),
    ],
)
def test_a_signal_to_the_sweep_ends_its_workers_after_they_have_saved(folder, process, number):
    words = ["total_timesteps=100_000_000", "checkpoint.interval=2000", "seed=1,2,3,4"]
    # A memory that takes a while to save: no job may be asked twice, the second time it would stop
    # at once.
    command = [PROGRAM, "train", "-m", *TINY, "memory.buffer_size=1000000", *words, *JOBLIB]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as sweep:
        try:
            for job in (0, 1):
                wait_for_checkpoint(folder / f"s/{job}", sweep)
            workers = psutil.Process(sweep.pid).children()
            sweep.send_signal(number)
            out, _ = sweep.communicate(timeout=PATIENCE)
        finally:
            sweep.kill()
    assert sweep.returncode == (-9 if number == signal.SIGKILL else 130)
    if number != signal.SIGKILL:
        assert out.count(": interrupted, saved: ") == 2
    ended = time.monotonic() + PATIENCE
    while any(worker.is_running() and worker.status() != "zombie" for worker in workers):
        assert time.monotonic() < ended, "workers are left behind"
        time.sleep(0.05)
    states = {}
    for job in range(4):
        path = folder / f"s/{job}/status.json"
        states[job] = json.loads(path.read_text()) if path.exists() else None
    assert states[2] is states[3] is None
    for job in (0, 1):
        assert states[job]["state"] == "interrupted"
        assert (folder / f"s/{job}/checkpoints/step-{states[job]['steps']:09}").is_dir()
