"""What learners share: gradients that replicas may compute, and one step by their mean."""

from __future__ import annotations

from typing import Any

from rlg.graph import Component, Tensor, graph_fn


class Descent(Component):
    """Descends a loss of a policy.

    It shares policy and optimizer with the root, whose names they keep. Figures are single numbers.
    """

    def __init__(self, policy: Any, loss: Any, optimizer: Any) -> None:
        self.policy = policy
        self.loss = loss
        self.optimizer = optimizer

    def _descend(self, gradients: Any, learning_rate: Any = None) -> Any:
        """In API methods: one step, together with other processes; the norm of the gradients."""
        return self.optimizer.apply(
            self.policy.variables(), self.optimizer.averaged(gradients), learning_rate
        )

    @graph_fn
    def gradients(self, loss: Tensor, variables: Tensor) -> Tensor:
        """Not by the optimizer, which is complete only when it knows the rate's space."""
        return self.ops.gradients(loss, variables)

    @graph_fn
    def report(self, loss: Tensor, gradient_norm: Tensor, diagnostics: Tensor) -> Tensor:
        """Figures of one step."""
        return {**diagnostics, "loss": loss, "gradient_norm": gradient_norm}

    @graph_fn(split=True)
    def average(self, figures: Tensor) -> Tensor:
        """Means over steps."""
        return self.ops.mean(figures, 0)
