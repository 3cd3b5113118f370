"""The folders of runs that can't begin."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path

from rlg.cli.exits import BAD_CONFIGURATION
from rlg.display.readable import short
from rlg.errors import SpecError


def note_failure(folder: Path, line: str, code: int) -> None:
    """Writes the error into `status.json`, so that a sweep's folders tell what became of them.

    Not if another process is at it: two runs that began in the same second share a name.
    """
    from rlg.tracking.lock import owner
    from rlg.tracking.status import Status

    path = folder / "status.json"
    if folder.is_dir() and owner(folder) in (None, os.getpid()):
        status = Status.read(path) if path.exists() else Status()
        if status.state in ("running", "failed"):
            status.changed(state="failed", error=line, exit_code=code).write(path)


def discard(folder: Path) -> None:
    """Removes what Hydra has made for a run that was refused, if nothing else is in it."""
    if [entry.name for entry in folder.iterdir()] == [".hydra"]:
        shutil.rmtree(folder / ".hydra")
        with suppress(OSError):  # other runs of the day
            folder.rmdir()
            folder.parent.rmdir()
            folder.parent.parent.rmdir()


def usable(folder: Path) -> Path:
    """The folder, unless a run is in it; one whose configuration was refused never began."""
    from rlg.tracking.status import Status

    path = folder / "status.json"
    if path.exists():
        status = Status.read(path)
        was_refused = status.state == "failed" and status.exit_code == BAD_CONFIGURATION
        if not was_refused or any(folder.glob("checkpoints/*")):
            name = short(folder)
            raise SpecError(
                f"hydra.run.dir: {name} holds a run already. Go on with it (rlg resume {name}) or "
                "choose another folder."
            )
        path.unlink()
    return folder
