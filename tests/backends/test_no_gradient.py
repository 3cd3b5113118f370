"""`no_gradient()` in the plans that frameworks run: what is called inside is a constant."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.backends.executor import make_executor
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import Box, Dict, FloatBox

ways = pytest.mark.parametrize(
    ("backend", "options"),
    [
        ("torch", {}),
        ("tf", {}),
        ("tf-graph", {}),
        ("torch", {"define_by_run": True}),
        ("tf", {"define_by_run": True}),
    ],
    ids=["torch", "tf", "tf-graph", "torch-by-run", "tf-by-run"],
)


class Scale(Component):
    """w x, with w = 2."""

    def create_variables(self) -> None:
        self._w = self.variable("w", value=2.0, trainable=True)

    @api
    @graph_fn
    def call(self, x: Tensor) -> Tensor:
        return self._w * x

    @api(split=True)
    def each(self, x: Any) -> Any:
        return self.call(x)

    @api(fold_time=True)
    def folded(self, x: Any) -> Any:
        return self.call(x)

    @api
    def step(self, carry: Any, x: Any) -> Any:
        y = self.call(x)
        return y, y

    @api
    def loop(self, xs: Any) -> Any:
        return self.scan(self.step, 0.0, xs)[1]

    @api
    def branch(self, x: Any) -> Any:
        return self.cond(self.yes(), self.call, self.call, x)

    @graph_fn
    def yes(self) -> Tensor:
        return self.ops.constant(True, "bool")


class Targets(Component):
    """The gradient of mean(f(x) * g(x)), where both are w x and g may be held constant."""

    def __init__(self, way: str) -> None:
        self.scale = Scale()
        self.way = way

    @api
    def gradient(self, x: Any) -> Any:
        online = self.scale.call(x)
        with self.no_gradient():
            target = getattr(self.scale, self.way)(x)
        return self.take(online, target, self.scale.variables())

    @api
    def full_gradient(self, x: Any) -> Any:
        online = self.scale.call(x)
        return self.take(online, self.scale.call(x), self.scale.variables())

    @graph_fn
    def take(self, online: Tensor, target: Tensor, variables: Tensor) -> Tensor:
        return self.ops.gradients(self.ops.mean(online * target), variables)


@ways
@pytest.mark.parametrize("way", ["call", "each", "loop", "branch"])
def test_a_target_is_constant(way, backend, options):
    executor = make_executor(backend, **options)
    apis = ["gradient", "full_gradient"]
    executor.build(Targets(way), {"x": FloatBox(ranks="T")}, apis=apis)
    x = np.array([1.0, 3.0], "float32")
    # d/dw mean((w x) c) with c = 2 x, and d/dw mean(w^2 x^2) = 2 w mean(x^2).
    np.testing.assert_allclose(executor.execute("gradient", x)["w"], 10.0, rtol=1e-6)
    np.testing.assert_allclose(executor.execute("full_gradient", x)["w"], 20.0, rtol=1e-6)


@ways
def test_nested_leaves_are_constant_too(backend, options):
    class Nested(Targets):
        @api
        def gradient(self, pair: Any) -> Any:
            online = self.scale.each(pair)
            with self.no_gradient():
                target = self.scale.each(pair)
            return self.take(online["a"], target["a"], self.scale.variables())

    executor = make_executor(backend, **options)
    pair = Dict(a=FloatBox(), b=FloatBox())
    executor.build(Nested("call"), {"pair": pair}, apis=["gradient"])
    values = {"a": np.array([1.0, 3.0], "float32"), "b": np.zeros(2, "float32")}
    np.testing.assert_allclose(executor.execute("gradient", values)["w"], 10.0, rtol=1e-6)


@ways
def test_folded_outputs_are_constant_too(backend, options):
    class Folded(Targets):
        @api
        def gradient(self, x: Any) -> Any:
            online = self.scale.folded(x)
            with self.no_gradient():
                target = self.scale.folded(x)
            return self.take(online, target, self.scale.variables())

    executor = make_executor(backend, **options)
    executor.build(Folded("call"), {"x": Box(ranks="BT")}, apis=["gradient"])
    x = np.array([[1.0], [3.0]], "float32")
    np.testing.assert_allclose(executor.execute("gradient", x)["w"], 10.0, rtol=1e-6)


@ways
def test_a_chain_that_ends_inside_no_gradient_is_constant(backend, options):
    class Chain(Targets):
        @api
        def gradient(self, x: Any) -> Any:
            online = self.scale.call(x)
            inner = self.scale.call(x)
            with self.no_gradient():
                target = self.halve(self.scale.call(inner))
            return self.take(online, target, self.scale.variables())

        @graph_fn
        def halve(self, x: Tensor) -> Tensor:
            return x / 2.0

    executor = make_executor(backend, **options)
    executor.build(Chain("call"), {"x": FloatBox()}, apis=["gradient"])
    x = np.array([1.0, 3.0], "float32")
    np.testing.assert_allclose(executor.execute("gradient", x)["w"], 10.0, rtol=1e-6)
