"""Folders of runs and sweeps.

A new run's folder is nobody else's, and a refused run leaves none. An old run's configuration is
read here, and nowhere else: it may name modules to import, which run code.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import yaml

from rlg.api.phases import BAD_CONFIGURATION, exit_code_of, phase
from rlg.display.readable import short
from rlg.errors import SpecError, TrackingError, error_line
from rlg.tracking.folder import RunFolder, claim

RUN_DIR = "hydra.run.dir"
TRUST = "RLG_TRUST_PLUGINS"


@contextmanager
def new_folder(path: Path, *, is_named: bool, key: str = RUN_DIR) -> Iterator[Path]:
    """Makes a folder of this name, or of the name with a number if another run has it.

    If what runs inside is refused, or ends before it has begun, the folder is removed. A folder
    that the user has named stays, with the error in its status; `key` is how it was named.
    """
    try:
        folder = _named(path, key) if is_named else claim(path)
    except OSError as error:
        with phase("preparing"):
            raise TrackingError(
                f"{error.filename}: {error.strerror}. Choose another folder: {key}=..."
            ) from None
    try:
        yield folder
    except BaseException as error:
        is_refused = exit_code_of(error) == BAD_CONFIGURATION
        has_begun = not is_refused and RunFolder(folder).holds_run
        if not (is_named or has_begun or _has_results(folder)):
            _remove(folder)
        elif is_refused and key == RUN_DIR:
            RunFolder.mark_failed(folder, error_line(error), exit_code_of(error))
        raise


def _named(folder: Path, key: str) -> Path:
    """The folder, unless a run is in it; one whose configuration was refused never began."""
    run = RunFolder(folder)
    if key == RUN_DIR and run.holds_run:
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


def _has_results(folder: Path) -> bool:
    """Checkpoints of a run, or runs of a sweep: nobody removes these, whatever went wrong."""
    patterns = ("checkpoints/step-*", "*/status.json", "*/*/status.json")
    return any(True for pattern in patterns for _ in folder.glob(pattern))


def _remove(folder: Path) -> None:
    """With the empty folders of the day above it."""
    shutil.rmtree(folder)
    with suppress(OSError):
        folder.parent.rmdir()
        folder.parent.parent.rmdir()


# -- runs that are there ---------------------------------------------------------------------------
def run_config(
    path: Path | str, *, imports_plugins: bool = False, trust_plugins: bool = False
) -> dict[str, Any]:
    """The configuration of a run, as its folder has it.

    A folder from elsewhere runs code by the plugins that it names: what `imports_plugins` needs
    the user's word, `trust_plugins` or the environment variable RLG_TRUST_PLUGINS=1.
    """
    check_run(Path(path))
    file = RunFolder(path).config
    try:
        config = yaml.safe_load(RunFolder(path).read_config())
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise SpecError(f"{file}: it can't be read: {' '.join(str(error).split())}") from None
    if not isinstance(config, dict):
        raise SpecError(f"{file}: it holds no configuration. Is it a run folder?")
    if imports_plugins and not trust_plugins:
        refuse_plugins(config.get("plugins"), str(file))
    return config


def refuse_plugins(names: Any, where: str) -> None:
    """Raises if there are any, unless the user trusts all folders."""
    if names and os.environ.get(TRUST) not in ("1", "true", "yes"):
        shown = ", ".join(map(str, names)) if isinstance(names, list) else names
        raise SpecError(
            f"{where}: it imports the plugins {shown}, which run code. If you trust this folder, "
            f"add --trust-plugins, or set {TRUST}=1 for all folders."
        )


def check_run(folder: Path) -> None:
    """Refuses a folder without a run; if there are runs below it, names one of them."""
    missing = RunFolder(folder).missing
    if not missing:
        return
    depths = ("*", "*/*", "*/*/*")  # a sweep, a day, all of outputs or multirun
    found = [path.parent for depth in depths for path in folder.glob(f"{depth}/status.json")]
    newest = max(found, key=lambda path: path.stat().st_mtime, default=None)
    wanted = (
        "Give the folder that `rlg train` named, such as "
        "outputs/2030-01-31/12-00-00_dqn_cartpole_s0."
        if newest is None
        else f"Give one of the {len(found)} runs in it; the newest is {newest}."
    )
    verb = "is" if len(missing) == 1 else "are"
    raise SpecError(f"{folder}: not a run folder: {' and '.join(missing)} {verb} missing. {wanted}")
