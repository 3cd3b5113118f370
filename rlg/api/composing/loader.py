"""Hydra with the packaged files, before them the user's, and a loader that spares some typing.

Keys that a constructor takes need no plus, whether a file lists them or not. An environment that is
chosen by `env.name` alone is chosen as by `env`, with the values that were tuned for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hydra import version
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.hydra import Hydra
from hydra._internal.utils import create_config_search_path
from hydra.core.global_hydra import GlobalHydra
from hydra.core.plugins import Plugins
from hydra.errors import ConfigCompositionException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import ConfigTypeError

from rlg.api.config.groups import PACKAGE
from rlg.api.config.named_envs import NamedEnvs, is_env_name
from rlg.errors import RLGError, SpecError

_UNLISTED = re.compile(r"Could not override '([^']+)'")
_UNLIKE = re.compile(r"Error merging override ([^=]+)=")


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


class Loader(ConfigLoaderImpl):
    """Composes configurations; jobs of a sweep are loaded here too, in whichever process."""

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        def load(words: list[str]) -> DictConfig:
            return super(Loader, self).load_configuration(
                config_name, words, run_mode, from_shell, validate_sweep_overrides
            )

        overrides = canonical(overrides)
        errors: dict[str, ConfigCompositionException] = {}  # by the key that no file lists
        while True:
            try:
                config = load([word for word in overrides if _key(word) not in errors])
                break
            except ConfigCompositionException as error:
                unlisted, unlike = _UNLISTED.search(str(error)), _UNLIKE.search(str(error))
                if unlike is not None and isinstance(error.__cause__, ConfigTypeError):
                    overrides = _replacing(unlike.group(1), overrides)
                elif unlisted is not None and unlisted.group(1) in map(_key, overrides):
                    errors[unlisted.group(1)] = error
                else:
                    raise
        for key, reason in errors.items():
            if not _takes(config, key):
                raise reason
        return load([f"+{w}" if _key(w) in errors else w for w in overrides]) if errors else config

    def compute_defaults_list(
        self, config_name: str | None, overrides: list[str], run_mode: RunMode
    ) -> Any:
        return super().compute_defaults_list(config_name, canonical(overrides), run_mode)


def refuse_unused(config: DictConfig, overrides: Sequence[str]) -> None:
    """Refuses overrides of sections that the agent doesn't consume: they would do nothing.

    In a sweep over agents they may: what suits one of them is not a mistake for the others.
    """
    from rlg.api.agents.factory import AGENTS, agent_class
    from rlg.api.config.validate import PARTS

    name = OmegaConf.select(config, "agent.type")
    if name not in AGENTS:  # a plugin's, or a mistake that has a message of its own
        return
    parts = agent_class(name).parts
    for override in overrides:
        section = _key(override).lstrip("+~").partition(".")[0]
        if section in PARTS and section not in parts:
            raise SpecError(
                f"{override}: agent {name} has no {section}. Its parts: {', '.join(parts)}."
            )


def canonical(overrides: Sequence[str]) -> list[str]:
    """Overrides that Hydra takes: `env.name=X` alone is `env=X`, `tuned=null` removes all of it."""
    pairs = dict(word.split("=", 1) for word in overrides if "=" in word)
    names = pairs.get("env.name", "").split(",")
    is_choice = not {"env", "experiment"} & set(pairs) and all(map(is_env_name, names))
    found = []
    for word in overrides:
        if is_choice and _key(word) == "env.name":
            found.append(word.replace("env.name=", "env=", 1))
        elif word == "tuned=null":
            found += [f"~tuned{part}" for part in ("", "/network", "/optimizer")]
        else:
            found.append(word)
    return found


def _replacing(key: str, overrides: Sequence[str]) -> list[str]:
    """With a list in place of a mapping, or the other way round: merged they can't be."""
    found = []
    for word in overrides:
        found += [f"~{key}", f"+{word}"] if _key(word) == key else [word]
    return found


def _key(override: str) -> str:
    return override.partition("=")[0]


def _takes(config: DictConfig, key: str) -> bool:
    """Whether the section's constructor has this argument, or nobody can say before it is made."""
    from rlg.api.config.components import SETTINGS
    from rlg.api.config.environments import env_arguments
    from rlg.api.config.validate import PARTS, arguments_in

    section, _, last = key.rpartition(".")
    node = OmegaConf.select(config, section) if section else None
    if not isinstance(node, DictConfig):
        return False
    content: Any = OmegaConf.to_container(node, resolve=False)
    try:
        if section == "env" and env_arguments(str(content.get("name")))[0] is None:
            return True
        settings = SETTINGS if section.partition(".")[0] in PARTS else ()
        return last in (*arguments_in(section, content), *settings)
    except RLGError:  # an unknown type: a plugin's, or a mistake that has a message of its own
        return True
