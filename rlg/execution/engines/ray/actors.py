"""What runs in Ray's processes: samplers with environments, shards of the memory, an evaluator.

Each reply carries the actor's incarnation, so that the driver sees when one was restarted.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from rlg.execution.evaluation import Evaluation, evaluate
from rlg.execution.roles import AgentFactory, Role
from rlg.execution.sampling import GradientSampler, SteppingSampler
from rlg.execution.types import Batch, Clock, Sample, Segment, Weights


@dataclass(frozen=True, slots=True)
class Report:
    """What a worker says of a task; the records themselves stay in shared memory."""

    worker: int
    incarnation: int
    version: int  # of the weights that acted
    steps: int
    returns: list[float]
    lengths: list[int]
    seconds: float


class _Actor:
    """An actor's part of the graph, with weights that arrive by version."""

    def __init__(self) -> None:
        self.incarnation = secrets.randbits(31)
        self.version = -1

    def _newer(self, version: int, weights: Sequence[Any]) -> Weights | None:
        """The weights, fetched only if they are newer; references come in a list, unresolved."""
        if version <= self.version:
            return None
        import ray

        found: Weights = ray.get(weights[0])
        self.version = version
        return found


class Worker(_Actor):
    """A sampler with environments of its own, whose records go to a shard of the memory."""

    roles: ClassVar[tuple[Role, ...]] = ("actor", "preparer")
    sampler_class: ClassVar[type[SteppingSampler]] = SteppingSampler

    def __init__(
        self, factory: AgentFactory, index: int, count: int, backend: str | None, steps: int
    ) -> None:
        super().__init__()
        import ray

        self.index = index
        # A worker that was restarted plays other episodes than the one before.
        restarted = ray.get_runtime_context().was_current_actor_reconstructed
        stream = f"actor/{self.incarnation}" if restarted else "actor"
        agent = factory.make(*self.roles, index=index, count=count, stream=stream, backend=backend)
        env = factory.make_env(index, salt=self.incarnation if restarted else 0)
        adder = factory.make_adder()
        # Rows of this process never follow on those of the one before it.
        adder.start = self.incarnation << 31
        self.sampler = self.sampler_class(env, agent, adder, steps)
        self.sampler.start()

    def sample(self, clock: Clock, version: int, weights: Sequence[Any]) -> tuple[Report, Any]:
        """One task: the report for the driver, and what is learnt from."""
        begun = time.perf_counter()
        newer = self._newer(version, weights)
        if newer is not None:
            self.sampler.set_weights(newer)
        try:
            segment, product = self._task(clock)
        except Exception as error:
            error.incarnation = self.incarnation  # type: ignore[attr-defined]
            raise
        report = Report(
            self.index,
            self.incarnation,
            self.version,
            segment.steps,
            segment.returns,
            segment.lengths,
            time.perf_counter() - begun,
        )
        return report, product

    def _task(self, clock: Clock) -> tuple[Segment, Any]:
        """The next steps, and what is learnt from them: here, prepared records."""
        segment, batches = self._sampled(clock)
        return segment, [self.sampler.actor.prepare(batch) for batch in batches]

    def _sampled(self, clock: Clock) -> tuple[Segment, Sequence[Batch]]:
        found = self.sampler.sample(clock)
        assert found is not None, "nobody stops a worker in the middle of a task"
        return found


class SegmentWorker(Worker):
    """A sampler whose segments the learner joins with those of others."""

    roles = ("actor",)

    def _task(self, clock: Clock) -> tuple[Segment, Segment]:
        segment, _ = self._sampled(clock)
        return segment, segment


class GradientWorker(Worker):
    """A sampler that differentiates the loss on its segments."""

    roles = ("actor", "gradient_worker")
    sampler_class = GradientSampler

    def _task(self, clock: Clock) -> tuple[Segment, Any]:
        return self._sampled(clock)


@dataclass(frozen=True, slots=True)
class Fill:
    """How much a shard holds."""

    shard: int
    incarnation: int
    stored: int
    nbytes: int


class Shard:
    """A part of the replay memory, on NumPy: no framework is in its process."""

    def __init__(self, factory: AgentFactory, index: int, count: int, num_envs: int) -> None:
        self.index = index
        self.incarnation = secrets.randbits(31)
        self.memory = factory.make_memory(index, count, num_envs)

    def insert(self, batches: Sequence[Batch], first_env: int) -> Fill:
        """Stores what a worker prepared, whose environments are numbered from `first_env`."""
        for batch in batches:
            self.memory.insert(batch, first_env=first_env)
        return self.fill()

    def fill(self) -> Fill:
        return Fill(self.index, self.incarnation, self.memory.stored, self.memory.memory_nbytes)

    def sample(self, n: int, clock: Clock) -> tuple[Fill, Sample | None]:
        """`n` records, or None from an empty memory."""
        fill = self.fill()
        return fill, self.memory.sample(n, clock) if fill.stored else None

    def update_priorities(self, incarnation: int, keys: Any, priorities: Any) -> int:
        """Returns how many came too late."""
        if incarnation != self.incarnation:
            return len(keys)  # Keys of a memory that is gone.
        return int(self.memory.update_priorities(keys, priorities))

    def export(self) -> list[Batch]:
        """Everything, as batches that can be inserted into any other memory."""
        return list(self.memory.export())


class Evaluator:
    """Plays evaluation episodes beside the run."""

    def __init__(self, factory: AgentFactory, backend: str | None) -> None:
        self.agent = factory.make("actor", stream="evaluator", backend=backend)

    def evaluate(
        self,
        weights: Weights,
        env: Mapping[str, Any],
        episodes: int,
        seed: int,
        max_steps: int | None = None,
    ) -> Evaluation:
        self.agent.load_weights(weights)
        return evaluate(self.agent, env, episodes, seed, max_steps=max_steps)
