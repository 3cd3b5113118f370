"""The weight of entropy in soft actor-critic, constant or learned."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.heads.leaves import is_bounded
from rlg.graph.components.losses.items import ItemLoss
from rlg.graph.spaces import Box, space_from_spec


class Temperature(ItemLoss):
    """alpha, learned by -log alpha * (log pi(a|s) + target entropy): Haarnoja et al. (2018b).

    `ent_coef` is a number, which stays, or "auto" (also "auto_0.1", to start from 0.1 instead of
    1). `target_entropy` is a number or "auto": minus the dimension of a continuous action space, in
    units of half its range (densities of narrow actions are high); 0.98 * log A for A discrete
    actions (Christodoulou, 2019). log_probs: float [B], of drawn
    actions; [B, A], of every action, if the space is discrete. Variable: `log_alpha`.
    """

    def __init__(
        self,
        action_space: Any,
        ent_coef: float | str = "auto",
        target_entropy: float | str = "auto",
    ) -> None:
        self.action_space = space_from_spec(action_space)
        self.ent_coef = ent_coef
        self.target_entropy = target_entropy
        self._is_learned = isinstance(ent_coef, str)

    def create_variables(self) -> None:
        self._discrete, self._target = self._aim()
        self._log_alpha = self.variable(
            "log_alpha", value=math.log(self._start()), trainable=self._is_learned, kind="weight"
        )

    def _aim(self) -> tuple[bool, float]:
        space = self.action_space
        if not isinstance(space, Box) or (space.kind == "int" and space.shape):
            raise ComponentError(
                f"{self.path}: action_space is {space}; soft actor-critic takes a FloatBox, or an "
                "IntBox of one choice."
            )
        choices = space.num_categories
        if space.kind != "float" and not isinstance(choices, int):
            raise ComponentError(f"{self.path}: action_space is {space}; bound it: IntBox(3).")
        if self.target_entropy != "auto":
            return space.kind != "float", float(self.target_entropy)
        if isinstance(choices, int):
            return True, 0.98 * math.log(choices)
        return False, -float(space.flat_dim) + _log_half_ranges(space)

    def _start(self) -> float:
        """`ent_coef` as a number to start from."""
        said = self.ent_coef
        try:
            word, _, number = said.partition("_") if isinstance(said, str) else ("auto", "", said)
            start = float(number) if number != "" else 1.0
        except ValueError:
            word, start = "", 0.0
        if word != "auto" or not start > 0.0:
            raise ComponentError(
                f"{self.path}: ent_coef is {said!r}; give a positive number, 'auto', or 'auto_0.1' "
                "to start from 0.1."
            )
        return start

    @api
    @graph_fn
    def alpha(self) -> Tensor:
        """One number."""
        return self.ops.exp(self.ops.stop_gradient(self._log_alpha))

    @api
    @graph_fn(fold_time=True)
    def loss(self, log_probs: Tensor, weights: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """The mean and the loss of each item, [B]; nothing to learn from if alpha is constant."""
        ops = self.ops
        log_probs = ops.stop_gradient(log_probs)
        if self._discrete:
            log_probs = ops.sum(ops.exp(log_probs) * log_probs, -1)  # Minus the entropy.
        return self.weigh(-self._log_alpha * (log_probs + self._target), weights)


def _log_half_ranges(space: Box) -> float:
    """The sum over all elements; 0 for those of [-1, 1], and for spaces without both bounds."""
    if not is_bounded(space):
        return 0.0
    half = 0.5 * (np.asarray(space.high, "float64") - np.asarray(space.low, "float64"))
    return float(np.log(np.broadcast_to(half, space.shape)).sum())
