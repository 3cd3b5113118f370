"""Component specs in a configuration, specs inside specs included."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rlg.api.config.signatures import (
    TYPE,
    Argument,
    Arguments,
    arguments_of,
    blaming,
    check_keys,
    checked,
)
from rlg.errors import SpecError
from rlg.graph import registry
from rlg.graph.limits import scheduled, violation
from rlg.spelling import suggestion, unknown

# What any component may be told besides its constructor's arguments.
SETTINGS = ("scope", "device", "variable_device", "shared_scope")
_TIMES = (0.0, 0.25, 0.5, 0.75, 1.0)  # of a run, whose time goes from 0 to 1


def component_arguments(name: str) -> Arguments:
    """The keys that a component of this registry name takes."""
    return arguments_of(registry.component_class(name))


def check_component(spec: Any, where: str) -> Any:
    """The spec with converted values and its defaults; its constructor has accepted it."""
    result = _check(spec, where)
    kind = result["type"] if isinstance(result, dict) else result
    try:
        with blaming(where, lambda e: f"{kind} can't be made, it raised {e}. See rlg list {kind}."):
            registry.make(result)
    except SpecError:
        if isinstance(result, dict):
            _check_inner(result, where)
        raise
    return result


def _check(spec: Any, where: str) -> Any:
    """The spec alone, without constructing anything."""
    if isinstance(spec, str):
        if spec.endswith((".yaml", ".yml", ".json")):
            return spec
        spec = {"type": spec}
    if not isinstance(spec, Mapping):
        raise SpecError(
            f"{where}: expected a section with `type`, such as {{type: mlp, units: [64, 64]}}, got "
            f"{spec!r}."
        )
    name = _type_of(spec, where)
    arguments, of = {**TYPE, **component_arguments(name)}, f"{where} (type {name})"
    check_keys(spec, [*arguments, *SETTINGS], where, of)
    settings = [key for key in SETTINGS if key in spec and key not in arguments]
    arguments |= dict.fromkeys(settings, Argument(str | None))
    nested = {key: _nested(value, f"{where}.{key}") for key, value in spec.items()}
    result = checked(nested, arguments, where, of)
    for key, value in result.items():
        _check_function(f"{where}.{key}", value)
    check_schedules(result, arguments, where)
    return result


def _type_of(spec: Mapping[str, Any], where: str) -> str:
    name = spec.get("type")
    if not isinstance(name, str):
        for key in spec if name is None else ():
            if key != "type" and suggestion(str(key), ["type"]):
                raise SpecError(f"{where}.{key}: there is no such key. Did you mean 'type'?")
        given = f"expected a component's name, got {name!r}" if "type" in spec else "missing"
        raise SpecError(
            f"{where}.type: {given}. Write {where}.type=... with a name that `rlg list components` "
            "shows."
        )
    if name not in registry.names():
        raise SpecError(
            f"{where}.type: there is no component {name!r}.{suggestion(name, registry.names())} "
            "`rlg list components` shows all."
        )
    return name


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


# -- names of functions ----------------------------------------------------------------------------
def _check_function(path: str, value: Any) -> None:
    """Refuses activations and initializers that don't exist, which layers look up when built."""
    key = path.rpartition(".")[2]
    name = value.get("type") if isinstance(value, Mapping) else value
    if not isinstance(name, str):
        return
    if key == "activation":
        from rlg.graph.components.layers.activation import ACTIVATIONS

        if name not in ACTIVATIONS:
            raise SpecError(f"{path}: {unknown('activation', name, ACTIVATIONS)}")
    elif key.endswith("_init"):
        from rlg.graph.components.initializers import initializer

        with blaming(path):
            initializer(value)


# -- schedules -------------------------------------------------------------------------------------
def check_schedules(section: Mapping[str, Any], arguments: Arguments, where: str) -> None:
    """Refuses schedules that can't be made, or whose values leave the limits of their argument."""
    for key, value in section.items():
        mark = scheduled(arguments[key].annotation) if key in arguments else None
        if mark is None or value is None:
            continue
        path = f"{where}.{key}"
        numbers = [value] if isinstance(value, (int, float)) else _values(path, value)
        for number in numbers:
            # Also where a constant would have to be positive, a decay may end at 0.
            wrong = violation(number, mark.number) if number or number is value else None
            if wrong is not None:
                raise SpecError(f"{path}: {wrong}.")


def _values(path: str, value: Any) -> list[float]:
    from rlg.graph.components.schedules.factory import TYPES, make_schedule

    name = value.get("type") if isinstance(value, Mapping) else None
    if isinstance(value, Mapping) and name in TYPES:
        _check({**value, "type": f"{name}_schedule"}, path)

    def no_schedule(raised: str) -> str:
        return (
            f"{value!r} is not a schedule ({raised}). Write a number, [[0,1.0],[0.5,0.1]] or "
            "{type: linear, initial: 1.0, final: 0.1, length: 0.5}."
        )

    with blaming(path, no_schedule):
        schedule = make_schedule(value)
        return [schedule.at(time) for time in _TIMES]
