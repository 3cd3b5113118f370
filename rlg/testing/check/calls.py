"""Which calls a component is checked with: every API method, in several variants."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rlg.errors import SpecError
from rlg.graph import Component
from rlg.graph.core.component.methods import SIZE, STATIC, TENSOR, Method
from rlg.graph.spaces import Space

Spaces = Mapping[str, Any]


@dataclass(frozen=True)
class APICall:
    """One call: its static arguments, and the spaces of the tensors that are handed in."""

    method: Method
    statics: Mapping[str, Any] = field(default_factory=dict)
    tensors: Mapping[str, Space] = field(default_factory=dict)
    absent: tuple[str, ...] = ()  # optional tensors that have a space, and are left out

    @property
    def api(self) -> str:
        return self.method.name

    @property
    def label(self) -> str:
        """`sample(n=4)`, `get_actions(explore=False, masks=None)`; calls with one label are one."""
        words = [f"{name}={value!r}" for name, value in self.statics.items()]
        words += [f"{name}=None" for name in self.absent]
        return f"{self.api}({', '.join(words)})" if words else self.api

    def sample(self, seed: int, batch: int, time: int) -> dict[str, Any]:
        """Random inputs from the spaces."""
        return {
            name: space.sample(np.random.default_rng([seed, n]), batch, time)
            for n, (name, space) in enumerate(self.tensors.items())
        }

    def arguments(self, inputs: Mapping[str, Any]) -> list[Any]:
        """All arguments by position, as a caller in a hurry gives them."""
        known = {**self.statics, **inputs}
        return [known.get(p.name, p.default) for p in self.method.parameters]


@dataclass(frozen=True)
class Calls:
    """What is called: each API method, then variants; and which can't be, as they miss a space."""

    calls: list[APICall]
    left_out: dict[str, str]
    variants: list[APICall] = field(default_factory=list)

    @property
    def apis(self) -> list[str]:
        return list(dict.fromkeys(call.api for call in self.calls))


def calls_of(
    component: Component,
    spaces: Spaces,
    listed: Sequence[tuple[str, Mapping[str, Any]]] | None,
    statics: Mapping[str, Any],
    batch: int,
) -> Calls:
    """The listed calls, then what they don't cover: other methods, flags and absent arguments."""
    methods = component.api_methods()
    missing = {name: _missing(method, spaces) for name, method in methods.items()}
    left_out = {
        name: f"it needs the space of `{argument}`: spaces.{argument}=..."
        for name, argument in missing.items()
        if argument is not None
    }
    known = {name: method for name, method in methods.items() if name not in left_out}
    found = [
        _call(known[name], spaces, {**given, **_own(known[name], statics)}, batch)
        for name, given in listed or ()
        if name in known
    ]
    done = {call.api: call for call in found}
    for name, method in known.items():
        if name not in done:
            done[name] = _call(method, spaces, _own(method, statics), batch)
            found.append(done[name])
    labels = {call.label for call in found}
    variants = [one for call in done.values() for one in _variants(call, statics)]
    return Calls(found, left_out, [one for one in variants if one.label not in labels])


def _call(method: Method, spaces: Spaces, given: Mapping[str, Any], batch: int) -> APICall:
    values, tensors = dict(given), {}
    for parameter in method.parameters:
        if parameter.kind == TENSOR:
            space = _space(method, parameter.name, spaces)
            if space is not None:
                tensors[parameter.name] = space
        elif parameter.name not in values and parameter.is_required:
            if parameter.kind == STATIC:
                raise SpecError(
                    f"{method.name}: its argument `{parameter.name}` is static and has no default. "
                    f"Give the value to call it with: statics.{parameter.name}=..."
                )
            values[parameter.name] = batch
    return APICall(method, values, tensors)


def _variants(call: APICall, fixed: Mapping[str, Any]) -> Iterator[APICall]:
    """The call with flags turned, one at a time, and without its optional tensors."""
    for parameter in call.method.parameters:
        if parameter.kind == STATIC and isinstance(parameter.default, bool):
            turned = not call.statics.get(parameter.name, parameter.default)
            if parameter.name not in fixed:
                yield replace(call, statics={**call.statics, parameter.name: turned})
    optional = [p.name for p in call.method.parameters if p.is_optional_tensor]
    if absent := tuple(name for name in optional if name in call.tensors):
        tensors = {name: space for name, space in call.tensors.items() if name not in absent}
        yield replace(call, tensors=tensors, absent=absent)


def _own(method: Method, statics: Mapping[str, Any]) -> dict[str, Any]:
    names = {p.name for p in method.parameters if p.kind in (STATIC, SIZE)}
    return {name: value for name, value in statics.items() if name in names}


def _space(method: Method, name: str, spaces: Spaces) -> Space | None:
    found = spaces.get(f"{method.name}.{name}", spaces.get(name))
    return found if isinstance(found, Space) else None


def _missing(method: Method, spaces: Spaces) -> str | None:
    required = (p.name for p in method.parameters if p.kind == TENSOR and p.is_required)
    return next((name for name in required if _space(method, name, spaces) is None), None)
