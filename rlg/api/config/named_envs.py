"""Options of the group `env` that no file describes: `env=FrozenLake-v1`, `env=seaquest`.

Hydra asks its config sources for `env/FrozenLake-v1` as it asks for any file, so such an option
works wherever a file would: on the command line, in a sweep, in an experiment's defaults list.
"""

from __future__ import annotations

import re
from importlib.resources import files
from typing import Any

import yaml
from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import OmegaConf

from rlg.envs.registry import SHORT_NAMES, env_names

GROUP = "env/"
NUM_ENVS = 8
STICKY = 0.25  # of the ids ALE/...-v5 (Machado et al., 2018)
_ID = re.compile(r"[\w./-]+-v\d+")


def is_env_name(name: str) -> bool:
    """Whether `env=NAME` needs no file; ids are looked up later, a plugin may add them."""
    return bool(_ID.fullmatch(name)) or name in env_names()


def section_for(name: str) -> dict[str, Any]:
    """What a file for this environment would say; Atari games are played as Breakout is."""
    is_id = name.startswith("ALE/")
    if not is_id and (name in SHORT_NAMES or name not in env_names()):
        return {"name": name, "num_envs": NUM_ENVS}
    section = yaml.safe_load((files("rlg.conf") / "env" / "breakout.yaml").read_text("utf-8"))
    sticky = {"repeat_action_probability": STICKY} if is_id else {}
    return {**section, "name": name, **sticky}


class NamedEnvs(ConfigSource):
    """Answers for environments by name, after the folders of files did not."""

    provider = "environments"
    url = "environments://"

    @staticmethod
    def scheme() -> str:
        return "environments"

    def load_config(self, config_path: str) -> ConfigResult:
        config = OmegaConf.create(section_for(config_path.removeprefix(GROUP)))
        return ConfigResult(self.provider, self.full_path(), config, {"package": None})

    def is_group(self, config_path: str) -> bool:
        return False

    def is_config(self, config_path: str) -> bool:
        return config_path.startswith(GROUP) and is_env_name(config_path.removeprefix(GROUP))

    def available(self) -> bool:
        return True

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        return []
