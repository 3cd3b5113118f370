"""Deep Q-learning a second time, in plain numpy and torch: what the agents are compared with.

Written from the papers and without any component, so that a mistake would have to be made twice.
One environment, one step and one record at a time: slow, and easy to read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

Steps = dict[str, NDArray[Any]]


class Memory:
    """The newest `room` records in a ring, and a priority for each."""

    def __init__(self, room: int, alpha: float, epsilon: float) -> None:
        self.room, self.alpha, self.epsilon = room, alpha, epsilon
        self.records: dict[int, dict[str, Any]] = {}
        self.priorities: dict[int, float] = {}
        self.largest, self.count = 1.0, 0

    def insert(self, record: dict[str, Any]) -> None:
        row = self.count % self.room
        self.records[row], self.priorities[row] = record, self.largest
        self.count += 1

    def leaves(self) -> NDArray[np.float64]:
        """Priorities to the power of alpha, by rows: Schaul et al. (2016), equation 1."""
        return np.array([self.priorities[row] for row in sorted(self.records)]) ** self.alpha

    def weights(self, rows: list[int], beta: float) -> NDArray[np.float64]:
        """(N P(i))^-beta over the largest of them: Schaul et al. (2016), section 3.4."""
        leaves = self.leaves()
        everything: NDArray[np.float64] = (len(leaves) * leaves / leaves.sum()) ** -beta
        return everything[rows] / everything.max()

    def update(self, rows: list[int], td_errors: NDArray[Any]) -> None:
        for row, error in zip(rows, td_errors, strict=True):
            self.priorities[row] = abs(float(error)) + self.epsilon
            self.largest = max(self.largest, self.priorities[row])


def n_step_records(
    steps: Steps, n_step: int, gamma: float
) -> Iterator[tuple[int, int, dict[str, Any]]]:
    """(start, environment, record) of all windows of [T, B] steps that were seen to their ends."""
    times, envs = steps["rewards"].shape
    for env in range(envs):
        for start in range(times - n_step + 1):
            total, discount, time = 0.0, 1.0, start
            while True:
                total += discount * float(steps["rewards"][time, env])
                discount *= gamma
                ended = steps["terminals"][time, env] or steps["truncations"][time, env]
                if ended or time == start + n_step - 1:
                    break
                time += 1
            yield (
                start,
                env,
                {
                    "states": steps["states"][start, env],
                    "actions": steps["actions"][start, env],
                    "rewards": total,
                    "terminals": steps["terminals"][time, env],
                    "next_states": steps["next_states"][time, env],
                    "discounts": discount,
                },
            )


class Learner:
    """Two networks with one hidden layer, and Adam by hand: Kingma and Ba (2015), algorithm 1."""

    def __init__(
        self,
        weights: Mapping[str, NDArray[Any]],
        *,
        double: bool,
        huber_delta: float | None,
        tau: float,
    ) -> None:
        self.online = {k: torch.tensor(v, requires_grad=True) for k, v in weights.items()}
        self.target = {k: torch.tensor(v) for k, v in weights.items()}
        self.moments = {k: (torch.zeros(v.shape), torch.zeros(v.shape)) for k, v in weights.items()}
        self.double, self.huber_delta, self.tau = double, huber_delta, tau
        self.updates = 0

    def q(self, net: Mapping[str, torch.Tensor], states: torch.Tensor) -> torch.Tensor:
        def dense(name: str, x: torch.Tensor) -> torch.Tensor:
            return x @ net[f"{name}/kernel"] + net[f"{name}/bias"]

        features = torch.clamp(dense("network/dense-0", states), min=0.0)
        if "head/output/kernel" in net:
            return dense("head/output", features)
        # Wang et al. (2016), equation 9.
        advantages = dense("head/advantages/dense-0", features)
        value = dense("head/value/dense-0", features)
        return value + (advantages - advantages.mean(1, keepdim=True))

    def td_errors(self, records: list[dict[str, Any]]) -> torch.Tensor:
        """Target minus estimate: van Hasselt et al. (2016), equations 2 and 4."""

        def column(name: str, dtype: Any) -> torch.Tensor:
            return torch.as_tensor(np.array([record[name] for record in records], dtype))

        states, following = column("states", "float32"), column("next_states", "float32")
        with torch.no_grad():
            judged = self.q(self.target, following)
            chooser = self.q(self.online, following) if self.double else judged
            values = judged[torch.arange(len(records)), chooser.argmax(1)]
            values = values * (1.0 - column("terminals", "float32"))
            targets = column("rewards", "float32") + column("discounts", "float32") * values
        taken = self.q(self.online, states)[torch.arange(len(records)), column("actions", "int64")]
        return targets - taken

    def update(
        self, records: list[dict[str, Any]], weights: NDArray[Any], learning_rate: float
    ) -> float:
        """One step of Adam; importance weights multiply what an item costs, not its TD error."""
        errors = self.td_errors(records)
        costs = 0.5 * errors**2
        if self.huber_delta is not None:
            beyond = self.huber_delta * (errors.abs() - 0.5 * self.huber_delta)
            costs = torch.where(errors.abs() <= self.huber_delta, costs, beyond)
        loss = (torch.as_tensor(weights.astype("float32")) * costs).mean()
        self.descend(torch.autograd.grad(loss, list(self.online.values())), learning_rate)
        return float(loss.detach())

    def descend(self, gradients: Any, learning_rate: float) -> None:
        self.updates += 1
        with torch.no_grad():
            for key, gradient in zip(self.online, gradients, strict=True):
                first, second = self.moments[key]
                first = 0.9 * first + 0.1 * gradient
                second = 0.999 * second + 0.001 * gradient**2
                self.moments[key] = first, second
                unbiased = first / (1.0 - 0.9**self.updates)
                scale = (second / (1.0 - 0.999**self.updates)).sqrt() + 1e-8
                self.online[key] -= learning_rate * unbiased / scale

    def sync(self) -> None:
        for key, value in self.online.items():
            self.target[key] = self.tau * value.detach() + (1.0 - self.tau) * self.target[key]
