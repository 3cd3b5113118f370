"""Records of single steps that know the window behind them as well."""

from __future__ import annotations

from rlg.graph import Tensor, graph_fn
from rlg.graph.components.memories.transitions import NStepTransitions
from rlg.graph.spaces import Box, Dict, Space, map_leaves

# What a window's record calls what it shares its name with.
SINGLE = ("rewards", "terminals", "next_states")


class OneAndNStep(NStepTransitions):
    """Flat records for losses of one step and of n: Hester et al. (2018), "DQfD".

    records: segments as NStepTransitions takes them, [T, B, ...]. Returns the same records [N, ...]
    but with `rewards`, `terminals` and `next_states` of the single step, and those of the window as
    `n_step_rewards`, `n_step_terminals` and `n_step_next_states`, with gamma^k as `discounts`.
    """

    def _flat(self, records: Space, **windows: Box) -> Space:
        found = super()._flat(records, **windows)
        assert isinstance(found, Dict)
        return Dict({**found, **{f"n_step_{name}": found[name] for name in SINGLE}})

    @graph_fn(spaces=_flat)
    def arrange(
        self,
        records: Tensor,
        sums: Tensor,
        following: Tensor,
        terminals: Tensor,
        discounts: Tensor,
    ) -> Tensor:
        ops = self.ops
        found = super().arrange(records, sums, following, terminals, discounts)
        starts = ops.axis_size(sums, 0) - self.carried
        single = {
            name: map_leaves(lambda x: ops.fold_time(x[:starts]), records[name]) for name in SINGLE
        }
        return {**found, **{f"n_step_{name}": found[name] for name in SINGLE}, **single}
