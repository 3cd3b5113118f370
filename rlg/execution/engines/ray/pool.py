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
class _Task:
    worker: int
    version: int
    batches: Any
    begun: float


class RayPool:
    """Workers with tasks in flight; `ready` returns what they have finished and sends new ones."""

    is_concurrent = True

    def __init__(
        self,
        cluster: Cluster,
        workers: Sequence[Any],
        cadence: Cadence,
        task_steps: int,
        timeout: float,
    ) -> None:
        """`task_steps` are those of all environments of a worker; `timeout` is in seconds."""
        self.cluster = cluster
        self._handles = workers
        self.cadence = cadence
        self.task_steps = task_steps
        self.timeout = timeout
        self._tasks: dict[Any, _Task] = {}  # by reference of the report
        self._weights: tuple[int, Any] | None = None
        self._is_used = True  # whether a task was sent with the newest weights
        self._incarnations: dict[int, int] = {}
        self._failures = [0] * len(workers)
        self._restarted = [0.0] * len(workers)  # when that was asked for
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

    def ready(
        self, clock: Clock, stop: Stop = never, *, wait: bool = True, refill: Collection[int] = ()
    ) -> list[tuple[Report, Sequence[Sampled]]]:
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
        results = [item for reference in found if (item := self._collect(reference, clock))]
        self._restart_hung()
        self._send(clock.after(steps=sum(report.steps for report, _ in results)), refill)
        return results

    def _send(self, clock: Clock, refill: Collection[int]) -> None:
        """Keeps workers busy, as far as the ratio of updates to steps allows."""
        assert self._weights is not None, "weights are published before anybody samples"
        version, weights = self._weights
        load = [0] * len(self._handles)
        for task in self._tasks.values():
            load[task.worker] += 1
        for _ in range(TASKS):
            for index, worker in enumerate(self._handles):
                ahead = (len(self._tasks) + 1) * self.task_steps
                slack = TASKS * len(self._handles) * self.task_steps
                allowed = index in refill or self.cadence.may_sample(clock, ahead, slack)
                if load[index] == min(load) and load[index] < TASKS and allowed:
                    report, batches = worker.sample.options(num_returns=2).remote(
                        clock, version, [weights]
                    )
                    self._tasks[report] = _Task(index, version, batches, time.monotonic())
                    load[index] += 1
                    self._is_used = True

    def _collect(self, reference: Any, clock: Clock) -> tuple[Report, Sequence[Sampled]] | None:
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
        return report, [Sampled(task.worker, report.steps, task.batches)]

    def _fail(self, task: _Task, error: Exception) -> None:
        """Restarts a worker whose environment failed; the same failure again and again is told."""
        index = task.worker
        if task.begun < self._restarted[index]:
            return  # It was in the queue of a worker that is restarted already.
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
                self._finished[index] = None
                self._failures[index] += 1
                if self._failures[index] >= FAILURES:
                    raise ExecutionError(
                        f"worker {index}: its environments did not answer for {self.timeout:g} s, "
                        f"{FAILURES} times in a row. Raise executor.timeout if they are slow."
                    )
                self._restart(index)

    def _restart(self, index: int) -> None:
        # Ray starts it anew and repeats its tasks.
        self._restarted[index] = time.monotonic()
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
