"""Deep Q-learning from sequences, with recurrent networks."""

from __future__ import annotations

from typing import Any

from rlg.graph import Static, Tensor, api, graph_fn
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.algorithms.sequences import part_of, with_time
from rlg.graph.components.networks.stack import accepted
from rlg.graph.limits import NonNegativeInt
from rlg.graph.spaces import Space, map_leaves

# Of a sequence's priority: this share of its largest TD error, the rest of the mean.
LARGEST = 0.9
COLUMNS = ("states", "resets", "actions", "rewards", "terminals", "masks")


class RecurrentDQN(DQN):
    """DQN whose records are sequences: Hausknecht and Stone (2015), Kapturowski et al. (2019).

    records: a Dict with a batch rank, of `states` [L + 1, ...] and `resets` (bool, where episodes
    begin) [L + 1], `actions`, `rewards`, `terminals` and `masks` (float, 0 where the next state is
    not known) [L, ...]: the sequence is part of their shapes. hidden, resets: see RecurrentQPolicy.
    A sequence begins from an empty memory, or with `stored_state` from what the actor remembered
    before it, `hidden` of the records. Its first `burn_in` steps only bring that up to date.
    A sequence's priority is that of Kapturowski et al. (2019); td_errors: [B, L - burn_in].
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        *,
        burn_in: NonNegativeInt = 0,
        stored_state: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(policy, action_space, **options)
        self.burn_in = burn_in
        self.stored_state = stored_state

    @api
    def get_actions(  # type: ignore[override]
        self,
        states: Any,
        epsilon: Any,
        hidden: Any,
        resets: Any,
        explore: Static[bool] = True,
    ) -> Any:
        """Actions, and what to remember."""
        words = accepted(self.policy, "act", update=explore, noise=explore)
        q_values, hidden = self.policy.act(states, hidden, resets, **words)
        if explore:
            return self.exploration.explore(q_values, epsilon), hidden
        return self.best(q_values), hidden

    @api
    def update_from(self, records: Any, weights: Any = None, learning_rate: Any = None) -> Any:
        """Learns from these sequences; returns the loss, TD errors and new priorities [B]."""
        gradients, loss, td_errors, masks = self.replicate(self._differentiate, records, weights)
        self.optimizer.apply(
            self.policy.variables(), self.optimizer.averaged(gradients), learning_rate
        )
        td_errors = self.known(td_errors, masks)
        return loss, td_errors, self.priorities(td_errors)

    @api
    def _differentiate(self, records: Any, weights: Any = None) -> Any:
        """The gradients of the loss, the loss, TD errors of all steps and their masks."""
        hidden = target_hidden = records["hidden"] if self.stored_state else None
        sequences = {name: records[name] for name in COLUMNS}
        if self.burn_in:
            early = self.unrolled(self.early({name: records[name] for name in COLUMNS[:2]}))
            with self.no_gradient():
                hidden, target_hidden = (
                    policy.remember(early["states"], early["resets"], hidden)
                    for policy in (self.policy, self.target_policy)
                )
            sequences = self.late(sequences)
        steps = self.unrolled(sequences)
        inputs = steps["states"], steps["resets"]
        words = accepted(self.policy, "q_values", noise=True)
        q = self.policy.q_values(*inputs, hidden, **words)
        with self.no_gradient():
            q_target = self.target_policy.q_values(*inputs, target_hidden, **words)
        td_errors = self.loss.td_errors(
            self.first(q),
            steps["actions"],
            steps["rewards"],
            steps["terminals"],
            self.following(q),
            self.following(q_target),
        )
        loss, _ = self.loss.loss(td_errors, self.weighed(steps["masks"], weights))
        gradients = self.optimizer.gradients(loss, self.policy.variables())
        return gradients, loss, td_errors, steps["masks"]

    def _noted(self, *figures: Any) -> Any:
        """TD errors have a time of their own."""
        with self.no_gradient():
            return self.means(figures)

    @graph_fn
    def best(self, q_values: Tensor) -> Tensor:
        return self.ops.argmax(q_values, -1)

    # Declared: a dry run sees a first axis of fixed size, which is time here, and no bounds, from
    # which the target network knows the categories of its inputs.
    def _steps(self, records: Space) -> Space:
        return with_time(records)

    @graph_fn(spaces=_steps)
    def unrolled(self, records: Tensor) -> Tensor:
        """The same tensors, with time in their ranks."""
        return records

    def _early(self, records: Space) -> Space:
        return part_of(records, slice(self.burn_in))

    @graph_fn(spaces=_early)
    def early(self, records: Tensor) -> Tensor:
        """The steps of the burn-in."""
        return map_leaves(lambda x: x[:, : self.burn_in], records)

    def _late(self, records: Space) -> Space:
        return part_of(records, slice(self.burn_in, None))

    @graph_fn(spaces=_late)
    def late(self, records: Tensor) -> Tensor:
        """The steps behind it, which are learned from."""
        return map_leaves(lambda x: x[:, self.burn_in :], records)

    @graph_fn
    def first(self, q: Tensor) -> Tensor:
        """Without the last step."""
        return q[:, :-1]

    @graph_fn
    def following(self, q: Tensor) -> Tensor:
        """Without the first step; what is judged here takes no gradients."""
        return self.ops.stop_gradient(q[:, 1:])

    @graph_fn
    def weighed(self, masks: Tensor, weights: Tensor | None = None) -> Tensor:
        return masks if weights is None else masks * self.ops.expand_dims(weights, -1)

    @graph_fn
    def known(self, td_errors: Tensor, masks: Tensor) -> Tensor:
        """TD errors [B, L] or [B, L, D], 0 where the next state is not known."""
        for _ in self.action_space.shape:
            masks = self.ops.expand_dims(masks, -1)
        return td_errors * masks

    @graph_fn
    def priorities(self, errors: Tensor) -> Tensor:
        """[B] of [B, L] or [B, L, D]."""
        ops = self.ops
        sizes = ops.abs(errors)
        for _ in self.action_space.shape:
            sizes = ops.mean(sizes, -1)
        return LARGEST * ops.max(sizes, -1) + (1.0 - LARGEST) * ops.mean(sizes, -1)
