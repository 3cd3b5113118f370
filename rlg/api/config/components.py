"""Component specs in a configuration, specs inside specs included."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.api.config.signatures import Arguments, arguments_of, check_keys, checked
from rlg.errors import RLGError, SpecError
from rlg.graph import registry

# What any component may be told besides its constructor's arguments.
SETTINGS = ("scope", "device", "variable_device", "shared_scope")


def check_component(spec: Any, where: str) -> Any:
    """The spec with converted values and its defaults; its constructor has accepted it."""
    result = _check(spec, where)
    try:
        registry.make(result)
    except RLGError as error:
        raise SpecError(f"{where}: {error}") from error
    return result


def component_arguments(name: str) -> Arguments:
    """The keys that a component of this registry name takes."""
    return arguments_of(registry.component_class(name))


def _check(spec: Any, where: str) -> Any:
    if isinstance(spec, str):
        if spec.endswith((".yaml", ".yml", ".json")):
            return spec
        spec = {"type": spec}
    if not isinstance(spec, Mapping) or not isinstance(spec.get("type"), str):
        raise SpecError(
            f"{where}: {spec!r} is given, but a component is a section with `type`, such as "
            "{type: mlp, units: [64, 64]}."
        )
    name = spec["type"]
    try:
        arguments = component_arguments(name)
    except SpecError as error:
        raise SpecError(f"{where}.type: {error}") from error
    words = {key: value for key, value in spec.items() if key != "type"}
    check_keys(words, [*arguments, *SETTINGS], where, f"{where} (type {name})")
    settings = {key: words.pop(key) for key in SETTINGS if key in words and key not in arguments}
    nested = {key: _nested(value, f"{where}.{key}") for key, value in words.items()}
    return {"type": name, **checked(nested, arguments, where, f"{where} (type {name})"), **settings}


def _nested(value: Any, where: str) -> Any:
    """Specs among the arguments: they are mappings whose `type` is a component's name."""
    if isinstance(value, (list, tuple)):
        return [_nested(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping) and value.get("type") in registry.names():
        return _check(value, where)
    return value
