"""What the build ties components to: a backend, devices, variables and random streams by path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlg.errors import BackendError, BuildError, ComponentError
from rlg.graph.core.component.component import Component, Initializer, initial_value, walk
from rlg.graph.core.component.ops import Ops, Variable
from rlg.graph.core.component.randomness import Stream, key_of
from rlg.graph.spaces import Box
from rlg.spelling import suggestion


@dataclass(frozen=True, slots=True)
class Layout:
    """How arguments of replicas are split and outputs are put together, by leaves of both trees.

    A number is the axis of the batch. Else an argument (None) goes to every replica whole, and an
    output is their mean (AVERAGE) or absent (None).
    """

    where: str
    inputs: Any
    outputs: Any


AVERAGE = "average"

# What a variable is for: weights and statistics are what actors act by; slots belong to optimizers,
# records are replay data; env is what is remembered of single environments, such as their frames;
# shared is what processes of one run tell each other, which nobody saves.
KINDS = ("weight", "statistic", "slot", "record", "env", "shared")


class Queue(Protocol):
    """What components see of a queue of items, each of them a list of tensors."""

    def put(self, leaves: Sequence[Any]) -> None:
        """Waits while there is no room."""

    def get(self) -> Sequence[Any]:
        """The oldest item. Waits for it."""

    def size(self) -> Any:
        """How many items wait, int64."""

    def close(self) -> None:
        """Whoever puts or waits from now on is told so."""


class Backend(Protocol):
    """What the build needs of a backend."""

    name: str
    ops_class: type[Any]
    host_ops_class: type[Any]
    # How many parts of a batch `Component.replicate` makes.
    replicas: int
    # Where these are worked on, one device for each; () for the components' own devices.
    replica_devices: tuple[str, ...]
    # Called with each graph function's component and method and itself, for what is to run instead.
    watch: Callable[[str, Callable[..., Any]], Callable[..., Any]] | None

    def replicate(
        self, body: Callable[[Any], Any], args: Any, layout: Layout, *, in_turn: bool = False
    ) -> Any:
        """A replicated body on parts of `args`, at once where the backend can; its outputs."""

    def hosted(self, function: Callable[..., Any], spaces: Sequence[Any]) -> Callable[..., Any]:
        """A function on numpy values, with these output spaces, as one on tensors."""

    def on_device(self, device: str) -> AbstractContextManager[Any]:
        """The context in which variables are made."""

    def probing(self) -> AbstractContextManager[Any]:
        """The context of dry runs: no gradients, nothing kept."""

    def shares_memory(self, x: Any, y: Any) -> bool:
        """Whether a write into one of two tensors may show in the other."""

    def has_views(self, ops: Any) -> bool:
        """Whether these operations can return views of what they take."""

    def make_queue(self, path: str, boxes: Sequence[Box], capacity: int) -> Queue:
        """A queue of items with one tensor for each box, named by its path."""

    def read(self, variable: Variable) -> NDArray[Any]:
        """A copy of a variable's value."""

    def write(self, variable: Variable, value: NDArray[Any]) -> None:
        """Overwrites a variable."""


@dataclass(frozen=True, slots=True, eq=False)
class VariableInfo:
    """One variable with its path and space."""

    path: str
    variable: Variable
    space: Box
    trainable: bool
    kind: str


class DeviceMap:
    """Devices by path prefix: the longest prefix wins, a component's own setting beats the map."""

    def __init__(
        self,
        default: str,
        devices: Mapping[str, Any] | None = None,
        check: Callable[[str], str] = str,
    ) -> None:
        self.default = default
        self._check = check
        self._ops: dict[str, str] = {}
        self._variables: dict[str, str] = {}
        for path, device in (devices or {}).items():
            apart = isinstance(device, Mapping)
            ops = device.get("ops") if apart else device
            variables = device.get("variables", ops) if apart else device
            if ops:
                self._ops[path] = check(ops)
            if variables:
                self._variables[path] = check(variables)

    @property
    def prefixes(self) -> list[str]:
        return sorted({*self._ops, *self._variables})

    def of_ops(self, component: Component) -> str:
        """Where a component's graph functions run."""
        own = component.device
        return self._check(own) if own else self._lookup(self._ops, component.path or "")

    def of_variables(self, component: Component) -> str:
        """Where a component's variables live."""
        own = component.variable_device or component.device
        return self._check(own) if own else self._lookup(self._variables, component.path or "")

    def _lookup(self, table: dict[str, str], path: str) -> str:
        if not table:
            return self.default
        parts = path.split("/")
        for end in range(len(parts), 0, -1):
            device = table.get("/".join(parts[:end]))
            if device is not None:
                return device
        return self.default


