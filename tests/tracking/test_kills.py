"""Promises of checkpoints under `kill -9`: at every moment of a save the store stays loadable."""

from __future__ import annotations

import time

import numpy as np

from rlg.tracking import CheckpointStore
from tests.tracking.processes import run, start

# Saves in a loop, the same step twice each time; never ends by itself.
SAVER = """
import sys
import numpy as np
from rlg.tracking import CheckpointStore
store = CheckpointStore(sys.argv[1], keep=2)
step = (store.latest() or 0) + 1
while True:
    arrays = np.full(200_000, step), np.full((3, 50_000), step % 256, "uint8")
    for _ in range(2):
        store.save(step, {"weights": {"w": arrays[0]}, "memory": arrays[1], "step": step})
    print(step, flush=True)
    step += 1
"""

# Kills a child before each of its operations on the file system, one after the other.
SURGEON = """
import os, shutil, signal, sys
import numpy as np
from rlg.tracking import CheckpointStore

EVENTS = "open os.rename os.mkdir os.rmdir os.remove os.chmod".split()
folder, again = sys.argv[1], int(sys.argv[2])

def tree(step, value):
    return {"weights": np.full(10, value), "memory": np.full(10, value), "step": step}

def save_until(moment):
    count = 0
    def hook(event, arguments):
        nonlocal count
        if event in EVENTS:
            count += 1
            if count == moment:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)
    CheckpointStore(folder, keep=2).save(again, tree(again, 7))
    os._exit(0)

for step in (1, 2):
    CheckpointStore(folder + "-before").save(step, tree(step, step))
moment = 0
while True:
    moment += 1
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(folder + "-before", folder)
    child = os.fork()
    if not child:
        save_until(moment)
    _, status = os.waitpid(child, 0)
    store = CheckpointStore(folder, keep=2)
    loaded = store.load()
    value = loaded.tree["weights"][0]
    assert value == loaded.step or (value == 7 and loaded.step == again), (moment, loaded)
    assert loaded.step >= 2 and len(store.steps()) >= 2, (moment, store.steps())
    for step in store.steps():
        store.load(step)
    assert not [name for name in os.listdir(folder) if name.startswith(".")], moment
    if os.WIFEXITED(status):
        assert os.WEXITSTATUS(status) == 0 and value == 7
        break
    assert os.WTERMSIG(status) == signal.SIGKILL
print(moment)
"""


def test_a_kill_at_any_moment_of_a_loop_of_saves_leaves_a_loadable_store(tmp_path):
    seen = 0
    for pause in (0.0, 0.007, 0.023, 0.061):
        saver = start(SAVER, tmp_path)
        assert int(saver.stdout.readline()) == seen + 1
        time.sleep(pause)
        saver.kill()
        reported = [int(line) for line in saver.communicate()[0].split()]
        loaded = CheckpointStore(tmp_path).load()
        step = loaded.step
        assert step >= max([seen + 1, *reported])
        np.testing.assert_array_equal(loaded.tree["weights"]["w"], np.full(200_000, step))
        np.testing.assert_array_equal(loaded.tree["memory"][0], np.full(50_000, step % 256))
        assert loaded.tree["step"] == step
        assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
        seen = step


def test_a_kill_before_any_file_operation_of_a_save_loses_nothing(tmp_path):
    moments = [int(run(SURGEON, tmp_path / str(again), again)) for again in (3, 2)]
    assert all(moment > 20 for moment in moments)
