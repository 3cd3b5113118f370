"""Input spaces in the words of a command line: over the defaults, by argument or by method."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from rlg.errors import RLGError, SpaceError, SpecError
from rlg.graph import Component, registry
from rlg.graph.core.component.component import walk
from rlg.graph.spaces import Space, space_from_spec
from rlg.testing import ComponentTest
from rlg.testing.goldens import GOLDENS, Golden

LARGEST = 500_000_000  # bytes

_DTYPES = {"float": "float32", "int": "int64", "bool": "bool"}


def given_spaces(component: Component, defaults: Mapping[str, Any], given: Any) -> dict[str, Space]:
    """The defaults that the component has arguments for, replaced and completed by `spaces.X`."""
    methods = component.api_methods()
    names = {p.name for method in methods.values() for p in method.parameters}
    places = {f"{api}.{p.name}" for api, m in methods.items() for p in m.parameters}
    spaces = {key: value for key, value in defaults.items() if key in names | places}
    spaces |= _own_spaces(component, names, spaces)
    if not isinstance(given, Mapping):
        raise SpecError("spaces: write spaces.ARGUMENT=..., such as spaces.states=float.")
    for name, spec in given.items():
        if name in methods and name not in names and isinstance(spec, Mapping):
            spaces.update({f"{name}.{key}": _space(f"{name}.{key}", s) for key, s in spec.items()})
        else:
            # One space for the argument of all methods that have it.
            spaces = {k: v for k, v in spaces.items() if k.rpartition(".")[2] != name}
            spaces[name] = _space(name, spec)
    return spaces


def check_size(golden: Golden) -> None:
    """Refuses a memory that would fill the machine's: there is one on each backend, and a copy."""
    records, rows = golden.spaces.get("records"), golden.spec.get("buffer_size")
    if not isinstance(records, Space) or not isinstance(rows, int):
        return
    boxes = records.flatten().values()
    size = rows * sum(box.flat_dim * np.dtype(box.dtype).itemsize for box in boxes)
    if size > LARGEST:
        raise SpecError(
            f"buffer_size: {rows:,} records of this space are {size / 1e9:.1f} GB on each backend. "
            "A check needs few of them: buffer_size=100."
        )


def fitting(golden: Golden, original: Golden) -> Golden:
    """With default spaces that can be built: its own, or else those of a similar component.

    They are made for other arguments: a stack of dense layers takes no images.
    """
    if golden.spec == original.spec or not golden.spaces:
        return golden
    component = golden.make()
    backend = next((name for name in ("numpy", "torch") if _runs(component, name)), "tf")
    folder = type(component).__module__.rpartition(".")[0]
    others = [
        replace(golden, spaces=other.spaces)
        for other in GOLDENS
        if other.spaces.keys() == golden.spaces.keys()
        and registry.component_class(other.spec["type"]).__module__.rpartition(".")[0] == folder
    ]
    reason = None
    for candidate in (golden, *others):
        try:
            ComponentTest(candidate.make(), candidate.spaces, backend)
        except RLGError as error:
            reason = reason or error
        else:
            return candidate
    shown = ", ".join(f"spaces.{name}=..." for name in golden.spaces)
    raise SpecError(f"{reason} These are default spaces; give others: {shown}") from reason


def _runs(component: Component, backend: str) -> bool:
    return all(backend in part.backends for part in walk(component))


def _own_spaces(
    component: Component, names: Collection[str], defaults: Mapping[str, Any]
) -> dict[str, Space]:
    """What a component itself says: `hidden_space` for `hidden`, `action_space` for `actions`."""
    found = {}
    for name in names:
        for attribute in (f"{name}_space", f"{name.removesuffix('s')}_space"):
            space, default = getattr(component, attribute, None), defaults.get(name)
            fits = isinstance(default, Space) and isinstance(space, Space) and default.like(space)
            if isinstance(space, Space) and not fits:
                ranks = default.ranks if isinstance(default, Space) else None
                found[name] = space.with_ranks("B" if ranks is None else ranks)
    return found


def _space(name: str, spec: Any) -> Space:
    try:
        return space_from_spec(_boxes(spec))
    except SpaceError as error:
        raise SpecError(f"spaces.{name}: {error}") from error


def _boxes(spec: Any) -> Any:
    """`{type: float, shape: [4]}` is short for a box of float32, at any depth."""
    if isinstance(spec, Mapping):
        kind = spec.get("type")
        if isinstance(kind, str) and kind in _DTYPES:
            return {"dtype": _DTYPES[kind], **spec, "type": "box"}
        return {key: _boxes(value) for key, value in spec.items()}
    return [_boxes(item) for item in spec] if isinstance(spec, list) else spec
