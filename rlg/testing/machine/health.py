"""Whether this machine can run everything: versions, resources, and real computations."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Literal

import psutil
from packaging.requirements import Requirement

from rlg.backends.threads import THREADS
from rlg.errors import DISTRIBUTION, pip_install

State = Literal["ok", "warning", "missing", "broken"]
GIGA = 10**9
LIMIT = 90.0  # seconds for one probe

# What each probe is for, whether a plain install must have it, and what to do without it.
_REINSTALL = "pip install --force-reinstall {}"
_HOROVOD = "make install-horovod (it is compiled: needs CMake and a C++ compiler)"
PROBED: dict[str, tuple[str, bool, str]] = {
    "components": ("rlg", True, _REINSTALL.format(DISTRIBUTION)),
    "numba": ("numba", True, _REINSTALL.format("numba")),
    "torch": ("torch", True, _REINSTALL.format("torch")),
    "tensorflow": ("tensorflow", True, _REINSTALL.format("tensorflow-cpu")),
    "tf_server": ("distributed TensorFlow", False, "see that local ports can be opened"),
    "ray": ("ray", True, f"{_REINSTALL.format('ray')}; see that /tmp and /dev/shm have room"),
    "atari": ("Atari", True, _REINSTALL.format("ale-py")),
    "horovod": ("horovod", False, _HOROVOD),
}


@dataclass(frozen=True, slots=True)
class Check:
    """One line of the report."""

    name: str
    state: State
    line: str
    advice: str = ""
    is_required: bool = False

    @property
    def is_failure(self) -> bool:
        return self.is_required and self.state in ("missing", "broken")


@dataclass(frozen=True, slots=True)
class Extra:
    """An optional part of rlg: `pip install 'rlgraph-next[name]'`."""

    name: str
    present: tuple[str, ...]  # with versions
    missing: tuple[str, ...]


def quick_checks() -> Iterator[Check]:
    """What can be seen without computing anything."""
    yield from _versions()
    usable, present = len(os.sched_getaffinity(0)), os.cpu_count() or 1
    line = f"{usable} cores" + ("" if usable == present else f" of {present} may be used")
    yield Check("processor", "ok", line)
    yield _threads(usable)
    memory, disk = psutil.virtual_memory(), shutil.disk_usage(Path.cwd()).free
    line = f"{memory.available / GIGA:.1f} of {memory.total / GIGA:.1f} GB free"
    advice = "a framework and its memory take 1 to 2 GB"
    yield _room("memory", memory.available, line, advice)
    line = f"{disk / GIGA:.1f} GB free in the working folder"
    advice = "checkpoints hold the replay data; choose another hydra.run.dir"
    yield _room("disk", disk, line, advice)
    for extra in extras():
        name, missing = f"{DISTRIBUTION}[{extra.name}]", ", ".join(extra.missing)
        if missing:
            yield Check(name, "missing", f"not installed: {missing}", pip_install(extra.name))
        else:
            yield Check(name, "ok", ", ".join(extra.present))


def probe_checks(names: Sequence[str], limit: float = LIMIT) -> Iterator[Check]:
    """Real computations, two processes at a time, in this order."""
    waiting, running = list(names), dict[str, tuple[subprocess.Popen[str], float]]()
    try:
        for name in names:
            while waiting and len(running) < 2:
                following = waiting.pop(0)
                running[following] = _start(following), time.monotonic()
            process, started = running[name]
            check = _finish(name, process, started + limit)
            del running[name]
            yield check
    finally:  # nobody waits for the others any more
        for process, _ in running.values():
            process.kill()
            process.communicate()


def _start(name: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rlg.testing.machine.probes", name],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3", "RAY_USAGE_STATS_ENABLED": "0"},
    )


def _finish(name: str, process: subprocess.Popen[str], deadline: float) -> Check:
    title, is_required, advice = PROBED[name]
    state: State
    try:
        out, errors = process.communicate(timeout=max(0.1, deadline - time.monotonic()))
        state, line = json.loads(out.splitlines()[-1])
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        state, line = "broken", "it took too long"
    except (IndexError, ValueError):
        last = (errors.strip().splitlines() or [""])[-1]
        state, line = "broken", f"the process ended with {process.returncode}. {last}".strip()
    return Check(title, state, line, "" if state == "ok" else advice, is_required)


def _versions() -> Iterator[Check]:
    number = ".".join(map(str, sys.version_info[:3]))
    yield Check("python", "ok", number, is_required=True)
    for package in (DISTRIBUTION, "numpy", "hydra-core", "typer", "gymnasium"):
        version = version_of(package)
        state: State = "missing" if version is None else "ok"
        advice = "" if version else f"pip install {package}"
        yield Check(package, state, version or "not installed", advice, is_required=True)
    others = ("torch", "tensorflow", "tensorflow-cpu", "ray", "ale-py", "numba", "tensorboard")
    known = {package: version_of(package) for package in others}
    yield Check("packages", "ok", ", ".join(f"{p} {v}" for p, v in known.items() if v))


def _threads(cores: int) -> Check:
    given = {name: os.environ[name] for name in THREADS if name in os.environ}
    line = ", ".join(f"{name}={value}" for name, value in given.items())
    over = [name for name, value in given.items() if value.isdigit() and int(value) > cores]
    if not over:
        return Check("threads", "ok", line or "no variable is set; runs use backend.threads (1)")
    line += f": more than {cores} cores, which makes everything slower"
    advice = f"export {' '.join(f'{name}={cores}' for name in over)}"
    return Check("threads", "warning", line, advice)


def _room(name: str, free: int, line: str, advice: str) -> Check:
    is_short = free < 2 * GIGA
    return Check(name, "warning" if is_short else "ok", line, advice if is_short else "")


# -- packages, as their metadata says -------------------------------------------------------------
def version_of(package: str) -> str | None:
    """The installed version."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def extras(package: str = DISTRIBUTION) -> list[Extra]:
    """Every extra, with what of it is installed."""
    found = []
    for name in metadata(package).get_all("Provides-Extra") or []:
        versions = {other: version_of(other) for other in _needed(package, name)}
        present = tuple(f"{other} {version}" for other, version in versions.items() if version)
        missing = tuple(other for other, version in versions.items() if not version)
        found.append(Extra(name, present, missing))
    return found


def _needed(package: str, extra: str) -> list[str]:
    """The packages that an extra brings; those that another package's extra brings as well."""
    found: list[str] = []
    with suppress(PackageNotFoundError):
        for requirement in map(Requirement, requires(package) or []):
            marker = requirement.marker
            if marker and marker.evaluate({"extra": extra}) > marker.evaluate({"extra": ""}):
                parts, name = sorted(requirement.extras), requirement.name
                found += [inner for part in parts for inner in _needed(name, part)] or [name]
    return list(dict.fromkeys(found))
