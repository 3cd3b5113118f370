"""Runs plans on TensorFlow, in one of two modes that are chosen before any variable exists.

`function`: each plan is traced once into a concrete function and called through
StatefulPartitionedCall, which skips tf.function's own argument handling (a tenth of its call cost).
`graph`: everything is made inside one tf.Graph, for sessions and clusters; each plan is a function
inside of it, so that state changes keep their order.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from rlg.backends.entry import Check
from rlg.backends.executor import Entry, GraphExecutor
from rlg.backends.tf import devices, host, tape
from rlg.backends.tf.ops import TFOps
from rlg.backends.tf.queue import TFQueue
from rlg.backends.tf.replicas import TFReplicas
from rlg.backends.tf.sessions import Place, Sessions, translated
from rlg.errors import BackendError
from rlg.graph.core.build.binding import Queue
from rlg.graph.core.component.randomness import dtype_of_kind
from rlg.graph.core.plan.plan import Plan
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import Box, flatten, unflatten

MODES = ("function", "graph")


class TFExecutor(TFReplicas, GraphExecutor):
    """Executes component graphs on TensorFlow."""

    name = "tf"
    ops_class = TFOps
    default_device = "CPU:0"

    def __init__(
        self,
        *,
        mode: str = "function",
        threads: PositiveInt | None = None,
        deterministic: bool = False,
        target: str = "",
        owner: bool = True,
        task: str = "",
        filters: Sequence[str] = (),
        **options: Any,
    ) -> None:
        """`deterministic` makes TensorFlow's kernels repeat bit by bit, in the whole process.

        In mode `graph`, `target`, `owner`, `task` and `filters` say where sessions run, and which
        variables they initialise: see `rlg.backends.tf.sessions.Place`.
        """
        if mode not in MODES:
            raise BackendError(f"TensorFlow's mode is {mode!r}; choose {' or '.join(MODES)}.")
        devices.provide(_names(options))
        if threads is not None:
            named = options.get("replica_devices")
            count = len(named) if isinstance(named, list | tuple) else options.get("replicas", 1)
            _set_threads(threads, int(count))
        if deterministic:
            tf.config.experimental.enable_op_determinism()
        super().__init__(**options)
        if self.define_by_run and mode == "graph":
            raise BackendError("define-by-run has no sessions; use TensorFlow's mode 'function'.")
        self.mode = mode
        self.graph = tf.Graph() if mode == "graph" else None
        place = Place(target, owner, task, tuple(filters))
        if mode != "graph" and place != Place():
            raise BackendError(
                "target and owner belong to sessions; use TensorFlow's mode 'graph'."
            )
        self._sessions = None if self.graph is None else Sessions(self.graph, place)

    def lowering(self) -> Any:
        return SimpleNamespace(
            feeds=True,
            no_grad=None,
            cuts=True,
            transfer=None,
            place=tf.device,
            from_host=self.from_host,
        )

    # -- plans ------------------------------------------------------------------------------------
    def plan_entry(self, plan: Plan, checks: Sequence[Check]) -> Entry:
        traced = _Traced(plan, self.device)
        errors: list[BaseException] = []
        try:
            with host.keeping(errors):
                run = self._session_call(traced) if self.graph else _function_call(traced)
        except BaseException:
            self.drop_feeds()
            raise
        names = [name for name, _, _ in plan.inputs]
        draws, is_nested, outputs = plan.draws, traced.is_nested, traced.outputs

        def entry(*args: Any) -> Any:
            arrays = [check(arg) for check, arg in zip(checks, args, strict=True)]
            flat = [leaf for a in arrays for leaf in flatten(a).values()] if is_nested else arrays
            if draws:
                given = dict(zip(names, arrays, strict=True))
                flat = flat + [draw.make(given) for draw in draws]
            errors.clear()
            try:
                return outputs(run(flat))
            except tf.errors.OpError as error:
                if not errors:
                    raise translated(error) from None
                raised = errors[0]
                errors.clear()  # It holds frames, and these hold the arguments.
                raise raised from None

        return entry

    def _session_call(self, traced: _Traced) -> Any:
        assert self.graph is not None
        assert self._sessions is not None
        # On the own task of a cluster, whatever others there are.
        with self.graph.as_default(), tf.device(self.device):
            places = [tf.compat.v1.placeholder(spec.dtype, spec.shape) for spec in traced.specs]
            fetches = tf.function(traced.trace, autograph=False)(*places)
        return self._sessions.call(places, fetches, self._graph_variables)

    def _graph_variables(self) -> list[Any]:
        """Those of the session: the others are arrays."""
        found = (info.variable for info in self.builder.binding.variables.values())
        return [variable for variable in found if not isinstance(variable, np.ndarray)]

    def reconnect(self) -> None:
        """After a server of the cluster was gone: the next call joins it anew."""
        if self._sessions is not None:
            self._sessions.reconnect()

    # -- contexts ---------------------------------------------------------------------------------
    def check_device(self, device: str) -> str:
        return devices.check(device)

    def accelerators(self) -> list[str]:
        return devices.accelerators()

    @contextmanager
    def on_device(self, device: str) -> Iterator[None]:
        # Variables are made outside of the scratch graph of the dry runs.
        with tf.init_scope(), tf.device(device):
            yield

    @contextmanager
    def probing(self) -> Iterator[None]:
        # Eager operations cost a tenth of traced ones, but can't read variables of a graph.
        if self.graph is None:
            yield
        else:
            with self.graph.as_default(), _scratch_graph().as_default():
                yield

    def running(self, has_gradients: bool) -> AbstractContextManager[Any]:
        return tape.recording() if has_gradients else nullcontext()

    @contextmanager
    def profile(self, path: str) -> Iterator[None]:
        """Writes a profile for TensorBoard into the folder `path`."""
        tf.profiler.experimental.start(path)
        try:
            yield
        finally:
            tf.profiler.experimental.stop()

    def hosted(self, function: Any, spaces: Sequence[Any]) -> Any:
        """A Python call inside of the graph."""
        return host.step(function, spaces)

    # -- values -----------------------------------------------------------------------------------
    def make_queue(self, path: str, boxes: Sequence[Box], capacity: int) -> Queue:
        return TFQueue(path, capacity, boxes)

    def from_host(self, array: NDArray[Any]) -> Any:
        return tf.constant(array)

    def to_host(self, tensor: Any) -> NDArray[Any]:
        return np.asarray(tensor.numpy() if hasattr(tensor, "numpy") else tensor)

    def read(self, variable: Any) -> NDArray[Any]:
        if isinstance(variable, np.ndarray):
            return variable.copy()
        if self._sessions is None:
            return np.array(variable.numpy())
        return self._sessions.read([variable], self._graph_variables())[0]

    def write(self, variable: Any, value: NDArray[Any]) -> None:
        if isinstance(variable, np.ndarray):
            variable[...] = value
        elif self._sessions is None:
            variable.assign(value)
        else:
            self._sessions.write([(variable, value)], self._graph_variables())

    def read_all(self, variables: Sequence[Any]) -> list[NDArray[Any]]:
        if self._sessions is None:
            return super().read_all(variables)
        inside = [v for v in variables if not isinstance(v, np.ndarray)]
        found = iter(self._sessions.read(inside, self._graph_variables()) if inside else ())
        return [v.copy() if isinstance(v, np.ndarray) else next(found) for v in variables]

    def write_all(self, values: Sequence[tuple[Any, NDArray[Any]]]) -> None:
        if self._sessions is None:
            super().write_all(values)
            return
        inside = [pair for pair in values if not isinstance(pair[0], np.ndarray)]
        super().write_all([pair for pair in values if isinstance(pair[0], np.ndarray)])
        if inside:
            self._sessions.write(inside, self._graph_variables())


class _Traced:
    """A plan as a function of flat tensors, and the way back to nested outputs."""

    def __init__(self, plan: Plan, device: str) -> None:
        spaces = plan.spaces
        self._plan, self._device = plan, device
        self._templates = [list(space.flatten()) for space in spaces]
        self.is_nested = any(space.is_container for space in spaces)
        self.specs = [
            tf.TensorSpec([*(None for _ in box.ranks), *box.shape], box.dtype)
            for space in spaces
            for box in space.flatten().values()
        ] + [
            tf.TensorSpec([None] * len(draw.sizes), dtype_of_kind(draw.kind)) for draw in plan.draws
        ]
        self._structure: Any = None
        self._gaps: list[Any] = []

    def trace(self, *flat: Any) -> list[Any]:
        waiting = iter(flat)
        arguments = [
            unflatten({path: next(waiting) for path in paths}) for paths in self._templates
        ]
        # Where nothing is said, TensorFlow takes a GPU if there is one.
        with tf.device(self._device):
            results = self._plan.function(*arguments, *waiting)
        leaves = {} if results is None else flatten(results)
        self._structure = None if results is None else list(leaves)
        # An API method without outputs may have summaries.
        self._gaps = [path for path, leaf in leaves.items() if leaf is None]
        leaves.update(dict.fromkeys(self._gaps, True))
        # A plan without outputs still needs something to ask a session for.
        return [_as_tensor(leaf) for leaf in leaves.values()] or [tf.constant(True)]

    def outputs(self, values: Sequence[Any]) -> Any:
        """Flat results in the plan's structure."""
        paths = self._structure
        if paths is None:
            return None
        if paths == [()]:
            return values[0]
        flat = dict(zip(paths, values, strict=True))
        if self._gaps:
            flat.update(dict.fromkeys(self._gaps))
        return unflatten(flat)


