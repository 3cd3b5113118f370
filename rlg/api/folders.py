"""The folders of new runs and sweeps: nobody else's, and none left behind by a refused one."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rlg.api.phases import BAD_CONFIGURATION, exit_code_of
from rlg.display.readable import short
from rlg.errors import SpecError
from rlg.tracking.errors import TrackingError
from rlg.tracking.status import Status, error_line

STATUS = "status.json"
RUN_DIR = "hydra.run.dir"
ATTEMPTS = 1000


@contextmanager
def new_folder(path: Path, *, is_named: bool, key: str = RUN_DIR) -> Iterator[Path]:
    """Makes a folder of this name, or of the name with a number if another run has it.

    If what runs inside is refused, or ends before it has begun, the folder is removed. A folder
    that the user has named stays, with the error in its status; `key` is how it was named.
    """
    try:
        folder = _named(path, key) if is_named else claim(path)
    except OSError as error:
        raise TrackingError(
            f"{error.filename}: {error.strerror}. Choose another folder: {key}=..."
        ) from None
    try:
        yield folder
    except BaseException as error:
        is_refused = exit_code_of(error) == BAD_CONFIGURATION
        if not is_named and (is_refused or not (folder / STATUS).exists()):
            _remove(folder)
        elif is_refused and key == RUN_DIR:
            note_failure(folder, error)
        raise


def claim(path: Path) -> Path:
    """Makes a folder that was not there before, under any concurrency: `mkdir` is atomic."""
    for number in itertools.count(1):
        folder = path if number == 1 else path.with_name(f"{path.name}-{number}")
        for attempt in range(ATTEMPTS):
            try:
                folder.parent.mkdir(parents=True, exist_ok=True)
                folder.mkdir()
            except (FileExistsError, FileNotFoundError):
                if folder.exists():
                    break
                # A refused run may have removed the day's empty folder just now.
                if attempt == ATTEMPTS - 1:
                    raise
            else:
                return folder
    raise AssertionError


def note_failure(folder: Path, error: BaseException) -> None:
    """Writes the status of a run that ended before it could write one itself."""
    path = folder / STATUS
    if folder.is_dir() and (not path.exists() or Status.read(path).state == "failed"):
        code = exit_code_of(error)
        Status().changed(state="failed", error=error_line(error), exit_code=code).write(path)


def _named(folder: Path, key: str) -> Path:
    """The folder, unless a run is in it; one whose configuration was refused never began."""
    path = folder / STATUS
    if key == RUN_DIR and path.exists():
        status = Status.read(path)
        was_refused = status.state == "failed" and status.exit_code == BAD_CONFIGURATION
        if not was_refused or any(folder.glob("checkpoints/*")):
            name = short(folder)
            raise SpecError(
                f"hydra.run.dir: {name} holds a run already. Resume it (rlg resume {name}) or "
                "choose another folder."
            )
        path.unlink()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _remove(folder: Path) -> None:
    """With the empty folders of the day above it."""
    shutil.rmtree(folder)
    with suppress(OSError):
        folder.parent.rmdir()
        folder.parent.parent.rmdir()
