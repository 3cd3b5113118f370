"""Environments without files: `env=FrozenLake-v1`, `env=seaquest`, and what was tuned for them.

Hydra asks its config sources for `env/FrozenLake-v1` as it asks for any file, so such an option
works wherever a file would: on the command line, in a sweep, in an experiment's defaults list. All
Atari games share the values of `tuned/..._atari`; an id has those of its short name.
"""

from __future__ import annotations

import re
from functools import cache

from hydra.core.object_type import ObjectType
from hydra.plugins.config_source import ConfigResult, ConfigSource
from omegaconf import DictConfig, OmegaConf

from rlg.api.config.groups import option_file
from rlg.envs.registry import SHORT_NAMES, atari_games, env_names

NUM_ENVS = 8
STICKY = 0.25  # of the ids ALE/...-v5 (Machado et al., 2018)
PARTS = ("network/", "optimizer/")  # groups with files of their own in `tuned`
_ID = re.compile(r"[\w./-]+-v\d+")


def is_env_name(name: str) -> bool:
    """Whether `env=NAME` needs no file; ids are looked up later, a plugin may add them."""
    return bool(_ID.fullmatch(name)) or name in env_names()


def section_for(name: str) -> DictConfig:
    """What a file for this environment would say; Atari games are played as Breakout is."""
    is_id = name.startswith("ALE/")
    if not is_id and name not in atari_games():
        return OmegaConf.create({"name": name, "num_envs": NUM_ENVS})
    section = DictConfig(OmegaConf.create(option_file("env", "breakout").read_text("utf-8")))
    section.name = name
    if is_id:
        section.repeat_action_probability = STICKY
    return section


def tuned_for(option: str) -> str | None:
    """The packaged option of the group `tuned` that serves for one without a file."""
    part, slash, rest = option.partition("/") if option.startswith(PARTS) else ("", "", option)
    agent, _, rest = rest.partition("_")
    for name, known in _shared().items():
        if rest == name or rest.startswith(f"{name}_"):
            found = f"{part}{slash}{agent}_{known}{rest.removeprefix(name)}"
            return found if option_file("tuned", found).is_file() else None
    return None


@cache
def _shared() -> dict[str, str]:
    """Names whose tuned values are found under another one."""
    games = atari_games()
    found = {name: "atari" for pair in games.items() for name in pair}
    return found | {env_id: name for name, env_id in SHORT_NAMES.items()}


class NamedEnvs(ConfigSource):
    """Answers for environments by name, after the folders of files did not."""

    provider = "environments"
    url = "environments://"

    @staticmethod
    def scheme() -> str:
        return "environments"

    @staticmethod
    def source_of(config_path: str) -> str:
        """Where the values come from, for people."""
        group, _, option = config_path.partition("/")
        return f"conf/tuned/{tuned_for(option)}.yaml" if group == "tuned" else f"{group}={option}"

    def load_config(self, config_path: str) -> ConfigResult:
        group, _, option = config_path.partition("/")
        if group == "tuned":
            text = option_file("tuned", str(tuned_for(option))).read_text("utf-8")
            config, header = OmegaConf.create(text), self._get_header_dict(text)
        else:
            config, header = section_for(option), {"package": None}
        return ConfigResult(self.provider, self.full_path(), config, header)

    def is_group(self, config_path: str) -> bool:
        return False

    def is_config(self, config_path: str) -> bool:
        group, _, option = config_path.partition("/")
        is_tuned = group == "tuned" and tuned_for(option) is not None
        return is_tuned or (group == "env" and is_env_name(option))

    def available(self) -> bool:
        return True

    def list(self, config_path: str, results_filter: ObjectType | None) -> list[str]:
        return []
