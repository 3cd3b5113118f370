"""Large products of torch by oneDNN: the numbers of addmm, and only where they pay."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from rlg.backends.torch import products
from rlg.backends.torch.ops import TorchOps

LARGE = (128, 256, 256)  # rows, features, units


class Names(TorchDispatchMode):
    """The operations that run inside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.seen.append(operation.overloadpacket._qualified_op_name)
        return operation(*args, **(kwargs or {}))


def inputs(rows: int, features: int, units: int) -> tuple[torch.Tensor, ...]:
    rng = np.random.default_rng(3)
    shapes = (units,), (rows, features), (features, units)
    return tuple(torch.tensor(rng.normal(size=s), dtype=torch.float32) for s in shapes)


def names_of(*tensors: torch.Tensor) -> list[str]:
    with Names() as names:
        products.addmm(*tensors)
    return [name for name in names.seen if name in ("aten::addmm", "mkldnn::_linear_pointwise")]


@pytest.mark.parametrize("wanted", [(0, 1, 2), (0,), (1,), (2,), (0, 2)])
def test_outputs_and_gradients_of_large_products_are_those_of_float64(wanted):
    tensors, weights = inputs(*LARGE), inputs(*LARGE)[1]
    for i in wanted:
        tensors[i].requires_grad_()
    assert names_of(*tensors) == ["mkldnn::_linear_pointwise"]
    outputs = products.addmm(*tensors)
    found = torch.autograd.grad((outputs * weights).sum(), [tensors[i] for i in wanted])
    bias, x, kernel = (t.detach().numpy().astype(np.float64) for t in tensors)
    g = weights.numpy().astype(np.float64)
    np.testing.assert_allclose(outputs.detach(), x @ kernel + bias, rtol=1e-4, atol=1e-4)
    expected = g.sum(0), g @ kernel.T, x.T @ g
    for i, gradient in zip(wanted, found, strict=True):
        np.testing.assert_allclose(gradient, expected[i], rtol=1e-4, atol=1e-4)


def test_views_are_multiplied_as_what_they_show():
    bias, x, kernel = inputs(256, 512, 256)
    views = bias[:256], x[::2, 128:384], kernel.t()[:256, 100:356].t()
    assert names_of(*views) == ["mkldnn::_linear_pointwise"]
    with torch.inference_mode():
        found = products.addmm(*views)
    expected = views[1].double() @ views[2].double() + views[0].double()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)


def test_equal_products_have_equal_bits():
    tensors = inputs(*LARGE)
    moved = tuple(torch.cat([t.flatten()[:1], t.flatten()])[1:].view(t.shape) for t in tensors)
    assert torch.equal(products.addmm(*tensors), products.addmm(*moved))


@pytest.mark.parametrize(
    "shape",
    [
        (31, 512, 512),  # few rows
        (127, 256, 128),  # few multiplications
    ],
)
def test_small_products_stay_with_torch(shape):
    assert names_of(*inputs(*shape)) == ["aten::addmm"]


def test_what_onednn_does_not_multiply_stays_with_torch():
    tensors = inputs(*LARGE)
    assert names_of(*(t.double() for t in tensors)) == ["aten::addmm"]
    assert names_of(*(t.to("meta") for t in tensors)) == ["aten::addmm"]


def test_exported_programs_take_any_batch_and_have_no_operation_of_onednn():
    class Layer(torch.nn.Module):
        def forward(self, bias, x, kernel):
            return products.addmm(bias, x, kernel)

    batch = {"bias": None, "x": {0: torch.export.Dim("batch", min=1)}, "kernel": None}
    program = torch.export.export(Layer(), inputs(*LARGE), dynamic_shapes=batch)
    targets = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert targets == ["aten.addmm.default"]


@pytest.mark.parametrize(
    ("capability", "vendor", "expected"),
    [
        ("AVX512", "AuthenticAMD", True),
        ("AVX2", "AuthenticAMD", False),
        ("AVX512", "GenuineIntel", False),  # MKL uses it there
        ("AVX512", "", False),
    ],
)
def test_processors_whose_avx512_mkl_ignores_prefer_onednn(capability, vendor, expected):
    assert products.prefers_onednn(capability, vendor) is expected


def test_the_backend_takes_what_its_processor_prefers():
    preferred = products.prefers_onednn(torch.backends.cpu.get_cpu_capability(), products.vendor())
    assert TorchOps.addmm_wide is (products.addmm if preferred else torch.addmm)
