"""All workers of a run: tasks in flight, weights by version, restarts."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from rlg.errors import ExecutionError
from rlg.execution.cadence import Cadence
from rlg.execution.engines.ray.actors import Report
from rlg.execution.engines.ray.cluster import Cluster, last_line
from rlg.execution.roles import Stop, never
from rlg.execution.types import Clock, Weights

TASKS = 2  # in flight at each worker: it never waits for the driver
POLL = 0.5  # seconds between looks at stop requests and hung workers
FAILURES = 3  # in a row, without a task that succeeds: then the run gives up


class Sampled(NamedTuple):
    """Prepared records of one task, in shared memory."""

    worker: int
    steps: int
    batches: Any  # a reference


@dataclass(slots=True)
class Task:
    """One that was sent to a worker, with the reference of what it will be learnt from."""

    worker: int
    version: int
    product: Any
    begun: float


class WorkerPool:
    """What all pools share: tasks in flight, the newest weights, failures, restarts, figures."""

    keeps_episodes = False

    def __init__(self, cluster: Cluster, workers: Sequence[Any], timeout: float) -> None:
        """`timeout` is in seconds."""
        self.cluster = cluster
        self.timeout = timeout
        self._handles = workers
        self._tasks: dict[Any, Task] = {}  # by reference of the report
        self._weights: tuple[int, Any] | None = None
        self._is_used = True  # whether a task was sent with the newest weights
        self._incarnations: dict[int, int] = {}
        self._failures = [0] * len(workers)
        self._failed: dict[int, int | None] = {}  # the incarnation that failed last
        self._finished: list[float | None] = [None] * len(workers)  # when a worker last was
        self._workers = [
            {"steps": 0.0, "episodes": 0.0, "weights age": 0.0, "restarts": 0.0} for _ in workers
        ]

    # -- what loops see ---------------------------------------------------------------------------
    def start(self) -> None:
        """Workers begin their episodes by themselves."""

    @property
    def wants_weights(self) -> bool:
        """Once per version that somebody acts by: newer ones would never be used."""
        return self._is_used

    def publish(self, weights: Weights) -> None:
        self._weights = (weights.version, self.cluster.ray.put(weights))
        self._is_used = False

    # -- tasks ------------------------------------------------------------------------------------
    def _submit(self, index: int, clock: Clock) -> None:
        """A task for a worker, by the newest weights."""
        assert self._weights is not None, "weights are published before anybody samples"
        version, weights = self._weights
        report, product = (
            self._handles[index].sample.options(num_returns=2).remote(clock, version, [weights])
        )
        self._tasks[report] = Task(index, version, product, time.monotonic())
        self._is_used = True

    def _collect(self, reference: Any, clock: Clock) -> tuple[Report, Task] | None:
        """A finished task; None if it failed."""
        task = self._tasks.pop(reference)
        ray = self.cluster.ray
        try:
            report: Report = ray.get(reference)
        except (ray.exceptions.RayTaskError, ray.exceptions.RayActorError) as error:
            self._fail(task, error)
            return None
        self._failures[task.worker] = 0
        self._finished[task.worker] = time.monotonic()
        before = self._incarnations.get(task.worker, report.incarnation)
        self._incarnations[task.worker] = report.incarnation
        figures = self._workers[task.worker]
        figures["steps"] += report.steps
        figures["episodes"] += len(report.returns)
        figures["weights age"] = clock.updates - report.version
        figures["restarts"] += before != report.incarnation
        return report, task

    def _fail(self, task: Task, error: Any) -> None:
        """Restarts a worker whose environment failed; the same failure again and again is told."""
        index, incarnation = task.worker, getattr(error.cause, "incarnation", None)
        if incarnation is not None and incarnation == self._failed.get(index):
            return  # It is being ended already, and had more tasks in its queue.
        self._failed[index] = incarnation
        self._failures[index] += 1
        if self._failures[index] >= FAILURES:
            raise ExecutionError(
                f"worker {index} failed {FAILURES} times in a row: {last_line(error)}"
            ) from error
        self._restart(index)

    def _restart_hung(self) -> None:
        """A worker that has not finished a task for `timeout` seconds has an environment that
        hangs. Its first task may take longer: it waits for the frameworks to load.
        """
        now = time.monotonic()
        oldest: dict[int, float] = {}
        for task in self._tasks.values():
            oldest[task.worker] = min(task.begun, oldest.get(task.worker, now))
        for index, begun in oldest.items():
            finished = self._finished[index]
            if finished is not None and now - max(begun, finished) > self.timeout:
                self._failures[index] += 1
                if self._failures[index] >= FAILURES:
                    raise ExecutionError(
                        f"worker {index}: its environments did not answer for {self.timeout:g} s, "
                        f"{FAILURES} times in a row. Raise executor.timeout if they are slow."
                    )
                self._restart(index)

    def _restart(self, index: int) -> None:
        # Ray starts it anew and repeats its tasks; the first one waits for frameworks to load.
        self._finished[index] = None
        self.cluster.ray.kill(self._handles[index], no_restart=False)

    def statistics(self) -> dict[str, float]:
        """Figures to log."""
        ages = [figures["weights age"] for figures in self._workers]
        return {
            "ray/tasks_in_flight": len(self._tasks),
            "ray/worker_restarts": self.restarts,
            "ray/weights_age_mean": sum(ages) / len(ages),
            "ray/weights_age_max": max(ages),
        }

    @property
    def restarts(self) -> int:
        """Of all workers."""
        return int(sum(figures["restarts"] for figures in self._workers))

    def workers(self) -> dict[str, dict[str, float]]:
        return {f"worker {index}": dict(known) for index, known in enumerate(self._workers)}

    # -- state ------------------------------------------------------------------------------------
    def get_state(self) -> dict[str, Any]:
        """Nothing: episodes that are under way are not resumed."""
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Workers begin new episodes."""

    def close(self) -> None:
        self._tasks.clear()
        self.cluster.close()


