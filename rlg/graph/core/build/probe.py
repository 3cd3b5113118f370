"""Dry runs: what a graph function returns, from nothing but the spaces that it takes.

It runs twice on small zeros, with (batch, time) = (2, 3) and (5, 7): axes that change are ranks,
the others are the value's shape. (6 to 35 is batch and time folded; a `Size` argument counts as
batch.) All these numbers are different, so a pair of sizes names its rank; a layer whose width
happens to be 2 is still told from the batch, since the batch is 5 the second time.

Why run the function instead of asking it: there is nothing to declare, so nothing can be declared
wrongly, and its errors show in the build, with the spaces that caused them.
"""

from __future__ import annotations

import types
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlg.errors import AssemblyError, BuildError, RLGError
from rlg.graph.core.build.dry import Recording, dry_class
from rlg.graph.core.component.component import Component
from rlg.graph.core.component.methods import SIZE, TENSOR, Method
from rlg.graph.core.component.mode import Switch, unknown_api
from rlg.graph.spaces import Box, Dict, Space, Tuple, flatten

BATCH, TIME = (2, 5), (3, 7)
_PLAIN = (bool, int, float, str)
FOLDED = (BATCH[0] * TIME[0], BATCH[1] * TIME[1])
# One pair of primes for each `Size` argument of a function.
SIZES = ((11, 13), (17, 19), (23, 29), (31, 37))

Dim = int | str | None


@dataclass(frozen=True, slots=True)
class Draw:
    """A random draw; its sizes are numbers, ranks, or names of `Size` arguments."""

    kind: str
    dims: tuple[Dim, ...]


@dataclass(frozen=True, slots=True)
class Probe:
    """What a dry run showed."""

    outputs: tuple[Space, ...]
    # Which rank of the outputs has the size of which `Size` argument; None: of none of them.
    sizes: dict[str, str | None]
    draws: tuple[Draw, ...] = ()
    writes: int = 0
    gradients: int = 0
    # Whose memory outputs share: names of arguments, and "" for the component's own variables.
    shares: frozenset[str] = frozenset()


