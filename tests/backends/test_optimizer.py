"""Adam: torch's numbers on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rlg.backends.torch.ops import TorchOps
from tests.backends.runners import run

SHAPES = {"kernel": (3, 3, 2, 4), "bias": (4,), "scale": ()}
STEPS = 5


def _gradients(dtype: str) -> list[dict[str, np.ndarray]]:
    generator = np.random.default_rng(0)
    return [
        {name: generator.normal(size=shape).astype(dtype) for name, shape in SHAPES.items()}
        for _ in range(STEPS)
    ]


def _start(dtype: str) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(1)
    values = {name: generator.normal(size=shape) for name, shape in SHAPES.items()}
    slots = {f"{name}-{slot}": np.zeros(SHAPES[name]) for slot in "mv" for name in SHAPES}
    slots["step"] = np.float32(0)
    return {
        name: np.asarray(value, "float32" if name == "step" else dtype)
        for name, value in (values | slots).items()
    }


def _steps(gradients: Any, tensor_rate: bool, **settings: Any) -> Any:
    def fn(ops: Any, v: Any) -> None:
        for step in gradients:
            rate: Any = settings["learning_rate"]
            if tensor_rate:
                rate = ops.constant(rate, "float32")
            ops.adam(
                [v[name] for name in SHAPES],
                [ops.constant(np.asarray(step[name]), str(step[name].dtype)) for name in SHAPES],
                [v[f"{name}-m"] for name in SHAPES],
                [v[f"{name}-v"] for name in SHAPES],
                v["step"],
                **{**settings, "learning_rate": rate},
            )

    return fn


@pytest.mark.parametrize(
    ("dtype", "decay", "tensor_rate"),
    [("float32", 0.0, False), ("float32", 0.1, True), ("float64", 0.1, False)],
)
def test_five_steps_equal_those_of_torch(
    backend: str, dtype: str, decay: float, tensor_rate: bool
) -> None:
    start, gradients = _start(dtype), _gradients(dtype)
    parameters = {name: torch.nn.Parameter(torch.tensor(start[name])) for name in SHAPES}
    kind = torch.optim.AdamW if decay else torch.optim.Adam
    optimizer = kind(
        parameters.values(), lr=0.01, betas=(0.8, 0.99), eps=1e-5, weight_decay=decay, foreach=False
    )
    for step in gradients:
        for name, parameter in parameters.items():
            parameter.grad = torch.tensor(step[name])
        optimizer.step()
    fn = _steps(gradients, tensor_rate, learning_rate=0.01, beta1=0.8, beta2=0.99, epsilon=1e-5,
                weight_decay=decay)  # fmt: skip
    _, found = run(backend, fn, [], start)
    assert found["step"] == STEPS
    for name, parameter in parameters.items():
        wanted, state = parameter.detach().numpy(), optimizer.state[parameter]
        np.testing.assert_allclose(found[name], wanted, rtol=1e-6, atol=1e-6)
        np.testing.assert_allclose(found[f"{name}-m"], state["exp_avg"], rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(found[f"{name}-v"], state["exp_avg_sq"], rtol=1e-5, atol=1e-6)


def test_the_first_step_of_a_tiny_gradient_is_that_of_torch(backend: str) -> None:
    def fn(ops: Any, v: Any, gradient: Any) -> None:
        ops.adam([v["w"]], [gradient], [v["m"]], [v["v"]], v["t"],
                 learning_rate=1e-3, beta1=0.9, beta2=0.999, epsilon=1e-8)  # fmt: skip

    zeros = {name: np.zeros(1, np.float32) for name in ("w", "m", "v")}
    _, found = run(backend, fn, [np.float32([1e-7])], {**zeros, "t": np.float32(0)})
    np.testing.assert_allclose(found["w"], [-9.0909e-4], rtol=1e-4)


def test_gradients_in_another_memory_order_are_turned() -> None:
    """The fused kernel walks variables and gradients by address."""
    ops = TorchOps()
    gradient = np.random.default_rng(0).normal(size=(3, 3, 2, 4)).astype(np.float32)
    found = []
    for layout in (None, "kernel"):
        w = ops.variable(np.zeros_like(gradient), trainable=True, layout=layout)
        m, v = (ops.variable(np.zeros_like(gradient), like=w) for _ in "mv")
        for _ in range(2):
            ops.adam([w], [torch.tensor(gradient)], [m], [v], ops.variable(np.float32(0)),
                     learning_rate=0.1, beta1=0.9, beta2=0.999, epsilon=0.1)  # fmt: skip
        found.append(w.detach().numpy())
    np.testing.assert_array_equal(found[0], found[1])


def test_corrections_are_traced_once_for_each_dtype_and_not_for_each_variable() -> None:
    import tensorflow as tf

    from rlg.backends.tf.ops import TFOps

    ops = TFOps("CPU:0")
    dtypes = ["float32", "float64", "float32", "float32"]
    slots = [[ops.variable(np.zeros(1, dtype)) for _ in "wmv"] for dtype in dtypes]
    step = ops.variable(np.float32(0))

    def update() -> None:
        variables, first, second = (list(column) for column in zip(*slots, strict=True))
        gradients = [tf.ones(1, dtype) for dtype in dtypes]
        ops.adam(variables, gradients, first, second, step,
                 learning_rate=0.1, beta1=0.9, beta2=0.999, epsilon=1e-8)  # fmt: skip

    traced = tf.function(update, autograph=False).get_concrete_function()
    kinds = [operation.type for operation in traced.graph.get_operations()]
    assert kinds.count("ResourceApplyAdam") == 4
    assert kinds.count("Pow") == 2 * 2
    traced()
    for (w, m, v), dtype in zip(slots, dtypes, strict=True):
        found = [float(variable.numpy()[0]) for variable in (w, m, v)]
        assert found == pytest.approx([-0.1, 0.1, 1e-3], rel=1e-4)
        assert w.numpy().dtype == dtype