def _as_tensor(leaf: Any) -> Any:
    # A variable or an input that passes straight through must not be handed out as itself.
    return tf.identity(leaf)


def _function_call(traced: _Traced) -> Any:
    concrete = tf.function(traced.trace, autograph=False).get_concrete_function(*traced.specs)
    # The raw operation takes what the function captured (variables) as plain arguments: 20 us a
    # call instead of the 200 that tf.function's own look at arguments costs.
    captured = list(concrete.captured_inputs)
    types = [tensor.dtype for tensor in concrete.outputs]
    call = tf.raw_ops.StatefulPartitionedCall

    def run(flat: list[Any]) -> list[Any]:
        return [t.numpy() for t in call(args=flat + captured, Tout=types, f=concrete)]

    return run


def _names(options: Mapping[str, Any]) -> Iterator[str]:
    """All devices that an executor's options name."""
    values = [options.get("device"), *(options.get("devices") or {}).values()]
    values += [options.get("replica_devices")]
    for value in values:
        if isinstance(value, Mapping):
            yield from filter(None, value.values())
        elif isinstance(value, str):
            yield value
        else:
            yield from value or ()


def _scratch_graph() -> Any:
    from tensorflow.python.framework.func_graph import FuncGraph

    return FuncGraph("probe")


def _set_threads(threads: int, replicas: int) -> None:
    try:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(threads * replicas)
    except RuntimeError:
        raise BackendError(
            "TensorFlow's thread count must be set before its first operation; this process has "
            "used it already. Set threads when the first executor is made."
        ) from None
