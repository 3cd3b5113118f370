"""Runs a task on the configurations that Hydra composes from the words of a command."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any, ClassVar

import hydra
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.errors import HydraException
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import OmegaConf

from rlg.api.config.named_envs import NamedEnvs
from rlg.cli.composing.flags import Words
from rlg.cli.exits import JobsFailedError
from rlg.cli.streams import Wrapped
from rlg.errors import RLGError, SpecError

PACKAGE = "rlg.conf"
FULL_ERROR = "HYDRA_FULL_ERROR"

# For names of run folders: `ALE/Pong-v5` is one word in them.
OmegaConf.register_new_resolver(
    "file_name", lambda name: re.sub(r"[^\w.-]+", "-", str(name)), replace=True
)


class UserFolder(SearchPathPlugin):
    """Puts the folder of `--config-dir` before the packaged one; Hydra would put it behind."""

    path: ClassVar[Path | None] = None

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        search_path.append(NamedEnvs.provider, NamedEnvs.url)
        if UserFolder.path is not None:
            search_path.prepend("user", f"file://{UserFolder.path.resolve()}", anchor="main")


def run_with_hydra(words: Words, task: Callable[[Any], Any]) -> None:
    """Calls the task once, or with -m once for each job; a task's errors come out as they are."""
    main = hydra.main(
        version_base="1.3", config_path=f"pkg://{PACKAGE}", config_name=words.config_name
    )
    if "--info" in words.flags:
        logging.raiseExceptions = False  # Hydra logs its facts, and the reader may be `head`
    try:
        with (
            user_folder(words.config_dir),
            raw_errors(),
            redirect_stderr(_Filtered(sys.stderr)),
            _argv(["rlg", *words.for_hydra]),
        ):
            main(task)()
    except (JobsFailedError, BrokenPipeError):
        raise
    except Exception as error:
        raise _explained(error, words) from error


def _explained(error: Exception, words: Words) -> RLGError:
    """What went wrong before a job began: the words, or else the folder can't be made."""
    if isinstance(error, OSError) and not isinstance(error, HydraException):
        from rlg.tracking.errors import TrackingError

        return TrackingError(
            f"{error.filename}: {error.strerror}. If it is the run's folder, choose another one: "
            "hydra.run.dir=..."
        )
    from rlg.cli.composing.errors import explain_composition

    return SpecError(explain_composition(error, words))


class _Filtered(Wrapped):
    """A stream without the line that Hydra writes about a failed job: the job has said more."""

    def write(self, text: str) -> int:
        if text.startswith("Error executing job with overrides"):
            return len(text)
        return self._stream.write(text)


@contextmanager
def user_folder(path: Path | None) -> Iterator[None]:
    """While entered, every composition searches this folder first."""
    Plugins.instance().register(UserFolder)
    Plugins.instance().register(NamedEnvs)
    before, UserFolder.path = UserFolder.path, path
    try:
        yield
    finally:
        UserFolder.path = before


@contextmanager
def raw_errors() -> Iterator[None]:
    """Hydra prints errors itself and exits, unless it is asked for full ones."""
    before = os.environ.get(FULL_ERROR)
    os.environ[FULL_ERROR] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[FULL_ERROR]
        else:
            os.environ[FULL_ERROR] = before


@contextmanager
def _argv(words: list[str]) -> Iterator[None]:
    before, sys.argv = sys.argv, words
    try:
        yield
    finally:
        sys.argv = before
