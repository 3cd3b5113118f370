"""One process with a sampler thread beside the learner: the environment hides behind learning.

While the learner learns from round k the thread samples round k + 1, with the weights of the
learner after round k - 1. Which weights act is fixed by that rule, not by how fast either side is:
runs repeat, and resume exactly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from rlg.execution.engines.local import assemble, make_sampler
from rlg.execution.roles import AgentFactory, Loop
from rlg.execution.sampling import SteppingSampler
from rlg.execution.types import Batch, Clock, Segment, Weights, segment_to_tree


class ThreadPool:
    """One sampler in a thread that is always one round ahead."""

    wants_weights = True

    def __init__(self, sampler: SteppingSampler) -> None:
        self.sampler = sampler
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="sampler")
        self._next: Future[Segment] | None = None
        self._weights: Weights | None = None

    def start(self) -> None:
        self.sampler.start()

    def ready(self, clock: Clock) -> list[tuple[Segment, Sequence[Batch]]]:
        segment = (self._next or self._submit(clock)).result()
        self._next = self._submit(clock.after(steps=segment.steps))
        # Records are made in the caller's thread, so that what waits is one segment alone.
        return [(segment, list(self.sampler.adder.add(segment)))]

    def _submit(self, clock: Clock) -> Future[Segment]:
        # Chosen now, not when the thread gets to it: that would depend on its speed.
        weights, self._weights = self._weights, None
        return self._thread.submit(self._sample, clock, weights)

    def _sample(self, clock: Clock, weights: Weights | None) -> Segment:
        if weights is not None:
            self.sampler.set_weights(weights)
        return self.sampler.collect(clock)

    def publish(self, weights: Weights) -> None:
        self._weights = weights

    def get_state(self) -> dict[str, Any]:
        """Waits for the round under way: it was sampled by weights that are gone at a resume."""
        ahead = {} if self._next is None else {"ahead": segment_to_tree(self._next.result())}
        return {**self.sampler.get_state(), **ahead}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.sampler.set_state(state)

    def close(self) -> None:
        try:
            # The environments are the thread's until its round is done.
            self._thread.shutdown(wait=True)
        finally:
            self.sampler.close()


def open_threads(factory: AgentFactory, settings: Mapping[str, Any], horizon: int) -> Loop:
    """Engine `threads`."""
    learner = factory.make("actor", "learner")
    actor = factory.make("actor", stream="actor", backend=settings.get("actor_backend"))
    return assemble(factory, learner, ThreadPool(make_sampler(factory, actor)), horizon)
