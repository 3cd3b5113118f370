"""The opponents' side of the line protocol; see `rlg/bench/peers.py`. Imports nothing of rlg."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, TextIO

VERSIONS = ("stable-baselines3", "xuance", "ray", "torch", "gymnasium", "ale-py")


def cpu_seconds() -> float:
    """Of this process and of all below it: Ray's workers are below the daemon that it started."""
    used = time.process_time()
    try:
        import psutil
    except ImportError:
        return used + sum(os.times()[2:4])
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:
            continue
        used += times.user + times.system
    return used


def measured(run: Callable[..., dict[str, Any]], *words: str) -> dict[str, Any]:
    """One block: `run` returns its steps and what else is worth telling, or measured itself."""
    started, used = time.perf_counter(), cpu_seconds()
    found = run(*words)
    return {"wall": time.perf_counter() - started, "cpu": cpu_seconds() - used, **found}


def serve(make: Callable[..., Any], settings: dict[str, Any], out: TextIO) -> None:
    """Answers until stdin ends."""
    run = make(**settings)
    measured(run)  # warms up
    answer({"ready": {"versions": versions(), "settings": settings}}, out)
    for line in sys.stdin:
        name, *words = line.split() or [""]
        if name == "block":
            answer(measured(run, *words), out)


def versions() -> dict[str, str]:
    """Of what is installed here."""
    found = {}
    for name in VERSIONS:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def answer(content: dict[str, Any], out: TextIO) -> None:
    """One line."""
    print(json.dumps(content), file=out, flush=True)


def main(name: str, settings: str) -> int:
    """What libraries print goes to stderr: stdout is for answers alone."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    try:
        serve(import_module(name).make, json.loads(settings), out)
    except Exception as error:  # noqa: BLE001 whatever it is, the other side has to be told
        answer({"error": f"{type(error).__name__}: {error}"}, out)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
