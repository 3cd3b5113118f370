"""Promises of checkpoints on a full disk: nothing that was saved is lost, and the error says why.

The limits are real ones: the largest file of a process, and a small file system of its own.
"""

from __future__ import annotations

import subprocess
import sys

import pytest

from rlg.errors import CheckpointError
from rlg.tracking import CheckpointStore
from tests.tracking.processes import ROOT, run, words

LIMIT = """
import os, resource, sys
import numpy as np
from rlg.errors import CheckpointError
from rlg.tracking import CheckpointStore

store = CheckpointStore(sys.argv[1])
store.save(1, {"weights": np.zeros(100)})
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), resource.RLIM_INFINITY))
try:
    store.save(2, {"weights": np.zeros(100), "memory": np.zeros(100_000)})
except CheckpointError as error:
    print(error)
assert os.listdir(sys.argv[1]) == ["step-000000001"]
assert CheckpointStore(sys.argv[1]).load().step == 1
"""

TMPFS = """
import os, subprocess, sys
import numpy as np
from rlg.errors import CheckpointError
from rlg.tracking import CheckpointStore

folder, options = sys.argv[1:]
subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], check=True)
store = CheckpointStore(folder)
store.save(1, {"weights": np.zeros(1000)})
for _ in range(2):
    try:
        store.save(2, {"weights": np.zeros(100), "memory": np.zeros(200_000)})
    except CheckpointError as error:
        print(error)
    assert os.listdir(folder) == ["step-000000001"]
assert CheckpointStore(folder).load().step == 1
store.save(3, {"weights": np.zeros(1000)})
assert store.steps() == [1, 3]
"""


def in_own_file_system(code: str, *arguments: object) -> str:
    """Runs as root of a name space, where a file system may be mounted."""
    unshare = ["unshare", "--map-root-user", "--mount"]
    try:
        probe = [*unshare, "mount", "-t", "tmpfs", "tmpfs", str(arguments[0])]
        subprocess.run(probe, capture_output=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("this machine allows no mounts")
    command = [*unshare, *words(code, *arguments)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("limit", [100, 500_000])
def test_a_write_that_fails_halfway_leaves_what_was_saved(tmp_path, limit):
    message = run(LIMIT, tmp_path / "store", limit).strip()
    assert message.startswith(f"{tmp_path}/store/step-000000002: can't be written: File too large;")
    assert "it needs 818 kB, " in message
    assert message.endswith(
        "are free. Free some space or lower checkpoint.keep; earlier checkpoints are kept."
    )
    assert len(message.splitlines()) == 1


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="mounts a tmpfs")
@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ("size=1m", "the disk is too full; it needs 1.62 MB, 1.03 MB are free."),
        # Room for the bytes, but not for another file: found out halfway.
        ("size=9m,nr_inodes=9", "No space left on device; it needs 1.62 MB, 9.42 MB are free."),
    ],
)
def test_a_full_disk_is_named_with_bytes_needed_and_free(tmp_path, options, reason):
    lines = in_own_file_system(TMPFS, tmp_path, options).splitlines()
    start = f"{tmp_path}/step-000000002: can't be written: {reason}"
    assert [line[: len(start)] for line in lines] == [start, start]


FIRST = """
import resource, sys
import numpy as np
from rlg.errors import CheckpointError
from rlg.tracking import CheckpointStore

resource.setrlimit(resource.RLIMIT_FSIZE, (100, resource.RLIM_INFINITY))
try:
    CheckpointStore(sys.argv[1]).save(2, {"weights": np.zeros(100)})
except CheckpointError as error:
    print(error)
"""


def test_nothing_is_said_of_earlier_checkpoints_where_there_are_none(tmp_path):
    message = run(FIRST, tmp_path / "store").strip()
    assert message.endswith("are free. Free some space or lower checkpoint.keep.")
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError) as caught:
        CheckpointStore(tmp_path / "file" / "checkpoints").save(1, {})
    assert str(caught.value).endswith("can't be written: Not a directory.")


def test_a_folder_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    store = CheckpointStore(tmp_path / "file" / "checkpoints")
    with pytest.raises(CheckpointError, match=r"step-000000001: can't be written: Not a directory"):
        store.save(1, {})
