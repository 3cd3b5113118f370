"""Promises of run folders: complete, locked while in use, with a status that is always readable."""

from __future__ import annotations

import json
import logging
import math
import os
import re
import subprocess
import sys

import numpy as np
import pytest

from rlg.tracking import MetricsLog, RunFolder, TrackingError, lock
from rlg.tracking.folder import claim
from rlg.tracking.meta import describe, differences, git_state
from tests.patience import PATIENCE
from tests.tracking.processes import run, start

HOLDER = """
import sys, time
from rlg.tracking import RunFolder
folder = RunFolder.create(sys.argv[1], "seed: 3")
print("ready", flush=True)
time.sleep(60)
"""

WRITER = """
import sys
from rlg.tracking import RunFolder
folder = RunFolder.open(sys.argv[1])
step = 0
while True:
    step += 1
    folder.update(steps=step, updates=step, error="x" * (step % 5000))
    if step == 3:
        print("ready", flush=True)
"""


def test_a_new_folder_says_what_runs(tmp_path):
    folder = RunFolder.create(
        tmp_path / "a" / "b", "agent: dqn\n", seed=3, command=["rlg", "train"]
    )
    with folder:
        assert folder.read_config() == "agent: dqn\n"
        meta = folder.read_meta()
        assert (meta["seed"], meta["command"]) == (3, ["rlg", "train"])
        assert {"python", "rlg", "numpy", "torch", "tensorflow", "ray", "gymnasium"} <= set(
            meta["versions"]
        )
        assert meta["machine"]["cores"] >= meta["machine"]["usable_cores"] >= 1
        assert meta["machine"]["memory"] > 1e8
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00", meta["started"])
        status = folder.status
        assert (status.state, status.steps, status.exit_code) == ("running", 0, None)
        assert folder.checkpoints.is_dir()
        assert folder.owner == os.getpid()
    assert (folder.status.state, folder.status.exit_code) == ("done", 0)
    assert folder.status.finished
    assert folder.owner is None


def test_meta_names_frameworks_without_importing_them(tmp_path):
    heavy = ["torch", "tensorflow", "ray", "gymnasium", "tensorboard", "rich"]
    code = f"""
import sys
from rlg.tracking import *
RunFolder.create(sys.argv[1], "").close()
print([name for name in {heavy} if name in sys.modules])
"""
    assert run(code, tmp_path).strip() == "[]"


def test_git_commit_and_changes_are_noted(tmp_path):
    def git(*words: str) -> None:
        identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *identity, *words], cwd=tmp_path, check=True, capture_output=True)

    assert git_state(tmp_path) is None
    git("init")
    assert git_state(tmp_path) is None
    git("commit", "--allow-empty", "-m", "first")
    state = git_state(tmp_path)
    assert re.fullmatch(r"[0-9a-f]{40}", state["commit"])
    assert state["dirty"] is False
    (tmp_path / "new.py").write_text("")
    assert git_state(tmp_path) == {"commit": state["commit"], "dirty": True}


def test_a_resumed_run_is_told_what_changed():
    now = describe()
    before = json.loads(json.dumps(now))
    assert differences(before, now) == []
    before["versions"]["torch"] = "1.0"
    del before["versions"]["numpy"]
    before["machine"]["usable_cores"] = 99
    assert differences(before, now) == [
        f"numpy: none -> {now['versions']['numpy']}",
        f"torch: 1.0 -> {now['versions']['torch']}",
        f"usable_cores: 99 -> {now['machine']['usable_cores']}",
    ]


# -- status ---------------------------------------------------------------------------------------
def test_an_error_ends_as_failed_with_its_line(tmp_path):
    with pytest.raises(ZeroDivisionError), RunFolder.create(tmp_path, ""):
        raise ZeroDivisionError("a\n  b")
    status = RunFolder(tmp_path).status
    assert (status.state, status.exit_code) == ("failed", 1)
    assert status.error == "ZeroDivisionError: a b"


def test_an_interrupt_ends_as_interrupted(tmp_path):
    with pytest.raises(KeyboardInterrupt), RunFolder.create(tmp_path, ""):
        raise KeyboardInterrupt
    status = RunFolder(tmp_path).status
    assert (status.state, status.exit_code, status.error) == ("interrupted", 130, None)


