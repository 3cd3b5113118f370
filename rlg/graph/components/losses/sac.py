"""The losses of soft actor-critic, for continuous and for discrete actions."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.losses.items import ItemLoss
from rlg.graph.limits import Fraction
from rlg.graph.spaces import Box, Space, Tuple


class SACLoss(ItemLoss):
    """Soft actor-critic: Haarnoja et al. (2018).

    critic: sum_i 0.5 * (Q_i(s, a) - (r + gamma (min_j Q'_j(s', a') - alpha log pi(a'|s'))))^2;
    actor: alpha log pi(a|s) - min_j Q_j(s, a). q, q_next, q_pi: Tuples of one [B] for each critic
    (two are the twins of Fujimoto et al., 2018), also with time; alpha: one number, from a
    Temperature; discounts: [B], gamma^k of windows of k steps, in place of gamma. The target and
    alpha are constants for gradients.
    """

    def __init__(self, gamma: Fraction = 0.99) -> None:
        self.gamma = gamma

    def create_variables(
        self,
        *,
        q: Space | None = None,
        q_next: Space | None = None,
        q_pi: Space | None = None,
        terminals: Space | None = None,
    ) -> None:
        if not 0.0 <= self.gamma <= 1.0:
            raise ComponentError(f"{self.path}: gamma must be between 0 and 1, got {self.gamma}.")
        for name, space in (("q", q), ("q_next", q_next), ("q_pi", q_pi)):
            if space is not None and not isinstance(space, Tuple):
                raise SpaceError(
                    f"{self.path}: `{name}` is {space}; give a Tuple with one entry for each "
                    "critic: (q1, q2)."
                )
        self.check_critics(q=q, q_next=q_next, q_pi=q_pi)
        self.check_mask(terminals=terminals)

    def check_critics(self, **spaces: Space | None) -> None:
        for name, space in spaces.items():
            for i, box in enumerate(space.flatten().values() if space is not None else ()):
                self.check_one_each(**{f"{name}[{i}]": box})

    @api
    @graph_fn(fold_time=True)
    def critic_loss(
        self,
        q: Tensor,
        rewards: Tensor,
        terminals: Tensor,
        q_next: Tensor,
        log_probs_next: Tensor,
        alpha: Tensor,
        weights: Tensor | None = None,
        discounts: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The mean, the loss of each item, and TD errors (the mean over the critics), [B]."""
        value = self.smallest(q_next) - alpha * log_probs_next
        return self.squares(q, rewards, terminals, value, weights, discounts)

    @api
    @graph_fn(fold_time=True)
    def actor_loss(
        self, log_probs: Tensor, q_pi: Tensor, alpha: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The mean and the loss of each item, for actions that the policy draws now."""
        alpha = self.ops.stop_gradient(alpha)
        return self.weigh(alpha * log_probs - self.smallest(q_pi), weights)

    def smallest(self, critics: Tensor) -> Tensor:
        """The most careful critic's estimate."""
        first, *others = critics
        for other in others:
            first = self.ops.minimum(first, other)
        return first

    def squares(
        self,
        q: Tensor,
        rewards: Tensor,
        terminals: Tensor,
        value: Tensor,
        weights: Tensor | None,
        discounts: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        ops = self.ops
        gamma = self.gamma if discounts is None else discounts
        target = ops.stop_gradient(rewards + gamma * ops.where(terminals, 0.0, value))
        errors = ops.stack([target - critic for critic in q], -1)  # [B, critics]
        loss, items = self.weigh(0.5 * ops.sum(ops.square(errors), -1), weights)
        return loss, items, ops.mean(errors, -1)


class DiscreteSACLoss(SACLoss):
    """Soft actor-critic over all actions instead of drawn ones: Christodoulou (2019).

    q, q_next, q_pi: Tuples of one [B, A] for each critic; log_probs, log_probs_next: [B, A], of
    every action; actions: ints [B]. Expectations under pi take the place of samples.
    """

    def check_critics(self, **spaces: Space | None) -> None:
        for name, space in spaces.items():
            for box in space.flatten().values() if space is not None else ():
                if not isinstance(box, Box) or len(box.shape) != 1:
                    raise SpaceError(
                        f"{self.path}: `{name}` holds {box}; give one number for each action: "
                        "Box((A,))."
                    )

    @api
    @graph_fn(fold_time=True)
    def critic_loss(  # type: ignore[override]
        self,
        q: Tensor,
        actions: Tensor,
        rewards: Tensor,
        terminals: Tensor,
        q_next: Tensor,
        log_probs_next: Tensor,
        alpha: Tensor,
        weights: Tensor | None = None,
        discounts: Tensor | None = None,
    ) -> tuple[Tensor, Tensor, Tensor]:
        """The mean, the loss of each item, and TD errors (the mean over the critics), [B]."""
        ops = self.ops
        soft = self.smallest(q_next) - alpha * log_probs_next  # [B, A]
        value = ops.sum(ops.exp(log_probs_next) * soft, -1)
        chosen = tuple(ops.pick(critic, ops.cast(actions, "int64")) for critic in q)
        return self.squares(chosen, rewards, terminals, value, weights, discounts)

    @api
    @graph_fn(fold_time=True)
    def actor_loss(
        self, log_probs: Tensor, q_pi: Tensor, alpha: Tensor, weights: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        """The mean and the loss of each item; the critics are constants for gradients."""
        ops = self.ops
        smallest = ops.stop_gradient(self.smallest(q_pi))
        soft = ops.stop_gradient(alpha) * log_probs - smallest  # [B, A]
        return self.weigh(ops.sum(ops.exp(log_probs) * soft, -1), weights)
