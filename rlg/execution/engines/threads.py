"""One process with a sampler thread beside the learner: the environment hides behind learning.

While the learner learns from round k the thread samples round k + 1, with the weights of the
learner after round k - 1. Which weights act is fixed by that rule, not by how fast either side is:
runs repeat, and resume exactly. Rollouts for an IMPALA are made as fast as they are learnt from.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Mapping, Sequence
from concurrent import futures
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from typing import Any

from rlg.execution.engines.local import assemble, make_sampler
from rlg.execution.roles import AgentFactory, Loop, Stop, never
from rlg.execution.sampling import SteppingSampler
from rlg.execution.trainers import QueueTrainer
from rlg.execution.types import Batch, Clock, Segment, Weights, segment_to_tree

POLL = 0.5  # seconds between looks at stop requests


class ThreadPool:
    """One sampler in a thread that is always one round ahead."""

    wants_weights = True
    is_concurrent = False
    keeps_episodes = True

    def __init__(self, sampler: SteppingSampler) -> None:
        self.sampler = sampler
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sampler")
        self._next: Future[Segment | None] | None = None
        self._weights: Weights | None = None  # for the next task
        self._acting: Weights | None = None  # of the task under way
        self._is_half = False  # the last task was stopped on the way
        self._is_closing = False

    def start(self) -> None:
        self.sampler.start()

    def ready(
        self, clock: Clock, stop: Stop = never, *, wait: bool = True, refill: Collection[int] = ()
    ) -> list[tuple[Segment, Sequence[Batch]]]:
        self._next = self._next or self._submit(clock, stop)
        segment = self._result()
        if segment is None:
            return []
        self._next = self._submit(clock.after(steps=segment.steps), stop)
        # Records are made in the caller's thread, so that what waits is one segment alone.
        return [(segment, list(self.sampler.adder.add(segment)))]

    def _submit(self, clock: Clock, stop: Stop) -> Future[Segment | None]:
        # Chosen now, not when the thread gets to it: that would depend on its speed.
        weights = None
        if not self._is_half:  # A task ends with the weights that it began with.
            weights, self._weights = self._weights, None
            self._acting = weights or self._acting
        self._is_half = False
        return self._thread.submit(self._sample, clock, weights, stop)

    def _sample(self, clock: Clock, weights: Weights | None, stop: Stop) -> Segment | None:
        if weights is not None:
            self.sampler.set_weights(weights)
        return self.sampler.collect(clock, lambda: self._is_closing or stop())

    def _result(self) -> Segment | None:
        """Of the task under way; None if it was stopped."""
        segment = None if self._next is None else self._next.result()
        if self._next is not None and segment is None:
            self._next, self._is_half = None, True
        return segment

    def statistics(self) -> dict[str, float]:
        return {}

    def workers(self) -> dict[str, dict[str, float]]:
        return {}

    def publish(self, weights: Weights) -> None:
        self._weights = weights

    def get_state(self) -> dict[str, Any]:
        """Waits for the round under way: it was sampled by weights that are gone at a resume."""
        segment = self._result()
        state = self.sampler.get_state()
        if segment is not None:
            state["ahead"] = segment_to_tree(segment)
        if self._is_half and self._acting is not None:
            state["acting"] = asdict(self._acting)
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.sampler.set_state(state)
        acting = state.get("acting")
        self._is_half = acting is not None
        if acting is not None:
            self._acting = Weights(**acting)
            self.sampler.set_weights(self._acting)

    def close(self) -> None:
        self._is_closing = True
        try:
            # The environments are the thread's until it has seen that.
            self._thread.shutdown(wait=True)
        finally:
            self.sampler.close()


class RolloutThread:
    """One sampler in a thread that makes rollouts until as many as `queue` wait for the learner.

    Each rollout begins with the newest weights, so which ones act depends on how fast both sides
    are: such runs don't repeat. They resume without losing steps.
    """

    wants_weights = True
    is_concurrent = True
    keeps_episodes = True

    def __init__(self, sampler: SteppingSampler, trainer: QueueTrainer) -> None:
        self.sampler = sampler
        self.trainer = trainer
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sampler")
        self._tasks: deque[Future[Segment | None]] = deque()
        self._sampled: deque[Segment] = deque()  # before a pause, and not handed over yet
        self._newest: Weights | None = None
        self._acting: Weights | None = None
        self._is_paused = False

    def start(self) -> None:
        self.sampler.start()

    def ready(
        self, clock: Clock, stop: Stop = never, *, wait: bool = True, refill: Collection[int] = ()
    ) -> list[tuple[Segment, Sequence[Batch]]]:
        """Finished rollouts. Without `wait` those that are there already; with it at least one, or
        none after half a second, so that a stop request is seen.
        """
        self._send(clock)
        if wait and not self._sampled and self._tasks:
            futures.wait([self._tasks[0]], timeout=POLL)
        while self._tasks and self._tasks[0].done():
            self._finish()
        found = list(self._sampled)
        self._sampled.clear()
        self._send(clock.after(steps=sum(segment.steps for segment in found)), len(found))
        return [(segment, list(self.sampler.adder.add(segment))) for segment in found]

    def _send(self, clock: Clock, handed: int = 0) -> None:
        """Keeps the thread busy while there is room, beside the rollout that it is at."""
        there = self.trainer.waiting + len(self._sampled) + handed
        while there + len(self._tasks) < self.trainer.learner.queue + 1:
            self._tasks.append(self._thread.submit(self._sample, clock))

    def _sample(self, clock: Clock) -> Segment | None:
        if self._is_paused:
            return None
        newest = self._newest
        if newest is not None and newest is not self._acting:
            self.sampler.set_weights(newest)
            self._acting = newest
        return self.sampler.collect(clock, lambda: self._is_paused)

    def _finish(self) -> None:
        """Takes the oldest task; waits for it, and raises what failed in the thread."""
        segment = self._tasks.popleft().result()
        if segment is not None:
            self._sampled.append(segment)

    def _pause(self) -> None:
        """Waits until the thread has left the environments alone, in the middle of a rollout."""
        self._is_paused = True
        try:
            while self._tasks:
                self._finish()
        finally:
            self._is_paused = False

    def statistics(self) -> dict[str, float]:
        return {}

    def workers(self) -> dict[str, dict[str, float]]:
        return {}

    def publish(self, weights: Weights) -> None:
        self._newest = weights

    def get_state(self) -> dict[str, Any]:
        """With rollouts that were not handed over: their steps are not counted yet."""
        self._pause()
        state = self.sampler.get_state()
        sampled = [segment_to_tree(segment) for segment in self._sampled]
        return {**state, "sampled": sampled + state.get("sampled", [])}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._pause()
        self._sampled.clear()
        self.sampler.set_state(state)

    def close(self) -> None:
        self._is_paused = True
        try:
            # The environments are the thread's until it has seen that.
            self._thread.shutdown(wait=True, cancel_futures=True)
        finally:
            self.sampler.close()


def open_threads(factory: AgentFactory, settings: Mapping[str, Any], horizon: int) -> Loop:
    """Engine `threads`."""
    learner = factory.make("actor", "learner")
    actor = factory.make("actor", stream="actor", backend=settings.get("actor_backend"))
    sampler = make_sampler(factory, actor)
    if factory.loop == "actor_learner":
        trainer = QueueTrainer(learner)
        return assemble(factory, learner, RolloutThread(sampler, trainer), horizon, trainer)
    return assemble(factory, learner, ThreadPool(sampler), horizon)
