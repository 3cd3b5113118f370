"""Pools whose results are values in the driver: segments of a round, gradients and rollouts as
they arrive.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from rlg.execution.adders import Adder
from rlg.execution.engines.ray.actors import Report
from rlg.execution.engines.ray.cluster import Cluster
from rlg.execution.engines.ray.pool import POLL, StreamingPool, Task, WorkerPool
from rlg.execution.roles import Stop, never
from rlg.execution.trainers import QueueTrainer
from rlg.execution.types import Batch, Clock, Gradients, Segment, side_by_side


class ValuePool(WorkerPool):
    """One task in flight at each worker, whose product the driver fetches itself."""

    def _arrived(
        self, clock: Clock, skip: Collection[int] = (), timeout: float = POLL
    ) -> list[tuple[Report, Any]]:
        """What workers have finished, after `timeout` seconds at most; idle ones get a task first,
        except those in `skip`.
        """
        busy = {*skip, *(task.worker for task in self._tasks.values())}
        for index in range(len(self._handles)):
            if index not in busy:
                self._submit(index, clock)
        ray = self.cluster.ray
        found, _ = ray.wait(list(self._tasks), num_returns=1, timeout=timeout)
        done = [item for reference in found if (item := self._collect(reference, clock))]
        self._restart_hung()
        return [(report, ray.get(task.product)) for report, task in done]


class SegmentPool(ValuePool):
    """Synchronous rounds: a segment of each worker, all by the same weights, joined into one."""

    is_concurrent = False

    def __init__(
        self, cluster: Cluster, workers: Sequence[Any], timeout: float, adder: Adder
    ) -> None:
        super().__init__(cluster, workers, timeout)
        self.adder = adder
        self._segments: dict[int, Segment] = {}  # of the round under way, by worker

    def ready(
        self, clock: Clock, stop: Stop = never, *, wait: bool = True, refill: Collection[int] = ()
    ) -> list[tuple[Segment, Sequence[Batch]]]:
        """One round; a worker that dies or hangs on the way is restarted, and repeats its task."""
        count = len(self._handles)
        while len(self._segments) < count:
            for report, segment in self._arrived(clock, skip=self._segments):
                self._segments[report.worker] = segment
            if len(self._segments) < count and stop():
                return []
        # By number, not as they came: environments keep their places.
        joined = side_by_side([self._segments.pop(index) for index in range(count)])
        return [(joined, list(self.adder.add(joined)))]


class GradientPool(ValuePool):
    """Gradients in the order of arrival; who sent them goes on with weights that contain them."""

    is_concurrent = True

    def ready(
        self, clock: Clock, stop: Stop = never, *, wait: bool = True, refill: Collection[int] = ()
    ) -> list[tuple[Report, Sequence[Gradients]]]:
        """One worker's; none after half a second, so that a stop request is seen."""
        return self._arrived(clock, timeout=POLL if wait else 0)


class RolloutPool(StreamingPool):
    """Rollouts in the order of arrival, each by the newest weights of when its task was sent.

    Workers go on until as many rollouts wait for the learner as its queue holds, and each worker
    has one more.
    """

    def __init__(
        self, cluster: Cluster, workers: Sequence[Any], timeout: float, trainer: QueueTrainer
    ) -> None:
        super().__init__(cluster, workers, timeout)
        self.trainer = trainer

    def _may_sample(self, index: int, clock: Clock, refill: Collection[int], handed: int) -> bool:
        there = self.trainer.waiting + handed + len(self._tasks)
        return there < self.trainer.learner.queue + len(self._handles)

    def _items(self, report: Report, task: Task) -> Sequence[Batch]:
        return [Batch({"segment": self.cluster.ray.get(task.product)}, report.steps)]
