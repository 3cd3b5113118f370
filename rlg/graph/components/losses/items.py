"""What losses share: items, their weights, and checks of numbers."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor
from rlg.graph.spaces import Box, Space


class ItemLoss(Component):
    """A loss of each item of a batch, [B] or [T, B], and their mean."""

    def weigh(self, items: Tensor, weights: Tensor | None) -> tuple[Tensor, Tensor]:
        """The mean and the items; weights multiply them once."""
        if weights is not None:
            items = weights * items
        return self.ops.mean(items), items

    def item_sums(self, x: Tensor) -> Tensor:
        """[B] of [B, ...]."""
        for _ in self.ops.shape_of(x)[1:]:
            x = self.ops.sum(x, -1)
        return x

    def check_not_negative(self, **numbers: float | None) -> None:
        for name, number in numbers.items():
            if number is not None and number < 0:
                raise ComponentError(f"{self.path}: {name} must be at least 0, got {number}.")

    def check_one_each(self, **spaces: Space | None) -> None:
        """Each must be one float for each item."""
        for name, space in spaces.items():
            if space is None:
                continue
            if not isinstance(space, Box) or space.kind != "float" or space.shape:
                raise SpaceError(
                    f"{self.path}: `{name}` is {space}; the loss takes one float for each item. "
                    "Sum it over the parts of an action (a policy's log_probs and entropies are), "
                    "or squeeze an axis of one element."
                )

    def check_mask(self, **spaces: Space | None) -> None:
        for name, space in spaces.items():
            if space is not None and not (isinstance(space, Box) and space.kind == "bool"):
                raise SpaceError(
                    f"{self.path}: `{name}` is {space}; it masks the next state. Give a BoolBox()."
                )


def standardized(ops: Any, x: Tensor) -> Tensor:
    """[B] with mean 0 and standard deviation 1, that of a sample: n - 1 below the fraction."""
    n = ops.cast(ops.batch_size(x), "float32")
    centred = x - ops.mean(x)
    variance = ops.sum(ops.square(centred)) / ops.maximum(n - 1.0, ops.ones_like(n))
    return centred / (ops.sqrt(variance) + 1e-8)


class ActorCriticLoss(ItemLoss):
    """A policy's part, `vf_coef` times a value function's, and a bonus of `ent_coef` * entropy."""

    vf_coef: float
    ent_coef: float

    def parts(
        self, policy: Tensor, value: Tensor, log_probs: Tensor, entropies: Tensor | None
    ) -> dict[str, Tensor]:
        """Means of an actor-critic's loss: surrogate, squared error and entropy by themselves."""
        ops = self.ops
        entropy = ops.mean(-log_probs if entropies is None else entropies)
        bonus = 0.0 if entropies is None else self.ent_coef * entropy
        return {
            "policy_loss": ops.mean(policy) + bonus,
            "value_loss": ops.mean(value) / (self.vf_coef or 1.0),
            "entropy": entropy,
        }
