"""The folders of new runs and sweeps: nobody else's, and none left behind by a refused one."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from rlg.api.phases import BAD_CONFIGURATION, exit_code_of
from rlg.display.readable import short
from rlg.errors import SpecError
from rlg.tracking.errors import TrackingError
from rlg.tracking.folder import RunFolder, claim, error_line

RUN_DIR = "hydra.run.dir"


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
        if not is_named and (is_refused or not RunFolder(folder).status_file.exists()):
            _remove(folder)
        elif is_refused and key == RUN_DIR:
            note_failure(folder, error)
        raise


def note_failure(folder: Path, error: BaseException) -> None:
    """Writes the status of a run that ended before it could write one itself."""
    RunFolder.mark_failed(folder, error_line(error), exit_code_of(error))


def _named(folder: Path, key: str) -> Path:
    """The folder, unless a run is in it; one whose configuration was refused never began."""
    run = RunFolder(folder)
    if key == RUN_DIR and run.status_file.exists():
        status = run.status
        was_refused = status.state == "failed" and status.exit_code == BAD_CONFIGURATION
        if not was_refused or any(folder.glob("checkpoints/*")):
            name = short(folder)
            raise SpecError(
                f"hydra.run.dir: {name} holds a run already. Resume it (rlg resume {name}) or "
                "choose another folder."
            )
        run.clear()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _remove(folder: Path) -> None:
    """With the empty folders of the day above it."""
    shutil.rmtree(folder)
    with suppress(OSError):
        folder.parent.rmdir()
        folder.parent.parent.rmdir()
