"""What Q-policies share: observations that say which actions are allowed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Tensor, graph_fn
from rlg.graph.components.distributions.categorical import MASKED
from rlg.graph.components.networks.stack import accepted

# The key of Dict observations that says which actions are allowed, bool or 0 and 1.
MASK = "action_mask"


class MaskedQ(Component):
    """Q-values of which those of forbidden actions are MASKED, -1e9: no maximum finds them.

    sees: the keys of states, a Dict, that the network gets (alone if it is one); beside them states
    have an `action_mask`, [..., A] or [..., D, A] for D sub-actions, of which 0 forbids. Where it
    allows nothing, as behind the end of an episode, it is as if it allowed everything. None: states
    have no mask, and go to the network as they are.
    """

    network: Any
    head: Any

    def _see_by(self, sees: Sequence[str] | None) -> None:
        self.sees = None if sees is None else tuple(sees)
        if self.sees is not None and (not self.sees or MASK in self.sees):
            raise ComponentError(
                f"{type(self).__name__}: sees is {list(self.sees)}; name the keys that the network "
                f"gets, without {MASK!r}."
            )

    def _seen(self, states: Any) -> Any:
        """In API methods: what the network gets."""
        if self.sees is None:
            return states
        if len(self.sees) == 1:
            return states[self.sees[0]]
        return {key: states[key] for key in self.sees}

    def _judged(self, features: Any, states: Any, noise: bool, masked: bool) -> Any:
        """In API methods: the Q-values of features."""
        q_values = self.head.call(features, **accepted(self.head, noise=noise))
        return self._allowed(q_values, states) if masked else q_values

    def _allowed(self, q_values: Any, states: Any) -> Any:
        """In API methods: Q-values by the mask of these states."""
        return q_values if self.sees is None else self.lower(q_values, states[MASK])

    @graph_fn(fold_time=True)
    def lower(self, q_values: Tensor, masks: Tensor) -> Tensor:
        ops = self.ops
        masks = ops.cast(masks, "float32")
        forbids = ops.logical_and(ops.equal(masks, 0.0), ops.max(masks, -1, keepdims=True) > 0.0)
        return ops.where(forbids, MASKED, q_values)
