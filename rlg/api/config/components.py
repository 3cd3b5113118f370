"""Component specs in a configuration, specs inside specs included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlg.api.config.names import check_name
from rlg.api.config.schedules import check_schedules
from rlg.api.config.signatures import Arguments, arguments_of, check_keys, checked
from rlg.api.config.values import converted
from rlg.errors import RLGError, SpecError
from rlg.graph import registry
from rlg.spelling import suggestion

# What any component may be told besides its constructor's arguments.
SETTINGS = ("scope", "device", "variable_device", "shared_scope")


def check_part(spec: Any, where: str) -> Any:
    """The spec alone, without constructing anything."""
    return _check(spec, where)


def check_component(spec: Any, where: str) -> Any:
    """The spec with converted values and its defaults; its constructor has accepted it."""
    result = _check(spec, where)
    try:
        registry.make(result)
    except RLGError as error:
        _check_inner(result, where)
        raise SpecError(f"{where}: {error}") from error
    except Exception as error:
        raise SpecError(
            f"{where}: {result['type']} can't be made, it raised {type(error).__name__}: {error}. "
            f"See rlg list {result['type']}."
        ) from error
    return result


def component_arguments(name: str) -> Arguments:
    """The keys that a component of this registry name takes."""
    return arguments_of(registry.component_class(name))


def _check(spec: Any, where: str) -> Any:
    if isinstance(spec, str):
        if spec.endswith((".yaml", ".yml", ".json")):
            return spec
        spec = {"type": spec}
    if not isinstance(spec, Mapping):
        raise SpecError(
            f"{where}: {spec!r} is given, but a component is a section with `type`, such as "
            "{type: mlp, units: [64, 64]}."
        )
    name = spec.get("type")
    if not isinstance(name, str):
        for key in spec if name is None else ():
            if key != "type" and suggestion(str(key), ["type"]):
                raise SpecError(f"{where}.{key}: there is no such key. Did you mean 'type'?")
        given = f"{name!r} is given" if "type" in spec else "it is missing"
        raise SpecError(
            f"{where}.type: {given}, but it says which component this is. Write {where}.type=... "
            f"with a name that `rlg list components` shows."
        )
    if name not in registry.names():
        raise SpecError(
            f"{where}.type: there is no component {name!r}.{suggestion(name, registry.names())} "
            "`rlg list components` shows all."
        )
    arguments = component_arguments(name)
    words = {key: value for key, value in spec.items() if key != "type"}
    check_keys(words, ["type", *arguments, *SETTINGS], where, f"{where} (type {name})")
    settings = {
        key: converted(words.pop(key), str | None, f"{where}.{key}", "name")
        for key in SETTINGS
        if key in words and key not in arguments
    }
    nested = {key: _nested(value, f"{where}.{key}") for key, value in words.items()}
    result = checked(nested, arguments, where, f"{where} (type {name})")
    for key, value in result.items():
        check_name(f"{where}.{key}", value)
    check_schedules(result, where, _check)
    return {"type": name, **result, **settings}


def _check_inner(spec: Mapping[str, Any], where: str) -> None:
    """After a refusal: the spec inside of this one that names no component, if there is one.

    Only arguments of any type can hold one; mappings of others (initializers, schedules) are for
    their constructors to judge.
    """
    arguments = component_arguments(spec["type"])
    for key, value in spec.items():
        if key not in arguments or arguments[key].annotation not in (Any, Sequence[Any]):
            continue
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            path = f"{where}.{key}[{index}]" if isinstance(value, list) else f"{where}.{key}"
            if isinstance(item, Mapping):
                _check(item, path)
                _check_inner(item, path)


def _nested(value: Any, where: str) -> Any:
    """Specs among the arguments: they are mappings whose `type` is a component's name."""
    if isinstance(value, (list, tuple)):
        return [_nested(item, f"{where}[{index}]") for index, item in enumerate(value)]
    if isinstance(value, Mapping) and value.get("type") in registry.names():
        return _check(value, where)
    return value
