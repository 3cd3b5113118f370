"""Losses against known answers."""

from __future__ import annotations

import math

from rlg.errors import SpaceError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.losses.items import ItemLoss
from rlg.graph.spaces import Box, Space


class CrossEntropyLoss(ItemLoss):
    """-log softmax(logits)[label].

    logits: float [B, A], also [B, ..., A]: then the sum over the axes between; labels: ints [B],
    also [B, ...]; both also with time.
    """

    def create_variables(self, *, logits: Space, labels: Space) -> None:
        fits = isinstance(logits, Box) and isinstance(labels, Box) and labels.kind == "int"
        if not fits or logits.shape[:-1] != labels.shape or not logits.shape:  # type: ignore[attr-defined]
            raise SpaceError(
                f"{self.path}: `logits` is {logits} and `labels` {labels}. Give A logits for each "
                "label: Box((A,)) and IntBox(A)."
            )

    @api
    @graph_fn(fold_time=True)
    def loss(
        self, logits: Tensor, labels: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The mean and the loss of each item, [B]; weights [B] multiply it once."""
        ops = self.ops
        log_probs = ops.pick(ops.log_softmax(logits), ops.cast(labels, "int64"))
        return self.weigh(-self.item_sums(log_probs), weights)


class NLLLoss(ItemLoss):
    """Negative log-likelihood: minus the sum of log_probs, which any distribution gives.

    log_probs: float [B], or [B, ...]: then the sum over the axes of an item; also with time.
    """

    def create_variables(self, *, log_probs: Space) -> None:
        if not isinstance(log_probs, Box) or log_probs.kind != "float":
            raise SpaceError(f"{self.path}: `log_probs` is {log_probs}; give floats, a Box().")

    @api
    @graph_fn(fold_time=True)
    def loss(self, log_probs: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The mean and the loss of each item, [B]; weights [B] multiply it once."""
        return self.weigh(-self.item_sums(log_probs), weights)


class GaussianNLLLoss(ItemLoss):
    """Negative log-likelihood of independent normal distributions.

    mean, stddev, targets: float [B, ...], also with time; the sum over the axes of an item.
    """

    def create_variables(self, *, mean: Space, stddev: Space, targets: Space) -> None:
        if not isinstance(mean, Box) or not mean.like(stddev) or not mean.like(targets):
            raise SpaceError(
                f"{self.path}: `mean` is {mean}, `stddev` {stddev} and `targets` {targets}. Give "
                "three Boxes of one shape."
            )

    @api
    @graph_fn(fold_time=True)
    def loss(
        self, mean: Tensor, stddev: Tensor, targets: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The mean and the loss of each item, [B]; weights [B] multiply it once."""
        ops = self.ops
        away = (targets - mean) / stddev
        parts = 0.5 * ops.square(away) + ops.log(stddev) + 0.5 * math.log(2.0 * math.pi)
        return self.weigh(self.item_sums(parts), weights)


class EuclideanLoss(ItemLoss):
    """The distance of predictions from targets, sqrt(sum (x - y)^2).

    predictions, targets: float [B, ...], also with time; over all axes of an item. Where both are
    equal the gradient is 0.
    """

    def create_variables(self, *, predictions: Space, targets: Space) -> None:
        if not predictions.like(targets):
            raise SpaceError(
                f"{self.path}: `predictions` is {predictions} and `targets` {targets}. Give both "
                "the same shape."
            )

    @api
    @graph_fn(fold_time=True)
    def loss(
        self, predictions: Tensor, targets: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The mean and the loss of each item, [B]; weights [B] multiply it once."""
        ops = self.ops
        squares = self.item_sums(ops.square(predictions - targets))
        smallest = ops.full((1,), 1e-24)
        return self.weigh(ops.sqrt(ops.maximum(squares, smallest)), weights)