def test_what_the_run_said_itself_stays(tmp_path):
    with RunFolder.create(tmp_path, "") as folder:
        folder.finish("failed", exit_code=3, error="reward 12 is below 450")
    status = folder.status
    assert (status.state, status.exit_code, status.error) == ("failed", 3, "reward 12 is below 450")


def test_resumes_are_listed(tmp_path):
    with RunFolder.create(tmp_path, "") as folder:
        folder.finish("interrupted", exit_code=130)
    for step in (100, 200):
        with RunFolder.open(tmp_path) as folder:
            folder.resumed(step)
            assert (folder.status.state, folder.status.finished) == ("running", None)
    assert [entry["step"] for entry in folder.status.resumed_from] == [100, 200]
    assert folder.status.state == "done"


def test_the_status_is_valid_json_whatever_an_evaluation_gave(tmp_path):
    with RunFolder.create(tmp_path, "") as folder:
        folder.update(steps=5, last_evaluation={"step": 5, "mean_reward": math.nan})

    def refuse(name: str) -> None:
        raise AssertionError(name)

    content = json.loads(folder.status_file.read_text(), parse_constant=refuse)
    assert content["last_evaluation"] == {"step": 5, "mean_reward": "NaN"}


@pytest.mark.parametrize("reward", [math.inf, -math.inf, 487.5, 1e-300, np.float32(0.1)])
def test_rewards_come_back_as_the_numbers_that_they_were(tmp_path, reward):
    with RunFolder.create(tmp_path, "") as folder:
        folder.update(best_evaluation={"step": 5, "mean_reward": reward})
        folder.update(last_evaluation={"step": 5, "mean_reward": math.nan}, error="NaN")
        status = folder.status
    assert status.best_evaluation == {"step": 5, "mean_reward": float(reward)}
    assert math.isnan(status.last_evaluation["mean_reward"])
    assert status.error == "NaN"


def test_a_resume_keeps_the_evaluations_up_to_its_step(tmp_path):
    with RunFolder.create(tmp_path, "") as folder:
        log = MetricsLog(tmp_path, tensorboard=False)
        rewards = {10: math.nan, 20: 5.0, 30: 5.0, 40: math.nan, 50: 9.0}
        for step, reward in rewards.items():
            log.log(step, {"eval/mean_reward": reward})
            log.log(step, {"train/loss": 0.5})
        log.close()
        folder.update(
            last_evaluation={"step": 50, "mean_reward": 9.0},
            best_evaluation={"step": 50, "mean_reward": 9.0},
        )
    expected = {
        9: (None, None),
        10: (10, None),
        20: (20, (20, 5.0)),  # an evaluation at exactly the checkpoint's step
        35: (30, (20, 5.0)),
        49: (40, (20, 5.0)),
        50: (50, (50, 9.0)),
    }
    for step, (last, best) in expected.items():
        with RunFolder.open(tmp_path) as folder:
            status = folder.resumed(step)
        assert (status.last_evaluation or {}).get("step") == last
        assert status.best_evaluation == (best and {"step": best[0], "mean_reward": best[1]})


def test_a_run_that_could_not_begin_is_marked_as_failed_by_who_holds_its_lock_only(tmp_path):
    assert not RunFolder.mark_failed(tmp_path / "none", "why", 2)
    assert RunFolder.mark_failed(tmp_path, "why", 2)
    status = RunFolder(tmp_path).status
    assert (status.state, status.exit_code, status.error) == ("failed", 2, "why")
    RunFolder(tmp_path).clear()
    with RunFolder.create(tmp_path, ""):
        assert not RunFolder.mark_failed(tmp_path, "why", 2)
    assert not RunFolder.mark_failed(tmp_path, "why", 2)
    assert RunFolder(tmp_path).status.state == "done"


def test_only_what_a_run_wrote_is_cleared_and_only_without_a_process(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    with RunFolder.create(tmp_path, ""):
        with pytest.raises(TrackingError, match="in use"):
            RunFolder(tmp_path).clear()
        MetricsLog(tmp_path).close()
    RunFolder(tmp_path).clear()
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "notes.txt"]


def test_unknown_states_are_refused(tmp_path):
    with RunFolder.create(tmp_path, "") as folder:
        with pytest.raises(TrackingError, match="no state 'dead'; use one of running, done"):
            folder.update(state="dead")
        assert folder.status.state == "running"


