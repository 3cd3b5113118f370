"""Environments without files: `env=FrozenLake-v1`, `env=seaquest`, and what was tuned for them.

Hydra asks its config sources for `env/FrozenLake-v1` as it asks for any file, so such an option
works wherever a file would: on the command line, in a sweep, in an experiment's defaults list. All
Atari games share the values of `tuned/..._atari`, games of MinAtar and scenarios of Doom those of
`..._minatar` and `..._doom`; an id has the file and the values of its short name.
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
FAMILIES = ("minatar", "doom")  # short names that begin with these share tuned values
_ID = re.compile(r"[\w./-]+-v\d+")


def is_env_name(name: str) -> bool:
    """Whether `env=NAME` needs no file; ids are looked up later, a plugin may add them."""
    return bool(_ID.fullmatch(name)) or name in env_names()


def section_for(name: str) -> DictConfig:
    """What a file for this environment would say: that of its short name; Atari games are played
    as Breakout is.
    """
    is_id = name.startswith("ALE/")
    model = "breakout" if is_id or name in atari_games() else _short(name)
    if not option_file("env", model).is_file():
        return OmegaConf.create({"name": name, "num_envs": NUM_ENVS})
    section = DictConfig(OmegaConf.create(option_file("env", model).read_text("utf-8")))
    section.name = name
    if is_id:
        section.repeat_action_probability = STICKY
    return section


def _short(name: str) -> str:
    """The short name of an id, if it has one."""
    return next((short for short, env_id in SHORT_NAMES.items() if env_id == name), name)


def tuned_for(option: str) -> str | None:
    """The packaged option of the group `tuned` that serves for one without a file."""
    part, slash, rest = option.partition("/") if option.startswith(PARTS) else ("", "", option)
    agent, _, rest = rest.partition("_")
    for name, known in _shared().items():
        if rest == name or rest.startswith(f"{name}_"):
            found = f"{part}{slash}{agent}_{known}{rest.removeprefix(name)}"
            if option_file("tuned", found).is_file():
                return found
    return None


@cache
def _shared() -> dict[str, str]:
    """Names whose tuned values are found under another one."""
    games = atari_games()
    found = {name: "atari" for pair in games.items() for name in pair}
    for name, env_id in SHORT_NAMES.items():
        family = next((f for f in FAMILIES if name.startswith(f"{f}_")), None)
        found |= {env_id: name} if family is None else {env_id: family, name: family}
    return found


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
