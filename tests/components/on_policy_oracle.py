"""PPO and A2C a second time, in plain torch: what the roots are compared with.

Written from the papers and from Stable-Baselines3's definitions, without any component, so that a
mistake would have to be made twice. One step of one environment at a time where that is easier to
read. Weights come by the paths that they have below the policy.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Weights = dict[str, Tensor]


def advantages(batch: dict[str, Any], last_values: Any, gamma: float, lam: float) -> Any:
    """Schulman et al. (2016), one environment at a time; truncated steps have bootstrap_values."""
    rewards, values = batch["rewards"], batch["values"]
    found = np.zeros_like(rewards, dtype=np.float64)
    for env in range(rewards.shape[1]):
        later = 0.0
        for t in reversed(range(len(rewards))):
            following = last_values[env] if t + 1 == len(rewards) else values[t + 1, env]
            ended = batch["terminals"][t, env] or batch["truncations"][t, env]
            if batch["truncations"][t, env]:
                following = batch["bootstrap_values"][t, env]
            if batch["terminals"][t, env]:
                following = 0.0
            td = rewards[t, env] + gamma * following - values[t, env]
            later = td + (0.0 if ended else gamma * lam * later)
            found[t, env] = later
    return found


def dense(weights: Weights, name: str, x: Tensor) -> Tensor:
    return x @ weights[f"{name}/kernel"] + weights[f"{name}/bias"]


def values_of(weights: Weights, states: Tensor) -> Tensor:
    """By the value function's own network, if it has one."""
    separate = "value_network/dense-0/kernel" in weights
    features = torch.tanh(dense(weights, f"{'value_' if separate else ''}network/dense-0", states))
    return dense(weights, "value_head/output/dense-0", features)[..., 0]


