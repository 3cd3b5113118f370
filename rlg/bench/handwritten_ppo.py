"""PPO by hand, in plain torch: the opponent of the suite `train`, and nothing of rlg but the
environment. Values and order of operations are Stable-Baselines3's; so are the initial values.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import nn

from rlg.envs import VectorEnv


def _net(sizes: list[int], gain: float) -> nn.Sequential:
    layers: list[nn.Module] = []
    for i, (inputs, outputs) in enumerate(pairwise(sizes)):
        layer = nn.Linear(inputs, outputs)
        is_last = i == len(sizes) - 2
        nn.init.orthogonal_(layer.weight, gain if is_last else 2.0**0.5)
        nn.init.zeros_(layer.bias)
        layers += [layer] if is_last else [layer, nn.Tanh()]
    return nn.Sequential(*layers)


class HandwrittenPPO:
    """Discrete actions, separate networks, GAE, clipped surrogate; one `iterate` per rollout."""

    def __init__(
        self,
        env: VectorEnv,
        *,
        observations: int,
        actions: int,
        total_timesteps: int,
        n_steps: int = 32,
        batch_size: int = 256,
        n_epochs: int = 20,
        gamma: float = 0.98,
        gae_lambda: float = 0.8,
        learning_rate: float = 1e-3,
        clip_range: float = 0.2,
        vf_coef: float = 0.5,
        max_grad_norm: float = 0.5,
        units: int = 64,
    ) -> None:
        self.env = env
        self.total, self.steps = total_timesteps, 0
        self.n_steps, self.batch_size, self.n_epochs = n_steps, batch_size, n_epochs
        self.gamma, self.gae_lambda = gamma, gae_lambda
        self.learning_rate, self.clip_range = learning_rate, clip_range
        self.vf_coef, self.max_grad_norm = vf_coef, max_grad_norm
        self.actor = _net([observations, units, units, actions], 0.01)
        self.critic = _net([observations, units, units, 1], 1.0)
        self.parameters = [*self.actor.parameters(), *self.critic.parameters()]
        self.optimizer = torch.optim.Adam(self.parameters, lr=learning_rate, eps=1e-5)
        self.observations = env.reset()

    def iterate(self) -> list[float]:
        """One rollout and its updates; returns the returns of episodes that ended."""
        rollout, episodes = self._collect()
        left = 1.0 - self.steps / self.total
        self.optimizer.param_groups[0]["lr"] = self.learning_rate * left
        self._update(rollout, self.clip_range * left)
        return episodes

    @torch.no_grad()
    def _collect(self) -> tuple[tuple[torch.Tensor, ...], list[float]]:
        T, N = self.n_steps, self.env.num_envs
        states = np.empty((T, N, self.observations.shape[1]), np.float32)
        actions = np.empty((T, N), np.int64)
        log_probs, values, rewards, ends = (np.empty((T, N), np.float32) for _ in range(4))
        episodes: list[float] = []
        for t in range(T):
            states[t] = self.observations
            seen = torch.from_numpy(self.observations)
            logits = torch.log_softmax(self.actor(seen), -1)
            chosen = torch.multinomial(logits.exp(), 1)
            log_probs[t] = logits.gather(1, chosen).numpy()[:, 0]
            values[t] = self.critic(seen).numpy()[:, 0]
            actions[t] = chosen.numpy()[:, 0]
            step = self.env.step(actions[t])
            rewards[t] = step.rewards
            ended = step.terminals | step.truncations
            if step.truncations.any():
                rows = np.flatnonzero(step.truncations)
                final = torch.from_numpy(step.final_observations[rows])
                rewards[t, rows] += self.gamma * self.critic(final).numpy()[:, 0]
            ends[t] = ended
            self.observations = step.observations
            episodes += [float(value) for value in step.episode_returns]
        self.steps += T * N
        last = self.critic(torch.from_numpy(self.observations)).numpy()[:, 0]
        advantages = self._advantages(rewards, values, ends, last)
        columns = (states, actions, log_probs, advantages, advantages + values)
        return tuple(torch.from_numpy(x.reshape(T * N, *x.shape[2:])) for x in columns), episodes

    def _advantages(self, rewards: Any, values: Any, ends: Any, last: Any) -> Any:
        advantages, later = np.empty_like(rewards), np.zeros_like(last)
        following = last
        for t in reversed(range(len(rewards))):
            alive = 1.0 - ends[t]
            delta = rewards[t] + self.gamma * following * alive - values[t]
            later = delta + self.gamma * self.gae_lambda * alive * later
            advantages[t], following = later, values[t]
        return advantages

    def _update(self, rollout: tuple[torch.Tensor, ...], clip: float) -> None:
        states, actions, old_log_probs, advantages, returns = rollout
        count = len(states)
        for _ in range(self.n_epochs):
            order = torch.randperm(count)
            for start in range(0, count, self.batch_size):
                rows = order[start : start + self.batch_size]
                a = advantages[rows]
                a = (a - a.mean()) / (a.std() + 1e-8)
                logits = torch.log_softmax(self.actor(states[rows]), -1)
                log_probs = logits.gather(1, actions[rows, None])[:, 0]
                ratio = (log_probs - old_log_probs[rows]).exp()
                clipped = ratio.clamp(1.0 - clip, 1.0 + clip)
                policy_loss = -torch.min(ratio * a, clipped * a).mean()
                values = self.critic(states[rows])[:, 0]
                value_loss = ((values - returns[rows]) ** 2).mean()
                loss = policy_loss + self.vf_coef * value_loss
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.parameters, self.max_grad_norm)
                self.optimizer.step()