class Binding:
    """The variables, streams and operations of one built tree."""

    def __init__(
        self, backend: Backend, devices: DeviceMap, seed: int, role: Sequence[str | int] = ()
    ) -> None:
        self.backend = backend
        self.devices = devices
        self.seed = seed
        self.role = tuple(role)
        self.variables: dict[str, VariableInfo] = {}
        self.streams: dict[str, Stream] = {}
        # The component whose `create_variables` runs now.
        self.creating: Component | None = None
        self._owned: dict[int, dict[str, VariableInfo]] = {}
        # Copies start like their originals: values are drawn once and kept until all are made.
        self._initial: dict[str, NDArray[Any]] = {}
        self._parts: dict[int, list[Component]] = {}

    def bind(self, component: Component) -> None:
        """Gives a component its operations, on its device, with its random stream."""
        if component._binding is not None:
            raise ComponentError(
                f"{component.path_or_name}: it is part of a graph that is already built. Make a "
                "new component for each build."
            )
        backend, path = self.backend, component.path or ""
        if backend.name not in component.backends:
            raise BackendError(
                f"{path}: {type(component).__name__} runs on {', '.join(component.backends)}, not "
                f"on {backend.name}. Choose one of its backends, or a component written against "
                "self.ops."
            )
        component._binding = self
        stream = self.streams[path] = Stream(self.seed, path, self.role)
        ops_class = backend.host_ops_class if component.on_host else backend.ops_class
        component.ops = ops_class(self.devices.of_ops(component), stream)

    def variable(
        self,
        component: Component,
        name: str,
        shape: tuple[int, ...],
        dtype: str,
        value: ArrayLike | Initializer,
        trainable: bool,
        kernel: bool,
        kind: str,
    ) -> Variable:
        """Creates a variable, or returns the one that a shared scope holds already."""
        path = f"{component.shared_scope or component.path}/{name}"
        space = Box(tuple(shape), dtype, ranks="")
        owned = self._owned.setdefault(id(component), {})
        if kind not in KINDS:
            raise ComponentError(
                f"{path}: its kind is {kind!r}.{suggestion(kind, KINDS)} Kinds: {', '.join(KINDS)}."
            )
        if path in self.variables:
            info = self._shared(component, path, space, name in owned)
        else:
            array = self._initial_value(component, name, value, space)
            if array.shape != space.shape:
                raise BuildError(
                    f"{path}: its initial value has shape {array.shape}, the variable "
                    f"{space.shape}. "
                    "Give a scalar, or a value of the variable's shape."
                )
            variable = self._create(component, array, trainable, kernel, path)
            info = VariableInfo(path, variable, space, trainable, kind)
            self.variables[path] = info
        owned[name] = info
        return info.variable

    def queue(self, component: Component, name: str, boxes: Sequence[Box], capacity: int) -> Queue:
        """A queue on the device of a component's variables."""
        with self.backend.on_device(self.devices.of_variables(component)):
            return self.backend.make_queue(f"{component.path}/{name}", boxes, capacity)

    def forget(self) -> None:
        """Lets go of what only the build needed."""
        self._initial.clear()

    def _initial_value(
        self, component: Component, name: str, value: ArrayLike | Initializer, space: Box
    ) -> NDArray[Any]:
        origin = f"{component.shared_scope or _origin(component)}/{name}"
        if not callable(value):
            return initial_value(value, space.shape, space.dtype)
        if origin not in self._initial:
            bits = np.random.Philox(key=key_of(self.seed, f"initial:{origin}"))
            drawn = value(np.random.Generator(bits), space.shape)
            self._initial[origin] = initial_value(drawn, space.shape, space.dtype)
        return self._initial[origin]

    def variables_of(self, component: Component, trainable: bool | None) -> dict[str, VariableInfo]:
        """Variables below a component by their paths relative to it, sorted."""
        root = component.path or ""
        found: dict[str, VariableInfo] = {}
        seen: set[str] = set()
        for part in self.parts_of(component):
            for name, info in self._owned.get(id(part), {}).items():
                # A variable that several components share is listed once: optimizers step it once.
                if info.path not in seen and trainable in (None, info.trainable):
                    seen.add(info.path)
                    found[f"{(part.path or '').removeprefix(root)}/{name}".lstrip("/")] = info
        return dict(sorted(found.items()))

    def parts_of(self, component: Component) -> list[Component]:
        """A component and all below it; a tree that is named grows no more."""
        parts = self._parts.get(id(component))
        if parts is None:
            parts = self._parts[id(component)] = list(walk(component))
        return parts

    def own_variables(self, component: Component) -> list[VariableInfo]:
        """The variables that a component made itself."""
        return list(self._owned.get(id(component), {}).values())

    def variable_ids(self, component: Component) -> dict[int, str]:
        """The paths of a component's own variables by identity."""
        return {id(info.variable): info.path for info in self.own_variables(component)}

    def _create(
        self, component: Component, array: NDArray[Any], trainable: bool, kernel: bool, path: str
    ) -> Variable:
        device = self.devices.of_variables(component)
        layout = "kernel" if kernel and array.ndim == 4 else None
        ops: Ops = component.ops
        with self.backend.on_device(device):
            return ops.variable(array, trainable=trainable, layout=layout, path=path)

    def _shared(self, component: Component, path: str, space: Box, again: bool) -> VariableInfo:
        info = self.variables[path]
        if again or component.shared_scope is None:
            raise BuildError(
                f"{path}: the variable exists already. Give each variable of a component its own "
                "name."
            )
        if info.space != space:
            raise BuildError(
                f"{path}: it is shared, and exists as {info.space}, but {component.path} asks for "
                f"{space}. Components that share a scope must have equal variables."
            )
        return info


def _origin(component: Component) -> str:
    """The path whose seed gives the initial values: a copy starts like its original."""
    seen = component
    while seen._twin is not None and seen._twin.path is not None:
        seen = seen._twin
    return seen.path or ""


def check_prefixes(devices: DeviceMap, components: Sequence[Component]) -> None:
    """Refuses a device map that names paths which don't exist."""
    paths = {component.path or "" for component in components}
    known = {prefix for path in paths for prefix in _prefixes(path)}
    for prefix in devices.prefixes:
        if prefix not in known:
            raise BackendError(
                f"device map: there is no component {prefix!r}. Valid paths: "
                f"{', '.join(sorted(paths))}."
            )


def _prefixes(path: str) -> Iterator[str]:
    parts = path.split("/")
    for end in range(1, len(parts) + 1):
        yield "/".join(parts[:end])