def discrete(weights: Weights, records: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """Log-probabilities, entropies and values of one choice, by a network of one tanh layer."""
    features = torch.tanh(dense(weights, "network/dense-0", records["states"]))
    logits = dense(weights, "head/outputs-all/output", features)
    if "masks" in records:
        logits = torch.where(records["masks"].bool(), logits, -1e9)
    logs = torch.log_softmax(logits, -1)
    log_probs = logs.gather(-1, records["actions"].long()[..., None])[..., 0]
    return log_probs, -(logs.exp() * logs).sum(-1), values_of(weights, records["states"])


LOW, HIGH = -2.0, 1.0


def squashed(weights: Weights, records: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """The same for tanh(u) between LOW and HIGH, u normal; entropies by a fine grid of u."""
    features = torch.tanh(dense(weights, "network/dense-0", records["states"]))
    mean = dense(weights, "head/outputs-all/mean", features)
    std = weights["head/outputs-all/log_std"].exp() * torch.ones_like(mean)
    normal = torch.distributions.Normal(mean, std)

    def log_slope(u: Tensor) -> Tensor:
        return torch.log(0.5 * (HIGH - LOW) * (1.0 - torch.tanh(u) ** 2))

    u = records["actions"]
    log_probs = (normal.log_prob(u) - log_slope(u)).sum(-1)
    grid = torch.linspace(-6.0, 6.0, 2001, dtype=mean.dtype)
    density = torch.exp(-0.5 * grid**2) / math.sqrt(2.0 * math.pi)
    slopes = log_slope(mean[..., None] + std[..., None] * grid) * density
    entropies = (normal.entropy() + torch.trapezoid(slopes, grid)).sum(-1)
    return log_probs, entropies, values_of(weights, records["states"])


def recurrent(weights: Weights, records: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor]:
    """The same as discrete with an LSTM of its own, step by step; records: [B, T, ...]."""
    c, h = records["hidden/c"], records["hidden/h"]
    outputs = []
    for t in range(records["states"].shape[1]):
        keep = 1.0 - records["resets"][:, t, None].double()
        c, h = keep * c, keep * h
        x = torch.tanh(dense(weights, "network/network/dense-0", records["states"][:, t]))
        gates = dense(weights, "network/layer", torch.cat([x, h], -1))
        i, j, f, o = gates.chunk(4, -1)
        c = torch.sigmoid(f + 1.0) * c + torch.sigmoid(i) * torch.tanh(j)
        h = torch.sigmoid(o) * torch.tanh(c)
        outputs.append(h)
    features = torch.stack(outputs, 1)
    logs = torch.log_softmax(dense(weights, "head/outputs-all/output", features), -1)
    log_probs = logs.gather(-1, records["actions"].long()[..., None])[..., 0]
    values = dense(weights, "value_head/output/dense-0", features)[..., 0]
    return log_probs, -(logs.exp() * logs).sum(-1), values


class Oracle:
    """One of both algorithms, on weights of its own in float64."""

    def __init__(
        self,
        weights: dict[str, NDArray[Any]],
        evaluate: Callable[..., tuple[Tensor, Tensor, Tensor]],
        optimizer: Callable[..., torch.optim.Optimizer],
        **options: Any,
    ) -> None:
        self.weights = {
            name: torch.tensor(value, dtype=torch.float64, requires_grad=True)
            for name, value in weights.items()
        }
        self.evaluate = evaluate
        self.optimizer = optimizer(list(self.weights.values()))
        self.options = options
        self.figures: list[dict[str, float]] = []

    def update(self, records: dict[str, Any], minibatches: Iterator[Any]) -> None:
        """Learns from records [N, ...], a minibatch of rows after the other."""
        kept = {name: torch.tensor(np.asarray(x)) for name, x in records.items()}
        kept = {n: x.double() if x.is_floating_point() else x for n, x in kept.items()}
        for rows in minibatches:
            if not self.learn({name: x[rows] for name, x in kept.items()}):
                return

    def learn(self, records: dict[str, Tensor]) -> bool:
        """One step; False where the divergence forbids it."""
        options = self.options
        log_probs, entropies, values = self.evaluate(self.weights, records)
        adv = records["advantages"]
        if options["normalize_advantage"]:
            adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        if "clip_range" in options:
            clip = options["clip_range"]
            ratio = torch.exp(log_probs - records["log_probs"])
            policy = -torch.min(ratio * adv, torch.clamp(ratio, 1.0 - clip, 1.0 + clip) * adv)
            kl = float((ratio - 1.0 - torch.log(ratio)).mean().detach())
            fraction = float(((ratio - 1.0).abs() > clip).double().mean())
        else:
            policy, kl, fraction = -log_probs * adv, 0.0, 0.0
        value = (values - records["returns"]) ** 2
        if options.get("clip_range_vf") is not None:
            limit = options["clip_range_vf"]
            near = records["values"] + torch.clamp(values - records["values"], -limit, limit)
            value = torch.max(value, (near - records["returns"]) ** 2)
        loss = policy.mean() - options["ent_coef"] * entropies.mean()
        loss = loss + options["vf_coef"] * value.mean()
        self.figures.append(
            {
                "loss": float(loss.detach()),
                "policy_loss": float(policy.mean().detach()),
                "value_loss": float(value.mean().detach()),
                "entropy": float(entropies.mean().detach()),
                "approx_kl": kl,
                "clip_fraction": fraction,
            }
        )
        if options.get("target_kl") is not None and kl > 1.5 * options["target_kl"]:
            return False
        self.optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(list(self.weights.values()), 0.5)
        self.figures[-1]["gradient_norm"] = float(norm)
        self.optimizer.step()
        return True

    def mean(self, name: str) -> float:
        return float(np.mean([figures[name] for figures in self.figures]))


class VecNormalize:
    """Stable-Baselines3's normalisation of rewards, one step of all environments at a time."""

    def __init__(self, num_envs: int, gamma: float) -> None:
        self.returns = np.zeros(num_envs)
        self.gamma = gamma
        self.count, self.mean, self.var = 1e-4, 0.0, 1.0

    def step(self, rewards: Any, ended: Any) -> NDArray[Any]:
        self.returns = self.returns * self.gamma + rewards
        batch_mean, batch_var, n = self.returns.mean(), self.returns.var(), len(self.returns)
        delta, total = batch_mean - self.mean, self.count + n
        squares = self.var * self.count + batch_var * n + delta**2 * self.count * n / total
        self.mean, self.var, self.count = self.mean + delta * n / total, squares / total, total
        scaled: NDArray[Any] = np.clip(rewards / np.sqrt(self.var + 1e-8), -10.0, 10.0)
        self.returns[ended] = 0.0
        return scaled
