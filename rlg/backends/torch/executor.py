"""Runs plans on torch: as they are, or through torch.compile.

All outputs leave as numpy arrays, so plans without gradients run in inference mode. Where a plan
takes gradients, autograd is on for what they flow through and off for the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rlg.backends.entry import Check
from rlg.backends.executor import Entry, GraphExecutor
from rlg.backends.hosting import map_arrays
from rlg.backends.torch import devices
from rlg.backends.torch.ops import TorchOps
from rlg.backends.torch.replicas import TorchReplicas
from rlg.backends.torch.transfer import to_device
from rlg.errors import BackendError
from rlg.graph.core.assembly.records import Graph
from rlg.graph.core.plan.define_by_run import Runner
from rlg.graph.core.plan.plan import Plan
from rlg.graph.limits import PositiveInt

# The guard that torch.inference_mode() wraps in three more Python calls (0.8 us against 1.9).
_inference = torch._C._InferenceMode


class TorchExecutor(TorchReplicas, GraphExecutor):
    """Executes component graphs on torch tensors."""

    name = "torch"
    ops_class = TorchOps
    default_device = "cpu"

    def __init__(
        self, *, compile: bool = False, threads: PositiveInt | None = None, **options: Any
    ) -> None:
        """`threads` are those of one replica; None: torch decides, and replicas share them."""
        super().__init__(**options)
        self.compile = compile
        if compile and self.replicas > 1:
            raise BackendError(
                f"replicas is {self.replicas}, and compile is on: torch.compile can't look into "
                "threads. Set one of replicas=1 and compile=false."
            )
        if threads is None and self.replicas > 1:
            threads = max(1, torch.get_num_threads() // self.replicas)
        if threads is not None:
            torch.set_num_threads(threads)

    def lowering(self) -> Any:
        return SimpleNamespace(
            feeds=self.compile,
            no_grad=torch.no_grad,
            cuts=False,
            transfer=to_device,
            place=None,
            from_host=self.from_host,
        )

    def plan_entry(self, plan: Plan, checks: Sequence[Check]) -> Entry:
        function = self._compiled(plan.function) if self.compile else plan.function
        if self._is_plain(plan, checks):
            return self._plain_entry(function, checks[0])
        names = [name for name, _, _ in plan.inputs]
        grad = plan.gradients > 0

        def entry(*args: Any) -> Any:
            arrays = [check(arg) for check, arg in zip(checks, args, strict=True)]
            tensors = [self.to_tensors(array) for array in arrays]
            if plan.draws:
                given = dict(zip(names, arrays, strict=True))
                tensors += [self.from_host(draw.make(given)) for draw in plan.draws]
            try:
                if grad:
                    return self.to_arrays(function(*tensors))
                with _inference(True):
                    return self.to_arrays(function(*tensors))
            except BaseException:
                self.drop_feeds()
                raise

        return entry

    def _compiled(self, function: Any) -> Any:
        backend = "inductor" if self.compile is True else str(self.compile)
        return torch.compile(function, backend=backend)

    def _is_plain(self, plan: Plan, checks: Sequence[Check]) -> bool:
        """One array in, one array out, nothing else: the shape of most act calls."""
        one = len(plan.inputs) == 1 and not plan.draws and not plan.gradients and not plan.summaries
        return one and len(checks) == 1 and plan.is_array_to_array and self.device == "cpu"

    def _plain_entry(self, function: Any, check: Check) -> Entry:
        from_host = _from_numpy

        def entry(array: Any) -> Any:
            with _inference(True):
                return function(from_host(check(array))).numpy()

        return entry

    def run_entry(self, graphs: Sequence[Graph], checks: Sequence[Check]) -> Entry:
        builder = self.builder
        runner = Runner(graphs, builder.components, builder.binding, self.from_host, torch.no_grad)
        return self.runner_entry(runner, checks)

    def hosted(self, function: Any, spaces: Sequence[Any]) -> Any:
        """On the tensors' own memory where they lie on the CPU."""

        def call(*args: Any) -> Any:
            return map_arrays(self._tensor_of, function(*map_arrays(_array_of, args)))

        return torch.compiler.disable(call) if self.compile else call  # type: ignore[no-untyped-call]

    def _tensor_of(self, value: Any) -> Any:
        return self.from_host(np.asarray(value))

    def has_views(self, ops: Any) -> bool:
        return True

    def shares_memory(self, x: Any, y: Any) -> bool:
        tensors = isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)
        if not tensors:
            return super().shares_memory(x, y)
        return bool(x.numel()) and x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr()

    def check_device(self, device: str) -> str:
        return devices.check(device)

    def accelerators(self) -> list[str]:
        return devices.accelerators()

    def on_device(self, device: str) -> AbstractContextManager[Any]:
        return torch.device(device)

    def probing(self) -> AbstractContextManager[Any]:
        return torch.no_grad()

    def running(self, has_gradients: bool) -> AbstractContextManager[Any]:
        return torch.enable_grad() if has_gradients else torch.inference_mode()

    @contextmanager
    def profile(self, path: str) -> Iterator[None]:
        """Writes a Chrome trace of what runs inside."""
        with torch.profiler.profile() as profiler:
            yield
        profiler.export_chrome_trace(path)

    def kept(self, tensor: Any) -> Any:
        return tensor.detach().clone()

    def from_host(self, array: NDArray[Any]) -> Any:
        tensor = _from_numpy(array)
        return tensor if self.device == "cpu" else tensor.to(self.device)

    def to_host(self, tensor: Any) -> NDArray[Any]:
        if not isinstance(tensor, torch.Tensor):
            return np.asarray(tensor)
        array: NDArray[Any] = tensor.numpy(force=True)  # without its gradients, from any device
        return array

    def read(self, variable: Any) -> NDArray[Any]:
        if isinstance(variable, np.ndarray):
            return variable.copy()
        # Kernels are stored in another memory order: hand them out as plain C arrays.
        return np.array(variable.detach().cpu().numpy(), order="C", copy=True)

    def write(self, variable: Any, value: NDArray[Any]) -> None:
        if isinstance(variable, np.ndarray):
            variable[...] = value
            return
        with torch.no_grad():
            variable.copy_(_from_numpy(np.asarray(value, order="C")))


def _array_of(value: Any) -> Any:
    """The tensor's own memory; anything else stays as it is."""
    return value.detach().cpu().numpy() if isinstance(value, torch.Tensor) else value


def _from_numpy(array: NDArray[Any]) -> torch.Tensor:
    if not array.flags.writeable:
        # Torch has no read-only tensors... In the array's own order: stacks of frames are views
        # whose axes are swapped, and sorting their bytes costs more than copying them.
        array = array.copy(order="K")
    try:
        return torch.from_numpy(array)
    except ValueError:
        return torch.from_numpy(array.copy())  # ... and no negative strides.
