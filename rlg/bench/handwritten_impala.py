"""IMPALA on image observations in plain torch: the ceiling of the suite `impala`.

The network of `handwritten_torch` with its two heads as logits and values; V-trace as in the paper
(Espeholt et al., 2018, section 4.1) with all bounds at 1, and one RMSprop step per update.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from rlg.bench.handwritten_torch import DuelingQ

Array = NDArray[Any]


class Rollout(NamedTuple):
    """[T, N], and one more row of states."""

    states: Array
    actions: Array
    log_probs: Array
    rewards: Array
    ends: Array


class IMPALA:
    """Acts, and learns from what was acted."""

    def __init__(self, hidden: Sequence[int], actions: int, gamma: float = 0.99) -> None:
        self.network = DuelingQ(3136, hidden, actions, frames=True)
        self.gamma = gamma
        self.optimizer = torch.optim.RMSprop(
            self.network.parameters(), lr=6e-4, alpha=0.99, eps=0.1, foreach=True
        )

    def act(self, states: Array) -> tuple[Array, Array]:
        """Drawn actions and their log-probabilities."""
        with torch.inference_mode():
            logits, _ = self.network.heads(torch.from_numpy(states))
            log_probs = functional.log_softmax(logits, -1)
            actions = torch.multinomial(log_probs.exp(), 1)
            chosen = log_probs.gather(1, actions)
        return actions[:, 0].numpy(), chosen[:, 0].numpy()

    def update(self, rollouts: Sequence[Rollout]) -> float:
        """One step on all of them together."""
        parts = [np.concatenate(column, axis=1) for column in zip(*rollouts, strict=True)]
        states, actions, behaviour, rewards, ends = (torch.from_numpy(part) for part in parts)
        steps, count = actions.shape
        logits, values = self.network.heads(states.flatten(0, 1))
        logits = logits.view(steps + 1, count, -1)[:-1]
        values = values.view(steps + 1, count)
        log_probs = functional.log_softmax(logits, -1)
        chosen = log_probs.gather(-1, actions[..., None])[..., 0]
        with torch.no_grad():
            discounts = self.gamma * (1.0 - ends.float())
            weights = (chosen - behaviour).exp().clamp(max=1.0)
            targets = vtrace(rewards, values, weights, discounts)
            following = torch.cat([targets[1:], values[-1:]])
            advantages = weights * (rewards + discounts * following - values[:-1])
        entropy = -(log_probs.exp() * log_probs).sum(-1).mean()
        loss = -(chosen * advantages).mean() - 0.01 * entropy
        loss = loss + 0.5 * (targets - values[:-1]).square().mean()
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.25, foreach=True)
        self.optimizer.step()
        return float(loss.detach())


def vtrace(rewards: Tensor, values: Tensor, weights: Tensor, discounts: Tensor) -> Tensor:
    """Value targets [T, N]; `values` [T + 1, N], `weights` bounded by 1."""
    deltas = weights * (rewards + discounts * values[1:] - values[:-1])
    traced = torch.zeros_like(values[0])
    found = []
    for delta, discount, weight in zip(
        reversed(deltas), reversed(discounts), reversed(weights), strict=True
    ):
        traced = delta + discount * weight * traced
        found.append(traced)
    return torch.stack(found[::-1]) + values[:-1]
