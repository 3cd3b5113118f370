"""Deep Q-learning of distributions of returns."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError
from rlg.graph import api
from rlg.graph.components.algorithms.apex import ApexDQN
from rlg.graph.components.algorithms.dqn import DQN


class DistributionalDQN(DQN):
    """A DQN whose policy estimates the distribution of returns: Bellemare et al. (2017).

    By its loss it is C51 (`categorical_dqn_loss`, with a categorical_head) or QR-DQN
    (`quantile_dqn_loss`, with a quantile_head: Dabney et al., 2018). Everything else is DQN's: it
    acts by the means; double, dueling, prioritized, n-step and noisy are the same switches.
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        *,
        loss: Any = "categorical_dqn_loss",
        **options: Any,
    ) -> None:
        super().__init__(policy, action_space, loss=loss, **options)
        head = getattr(self.policy, "head", None)
        for name in ("n_atoms", "v_min", "v_max"):
            if getattr(head, name, None) != getattr(self.loss, name, None):
                raise ComponentError(
                    f"{type(self).__name__}: {name} of the policy's {type(head).__name__} is "
                    f"{getattr(head, name, None)}, that of the {type(self.loss).__name__} is "
                    f"{getattr(self.loss, name, None)}. Use a head and a loss of one kind, with "
                    "equal values."
                )

    @api
    def _differentiate(self, records: Any, weights: Any = None) -> Any:
        z = self.policy.distributions(records["states"], noise=True)
        with self.no_gradient():
            z_next_target = self.target_policy.distributions(records["next_states"], noise=True)
            if self.loss.double:
                q_next = self.policy.q_values(records["next_states"], noise=True)
            else:
                q_next = self.policy.means(z_next_target, records["next_states"])
        items, td_errors, divergences = self.loss.compare(
            z,
            records["actions"],
            records["rewards"],
            records["terminals"],
            q_next,
            z_next_target,
            records["discounts"] if self.n_step > 1 else None,
        )
        loss, _ = self.loss.loss(items, weights)
        gradients = self.optimizer.gradients(loss, self.policy.variables())
        return (
            gradients,
            loss,
            td_errors,
            self.policy.means(z),
            self._errors(td_errors, divergences),
        )

    def _errors(self, td_errors: Any, divergences: Any) -> Any:
        """What records are replayed by."""
        return divergences


class DistributionalApexDQN(DistributionalDQN, ApexDQN):
    """An Ape-X DQN of distributions: Horgan et al. (2018) with Bellemare et al. (2017).

    Priorities are TD errors of the means, which actors know from their Q-values.
    """

    def _errors(self, td_errors: Any, divergences: Any) -> Any:
        return td_errors
