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
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import OverrideType
from hydra.core.plugins import Plugins
from hydra.errors import ConfigCompositionException
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from rlg.api.config.groups import PACKAGE
from rlg.api.config.named_envs import NamedEnvs, is_env_name
from rlg.errors import RLGError, SpecError
from rlg.spelling import paths

COMPOSED = "composed"  # the attribute of an error that holds what the files say

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
    before, known.hydra = known.hydra, None  # one may be opened inside another
    try:
        hydra = Hydra("train", Loader(search_path))
        known.initialize(hydra)
        yield hydra
    finally:
        known.hydra = before


class Loader(ConfigLoaderImpl):
    """Composes configurations; jobs of a sweep are loaded here too, in whichever process.

    Sections are open while overrides are applied; keys that no file lists are judged afterwards,
    for which of them a section takes may depend on the others (`optimizer.type=sgd`).
    """

    def load_configuration(
        self,
        config_name: str | None,
        overrides: list[str],
        run_mode: RunMode,
        from_shell: bool = True,
        validate_sweep_overrides: bool = True,
    ) -> DictConfig:
        self._values: dict[str, Any] = {}  # what is overridden, by dotted path
        self._files: dict[str, Any] = {}  # what the files say
        overrides = canonical(overrides)
        try:
            for override in OverridesParser.create().parse_overrides(overrides):
                key, value = override.key_or_group, override.value()
                is_choice = self.repository.group_exists(key) and not isinstance(value, dict)
                if override.type == OverrideType.CHANGE and not is_choice:
                    self._values[key] = value
            config = super().load_configuration(
                config_name, overrides, run_mode, from_shell, validate_sweep_overrides
            )
            for key in self._values:
                if not self._takes(config, key):
                    raise ConfigCompositionException(f"Could not override '{key}'.")
        except ConfigCompositionException as error:
            setattr(error, COMPOSED, self._files)
            raise
        return config

    def _compose_config_from_defaults_list(self, defaults: Any, repo: Any) -> DictConfig:
        config = super()._compose_config_from_defaults_list(defaults, repo)
        content: Any = OmegaConf.to_container(config, resolve=False)
        self._files = {key: value for key, value in content.items() if key != "hydra"}
        for key in self._files:
            if isinstance(node := config._get_node(key), DictConfig):
                OmegaConf.set_struct(node, False)
        self._known = paths(self._files)
        for key, value in self._values.items():
            # A list in place of a mapping, or the other way round: merged they can't be.
            if {type(value), type(self._known.get(key))} == {list, dict}:
                OmegaConf.update(config, key, None, merge=False)
        return config

    def _takes(self, config: DictConfig, key: str) -> bool:
        """Whether the files or the section's constructor have this key, or nobody can say yet."""
        section, _, last = key.rpartition(".")
        if not section or section.startswith("hydra") or key in self._known:
            return True  # Hydra has judged it
        from rlg.api.config.components import SETTINGS
        from rlg.api.config.environments import env_arguments
        from rlg.api.config.validate import PARTS, arguments_in

        value = self._values.get(section, self._known.get(section))
        node = OmegaConf.select(config, section)
        if not isinstance(value, dict) or not isinstance(node, DictConfig):
            return isinstance(value, list)  # the index of an item
        content: Any = OmegaConf.to_container(node, resolve=False)
        try:
            if section == "env" and env_arguments(str(content.get("name")))[0] is None:
                return True
            settings = SETTINGS if section.partition(".")[0] in PARTS else ()
            return last in (*arguments_in(section, content), *settings)
        except RLGError:  # an unknown type: a plugin's, or a mistake that has a message of its own
            return True

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
            known = f"Its parts: {', '.join(parts)}" if parts else "It has no parts: leave it out"
            raise SpecError(f"{override}: agent {name} has no {section}. {known}.")


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


def _key(override: str) -> str:
    return override.partition("=")[0]
