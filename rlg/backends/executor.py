"""The graph executor: owns the build and is the only way into a built graph.

`execute(api_method, *args)` finds the plan for the static arguments at hand (made on first use) and
runs it, numpy in and numpy out. What backends do differently is in the hooks at the end.
"""

from __future__ import annotations

import cProfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from rlg.backends.allocator import keep_freed_memory
from rlg.backends.entry import Check, make_check
from rlg.backends.hosting import LOWERING, host_entry, is_hosted, map_arrays
from rlg.backends.numpy.ops import NumpyOps
from rlg.backends.replicas import Replicated
from rlg.backends.variables import VariableAccess
from rlg.errors import BackendError, ExecutionError
from rlg.graph.core.assembly.assemble import Fresh
from rlg.graph.core.assembly.records import Graph
from rlg.graph.core.build.binding import DeviceMap
from rlg.graph.core.build.builder import ANY_SIZE, Builder, BuildStatistics
from rlg.graph.core.build.flow import tree_space
from rlg.graph.core.component.component import Component
from rlg.graph.core.component.methods import SIZE, TENSOR, Method
from rlg.graph.core.plan.define_by_run import Runner
from rlg.graph.core.plan.liveness import all_summaries
from rlg.graph.core.plan.plan import Lowering, Plan, make_plan
from rlg.graph.limits import PositiveInt
from rlg.spelling import suggestion

Entry = Callable[..., Any]