def test_the_status_can_be_read_at_any_moment_and_after_a_kill(tmp_path):
    RunFolder.create(tmp_path, "").close()
    writer = start(WRITER, tmp_path)
    try:
        assert writer.stdout.readline() == "ready\n"
        looker = RunFolder(tmp_path)
        for _ in range(300):
            status = looker.status
            assert status.steps == status.updates
            assert len(status.error) == status.steps % 5000
    finally:
        writer.kill()
        writer.communicate()
    assert looker.status.state == "running"
    assert looker.owner is None


def test_a_failed_write_keeps_the_old_status(tmp_path):
    code = """
import resource, sys
from rlg.tracking import RunFolder
folder = RunFolder.create(sys.argv[1], "")
folder.update(steps=1)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    folder.update(steps=2)
except OSError as error:
    print(error.strerror, folder.status.steps)
"""
    assert run(code, tmp_path) == "File too large 1\n"
    assert sorted(path.name for path in tmp_path.iterdir() if path.name.endswith("tmp")) == []


# -- run.log --------------------------------------------------------------------------------------
def logged(folder) -> list[str]:
    lines = (folder / "run.log").read_text().splitlines()
    assert all(re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+00:00  ", line) for line in lines)
    return [line.partition("  ")[2] for line in lines]


def test_the_log_has_what_is_written_and_what_libraries_warn_of(tmp_path):
    with RunFolder.create(tmp_path, "") as folder:
        folder.log.write("first\n\n  second")
        logging.getLogger("library").warning("hm: %d", 3)
        logging.getLogger("library").info("never mind")
    logging.getLogger("library").warning("too late")
    assert logged(tmp_path) == [
        "first",
        "  second",
        "warning of library: hm: 3",
        "done, exit code 0",
    ]


def test_warnings_are_noted_and_shown(tmp_path):
    code = """
import sys, warnings
from rlg.tracking import RunFolder
warnings.simplefilter("always")
with RunFolder.create(sys.argv[1], ""):
    warnings.warn("careful")
warnings.warn("later")
"""
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True
    )
    assert "UserWarning: careful" in done.stderr
    assert "UserWarning: later" in done.stderr
    assert logged(tmp_path) == ["UserWarning: careful (<string>:6)", "done, exit code 0"]


def test_a_resume_notes_what_has_changed_since_the_start(tmp_path):
    with RunFolder.create(tmp_path, "") as folder:
        folder.finish("interrupted", exit_code=130)
    meta = json.loads((tmp_path / "meta.json").read_text())
    meta["versions"]["torch"] = "1.0"
    (tmp_path / "meta.json").write_text(json.dumps(meta))
    with RunFolder.open(tmp_path) as folder:
        folder.resumed(100)
    torch = describe()["versions"]["torch"]
    assert logged(tmp_path)[1:] == [
        "resumed from step 100",
        f"changed since the start: torch: 1.0 -> {torch}",
        "done, exit code 0",
    ]


def test_a_log_that_can_not_be_written_ends_no_run(tmp_path):
    code = """
import resource, sys
from rlg.tracking import RunFolder
with RunFolder.create(sys.argv[1], "") as folder:
    folder.log.write("x" * 5000)
    resource.setrlimit(resource.RLIMIT_FSIZE, (5000, resource.RLIM_INFINITY))
    folder.log.write("beyond the limit")
print(folder.status.state)
"""
    assert run(code, tmp_path) == "done\n"


def test_the_log_says_where_a_run_broke(tmp_path):
    with pytest.raises(ZeroDivisionError), RunFolder.create(tmp_path, ""):
        raise ZeroDivisionError("zero")
    lines = logged(tmp_path)
    assert lines[0] == "Traceback (most recent call last):"
    assert lines[-2:] == ["ZeroDivisionError: zero", "failed, exit code 1: ZeroDivisionError: zero"]


# -- lock -----------------------------------------------------------------------------------------
def test_a_folder_in_use_is_refused_with_the_process_named(tmp_path):
    holder = start(HOLDER, tmp_path)
    try:
        assert holder.stdout.readline() == "ready\n"
        for way in (RunFolder.open, lambda path: RunFolder.create(path, "")):
            with pytest.raises(TrackingError, match=f"in use by process {holder.pid}"):
                way(tmp_path)
        assert RunFolder(tmp_path).owner == holder.pid
        assert RunFolder(tmp_path).status.state == "running"
    finally:
        holder.kill()
        holder.communicate()
    assert (tmp_path / ".lock").read_text() == f"{holder.pid}\n"
    with RunFolder.open(tmp_path) as folder:
        assert folder.owner == os.getpid()


