"""The policy of DQNs that estimate distributions of returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Static, api
from rlg.graph.components.policies.q import QPolicy


class DistributionalQPolicy(QPolicy):
    """A network and a head of distributions (`categorical_head`, `quantile_head`).

    distributions: [B, A, N], or [B, D, A, N] for D sub-actions; q_values, their means: the same
    without N; actions, those of the largest mean: int64 [B], or [B, D].
    """

    def __init__(
        self,
        network: Any,
        action_space: Any,
        head: Any = "categorical_head",
        sees: Sequence[str] | None = None,
    ) -> None:
        super().__init__(network, action_space, head, sees)
        if not hasattr(self.head, "distributions"):
            raise ComponentError(
                f"DistributionalQPolicy: {type(self.head).__name__} has no distributions. Use a "
                "categorical_head or a quantile_head, or q_policy."
            )

    @api
    def distributions(self, states: Any, noise: Static[bool] = False) -> Any:
        return self.head.distributions(self.features(states, False, noise), noise)

    @api
    def means(self, distributions: Any, states: Any = None) -> Any:
        """The Q-values of distributions; of these states, by their masks."""
        q_values = self.head.means(distributions)
        return q_values if states is None else self._allowed(q_values, states)
