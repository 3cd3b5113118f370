"""Promises of checkpoints about the replay memory: it exists once, through save and resume."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from rlg.api.config.validate import validate
from rlg.api.session import Session
from rlg.tracking.folder import RunFolder
from tests.api.runs import config


def peak(action: Callable[[], object]) -> int:
    """Bytes that are allocated at most while it runs; numpy reports its arrays."""
    tracemalloc.start()
    try:
        action()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def beginnings(session: Session) -> dict[str, np.ndarray]:
    return {path: np.atleast_1d(a)[:64].copy() for path, a in session.agent.records().items()}


@pytest.mark.parametrize(("backend", "memory"), [("torch", True), ("torch", False), ("tf", True)])
def test_a_large_memory_is_neither_copied_when_it_is_saved_nor_when_it_is_restored(
    tmp_path, backend, memory
):
    settings = config(backend, memory={"type": "replay", "buffer_size": 300_000})
    checked = validate({**settings, "checkpoint": {"interval": 0, "memory": memory}})
    with RunFolder.create(tmp_path, "") as folder, Session(checked, folder) as session:
        session.start()
        session.loop.iterate(lambda: False)
        size = session.loop.trainer.memory_nbytes
        assert size > 12e6
        assert peak(session.save) < 0.3 * size
        stored, sampled = session.agent.stored, beginnings(session)
    with RunFolder.open(tmp_path) as folder, Session(checked, folder) as session:
        assert peak(session.resume) < 0.3 * size
        assert session.agent.stored == (stored if memory else 0)
        if memory:
            np.testing.assert_equal(beginnings(session), sampled)
