"""What all tests share: deterministic property tests and the backends to run on."""

from __future__ import annotations

import os
import signal
import threading
from importlib.util import find_spec

# Shells let what they start in the background ignore Ctrl-C, and so would the commands that tests
# start and interrupt.
if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    and threading.current_thread() is threading.main_thread()
):
    signal.signal(signal.SIGINT, signal.default_int_handler)

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")

import pytest
from hypothesis import settings

settings.register_profile("deterministic", derandomize=True, deadline=None, print_blob=False)
settings.load_profile("deterministic")

BACKENDS = ("numpy", "torch", "tf", "tf-graph")


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    """Every backend and mode in turn."""
    return str(request.param)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """`make test-all` counts what needs Horovod as skipped where it was not built;
    `make test-horovod` builds it first.
    """
    if find_spec("horovod") is None:
        for item in items:
            if item.get_closest_marker("horovod"):
                item.add_marker(pytest.mark.skip(reason="needs Horovod: make test-horovod"))
