"""Policies as files of torch: exported programs (.pt2), which load without rlg, and ONNX.

Why torch.export and not TorchScript: torch deprecates the latter, and its ONNX exporter starts from
exported programs too.
"""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from rlg.backends.executor import GraphExecutor
from rlg.backends.torch.executor import TorchExecutor
from rlg.backends.torch.ops import DTYPES, TorchOps
from rlg.graph.spaces import Box

Function = Callable[[Any, Mapping[str, Any]], dict[str, Any]]


class ExportingExecutor(TorchExecutor):
    """Builds for a trace: what is traced has no memory to look at, and writes nothing."""

    def has_views(self, ops: Any) -> bool:
        return False


def exported_program(
    executor: GraphExecutor, function: Function, inputs: Mapping[str, Box]
) -> torch.export.ExportedProgram:
    """The function as a program of torch alone; its batch may have any size."""
    # What autograd would record for nobody; exported programs know only tensors without it.
    for info in executor.builder.binding.variables.values():
        if isinstance(info.variable, torch.Tensor):
            info.variable.requires_grad_(False)
    module = _module(function, list(inputs))
    # Two rows or more: torch takes sizes of one for fixed.
    rows = [torch.zeros((3, *box.shape), dtype=DTYPES[box.dtype]) for box in inputs.values()]
    batch = torch.export.Dim("batch", min=1)
    shapes = {name: {0: batch} for name in inputs}
    with torch.no_grad(), _quiet():
        return torch.export.export(module, tuple(rows), dynamic_shapes=shapes)


def write_program(program: torch.export.ExportedProgram, path: Path) -> None:
    """Writes a .pt2 file. In memory first: torch aborts the process where a disk is full."""
    content = io.BytesIO()
    with _quiet():
        torch.export.save(program, content)
    path.write_bytes(content.getbuffer())


def load_program(path: Path, inputs: Sequence[str]) -> Callable[..., dict[str, NDArray[Any]]]:
    """The function in a .pt2 file, from arrays to arrays."""
    with _quiet():
        module = torch.export.load(path).module()

    def call(**arrays: NDArray[Any]) -> dict[str, NDArray[Any]]:
        with torch.no_grad():
            found = module(*(torch.from_numpy(np.array(arrays[name])) for name in inputs))
        return {name: tensor.numpy() for name, tensor in found.items()}

    return call


def write_onnx(
    program: torch.export.ExportedProgram, path: Path, inputs: Sequence[str], outputs: Sequence[str]
) -> None:
    """Writes an .onnx file with these names."""
    with _quiet():
        torch.onnx.export(
            program,
            f=str(path),
            input_names=list(inputs),
            output_names=list(outputs),
            dynamo=True,
            external_data=False,
            verbose=False,
        )


def _module(function: Function, names: Sequence[str]) -> torch.nn.Module:
    """A module whose `forward` has one argument for each input, by its name."""
    ops, scope = TorchOps(), dict[str, Any]()
    pairs = ", ".join(f"{name!r}: {name}" for name in names)
    exec(f"def forward(self, {', '.join(names)}):\n    return run({{{pairs}}})\n", scope)
    scope["run"] = lambda tensors: function(ops, tensors)
    policy = type("Policy", (torch.nn.Module,), {"forward": scope["forward"]})
    module: torch.nn.Module = policy()
    return module


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch's exporters say of torch itself."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