class GraphExecutor(VariableAccess, Replicated):
    """Builds components on a backend and runs their API methods."""

    name: str
    ops_class: type[Any]
    host_ops_class: type[Any] = NumpyOps
    default_device: str

    def __init__(
        self,
        *,
        device: str | None = None,
        devices: Mapping[str, Any] | None = None,
        seed: int = 0,
        role: Sequence[str | int] = (),
        define_by_run: bool = False,
        summaries: bool = False,
        replicas: PositiveInt = 1,
        replica_devices: Sequence[str] | Literal["auto"] | None = None,
    ) -> None:
        """`seed` decides the initial values, and with `role`, ("actor", 3), the random streams.

        `replicas` is the number of parts in which replicated methods work on a batch, and
        `replica_devices` has one place for each; "auto" is every accelerator. Variables stay where
        `device` and `devices` say.
        """
        keep_freed_memory()
        self.device = self.check_device(device or self.default_device)
        self.seed = seed
        self.role = tuple(role)
        self.define_by_run = define_by_run
        self.place_replicas(replicas, replica_devices)
        self.watch: Callable[[str, Entry], Entry] | None = None  # around graph functions: profiles
        # The latest values that components named by `self.summary`, if they are asked for.
        self.collects_summaries = summaries
        self.summaries: dict[str, Any] = {}
        self._device_map = DeviceMap(self.device, devices, self.check_device)
        self._builder: Builder | None = None
        self._entries: dict[Any, Entry] = {}
        self._plans: dict[Any, Plan] = {}
        # For the others: which of their arguments are static, and entries by those arguments.
        self._variants: dict[str, tuple[tuple[bool, ...], dict[Any, Entry]]] = {}
        # Calls with nothing but the required tensors need no look at their arguments.
        self._direct: dict[str, tuple[int, Entry]] = {}

    # -- build ------------------------------------------------------------------------------------
    def build(
        self,
        roots: Component | Sequence[Component],
        spaces: Mapping[str, Any],
        *,
        apis: Sequence[str] | None = None,
        at: str | None = None,
    ) -> BuildStatistics:
        """Assembles and builds; afterwards the API methods of the roots can be executed.

        With `apis` only these methods can, and only what they reach gets variables. `at` is the
        path of a root that is a part of something larger elsewhere: its variables and streams are
        then those that it has there.
        """
        map_, seed, role = self._device_map, self.seed, self.role
        builder = Builder(roots, spaces, self, devices=map_, seed=seed, apis=apis, at=at, role=role)
        builder.build()
        self._builder = builder
        return builder.statistics

    @property
    def builder(self) -> Builder:
        """The build behind this executor."""
        if self._builder is None:
            raise ExecutionError("nothing is built yet: call build(component, spaces) first.")
        return self._builder

    # -- execution --------------------------------------------------------------------------------
    def execute(self, api: Any, *args: Any, **kwargs: Any) -> Any:
        """Runs an API method by name, or a list of (name, args...) as one plan."""
        # This is what acting pays for every step: the common calls are found by name or by name
        # and static arguments, without binding arguments to a signature.
        direct = self._direct.get(api) if type(api) is str else None
        if direct is not None and not kwargs and len(args) == direct[0]:
            return direct[1](*args)
        if isinstance(api, (list, tuple)):
            return self._execute_several(api)
        variant = self._variants.get(api) if type(api) is str and not kwargs else None
        if variant is not None:
            # Static arguments and absent ones choose the plan; the rest are its inputs.
            pairs = list(zip(args, variant[0], strict=False))
            entry = variant[1].get(tuple([(type(a), a) if s else a is None for a, s in pairs]))
            if entry is not None and len(args) == len(pairs):
                return entry(*[a for a, s in pairs if not s and a is not None])
        root, method = self._find(api)
        values, tensors = self._bind(root, method, args, kwargs)
        entry = self._entry([(root, method, values)])
        if len(self.builder.roots) == 1 and not kwargs:
            if method.takes_tensors_only(len(args)):
                self._direct[method.name] = (len(args), entry)
            else:
                self._keep_variant(method, args, entry)
        return entry(*tensors)

    def _keep_variant(self, method: Method, args: tuple[Any, ...], entry: Entry) -> None:
        """Remembers the way in for calls with the same static and absent arguments."""
        statics = tuple(p.kind != TENSOR for p in method.parameters)
        pairs = list(zip(args, statics, strict=False))
        # A tensor may be left out, but one that stands in for it must not look like one.
        plain = all(
            p.kind != TENSOR or p.is_required or p.default is None for p in method.parameters
        )
        if plain and all(type(a) in (int, bool, str) for a, s in pairs if s):
            key = tuple([(type(a), a) if s else a is None for a, s in pairs])
            self._variants.setdefault(method.name, (statics, {}))[1][key] = entry

    def _execute_several(self, calls: Sequence[Any]) -> Any:
        wanted, tensors = [], []
        for name, *args in calls:
            root, method = self._find(name)
            values, some = self._bind(root, method, tuple(args), {})
            wanted.append((root, method, values))
            tensors += some
        return self._entry(wanted)(*tensors)

    def plan(self, api: str, **statics: Any) -> Plan:
        """The plan of an API method; optional tensors named True in `statics` count as given."""
        return self._plan([self._variant(api, statics)])

    def output_space(self, api: str, *args: Any, **kwargs: Any) -> Any:
        """The space of what an API method returns; a tuple of spaces where it returns several.

        Arguments choose the variant as in `execute`: static ones by value, optional tensors by
        anything but None. Required tensors may be left out.
        """
        names = (parameter.name for parameter in self._find(api)[1].parameters)
        statics = {**dict(zip(names, args, strict=False)), **kwargs}
        return tree_space(self.builder.graph_of(*self._variant(api, statics)).outputs)

    def _variant(
        self, api: str, statics: Mapping[str, Any]
    ) -> tuple[Component, Method, dict[str, Any]]:
        root, method = self._find(api)
        values: dict[str, Any] = {}
        for parameter in method.parameters:
            is_open = parameter.kind == SIZE and parameter.is_required
            given = statics.get(parameter.name, ANY_SIZE if is_open else parameter.default)
            is_tensor = parameter.kind == TENSOR and (parameter.is_required or given is not None)
            values[parameter.name] = Fresh() if is_tensor else given
        return root, method, values

    def prepare(self, api: str, **statics: Any) -> None:
        """Makes the plan of an API method ready before its first call; arguments as in `plan`."""
        self._entry([self._variant(api, statics)])

    def _plan(self, calls: Sequence[tuple[Component, Method, dict[str, Any]]]) -> Plan:
        key = _key(calls)
        plan = self._plans.get(key)
        if plan is None:
            graphs = [self.builder.graph_of(*call) for call in calls]
            name = "_then_".join(method.name for _, method, _ in calls)
            plan = self._plans[key] = self.emit(name, graphs)
        return plan

    def emit(self, name: str, graphs: Sequence[Graph]) -> Plan:
        """Writes the plan of built graphs, the one that calls of them run."""
        return make_plan(
            name,
            graphs,
            LOWERING if is_hosted(graphs) else self.lowering(),
            self.builder.binding,
            summaries=self.collects_summaries and any(map(all_summaries, graphs)),
        )

    def _entry(self, calls: Sequence[tuple[Component, Method, dict[str, Any]]]) -> Entry:
        key = _key(calls)
        entry = self._entries.get(key)
        if entry is None:
            started = time.perf_counter()
            checks = self._checks(calls)
            graphs = [self.builder.graph_of(*call) for call in calls]
            if self.define_by_run:
                entry = self.run_entry(graphs, checks)
            else:
                plan = self._plan(calls)
                hosted = is_hosted(graphs)
                entry = host_entry(plan, checks) if hosted else self.plan_entry(plan, checks)
                entry = self._with_summaries(entry) if plan.summaries else entry
            self._entries[key] = entry
            self.builder.statistics.plans += time.perf_counter() - started
        return entry

    def _with_summaries(self, entry: Entry) -> Entry:
        def keeping(*args: Any) -> Any:
            outputs, notes = entry(*args)
            self.summaries.update(notes)
            return outputs

        return keeping

    def _checks(self, calls: Sequence[tuple[Component, Method, dict[str, Any]]]) -> list[Check]:
        return [
            make_check(
                f"{root.path}.{method.name}", name, self.builder.space_of_argument(method, name)
            )
            for root, method, values in calls
            for name, value in values.items()
            if isinstance(value, Fresh)
        ]

    def _find(self, api: Any) -> tuple[Component, Method]:
        name = api if isinstance(api, str) else getattr(api, "__name__", str(api))
        scope, _, short = name.rpartition("/")
        roots = [root for root in self.builder.roots if scope in ("", root.path)]
        found = [(root, root.api_methods()[short]) for root in roots if short in root.api_methods()]
        apis = self.builder.apis
        if found and apis is not None and short not in apis:
            raise ExecutionError(
                f"{found[0][0].path}.{short}: this graph was built for {', '.join(apis)} only. "
                f"Add {short!r} to apis=[...] of the build."
            )
        if len(found) == 1:
            return found[0]
        if found:
            paths = ", ".join(f"{root.path}/{short}" for root, _ in found)
            raise ExecutionError(f"{short}: several roots have it. Say which one: {paths}.")
        known = [
            f"{r.path}/{m}" if len(roots) > 1 else m
            for r in self.builder.roots
            for m in r.api_methods()
        ]
        raise ExecutionError(
            f"there is no API method {name!r}.{suggestion(name, known)} API: {', '.join(known)}."
        )

    def _bind(
        self, root: Component, method: Method, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[dict[str, Any], list[Any]]:
        where = f"{root.path}.{method.name}"
        bound = method.bind(where, args, kwargs)
        values, tensors = {}, []
        for parameter in method.parameters:
            value = bound[parameter.name]
            if parameter.kind == TENSOR and value is None and parameter.is_required:
                space = self.builder.space_of_argument(method, parameter.name)
                raise ExecutionError(
                    f"{where}: `{parameter.name}` is None, but it is required. It takes {space}."
                )
            if parameter.kind == TENSOR and value is not parameter.default:
                tensors.append(value)
                value = Fresh()
            values[parameter.name] = value
        return values, tensors

    def summary_kinds(self) -> dict[str, str]:
        """`scalar` or `histogram`, for each summary of the plans that are made."""
        return {tag: kind for plan in self._plans.values() for tag, kind in plan.summaries}

    # -- what backends do differently -------------------------------------------------------------
    def lowering(self) -> Lowering:
        """How this backend wants its plans written."""
        raise NotImplementedError

    def plan_entry(self, plan: Plan, checks: Sequence[Check]) -> Entry:
        """The function from numpy to numpy around a plan."""
        raise NotImplementedError

    def run_entry(self, graphs: Sequence[Graph], checks: Sequence[Check]) -> Entry:
        """The same through the components, without a plan."""
        builder = self.builder
        return self.runner_entry(
            Runner(graphs, builder.components, builder.binding, self.from_host), checks
        )

    def hosted(self, function: Callable[..., Any], spaces: Sequence[Any]) -> Callable[..., Any]:
        """A function on numpy values as one on this backend's tensors."""
        return function

    def drop_feeds(self) -> None:
        """After a failure: draws that were handed to operations and not used are gone."""
        for component in self.builder.components:
            component.ops.feed = None  # type: ignore[attr-defined]

    def runner_entry(self, runner: Runner, checks: Sequence[Check]) -> Entry:
        """The function from numpy to numpy around a runner."""

        def entry(*args: Any) -> Any:
            values = [self.to_tensors(check(arg)) for check, arg in zip(checks, args, strict=True)]
            with self.running(runner.has_gradients):
                return self.to_arrays(runner.run(values))

        return entry

    def has_views(self, ops: Any) -> bool:
        """Whether these operations can return views: numpy's always can."""
        return issubclass(type(ops), NumpyOps)

    def shares_memory(self, x: Any, y: Any) -> bool:
        """Whether one may be a view of the other."""
        arrays = isinstance(x, np.ndarray) and isinstance(y, np.ndarray)
        return arrays and np.may_share_memory(x, y)

    def on_device(self, device: str) -> AbstractContextManager[Any]:
        return nullcontext()

    def probing(self) -> AbstractContextManager[Any]:
        return nullcontext()

    def running(self, has_gradients: bool) -> AbstractContextManager[Any]:
        """The context of a call without a plan."""
        return nullcontext()

    @contextmanager
    def profile(self, path: str) -> Iterator[None]:
        """Writes a profile of what runs inside: the backend's own trace, or Python's (pstats)."""
        with cProfile.Profile() as profiler:
            yield
        profiler.dump_stats(path)

    def from_host(self, array: NDArray[Any]) -> Any:
        """An array as a tensor of this backend."""
        raise NotImplementedError

    def to_host(self, tensor: Any) -> NDArray[Any]:
        """A tensor as an array."""
        raise NotImplementedError

    def to_tensors(self, tree: Any) -> Any:
        """`from_host` on every leaf."""
        return map_arrays(self.from_host, tree)

    def to_arrays(self, tree: Any) -> Any:
        """`to_host` on every leaf."""
        return map_arrays(self.to_host, tree)


def _key(calls: Sequence[tuple[Component, Method, dict[str, Any]]]) -> Any:
    return tuple(
        (id(root), method.name, *(_mark(value) for value in values.values()))
        for root, method, values in calls
    )


def _mark(value: Any) -> Any:
    # The type is part of it: True and 1 are equal, but not the same static argument.
    return "*" if isinstance(value, Fresh) else (type(value), value)


def make_executor(backend: str, **options: Any) -> GraphExecutor:
    """An executor by the backend's name: numpy, torch, tf (or tf-graph for sessions)."""
    if backend == "numpy":
        from rlg.backends.numpy.executor import NumpyExecutor

        return NumpyExecutor(**options)
    if backend == "torch":
        from rlg.backends.torch.executor import TorchExecutor

        return TorchExecutor(**options)
    if backend in ("tf", "tf-graph"):
        from rlg.backends.tf.executor import TFExecutor

        return TFExecutor(mode="graph" if backend == "tf-graph" else "function", **options)
    raise BackendError(f"there is no backend {backend!r}; choose numpy, torch, tf or tf-graph.")
