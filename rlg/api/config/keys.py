"""Keys that a configuration may have, whether it lists them or not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.api.config.backends import OPTIONS, backend_arguments
from rlg.api.config.components import component_arguments
from rlg.api.config.environments import arguments_of_function, env_arguments
from rlg.api.config.sections import SECTIONS
from rlg.api.config.signatures import Argument, Arguments, arguments_of
from rlg.api.config.validate import KEYS, PARTS, TOP, agent_arguments
from rlg.errors import RLGError

_TYPE: Arguments = {"type": Argument(str)}


def known_keys(section: str, content: Mapping[str, Any]) -> list[str]:
    """The keys of a section that is filled like this ("" is the top level); [] where unknown."""
    if not section:
        return list(KEYS)
    try:
        return list(arguments_in(section, content))
    except RLGError:  # its type or name is unknown too
        return []


def arguments_in(section: str, content: Mapping[str, Any]) -> Arguments:
    """The same with types and defaults; an unknown type or name is an error."""
    name = str(content.get("name" if section == "env" else "type", ""))
    if not section:
        return TOP
    if section in SECTIONS:
        return arguments_of(SECTIONS[section])
    if section == "env":
        return {**arguments_of_function(), **(env_arguments(name)[0] or {})}
    if section == "agent":
        found = agent_arguments(name)
    elif section == "backend":
        found = backend_arguments(name) if name in OPTIONS else {}
    elif section in PARTS or "." in section or "[" in section:
        found = component_arguments(name)
    else:
        return {key: Argument() for key in content}
    return {**_TYPE, **found}
