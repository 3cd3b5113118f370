"""Promises of checkpoints about memory: big arrays are streamed, not doubled."""

from __future__ import annotations

import json

import pytest

from tests.tracking.processes import run

MEASURE = """
import json, resource, sys
import numpy as np
from rlg.tracking import CheckpointStore

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

store = CheckpointStore(sys.argv[1])
store.save(0, {"memory": np.zeros(10)})
frames = np.zeros((60, 1024, 1024), "uint8")
frames[:] = 1
array = frames if sys.argv[2] == "plain" else frames.transpose(0, 2, 1)
before = peak()
store.save(1, {"memory": {"frames": array}})
saved = peak()
del frames, array
store.load(1)
print(json.dumps({"save": saved - before, "load": peak() - saved}))
"""


@pytest.mark.parametrize(("layout", "copies"), [("plain", 0), ("turned", 1)])
def test_saving_60_mb_takes_no_more_than_a_copy_of_what_is_not_contiguous(tmp_path, layout, copies):
    megabytes = json.loads(run(MEASURE, tmp_path, layout))
    assert megabytes["save"] < 60 * copies + 15
    # The file is mapped while its arrays are copied out of it.
    assert megabytes["load"] < 75
