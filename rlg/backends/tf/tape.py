"""Gradient tapes for define-by-run: `gradients` asks the innermost one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import tensorflow as tf

from rlg.errors import BackendError


class _Stack(threading.local):
    """Tapes record their own thread only."""

    def __init__(self) -> None:
        self.tapes: list[tf.GradientTape] = []


_stack = _Stack()


@contextmanager
def recording() -> Iterator[None]:
    """Records what happens inside, so that `gradients` can be asked for there."""
    with tf.GradientTape(persistent=True) as tape:
        _stack.tapes.append(tape)
        try:
            yield
        finally:
            _stack.tapes.pop()


def innermost() -> tf.GradientTape:
    """The tape of the innermost `recording()`."""
    if not _stack.tapes:
        raise BackendError(
            "gradients: nothing records in TensorFlow's eager mode. Run the plan, or put the call "
            "into `with rlg.backends.tf.tape.recording():`."
        )
    return _stack.tapes[-1]
