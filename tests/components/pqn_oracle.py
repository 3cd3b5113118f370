"""PQN a second time, in plain NumPy: what the root is compared with.

Written from the paper, without any component: returns one environment at a time, gradients by
central differences of the loss in float64, steps of the optimizer number by number. The network is
one layer of tanh units, normalised before it, and a linear layer of Q-values.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Weights = dict[str, NDArray[np.float64]]
KERNEL, BIAS = "network/dense-0/kernel", "network/dense-0/bias"
SCALE, OFFSET = "network/layer-norm-1/scale", "network/layer-norm-1/offset"
OUT, OUT_BIAS = "head/output/kernel", "head/output/bias"


def q_values(weights: Weights, states: Any, choices: int) -> NDArray[np.float64]:
    """[B, D, A]; D is 1 where there is one action."""
    x = np.asarray(states, np.float64) @ weights[KERNEL] + weights[BIAS]
    x = x - x.mean(-1, keepdims=True)
    x = x / np.sqrt((x**2).mean(-1, keepdims=True) + 1e-5)
    x = np.tanh(x * weights[SCALE] + weights[OFFSET]) @ weights[OUT] + weights[OUT_BIAS]
    return x.reshape(len(x), -1, choices)


def returns(batch: dict[str, Any], last_values: Any, gamma: float, lam: float) -> Any:
    """Q(lambda), backwards through one environment at a time."""
    rewards, values = batch["rewards"], batch["values"]
    found = np.zeros(rewards.shape)
    for env in range(rewards.shape[1]):
        following, later = last_values[env], last_values[env]
        for t in reversed(range(len(rewards))):
            if batch["terminals"][t, env]:
                future = 0.0
            elif batch["truncations"][t, env]:
                future = batch["bootstrap_values"][t, env]
            else:
                future = (1.0 - lam) * following + lam * later
            found[t, env] = later = rewards[t, env] + gamma * future
            following = values[t, env]
    return found


class Adam:
    """Kingma and Ba (2015)."""

    def __init__(self, rate: float) -> None:
        self.rate, self.t = rate, 0
        self.first: dict[str, Any] = {}
        self.second: dict[str, Any] = {}

    def step(self, weights: Weights, gradients: Weights) -> None:
        self.t += 1
        for name, gradient in gradients.items():
            first = 0.9 * self.first.get(name, 0.0) + 0.1 * gradient
            second = 0.999 * self.second.get(name, 0.0) + 0.001 * gradient**2
            self.first[name], self.second[name] = first, second
            weights[name] -= self.rate * self.change(first, second)

    def change(self, first: Any, second: Any) -> Any:
        root = np.sqrt(second / (1.0 - 0.999**self.t))
        return first / (1.0 - 0.9**self.t) / (root + 1e-8)


class RAdam(Adam):
    """Liu et al. (2020), algorithm 2, with torch's place for epsilon."""

    def change(self, first: Any, second: Any) -> Any:
        power, most = 0.999**self.t, 2.0 / (1.0 - 0.999) - 1.0
        length = most - 2.0 * self.t * power / (1.0 - power)
        momentum = first / (1.0 - 0.9**self.t)
        if length <= 5.0:
            return momentum
        above = (length - 4.0) * (length - 2.0) * most
        rectified = np.sqrt(above / ((most - 4.0) * (most - 2.0) * length))
        return momentum * rectified * np.sqrt(1.0 - power) / (np.sqrt(second) + 1e-8)


class Oracle:
    """Learns on weights of its own; figures are of each minibatch."""

    def __init__(
        self, weights: dict[str, Any], optimizer: Adam, choices: int, max_grad_norm: float
    ) -> None:
        self.weights: Weights = {k: np.array(v, np.float64) for k, v in weights.items()}
        self.optimizer = optimizer
        self.choices = choices
        self.max_grad_norm = max_grad_norm
        self.figures: list[dict[str, float]] = []

    def errors(self, records: dict[str, Any]) -> tuple[Any, Any]:
        q = q_values(self.weights, records["states"], self.choices)
        actions = np.asarray(records["actions"], np.int64).reshape(len(q), -1)
        taken = np.take_along_axis(q, actions[..., None], -1)[..., 0]
        return records["returns"][:, None] - taken, taken

    def loss(self, records: dict[str, Any]) -> float:
        return float(0.5 * (self.errors(records)[0] ** 2).mean())

    def gradients(self, records: dict[str, Any]) -> Weights:
        found = {}
        for name, value in self.weights.items():
            gradient = np.zeros_like(value)
            for place in np.ndindex(value.shape):
                kept, sides = value[place], []
                for step in (1e-6, -1e-6):
                    value[place] = kept + step
                    sides.append(self.loss(records))
                value[place] = kept
                gradient[place] = (sides[0] - sides[1]) / 2e-6
            found[name] = gradient
        return found

    def update(self, records: dict[str, Any], minibatches: Iterable[Any]) -> None:
        for rows in minibatches:
            part = {name: np.asarray(x)[rows] for name, x in records.items()}
            errors, taken = self.errors(part)
            gradients = self.gradients(part)
            norm = np.sqrt(sum((g**2).sum() for g in gradients.values()))
            self.figures.append(
                {
                    "loss": self.loss(part),
                    "td_error": errors.mean(),
                    "q_values": taken.mean(),
                    "gradient_norm": norm,
                }
            )
            share = min(1.0, self.max_grad_norm / (norm + 1e-6))
            self.optimizer.step(self.weights, {k: share * g for k, g in gradients.items()})

    def mean(self, name: str) -> float:
        return float(np.mean([figures[name] for figures in self.figures]))
