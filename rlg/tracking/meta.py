"""What `meta.json` says about a run: versions, code, seed, machine and command.

Versions come from installed metadata: naming a framework must not load it.
"""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

from rlg import __version__

# TensorFlow may come from one of two distributions.
PACKAGES = ("numpy", "torch", "tensorflow-cpu", "tensorflow", "ray", "gymnasium")


def describe(*, seed: int | None = None, command: Sequence[str] | None = None) -> dict[str, Any]:
    """The content of `meta.json`, as of now."""
    return {
        "command": list(sys.argv if command is None else command),
        "git": git_state(Path.cwd()),
        "machine": machine(),
        "seed": seed,
        "started": timestamp(),
        "versions": versions(),
    }


def timestamp() -> str:
    """Now, in UTC: 2030-01-31T12:00:00+00:00."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Versions of what results depend on; what isn't installed is left out."""
    found = {"python": platform.python_version(), "rlg": __version__}
    for package in PACKAGES:
        with suppress(metadata.PackageNotFoundError):
            found[package.removesuffix("-cpu")] = metadata.version(package)
    return found


def machine() -> dict[str, Any]:
    """Cores, those of them that this process may use, bytes of memory, and the platform."""
    return {
        "cores": os.cpu_count(),
        "usable_cores": len(os.sched_getaffinity(0)),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "platform": platform.platform(),
    }


def git_state(folder: Path) -> dict[str, Any] | None:
    """The commit of a folder and whether files differ from it; None outside of any commit."""
    commit = _git(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    if not commit:
        return None
    return {"commit": commit, "dirty": bool(_git(folder, "status", "--porcelain"))}


def _git(folder: Path, *words: str) -> str:
    command = ["git", "--no-optional-locks", *words]
    try:
        found = subprocess.check_output(command, cwd=folder, stderr=DEVNULL, text=True, timeout=10)
    except (OSError, subprocess.SubprocessError):
        return ""
    return found.strip()


def differences(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """What has changed since the start, one line each; an exact resume needs none."""
    lines = []
    for section in ("versions", "machine"):
        old, new = before.get(section) or {}, now.get(section) or {}
        lines += [
            f"{key}: {old.get(key, 'none')} -> {new.get(key, 'none')}"
            for key in sorted({*old, *new})
            if old.get(key) != new.get(key)
        ]
    return lines
