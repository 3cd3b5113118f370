"""Runs a task on the configurations that Hydra composes from the words of a command."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import hydra
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin

from rlg.cli.flags import Words

SOURCE = "pkg://rlg.conf"


class UserFolder(SearchPathPlugin):
    """Puts the folder of `--config-dir` before the packaged one; Hydra would put it behind."""

    path: ClassVar[Path | None] = None

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        if UserFolder.path is not None:
            search_path.prepend("user", f"file://{UserFolder.path.resolve()}", anchor="main")


def run_with_hydra(words: Words, task: Callable[[Any], Any]) -> None:
    """Calls the task once, or with -m once for each job; errors come out as they were raised."""
    main = hydra.main(version_base="1.3", config_path=SOURCE, config_name=words.config_name)
    with user_folder(words.config_dir), _raw_errors(), _argv(["rlg", *words.for_hydra]):
        main(task)()


@contextmanager
def user_folder(path: Path | None) -> Iterator[None]:
    """While entered, every composition searches this folder first."""
    Plugins.instance().register(UserFolder)
    UserFolder.path = path
    try:
        yield
    finally:
        UserFolder.path = None


@contextmanager
def _raw_errors() -> Iterator[None]:
    """Hydra prints errors itself and exits, unless it is asked for full ones."""
    with mock.patch.dict(os.environ, {"HYDRA_FULL_ERROR": "1"}):
        yield


@contextmanager
def _argv(words: list[str]) -> Iterator[None]:
    before, sys.argv = sys.argv, words
    try:
        yield
    finally:
        sys.argv = before
