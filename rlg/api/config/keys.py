"""Keys that a configuration may have, whether it lists them or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.api.config.components import component_arguments
from rlg.api.config.environments import arguments_of_function, env_arguments
from rlg.api.config.sections import SECTIONS
from rlg.api.config.signatures import arguments_of
from rlg.api.config.validate import KEYS, PARTS, agent_arguments
from rlg.errors import RLGError


def known_keys(section: str, content: Mapping[str, Any]) -> list[str]:
    """The keys of a section that is filled like this ("" is the top level); [] where unknown."""
    if not section:
        return list(KEYS)
    try:
        return _keys_of(section, content)
    except RLGError:  # its type or name is unknown too
        return []


def _keys_of(section: str, content: Mapping[str, Any]) -> list[str]:
    name = str(content.get("name" if section == "env" else "type", ""))
    if section in SECTIONS:
        return list(arguments_of(SECTIONS[section]))
    if section == "agent":
        return ["type", *agent_arguments(name)]
    if section in PARTS:
        return ["type", *component_arguments(name)]
    if section == "env":
        return [*arguments_of_function(), *(env_arguments(name)[0] or ())]
    return list(content)
