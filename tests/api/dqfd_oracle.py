"""Deep Q-learning from demonstrations a second time, from the paper and without any component."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from tests.api.dqn_oracle import Learner, Memory, Steps, n_step_records

Record = dict[str, Any]


def records_of(steps: Steps, n_step: int, gamma: float) -> list[Record]:
    """Of all whole windows, by time and then by environment, with the single step as well."""
    windows = sorted(n_step_records(steps, n_step, gamma), key=lambda found: found[:2])
    return list(_both(windows, steps, gamma))


def _both(windows: list[Any], steps: Steps, gamma: float) -> Iterator[Record]:
    for time, env, window in windows:
        names = ("states", "actions", "rewards", "terminals", "next_states")
        single = {name: steps[name][time, env] for name in names}
        yield {**single, "discounts": gamma, "window": window}


class DemonstrationMemory(Memory):
    """Demonstrations in front, which stay; behind them a ring of own records."""

    def __init__(self, room: int, alpha: float, own: float, theirs: float) -> None:
        super().__init__(room, alpha, own)
        self.theirs, self.kept = theirs, 0

    def demonstrate(self, record: Record) -> None:
        self.records[self.kept], self.priorities[self.kept] = record, self.largest
        self.kept += 1

    def insert(self, record: Record) -> None:
        row = self.kept + self.count % (self.room - self.kept)
        self.records[row], self.priorities[row] = record, self.largest
        self.count += 1

    def update(self, rows: list[int], td_errors: NDArray[Any]) -> None:
        """p = |delta| + epsilon, which is that of demonstrations, or of own records."""
        for row, error in zip(rows, td_errors, strict=True):
            bonus = self.theirs if row < self.kept else self.epsilon
            self.priorities[row] = abs(float(error)) + bonus
            self.largest = max(self.largest, self.priorities[row])


class DemonstrationLearner(Learner):
    """Minimises J_1 + a J_n + b J_E + c J_L2: Hester et al. (2018), equation 5."""

    def __init__(self, *args: Any, weights: tuple[float, ...], margin: float, **words: Any) -> None:
        super().__init__(*args, **words)
        self.parts, self.margin = weights, margin

    def learn(
        self, records: list[Record], is_theirs: NDArray[Any], weights: NDArray[Any], rate: float
    ) -> dict[str, float]:
        scale = torch.as_tensor(weights.astype("float32"))
        one = (scale * self._huber(self.td_errors(records))).mean()
        many = (scale * self._huber(self.td_errors([r["window"] for r in records]))).mean()
        states = torch.as_tensor(np.array([record["states"] for record in records]))
        q = self.q(self.online, states)
        costs = []
        for row, record in enumerate(records):
            ahead = [q[row, a] + self.margin * (a != record["actions"]) for a in range(q.shape[1])]
            costs.append(torch.stack(ahead).max() - q[row, int(record["actions"])])
        theirs = torch.as_tensor(is_theirs.astype("float32"))
        margin = (scale * theirs * torch.stack(costs)).mean()
        squares = sum((value**2).sum() for value in self.online.values())
        a, b, c = self.parts
        loss = one + a * many + b * margin + 0.5 * c * squares
        self.descend(torch.autograd.grad(loss, list(self.online.values())), rate)
        found = {"loss": loss, "n_step_loss": many, "margin_loss": margin}
        return {name: float(value.detach()) for name, value in found.items()}

    def _huber(self, errors: torch.Tensor) -> torch.Tensor:
        delta = self.huber_delta
        assert delta is not None
        beyond = delta * (errors.abs() - 0.5 * delta)
        return torch.where(errors.abs() <= delta, 0.5 * errors**2, beyond)
