"""Hydra with the packaged files, and before them those of the user's folder."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hydra import version
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from omegaconf import OmegaConf

from rlg.api.composing.loader import Loader
from rlg.api.config.named_envs import NamedEnvs

PACKAGE = "rlg.conf"

# For names of run folders: `ALE/Pong-v5` is one word in them.
OmegaConf.register_new_resolver(
    "file_name", lambda name: re.sub(r"[^\w.-]+", "-", str(name)), replace=True
)


@contextmanager
def open_hydra(config_dir: Path | None = None) -> Iterator[Hydra]:
    """While entered, `hydra.compose` composes rlg's configurations.

    Hydra's own `initialize` has no place for a folder that wins over the packaged one: its
    `--config-dir` is searched last.
    """
    version.setbase("1.3")
    Plugins.instance().register(NamedEnvs)
    search_path = create_config_search_path(f"pkg://{PACKAGE}")
    search_path.prepend(NamedEnvs.provider, NamedEnvs.url, anchor="schema")
    if config_dir is not None:
        search_path.prepend("user", f"file://{config_dir.resolve()}", anchor="main")
    known = GlobalHydra.instance()
    before, known.hydra = known.hydra, None  # a message about an error may compose once more
    try:
        hydra = Hydra("train", Loader(search_path))
        known.initialize(hydra)
        yield hydra
    finally:
        known.hydra = before
