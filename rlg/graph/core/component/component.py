"""The component: a Python object with sub-components, variables, API methods and graph functions.

Composition is plain Python: any attribute that holds a component, or a list, tuple or dict of
components, makes them sub-components. Paths, variables and operations come with the build.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from rlg.errors import AssemblyError, ComponentError
from rlg.graph.core.component.methods import Mark, Method, mark_of

if TYPE_CHECKING:
    from rlg.graph.core.build.binding import Binding, Queue
    from rlg.graph.core.component.mode import Mode
    from rlg.graph.core.component.ops import Ops, Variable
    from rlg.graph.spaces import Box

Initializer = Callable[[np.random.Generator, tuple[int, ...]], ArrayLike]


class Component:
    """Base of everything that is composed; subclasses need not call its constructor."""

    # Backends that the graph functions run on; a component that wraps nn.Module says ("torch",).
    backends: ClassVar[tuple[str, ...]] = ("numpy", "torch", "tf")
    # Memories say True: variables and graph functions are numpy's, as a host step of any backend.
    on_host: ClassVar[bool] = False
    # The kind of its variables that are not trainable; those that are, are weights.
    variable_kind: ClassVar[str] = "statistic"
    # Set to False on a component that may stay unconnected: then it simply has no variables.
    must_be_complete: bool = True

    scope: str | None = None
    shared_scope: str | None = None
    device: str | None = None
    variable_device: str | None = None

    # Bound by the build.
    ops: Ops
    path: str | None = None
    _binding: Binding | None = None
    _mode: Mode | None = None
    _twin: Component | None = None

    # -- composition ------------------------------------------------------------------------------
    def configure(
        self,
        *,
        scope: str | None = None,
        device: str | None = None,
        variable_device: str | None = None,
        shared_scope: str | None = None,
    ) -> Any:
        """Sets the name, the devices, or a scope to share variables in."""
        self._forbid_after_build("configure")
        if scope is not None and not re.fullmatch(r"[A-Za-z0-9_.-]+", scope):
            raise ComponentError(
                f"{type(self).__name__}: scope is {scope!r}; use letters, digits, '-', '_' and '.'."
            )
        for name, value in (
            ("scope", scope),
            ("device", device),
            ("variable_device", variable_device),
            ("shared_scope", shared_scope),
        ):
            if value is not None:
                setattr(self, name, value)
        return self

    def copy(self, scope: str | None = None) -> Any:
        """A component of equal composition and equal initial values, with variables of its own."""
        self._forbid_after_build("copy")
        twin = copy.deepcopy(self)
        for mine, theirs in zip(walk(self), walk(twin), strict=True):
            theirs._twin, theirs.shared_scope = mine, None
        twin.scope = scope
        return twin

    def register_api(
        self,
        name: str,
        function: Callable[..., Any],
        *,
        split: bool = False,
        fold_time: bool = False,
    ) -> None:
        """Adds an API method to this instance; `function` takes the component first."""
        self._forbid_after_build("register_api")
        if name in self.methods() or hasattr(type(self), name):
            raise ComponentError(
                f"{self.path_or_name}: it has `{name}` already; choose another name."
            )
        mark = Mark(is_api=True, split=split, fold_time=fold_time)
        self.__dict__.setdefault("_registered", {})[name] = Method.of(name, function, mark)

    def methods(self) -> dict[str, Method]:
        """All marked methods by name, those registered on the instance included."""
        registered = self.__dict__.get("_registered")
        cls: Any = type(self)
        of_class: dict[str, Method] = _methods_of(cls)
        return {**of_class, **registered} if registered else of_class

    def api_methods(self) -> dict[str, Method]:
        """The API methods by name, without bodies of regions that begin with an underscore."""
        marked = {name: method for name, method in self.methods().items() if method.mark.is_api}
        return {name: method for name, method in marked.items() if not name.startswith("_")}

    def children(self) -> Iterator[tuple[str, Component]]:
        """Sub-components with the names that their attributes give them."""
        for attribute, value in list(vars(self).items()):
            if value is None or type(value) in _PLAIN or attribute in _OWN:
                continue
            name = attribute.lstrip("_")
            if isinstance(value, Component):
                yield value.scope or name, value
            elif isinstance(value, (list, tuple)):
                for index, item in enumerate(value):
                    if isinstance(item, Component):
                        yield item.scope or f"{snake(type(item).__name__)}-{index}", item
            elif isinstance(value, Mapping):
                for key, item in value.items():
                    if isinstance(item, Component):
                        yield item.scope or f"{name}-{key}", item

    @property
    def path_or_name(self) -> str:
        """The scope path once it is known, else the best name there is."""
        return self.path or self.scope or snake(type(self).__name__)

    # -- variables --------------------------------------------------------------------------------
    def create_variables(self, *args: Any, **spaces: Any) -> None:
        """Creates variables; keyword-only arguments ask for the spaces of API arguments by name.

        `def create_variables(self, *, inputs: Box)` runs once, as soon as some call has fed
        `inputs`.
        """

    def variable(
        self,
        name: str,
        shape: tuple[int, ...] = (),
        *,
        dtype: str = "float32",
        value: ArrayLike | Initializer = 0,
        trainable: bool = False,
        kernel: bool | None = None,
        kind: str | None = None,
    ) -> Variable:
        """A variable under this component's path; `value` is data, or draws by a generator.

        `kernel` (default: what is trainable) keeps HWIO kernels in the layout that convolutions
        want. `kind` says what it is for: "weight" (default for what is trainable), "statistic",
        "slot" (optimizers), "record" (memories) or "env" (what is remembered of environments); by
        default it is the component's `variable_kind`.
        """
        if self._binding is None or self._binding.creating is not self:
            is_dry = hasattr(self.__dict__.get("ops"), "recording")
            inside = "a graph function" if is_dry else "an API method"
            place = "the constructor" if self._binding is None else inside
            raise ComponentError(
                f"{self.path_or_name}: variables are made by the build. Create `{name}` in "
                f"create_variables, not in {place}."
            )
        is_kernel = trainable if kernel is None else kernel
        kind = kind or ("weight" if trainable else self.variable_kind)
        return self._binding.variable(self, name, shape, dtype, value, trainable, is_kernel, kind)

    def queue(self, name: str, boxes: Sequence[Box], capacity: int) -> Queue:
        """A queue under this component's path, of items with one tensor for each box: the
        backend's own. Made in `create_variables`, on the device of its variables.
        """
        assert self._binding is not None
        assert self._binding.creating is self
        return self._binding.queue(self, name, boxes, capacity)

    # -- inside API methods -----------------------------------------------------------------------
    def variables(self, trainable: bool | None = True) -> Any:
        """In API methods: this component's variables (sub-components' too) as one Dict record."""
        return self._current_mode("variables").variables(self, trainable)

    def scan(self, body: Callable[..., Any], carry: Any, xs: Any) -> tuple[Any, Any]:
        """In API methods: `carry, y = body(carry, x)` over the leading axis of xs; stacks y.

        Static arguments of a body are bound to it: `partial(self.step, n=32)`.
        """
        return self._current_mode("scan").scan(self, body, carry, xs)

    def cond(
        self,
        predicate: Any,
        when_true: Callable[..., Any],
        when_false: Callable[..., Any],
        *args: Any,
    ) -> Any:
        """In API methods: runs one of two API methods on `args`; both must give equal spaces."""
        return self._current_mode("cond").cond(self, predicate, when_true, when_false, args)

    def replicate(self, body: Callable[..., Any], *args: Any) -> Any:
        """In API methods: `body(*args)` by the executor's `replicas`, each on a part of the batch.

        Arguments with a batch rank are split, others go to every replica whole. Outputs with a
        batch rank are put together again, others (means: losses, gradients) are averaged, weighed
        by the sizes of the parts. A body neither writes state nor draws. One replica: just the
        call.
        """
        return self._current_mode("replicate").replicate(self, body, args)

    def no_gradient(self) -> AbstractContextManager[None]:
        """In API methods: what is called inside is constant for gradients."""
        return self._current_mode("no_gradient").no_gradient()

    def summary(self, name: str, value: Any, kind: str = "scalar") -> None:
        """In API methods: names a value for the run's summaries (`scalar` or `histogram`).

        In the body of a region (scan, cond, replicate) it is left out: return the value, and name
        it outside.
        """
        self._current_mode("summary").summary(self, name, value, kind)

    if TYPE_CHECKING:
        # Not at run time: a class with this method pays 50 ns for every attribute that its graph
        # functions read (a twentieth of an act call). `mode.unknown_api` explains unknown names.
        def __getattr__(self, name: str) -> Any: ...

    def _current_mode(self, what: str) -> Mode:
        if self._mode is None:
            raise AssemblyError(
                f"{self.path_or_name}: `{what}` works inside API methods while a graph is "
                "assembled or run. Build the component (ComponentTest or an executor) and call its "
                "API there."
            )
        return self._mode

    def _forbid_after_build(self, what: str) -> None:
        if self._binding is not None:
            raise ComponentError(
                f"{self.path_or_name}: `{what}` comes before the build, and this component is "
                "built. Make a new component."
            )


# Attributes that lead out of the tree, and types of most others.
_OWN = frozenset(("_twin", "_mode", "_binding", "_registered", "ops"))
_PLAIN = frozenset((bool, int, float, str))


def walk(root: Component) -> Iterator[Component]:
    """The tree in breadth-first order, each component once."""
    seen, level = {id(root)}, [root]
    while level:
        yield from level
        following = []
        for component in level:
            for _, child in component.children():
                if id(child) not in seen:
                    seen.add(id(child))
                    following.append(child)
        level = following


def name_trees(roots: Sequence[Component], at: str | None = None) -> list[Component]:
    """Sets the path of each component, breadth first: the shallowest place that holds it owns it.

    `at` is the path of a root that is part of something larger elsewhere.
    """
    if at is not None and (len(roots) != 1 or not re.fullmatch(r"[\w.-]+(/[\w.-]+)*", at)):
        raise ComponentError(
            f"at={at!r} is the path of one root inside a larger graph, as in at='agent/memory'; "
            f"there are {len(roots)} roots."
        )
    taken: dict[str, Component] = {}
    seen: set[int] = set()

    def name(component: Component, path: str) -> None:
        if path in taken:
            raise ComponentError(
                f"{path}: two components have this path, {type(taken[path]).__name__} and "
                f"{type(component).__name__}. Give one another name: .configure(scope='...')."
            )
        component.path = path
        taken[path] = component
        seen.add(id(component))

    for root in roots:
        name(root, at or root.scope or snake(type(root).__name__))
    level = list(roots)
    while level:
        following = []
        for component in level:
            for scope, child in component.children():
                if id(child) not in seen:
                    name(child, f"{component.path}/{scope}")
                    following.append(child)
        level = following
    return list(taken.values())


@cache
def snake(name: str) -> str:
    """`DuelingHead` -> `dueling-head`, `DQNLoss` -> `dqn-loss`."""
    starts = r"(?<=[a-z0-9])(?=[A-Z][a-z])|(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])"
    return re.sub(starts, "-", name).lower()


@cache
def _methods_of(cls: Any) -> dict[str, Method]:
    found: dict[str, Method] = {}
    for base in reversed(cls.__mro__):
        for name, function in vars(base).items():
            inherited = found.get(name)
            mark = mark_of(function) or (inherited.mark if inherited else None)
            if mark is not None and callable(function):
                found[name] = Method.of(name, function, mark)
    return found


def initial_value(value: ArrayLike, shape: tuple[int, ...], dtype: str) -> NDArray[Any]:
    """An initial value as an array of the wanted shape; a scalar stays a zero-stride broadcast."""
    array: NDArray[Any] = np.asarray(value, dtype=dtype)
    return np.broadcast_to(array, shape) if array.shape == () else array