class StreamingPool(WorkerPool):
    """Workers that go on while the learner learns; `ready` returns what they have finished since.

    A subclass says how far ahead of the learner they may be, and what the trainer gets.
    """

    is_concurrent = True

    def _may_sample(self, index: int, clock: Clock, refill: Collection[int], handed: int) -> bool:
        """Whether a worker gets one more task, while so many results are on the way to the
        trainer.
        """
        raise NotImplementedError

    def _items(self, report: Report, task: Task) -> Sequence[Any]:
        """What the trainer gets of a finished task."""
        raise NotImplementedError

    def ready(
        self, clock: Clock, stop: Stop = never, *, wait: bool = True, refill: Collection[int] = ()
    ) -> list[tuple[Report, Sequence[Any]]]:
        """Finished tasks. Without `wait` those that are there already; with it at least one, or
        none after half a second, so that a stop request is seen.
        """
        self._send(clock, refill)
        if not self._tasks:
            if wait:
                time.sleep(0.005)
            return []
        ray = self.cluster.ray
        found, _ = ray.wait(
            list(self._tasks),
            num_returns=len(self._tasks) if not wait else 1,
            timeout=POLL if wait else 0,
            fetch_local=False,
        )
        results = [
            (done[0], self._items(*done))
            for reference in found
            if (done := self._collect(reference, clock))
        ]
        self._restart_hung()
        after = clock.after(steps=sum(report.steps for report, _ in results))
        self._send(after, refill, len(results))
        return results

    def _send(self, clock: Clock, refill: Collection[int], handed: int = 0) -> None:
        """Keeps workers busy, as far as they may go ahead."""
        load = [0] * len(self._handles)
        for task in self._tasks.values():
            load[task.worker] += 1
        for _ in range(TASKS):
            for index in range(len(self._handles)):
                allowed = self._may_sample(index, clock, refill, handed)
                if load[index] == min(load) and load[index] < TASKS and allowed:
                    self._submit(index, clock)
                    load[index] += 1


class RayPool(StreamingPool):
    """Workers of a replay: they never wait for the learner but for the ratio of updates to steps.

    Records stay in shared memory.
    """

    def __init__(
        self,
        cluster: Cluster,
        workers: Sequence[Any],
        cadence: Cadence,
        task_steps: int,
        timeout: float,
    ) -> None:
        """`task_steps` are those of all environments of a worker; `timeout` is in seconds."""
        super().__init__(cluster, workers, timeout)
        self.cadence = cadence
        self.task_steps = task_steps

    def _may_sample(self, index: int, clock: Clock, refill: Collection[int], handed: int) -> bool:
        ahead = (len(self._tasks) + 1) * self.task_steps
        slack = TASKS * len(self._handles) * self.task_steps
        return index in refill or self.cadence.may_sample(clock, ahead, slack)

    def _items(self, report: Report, task: Task) -> Sequence[Sampled]:
        return [Sampled(task.worker, report.steps, task.product)]
