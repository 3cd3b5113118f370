"""Deep Q-learning from demonstrations."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Size, Tensor, api, graph_fn
from rlg.graph.components.algorithms.dqn import DQN
from rlg.graph.components.losses.l2 import L2Loss
from rlg.graph.components.losses.margin import LargeMarginLoss
from rlg.graph.components.memories.demonstrations import DemonstrationReplay
from rlg.graph.components.memories.one_and_n_step import OneAndNStep
from rlg.graph.components.networks.stack import accepted
from rlg.graph.limits import NonNegativeFloat, PositiveInt


class DQfD(DQN):
    """A DQN that begins with demonstrations and never forgets them: Hester et al. (2018), "DQfD".

    It learns from one batch of demonstrations and own records by
    J = J_1 + n_step_weight * J_n + margin_weight * J_E + J_L2: the losses of one step and of n, the
    large margin of demonstrated actions (of demonstrations alone), and `l2` * 0.5 * the squares of
    all weights. Importance weights multiply the first three. `observe` and `demonstrate` take
    segments of steps; records are those of OneAndNStep. Priorities are TD errors of one step.
    demonstrated: bool [B], which records are demonstrations (default: none). The rest is DQN's.
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        *,
        memory: Any = "demonstration_replay",
        n_step: PositiveInt = 10,
        n_step_weight: NonNegativeFloat = 1.0,
        margin: NonNegativeFloat = 0.8,
        margin_weight: NonNegativeFloat = 1.0,
        l2: NonNegativeFloat = 1e-5,
        **options: Any,
    ) -> None:
        super().__init__(policy, action_space, memory, n_step=n_step, **options)
        if not isinstance(self.memory, DemonstrationReplay):
            raise ComponentError(
                f"DQfD: the memory is a {type(self.memory).__name__}, which would overwrite "
                "demonstrations. Use demonstration_replay."
            )
        self.n_step_weight = n_step_weight
        self.margin = margin
        self.margin_weight = margin_weight
        self.l2 = l2
        self.margin_loss = LargeMarginLoss(margin)
        self.l2_loss = L2Loss(l2)

    def _windows(self, n_step: int) -> Any:
        return OneAndNStep(n_step, self.loss.gamma)

    @property
    def _draws_in_turn(self) -> bool:
        return True

    @api
    def demonstrate(self, records: Any) -> None:
        """Stores segments of demonstrated steps for good."""
        self.memory.demonstrate(self.windows.call(records))

    @api
    def update(self, n: Size = 32, beta: Any = None, learning_rate: Any = None) -> Any:
        """Learns from `n` records; returns the loss, TD errors, J_n, J_E and the share of
        demonstrations.
        """
        records, keys, weights = self.memory.sample(n, beta)
        loss, td_errors, priorities, *figures = self.update_from(
            records, weights, learning_rate, self.memory.demonstrated(keys)
        )
        self.memory.update(keys, priorities)
        return loss, td_errors, *figures

    @api
    def update_from(
        self,
        records: Any,
        weights: Any = None,
        learning_rate: Any = None,
        demonstrated: Any = None,
    ) -> Any:
        """Learns from these records; as DQN's, and J_n, J_E and the share of demonstrations."""
        gradients, loss, td_errors, q, n_step_loss, margin_loss = self.replicate(
            self._differentiate, records, weights, demonstrated
        )
        self._descend(gradients, q, td_errors, learning_rate)
        share = self.share(records["rewards"], demonstrated)
        return loss, td_errors, self.priorities(td_errors), n_step_loss, margin_loss, share

    @api
    def _differentiate(self, records: Any, weights: Any = None, demonstrated: Any = None) -> Any:
        words = accepted(self.policy, "q_values", noise=True)
        q = self.policy.q_values(records["states"], **words)
        td_errors = self._td_errors(q, records, "", None)
        n_step_errors = self._td_errors(q, records, "n_step_", records["discounts"])
        loss, _ = self.loss.loss(td_errors, weights)
        n_step_loss, _ = self.loss.loss(n_step_errors, weights)
        theirs = self.masked(records["rewards"], demonstrated, weights)
        margin_loss, _ = self.margin_loss.loss(q, records["actions"], theirs)
        penalty = self.l2_loss.loss(self.policy.variables())
        total = self.total(loss, n_step_loss, margin_loss, penalty)
        gradients = self.optimizer.gradients(total, self.policy.variables())
        return gradients, total, td_errors, q, n_step_loss, margin_loss

    def _td_errors(self, q: Any, records: Any, prefix: str, discounts: Any) -> Any:
        """Of one step, or of a window: then with its discounts."""
        words = accepted(self.policy, "q_values", noise=True)
        following = records[f"{prefix}next_states"]
        with self.no_gradient():
            q_next_target = self.target_policy.q_values(following, **words)
            q_next = q_next_target
            if self.loss.double:
                q_next = self.policy.q_values(following, **words)
        return self.loss.td_errors(
            q,
            records["actions"],
            records[f"{prefix}rewards"],
            records[f"{prefix}terminals"],
            q_next,
            q_next_target,
            discounts,
        )

    @graph_fn
    def masked(
        self, like: Tensor, demonstrated: Tensor | None = None, weights: Tensor | None = None
    ) -> Tensor:
        """Importance weights of demonstrations, 0 for own records, [B]."""
        if demonstrated is None:
            return self.ops.zeros_like(like)
        mask = self.ops.cast(demonstrated, "float32")
        return mask if weights is None else weights * mask

    @graph_fn
    def share(self, like: Tensor, demonstrated: Tensor | None = None) -> Tensor:
        ops = self.ops
        if demonstrated is None:
            return ops.mean(ops.zeros_like(like))
        return ops.mean(ops.cast(demonstrated, "float32"))

    @graph_fn
    def total(self, one_step: Tensor, n_step: Tensor, margin: Tensor, penalty: Tensor) -> Tensor:
        """Equation 5."""
        return one_step + self.n_step_weight * n_step + self.margin_weight * margin + penalty
