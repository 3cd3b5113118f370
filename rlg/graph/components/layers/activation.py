"""Activations: nonlinear functions of single numbers, by name."""

from __future__ import annotations

from collections.abc import Callable

from rlg.errors import SpecError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.core.component.ops import Ops
from rlg.spelling import suggestion

ACTIVATIONS = tuple("relu tanh sigmoid elu gelu silu softplus leaky_relu linear".split())


class Activation(Component):
    """Applies an activation to every number: any shape and ranks, nested spaces too."""

    def __init__(self, activation: str = "relu") -> None:
        self.activation = activation

    def create_variables(self) -> None:
        self._activate = activation_of(self.ops, self.activation)

    @api
    @graph_fn(split=True)
    def call(self, inputs: Tensor) -> Tensor:
        return self._activate(inputs) if self._activate else inputs


def activation_of(ops: Ops, name: str | None) -> Callable[[Tensor], Tensor] | None:
    """The function of this name, looked up once for all calls; None for what stays linear."""
    if name is not None and name not in ACTIVATIONS:
        raise SpecError(
            f"there is no activation {name!r}.{suggestion(str(name), ACTIVATIONS)} "
            f"Known: {', '.join(ACTIVATIONS)}."
        )
    return None if name in (None, "linear") else getattr(ops, str(name))
