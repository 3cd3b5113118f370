"""What all optimizers share: gradients, clipping, slots."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, Variable, api, graph_fn
from rlg.graph.registry import make
from rlg.graph.spaces import Box, Dict, Space


class Optimizer(Component):
    """Changes variables against the gradients of a loss.

    loss: one number; variables: a Dict of variables, from `component.variables()`; gradients: a
    Dict of equal keys and shapes. Clipping is part of `apply`: `max_grad_norm` bounds the norm of
    all gradients together (Pascanu et al., 2013, by torch's formula), `clip_value` each number.
    `average` is a component with `average(gradients)`: replicas put theirs between the two.
    """

    def __init__(
        self,
        learning_rate: float,
        max_grad_norm: float | None = None,
        clip_value: float | None = None,
        average: Any = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.max_grad_norm = max_grad_norm
        self.clip_value = clip_value
        self.average = None if average is None else make(average)

    def create_variables(self, *, variables: Space) -> None:
        if self.learning_rate < 0:
            raise ComponentError(
                f"{self.path}: learning_rate is {self.learning_rate}; give a positive one."
            )
        if self.max_grad_norm is not None and self.clip_value is not None:
            raise ComponentError(
                f"{self.path}: max_grad_norm is {self.max_grad_norm} and clip_value "
                f"{self.clip_value}. Choose one of them."
            )
        if not isinstance(variables, Dict):
            raise SpaceError(
                f"{self.path}: `variables` is {variables}; hand in a component's variables: "
                "optimizer.step(loss, self.policy.variables())."
            )
        self._boxes = {key: box for key, box in variables.items() if isinstance(box, Box)}
        self.create_slots()

    def create_slots(self) -> None:
        """Makes what an optimizer remembers."""

    def slot(self, name: str) -> dict[str, Variable]:
        """One zero variable beside each variable, in its layout."""
        return {
            key: self.variable(
                f"{name}/{key}", box.shape, dtype=box.dtype, kernel=len(box.shape) == 4
            )
            for key, box in self._boxes.items()
        }

    @api
    def step(self, loss: Any, variables: Any) -> Any:
        """Descends once; gives the global norm of the gradients before clipping."""
        gradients = self.gradients(loss, variables)
        if self.average is not None:
            gradients = self.average.average(gradients)
        return self.apply(variables, gradients)

    @api
    @graph_fn
    def gradients(self, loss: Tensor, variables: Tensor) -> Tensor:
        """d loss / d variable for each."""
        return self.ops.gradients(loss, variables)

    @api
    def apply(self, variables: Any, gradients: Any) -> Any:
        """Clips and descends; gives the global norm before clipping."""
        norm = self.global_norm(gradients)
        if self.max_grad_norm is not None:
            gradients = self.clip_norm(gradients, norm)
        elif self.clip_value is not None:
            gradients = self.clip_values(gradients)
        self.descend(variables, gradients)
        return norm

    @graph_fn
    def global_norm(self, gradients: Tensor) -> Tensor:
        ops = self.ops
        return ops.sqrt(sum(ops.sum(ops.square(gradient)) for gradient in gradients.values()))

    @graph_fn
    def clip_norm(self, gradients: Tensor, norm: Tensor) -> Tensor:
        factor = self.ops.clip(self.max_grad_norm / (norm + 1e-6), 0.0, 1.0)
        return {key: gradient * factor for key, gradient in gradients.items()}

    @graph_fn
    def clip_values(self, gradients: Tensor) -> Tensor:
        ops, limit = self.ops, self.clip_value
        assert limit is not None
        return {key: ops.clip(gradient, -limit, limit) for key, gradient in gradients.items()}

    @graph_fn
    def descend(self, variables: Tensor, gradients: Tensor) -> None:
        """Changes the variables; each optimizer has its own way."""
        raise NotImplementedError
