"""Evaluations in a process of their own, one at a time."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.execution.engines.ray.cluster import Cluster
from rlg.execution.evaluation import Evaluation
from rlg.execution.types import Weights


class RayEvaluator:
    """Starts an evaluation, and hands over its result when it is there."""

    def __init__(self, cluster: Cluster, actor: Any) -> None:
        self.cluster = cluster
        self.actor = actor
        self._pending: Any = None

    @property
    def is_busy(self) -> bool:
        return self._pending is not None

    def start(
        self,
        weights: Weights,
        env: Mapping[str, Any],
        episodes: int,
        seed: int,
        max_steps: int | None = None,
    ) -> None:
        """The weights are those of this moment, whatever the learner does meanwhile."""
        self._pending = self.actor.evaluate.remote(weights, env, episodes, seed, max_steps)

    def poll(self, timeout: float = 0.0) -> Evaluation | None:
        """The result, if it is there within `timeout` seconds."""
        if self._pending is None:
            return None
        done, _ = self.cluster.ray.wait([self._pending], timeout=timeout)
        if not done:
            return None
        pending, self._pending = self._pending, None
        result: Evaluation = self.cluster.get(pending)
        return result
