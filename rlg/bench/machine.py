"""The machine that figures were measured on, and what else it did meanwhile."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import psutil

from rlg import __version__
from rlg.bench.results import Load

MOST = 0.5  # cores that others may use, per core of the machine, before a warning
PACKAGES = ("numpy", "torch", "tensorflow", "tensorflow-cpu", "ray", "numba", "ale-py", "gymnasium")
OPPONENTS = ("cpprb", "stable-baselines3")
_PAUSE = 0.1  # seconds in which others are watched


def cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0))


def describe() -> dict[str, Any]:
    """Cores, processor, memory and system."""
    return {
        "cores": cores(),
        "processor": _processor(),
        "memory": psutil.virtual_memory().total,
        "system": f"{platform.system()} {platform.machine()}",
    }


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return " ".join(line.partition(":")[2].split())
    return platform.processor() or "unknown"


def versions() -> dict[str, str]:
    """Of rlg, Python, frameworks and the opponents that are installed here."""
    found = {"rlg": __version__, "python": platform.python_version()}
    for name in (*PACKAGES, *OPPONENTS):
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


@contextmanager
def watched() -> Iterator[list[Load]]:
    """Yields a list that holds the Load once the block has ended."""
    found: list[Load] = []
    before, (busy, _) = os.getloadavg()[0], _used()
    time.sleep(_PAUSE)
    others = max(0.0, _used()[0] - busy) / _PAUSE
    started, (busy, own) = time.perf_counter(), _used()
    yield found
    seconds, (busy_now, own_now) = time.perf_counter() - started, _used()
    ours = own_now - own
    during = max(0.0, busy_now - busy - ours) / max(seconds, 1e-9)
    after = os.getloadavg()[0]
    found.append(Load(before, after, others, during, seconds, ours))


def _used() -> tuple[float, float]:
    """CPU seconds of the whole machine, and of this process with its children."""
    times = psutil.cpu_times()
    busy = times.user + times.system + times.nice + getattr(times, "steal", 0.0)
    return busy, own_cpu()


def own_cpu() -> float:
    """CPU seconds of this process and of all below it, those that have ended too."""
    own = sum(os.times()[:4])
    for child in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):
            used = child.cpu_times()
            own += used.user + used.system
    return own


def load_warnings(load: Load, count: int, *, is_first: bool) -> list[str]:
    """Whether others used the machine: figures of such a suite are to be taken with care.

    The load average counts this process too, so it says something of others before the first suite
    only.
    """
    limit, found = MOST * count, []
    if is_first and load.before > limit:
        found.append(f"the load average was {load.before:.1f} on {count} cores before it began")
    elif load.others_before > limit:
        found.append(f"others used {load.others_before:.1f} of {count} cores before it began")
    if load.others_during > limit:
        found.append(f"others used {load.others_during:.1f} of {count} cores while it ran")
    return found