class Guard:
    """The mode of dry runs: graph functions may call their own component's code and no other's."""

    def __init__(self, component: Component, method: Method) -> None:
        self._component = component
        self._method = method

    def call(
        self, component: Component, method: Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        if component is not self._component:
            raise AssemblyError(
                f"{self._component.path}.{self._method.name}: a graph function called "
                f"{component.path}.{method.name}, but only API methods call components. Call it in "
                "an API method and pass the result in."
            )
        return method.function(component, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        raise AssemblyError(
            f"{self._component.path}.{self._method.name}: `self.{name}` belongs into API methods; "
            "graph functions use self.ops."
        )


class Prober:
    """Runs graph functions dry and remembers what they showed."""

    def __init__(self, switch: Switch) -> None:
        self._switch = switch
        self._known: dict[Any, Probe] = {}
        # Dry runs write nothing, so equal zeros are made once.
        self._zeros: dict[Any, Any] = {}

    def probe(self, component: Component, method: Method, arguments: dict[str, Any]) -> Probe:
        """`arguments`: spaces for tensors, values for the others, None for absent ones."""
        # Many calls of a graph are alike, such as all updates of one loss, or those of a policy
        # and of its target: each is run once.
        values = (_hashable(value) for value in arguments.values())
        key = (id(_original(component)), method.name, *values)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = self._run(component, method, arguments)
        return known

    def _run(self, component: Component, method: Method, arguments: dict[str, Any]) -> Probe:
        count = method.output_count(component)
        if method.mark.spaces is not None:
            return Probe(self._declared(component, method, arguments, count), {})
        sizes = {p.name: SIZES[i % 4] for i, p in enumerate(method.parameters) if p.kind == SIZE}
        runs = []
        shares: set[str] = set()
        # Without ranks among the inputs there is nothing that a second run could change.
        for run in (0, 1) if sizes or _has_ranks(arguments) else (0,):
            recording = Recording()
            values = self._values(component, method, arguments, run, sizes)
            outputs = self._call(component, method, values, arguments, recording)
            runs.append((self._shapes(component, method, outputs, count), recording))
            shares |= _sharing(component, values, outputs, recording)
        (first, noted), (second, noted_again) = runs[0], runs[-1]
        origins: dict[str, str | None] = {}
        names = {pair: name for name, pair in sizes.items()}
        spaces = tuple(
            _compare(f"{component.path}.{method.name}", a, b, names, origins)
            for a, b in zip(first, second, strict=True)
        )
        spaces = _bounded(f"{component.path}.{method.name}", component, method, spaces)
        draws = tuple(
            Draw(kind, tuple(_dim(pair, names) for pair in zip(shape, again, strict=True)))
            for (kind, shape), (_, again) in zip(noted.draws, noted_again.draws, strict=True)
        )
        return Probe(spaces, origins, draws, noted.writes, noted.gradients, frozenset(shares))

    def look(self, component: Component, method: Method, arguments: dict[str, Any]) -> Probe:
        """Whether a function with declared spaces writes or draws, as far as zeros can show."""
        sizes = {p.name: SIZES[i % 4] for i, p in enumerate(method.parameters) if p.kind == SIZE}
        recording = Recording()
        with suppress(BuildError):  # What does not run on zeros has its spaces declared for that.
            values = self._values(component, method, arguments, 0, sizes)
            self._call(component, method, values, arguments, recording)
        draws = tuple(Draw(kind, shape) for kind, shape in recording.draws)
        return Probe((), {}, draws, recording.writes)

    def _declared(
        self, component: Component, method: Method, arguments: dict[str, Any], count: int
    ) -> tuple[Space, ...]:
        assert method.mark.spaces is not None
        said = method.mark.spaces(component, **arguments)
        spaces = () if said is None else said if type(said) is tuple else (said,)
        if len(spaces) != count or not all(isinstance(space, Space) for space in spaces):
            raise BuildError(
                f"{component.path}.{method.name}: it returns {count} values, but `spaces=` "
                f"declares {said!r}. Declare one Space for each, as a tuple if there are several."
            )
        return spaces

    def _values(
        self,
        component: Component,
        method: Method,
        arguments: dict[str, Any],
        run: int,
        sizes: dict[str, tuple[int, int]],
    ) -> dict[str, Any]:
        kinds = {p.name: p.kind for p in method.parameters}
        return {
            name: sizes[name][run]
            if kinds[name] == SIZE
            else self._zeros_of(component.ops, value, run)
            if kinds[name] == TENSOR
            else value
            for name, value in arguments.items()
        }

    def _zeros_of(self, ops: Any, space: Any, run: int) -> Any:
        """Zeros of a space at the sizes of one of the two runs; constants pass through."""
        if isinstance(space, Dict):
            return {key: self._zeros_of(ops, value, run) for key, value in space.items()}
        if isinstance(space, Tuple):
            return tuple(self._zeros_of(ops, value, run) for value in space)
        if not isinstance(space, Box):
            return space
        lengths = {"B": BATCH[run], "T": TIME[run], "F": FOLDED[run]}
        shape = (*(lengths[rank] for rank in space.ranks), *space.shape)
        key = (type(ops), str(ops.device), shape, space.dtype)
        if key not in self._zeros:
            self._zeros[key] = ops.zeros(shape, space.dtype)
        return self._zeros[key]

    def forget(self) -> None:
        """Lets go of what only the build needed."""
        self._zeros.clear()

    def _call(
        self,
        component: Component,
        method: Method,
        values: dict[str, Any],
        arguments: dict[str, Any],
        recording: Recording,
    ) -> Any:
        real = component.ops
        dry = dry_class(type(real))(real.device, None)  # type: ignore[attr-defined]
        dry.recording = recording
        assert component._binding is not None
        dry.shares_memory = component._binding.backend.shares_memory
        component.ops = dry
        mode, self._switch.active = self._switch.active, Guard(component, method)
        try:
            with np.errstate(all="ignore"):  # Zeros have no logarithm, and need none.
                return types.MethodType(method.function, component)(**values)
        except Exception as error:
            if isinstance(error, AssemblyError):
                raise
            failure = self._failure(component, method, arguments, error)
            raise unknown_api(error) or failure from error
        finally:
            component.ops = real
            self._switch.active = mode

    def _failure(
        self, component: Component, method: Method, arguments: dict[str, Any], error: Exception
    ) -> BuildError:
        given = ", ".join(f"{name}={value}" for name, value in arguments.items())
        kind = "" if isinstance(error, RLGError) else f"{type(error).__name__}: "
        return BuildError(
            f"{component.path}.{method.name}: it does not run on these inputs ({given or 'none'}): "
            f"{kind}{str(error).rstrip('.')}. Feed spaces that it can take, or convert them before "
            "it."
        )

    def _shapes(self, component: Component, method: Method, outputs: Any, count: int) -> list[Any]:
        where = f"{component.path}.{method.name}"
        values = () if count == 0 else (outputs,) if count == 1 else outputs
        if count == 0 and outputs is not None:
            raise BuildError(
                f"{where}: it is annotated `-> None` but returned a value. Fix the annotation."
            )
        if count > 1 and (not isinstance(outputs, tuple) or len(outputs) != count):
            got = f"{len(outputs)} values" if isinstance(outputs, tuple) else "one value"
            raise BuildError(
                f"{where}: it promises {count} values (annotation or `outputs=`) and returned "
                f"{got}. "
                "Make the two agree."
            )
        owned = component._binding.variable_ids(component) if component._binding else {}
        for leaf in (leaf for value in values for leaf in flatten(value).values()):
            if id(leaf) in owned:
                raise BuildError(
                    f"{where}: it returns the variable {owned[id(leaf)]} itself, which later calls "
                    "will change. Return self.ops.value_of(variable), a snapshot."
                )
        return [_shape_tree(component.ops, value, where) for value in values]


def _bounded(
    where: str, component: Component, method: Method, spaces: tuple[Space, ...]
) -> tuple[Space, ...]:
    """Adds the bounds that a function says its outputs have."""
    if method.mark.bounds is None:
        return spaces
    said = method.mark.bounds(component)
    known = said if type(said) is tuple else (said,)
    if len(known) != len(spaces) or not all(
        bounds is None or bounds.like(space) for space, bounds in zip(spaces, known, strict=False)
    ):
        shown = ", ".join(map(str, spaces))
        raise BuildError(
            f"{where}: `bounds=` names {said!r}, but it returns {shown}. Name one space of equal "
            "shapes for each output, or None."
        )
    return tuple(
        space if bounds is None else _with_bounds(space, bounds)
        for space, bounds in zip(spaces, known, strict=True)
    )


def _with_bounds(space: Any, bounds: Any) -> Any:
    if isinstance(space, Dict):
        return Dict({key: _with_bounds(value, bounds[key]) for key, value in space.items()})
    if isinstance(space, Tuple):
        return Tuple(*(_with_bounds(a, b) for a, b in zip(space, bounds, strict=True)))
    return bounds.with_ranks(space.ranks)


def _sharing(
    component: Component, values: dict[str, Any], outputs: Any, recording: Recording
) -> set[str]:
    """Where outputs may be views: of arguments, by name, or (as "") of own variables."""
    binding = component._binding
    if binding is None or outputs is None or not binding.backend.has_views(component.ops):
        return set()
    shares = binding.backend.shares_memory
    found = list(flatten(outputs).values())
    sources = {name: list(flatten(value).values()) for name, value in values.items()}
    sources[""] = [info.variable for info in binding.own_variables(component)]
    return {
        name
        for name, leaves in sources.items()
        if (name and recording.copies) or any(shares(a, b) for a in found for b in leaves)
    }


def _original(component: Component) -> Component:
    """The component that this one is a copy of, as long as nobody changed either."""
    twin = component._twin
    is_same = twin is not None and _numbers_and_names(twin) == _numbers_and_names(component)
    return _original(twin) if twin is not None and is_same else component


def _numbers_and_names(component: Component) -> dict[str, Any]:
    own = ("scope", "path", "shared_scope", "device", "variable_device")
    values = ((name, value) for name, value in vars(component).items() if name not in own)
    return {name: value for name, value in values if value is None or type(value) in _PLAIN}


def _has_ranks(arguments: dict[str, Any]) -> bool:
    spaces = (value for value in arguments.values() if isinstance(value, Space))
    return any(box.ranks for space in spaces for box in space.flatten().values())


def _shape_tree(ops: Any, value: Any, where: str) -> Any:
    if isinstance(value, Mapping):
        return {key: _shape_tree(ops, item, where) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(_shape_tree(ops, item, where) for item in value)
    if isinstance(value, (bool, int, float)):
        return ((), np.asarray(value).dtype.name)
    try:
        return (tuple(ops.shape_of(value)), ops.dtype_of(value))
    except (TypeError, AttributeError):
        raise BuildError(
            f"{where}: it returned {value!r}, a {type(value).__name__}. Graph functions return "
            "tensors, or dicts and tuples of tensors."
        ) from None


def _is_shape(tree: Any) -> bool:
    return isinstance(tree, tuple) and len(tree) == 2 and isinstance(tree[1], str)


def _compare(
    where: str, a: Any, b: Any, names: dict[tuple[int, int], str], origins: dict[str, str | None]
) -> Space:
    if isinstance(a, Mapping):
        return Dict({key: _compare(where, a[key], b[key], names, origins) for key in a})
    if not _is_shape(a):
        return Tuple(*(_compare(where, x, y, names, origins) for x, y in zip(a, b, strict=True)))
    (first, dtype), (second, _) = a, b
    if len(first) != len(second):
        raise BuildError(
            f"{where}: its output has rank {len(first)} or {len(second)} by batch size."
        )
    ranks = ""
    taken = {_dim(pair, names) for pair in zip(first, second, strict=True)}
    for axis, pair in enumerate(zip(first, second, strict=True)):
        if pair[0] == pair[1]:
            continue
        if axis != len(ranks) or len(ranks) > 1 or _dim(pair, names) in tuple(ranks):
            raise BuildError(
                f"{where}: axis {axis} of its output changes with the batch ({first} and "
                f"{second}), but "
                "only leading axes may. Move it to the front, or give it a fixed size."
            )
        dim = _dim(pair, names)
        # A size that is none of the inputs' (a cut, a repetition) is a rank of its own all the
        # same: the first that is free, with no size that draws could use.
        free = next((r for r in "BT" if r not in taken and r not in ranks), "B")
        rank = dim if dim in ("B", "T", "F") else free
        if rank != dim:
            origins[str(rank)] = dim if isinstance(dim, str) else None
        ranks += str(rank)
    return Box(tuple(first[len(ranks) :]), dtype, ranks=ranks)


def _dim(pair: tuple[int, int], names: dict[tuple[int, int], str]) -> Dim:
    if pair[0] == pair[1]:
        return pair[0]
    return {BATCH: "B", TIME: "T", FOLDED: "F"}.get(pair) or names.get(pair)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        return repr(value)
    return (type(value), value)