def test_a_lock_whose_holder_has_not_written_its_id_yet_is_held(tmp_path):
    RunFolder.create(tmp_path, "").close()
    held = lock.FolderLock(tmp_path)
    (tmp_path / ".lock").write_text("")  # as it is between the kernel's lock and the id
    assert RunFolder(tmp_path).owner == 0
    with pytest.raises(TrackingError, match="in use by process unknown"):
        RunFolder.open(tmp_path)
    held.release()
    assert RunFolder(tmp_path).owner is None


def test_a_stale_lock_is_taken_over_even_if_its_process_id_is_in_use_again(tmp_path):
    RunFolder.create(tmp_path, "").close()
    for pid in (os.getpid(), os.getppid(), 1):
        (tmp_path / ".lock").write_text(f"{pid}\n")
        assert RunFolder(tmp_path).owner is None
        RunFolder.open(tmp_path).close()


def test_the_same_process_cannot_use_a_folder_twice(tmp_path):
    with (
        RunFolder.create(tmp_path, ""),
        pytest.raises(TrackingError, match=f"in use by process {os.getpid()}"),
    ):
        RunFolder.open(tmp_path)
    RunFolder.open(tmp_path).close()
    # Where a file system has no locks, it is the id that says who holds it.
    assert (tmp_path / ".lock").read_text() == ""


def test_a_forked_child_does_not_keep_the_lock_of_its_dead_parent(tmp_path):
    code = """
import os, sys, time
from rlg.tracking import RunFolder
folder = RunFolder.create(sys.argv[1], "")
if os.fork():
    os._exit(0)
os.close(1), os.close(2)
time.sleep(3)
"""
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=True)
    RunFolder.open(tmp_path).close()


def test_a_folder_with_a_run_is_not_overwritten(tmp_path):
    RunFolder.create(tmp_path, "first").close()
    with pytest.raises(TrackingError, match="holds a run already"):
        RunFolder.create(tmp_path, "second")
    assert RunFolder(tmp_path).read_config() == "first"
    assert RunFolder(tmp_path).owner is None


CLAIM = """
import sys
from pathlib import Path
from rlg.tracking import RunFolder
from rlg.tracking.folder import claim
for _ in range(5):
    folder = RunFolder.create(claim(Path(sys.argv[1])), sys.argv[2])
    print(folder.path.name)
    folder.close()
"""


def test_runs_of_one_name_get_folders_of_their_own_under_any_concurrency(tmp_path):
    path = tmp_path / "day" / "run"
    processes = [start(CLAIM, path, f"process: {number}") for number in range(4)]
    answers = [process.communicate(timeout=PATIENCE) for process in processes]
    assert [error for _, error in answers] == [""] * 4
    names = [name for out, _ in answers for name in out.split()]
    expected = ["run", *(f"run-{number}" for number in range(2, 21))]
    assert sorted(names) == sorted(expected)
    for number, (out, _) in enumerate(answers):
        for name in out.split():
            assert RunFolder(path.with_name(name)).read_config() == f"process: {number}"


def test_a_name_is_taken_by_any_folder_even_an_empty_one(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run-2").write_text("a file")
    assert claim(tmp_path / "run") == tmp_path / "run-3"


def test_what_is_missing_of_a_run_folder_is_named(tmp_path):
    assert RunFolder(tmp_path).missing == ["config.yaml", "status.json"]
    (tmp_path / "config.yaml").write_text("seed: 0")
    assert RunFolder(tmp_path).missing == ["status.json"]


def test_other_folders_are_not_opened(tmp_path):
    with pytest.raises(TrackingError, match=r"not a run folder: status.json is missing"):
        RunFolder.open(tmp_path)
    with pytest.raises(TrackingError, match="no readable status"):
        _ = RunFolder(tmp_path).status
    assert list(tmp_path.iterdir()) == []


def test_who_only_looks_cannot_change_anything(tmp_path):
    RunFolder.create(tmp_path, "").close()
    with pytest.raises(TrackingError, match="opened to look only"):
        RunFolder(tmp_path).update(steps=1)
