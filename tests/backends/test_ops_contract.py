"""Every operation on every backend: values and dtypes, gradients, and tracing by torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rlg.backends.numpy.ops import NumpyOps
from rlg.backends.numpy.regions import leaves
from rlg.backends.torch.ops import TorchOps
from rlg.errors import BackendError
from rlg.graph.core.component.ops import Ops
from tests.backends.contract import CASES, IDS, Case
from tests.backends.runners import BACKENDS, OPS, run

OPERATIONS = sorted(name for name in vars(Ops) if not name.startswith("_"))


@pytest.mark.parametrize("name", OPERATIONS)
def test_each_operation_has_a_case_and_an_implementation_on_each_backend(name: str) -> None:
    assert name in {case.op for case in CASES}
    assert all(callable(getattr(OPS[backend], name, None)) for backend in BACKENDS)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_values_and_dtypes(case: Case, backend: str) -> None:
    if backend == "numpy" and case.op == "gradients":
        with pytest.raises(BackendError, match="forward-only"):
            run(backend, case.run, case.inputs, case.variables, case.draws, case.unknown)
        return
    found, _ = run(backend, case.run, case.inputs, case.variables, case.draws, case.unknown)
    expected = leaves(case.expected if isinstance(case.expected, list) else [case.expected])
    assert len(found) == len(expected)
    for value, wanted in zip(found, expected, strict=True):
        assert value.dtype == wanted.dtype
        assert value.shape == wanted.shape
        np.testing.assert_allclose(value, wanted, rtol=2e-5, atol=1e-6)


DIFFERENTIABLE = [(case, name) for case, name in zip(CASES, IDS, strict=True) if case.grad]


@pytest.mark.parametrize("case", [c for c, _ in DIFFERENTIABLE], ids=[n for _, n in DIFFERENTIABLE])
def test_gradients_agree_with_finite_differences(case: Case) -> None:
    """In float64: torch, TensorFlow and central differences of the numpy backend."""
    inputs = [x.astype(np.float64) if x.dtype.kind == "f" else x for x in case.inputs]
    is_kernel = case.op == "conv2d"
    names = {i: "kernel" if is_kernel and i == 1 else f"x{i}" for i in case.grad}
    variables = {name: inputs[i] for i, name in names.items()}

    def loss(ops: Any, v: Any, *others: Any) -> Any:
        arguments = [v[names[i]] if i in names else x for i, x in enumerate(others)]
        total = 0.0
        for leaf in leaves(case.call(ops, *arguments)):
            size = int(np.prod(shapes.pop(0)))
            weights = ops.constant(np.cos(np.arange(size)) + 0.5, "float64")
            total = total + ops.sum(weights * ops.reshape(leaf, [-1]))
        return total

    def grads(ops: Any, v: Any, *others: Any) -> Any:
        found = ops.gradients(loss(ops, v, *others), v)
        return [found[name] for name in v]

    expected = [np.shape(e) for e in leaves([case.expected])]
    results = []
    for backend in ("torch", "tf"):
        shapes = list(expected)
        results.append(run(backend, grads, inputs, variables, unknown=0)[0])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-7, atol=1e-9)
    for (name, value), found in zip(variables.items(), results[0], strict=True):
        for place in np.ndindex(value.shape):
            sides = []
            for change in (1e-6, -1e-6):
                moved = value.copy()
                moved[place] += change
                shapes = list(expected)
                sides.append(loss(NumpyOps(), {**variables, name: moved}, *inputs))
            slope = (sides[0] - sides[1]) / 2e-6
            np.testing.assert_allclose(found[place], slope, rtol=1e-5, atol=1e-6)


PURE = [(c, n) for c, n in zip(CASES, IDS, strict=True) if c.compiles and not c.variables]


@pytest.mark.parametrize("case", [c for c, _ in PURE], ids=[n for _, n in PURE])
def test_torch_traces_it_in_one_graph(case: Case) -> None:
    ops = TorchOps()
    inputs = [torch.tensor(x) for x in case.inputs]

    def function(*xs: Any) -> Any:
        return case.call(ops, *xs)

    torch.compiler.reset()
    compiled = torch.compile(function, backend="eager", fullgraph=True)
    for traced, plain in zip(leaves(compiled(*inputs)), leaves(function(*inputs)), strict=True):
        assert traced.dtype == plain.dtype
        torch.testing.assert_close(traced, plain)
