"""What runs in Ray's processes: samplers with environments, shards of the memory, an evaluator.

Each reply carries the actor's incarnation, so that the driver sees when one was restarted.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlg.execution.evaluation import Evaluation, evaluate
from rlg.execution.roles import AgentFactory
from rlg.execution.sampling import SteppingSampler
from rlg.execution.types import Batch, Clock, Sample, Weights


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
    """A sampler with environments of its own."""

    def __init__(
        self, factory: AgentFactory, index: int, count: int, backend: str | None, steps: int
    ) -> None:
        super().__init__()
        import ray

        self.index = index
        # A worker that was restarted plays other episodes than the one before.
        restarted = ray.get_runtime_context().was_current_actor_reconstructed
        stream = f"actor/{self.incarnation}" if restarted else "actor"
        agent = factory.make(
            "actor", "preparer", index=index, count=count, stream=stream, backend=backend
        )
        env = factory.make_env(index, salt=self.incarnation if restarted else 0)
        self.sampler = SteppingSampler(env, agent, factory.make_adder(), steps)
        self.sampler.start()

    def sample(
        self, clock: Clock, version: int, weights: Sequence[Any]
    ) -> tuple[Report, list[Batch]]:
        """One task: the report for the driver, and prepared records for a shard."""
        begun = time.perf_counter()
        newer = self._newer(version, weights)
        if newer is not None:
            self.sampler.set_weights(newer)
        found = self.sampler.sample(clock)
        assert found is not None, "nobody stops a worker in the middle of a task"
        segment, batches = found
        prepared = [self.sampler.actor.prepare(batch) for batch in batches]
        report = Report(
            self.index,
            self.incarnation,
            self.version,
            segment.steps,
            segment.returns,
            segment.lengths,
            time.perf_counter() - begun,
        )
        return report, prepared


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
