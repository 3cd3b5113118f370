"""Rainbow a second time, in plain torch and loops: C51, noisy layers, dueling, double, windows.

Written from Bellemare et al. (2017), Fortunato et al. (2018), Wang et al. (2016) and Hessel et al.
(2018), without any component. One item and one atom at a time: slow, and easy to read.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tests.api.dqn_oracle import Learner

LAYERS = ("network", "head/advantages", "head/value")
Noise = Mapping[str, tuple[NDArray[Any], NDArray[Any]]]  # of each layer: inputs, outputs


class RainbowLearner(Learner):
    """Networks of one hidden layer that estimate probabilities of `count` returns."""

    def __init__(
        self,
        weights: Mapping[str, NDArray[Any]],
        count: int,
        low: float,
        high: float,
        double: bool = True,
    ) -> None:
        super().__init__(weights, double=double, huber_delta=None, tau=1.0)
        self.atoms = [low + i * (high - low) / (count - 1) for i in range(count)]

    def logits(self, net: Mapping[str, torch.Tensor], states: Any, noise: Noise) -> torch.Tensor:
        """[B, A, N]: a value and advantages, each with noise on weights and biases."""

        def noisy(layer: str, x: torch.Tensor) -> torch.Tensor:
            (path,) = {key.rpartition("/")[0] for key in net if key.startswith(f"{layer}/")}
            inputs, outputs = (_sized(numbers) for numbers in noise[layer])
            kernel = net[f"{path}/kernel"] + net[f"{path}/kernel_sigma"] * torch.outer(
                inputs, outputs
            )
            return x @ kernel + net[f"{path}/bias"] + net[f"{path}/bias_sigma"] * outputs

        features = torch.clamp(noisy("network", states), min=0.0)
        n = len(self.atoms)
        advantages = noisy("head/advantages", features).reshape(len(states), -1, n)
        value = noisy("head/value", features).reshape(len(states), 1, n)
        return value + advantages - advantages.mean(1, keepdim=True)

    def targets(self, record: dict[str, Any], probabilities: Any) -> list[float]:
        """Bellemare et al. (2017), algorithm 1, for one item."""
        low, high, count = self.atoms[0], self.atoms[-1], len(self.atoms)
        found = [0.0] * count
        for probability, atom in zip(probabilities.tolist(), self.atoms, strict=True):
            worth = 0.0 if record["terminals"] else record["discounts"] * atom
            place = min(high, max(low, record["rewards"] + worth)) - low
            place /= (high - low) / (count - 1)
            below, above = math.floor(place), math.ceil(place)
            if below == above:
                found[below] += probability
            else:
                found[below] += probability * (above - place)
                found[above] += probability * (place - below)
        return found

    def compare(
        self, records: list[dict[str, Any]], now: Noise, target: Noise, chooser: Noise | None
    ) -> tuple[torch.Tensor, NDArray[Any], NDArray[Any]]:
        """Cross-entropies, with gradients; TD errors of means; Kullback-Leibler divergences."""
        states, following = (
            torch.as_tensor(np.array([record[name] for record in records]))
            for name in ("states", "next_states")
        )
        atoms = torch.tensor(self.atoms)
        with torch.no_grad():
            judged = torch.softmax(self.logits(self.target, following, target), -1)
            chosen = judged
            if chooser is not None:  # double
                chosen = torch.softmax(self.logits(self.online, following, chooser), -1)
            best = (chosen * atoms).sum(-1).argmax(1)
        logits = self.logits(self.online, states, now)
        items, errors, divergences = [], [], []
        for row, record in enumerate(records):
            wanted = self.targets(record, judged[row, best[row]])
            log_probs = torch.log_softmax(logits[row, int(record["actions"])], -1)
            items.append(-(torch.tensor(wanted) * log_probs).sum())
            estimate = (log_probs.detach().exp() * atoms).sum()
            errors.append(sum(p * z for p, z in zip(wanted, self.atoms, strict=True)) - estimate)
            entropy = -sum(p * math.log(p) for p in wanted if p > 0.0)
            divergences.append(float(items[-1].detach()) - entropy)
        return torch.stack(items), np.array([float(e) for e in errors]), np.array(divergences)

    def learn(self, items: torch.Tensor, weights: NDArray[Any], rate: float) -> float:
        """One step of Adam on the weighted mean."""
        loss = (torch.as_tensor(weights.astype("float32")) * items).mean()
        self.descend(torch.autograd.grad(loss, list(self.online.values())), rate)
        return float(loss.detach())


def _sized(numbers: NDArray[Any]) -> torch.Tensor:
    """sign(x) sqrt|x|: Fortunato et al. (2018), below equation 11."""
    flat = torch.as_tensor(numbers.reshape(-1))
    return torch.sign(flat) * torch.sqrt(torch.abs(flat))
