"""The loss that prefers demonstrated actions."""

from __future__ import annotations

from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.losses.items import ItemLoss
from rlg.graph.limits import NonNegativeFloat
from rlg.graph.spaces import Space


class LargeMarginLoss(ItemLoss):
    """max_a (Q(s, a) + l(a)) - Q(s, a_E): Hester et al., "Deep Q-learning from Demonstrations"
    (2018).

    l is `margin` for all actions but the demonstrated one, a_E, and 0 for that: the loss is 0 once
    a_E is ahead of all others by the margin. q: [B, A], or [B, D, A] for D sub-actions, of which an
    item has the mean; actions: ints [B] or [B, D]; items: [B].
    """

    def __init__(self, margin: NonNegativeFloat = 0.8) -> None:
        self.margin = margin

    def create_variables(self, *, q: Space) -> None:
        self.check_not_negative(margin=self.margin)

    @api
    @graph_fn(fold_time=True)
    def loss(
        self, q: Tensor, actions: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The mean and the loss of each item, [B]; weights [B] multiply it once."""
        ops = self.ops
        actions = ops.cast(actions, "int64")
        others = 1.0 - ops.one_hot(actions, int(ops.shape_of(q)[-1] or 0))
        items = ops.max(q + self.margin * others, -1) - ops.pick(q, actions)
        for _ in ops.shape_of(items)[1:]:
            items = ops.mean(items, -1)
        return self.weigh(items, weights)
