"""The local loop of one rank, among others: environments, memory and learner of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from rlg.execution.engines.local import TRAINERS, LocalPool, make_sampler
from rlg.execution.engines.ranks.crew import Crew
from rlg.execution.loops import loop_class
from rlg.execution.loops.rounds import Rounds
from rlg.execution.roles import AgentFactory, Stop, never
from rlg.execution.trainers import FusedTrainer, saved_memory
from rlg.execution.types import Batch, Clock, SavedBatches


class Sampled(NamedTuple):
    """What the clock and the log see of a round: the steps of all ranks, one rank's episodes."""

    steps: int
    returns: list[float]
    lengths: list[int]


class RankPool(LocalPool):
    """One rank's sampler. Rounds are learnt from when those of all ranks are complete."""

    keeps_episodes = False

    def __init__(self, factory: AgentFactory, actor: Any, crew: Crew) -> None:
        super().__init__(make_sampler(factory, actor, crew.rank), wants_weights=False)
        self._factory = factory
        self._crew = crew
        self._complete: Any = None  # this rank's, while others are not

    def ready(
        self, clock: Clock, stop: Stop = never, *, wait: bool = True, refill: Collection[int] = ()
    ) -> list[tuple[Sampled, Sequence[Batch]]]:
        crew = self._crew
        # Here ranks may stop apart from each other: `stop` is about what they have agreed on.
        found = self._complete or self.sampler.sample(clock, crew.wish)
        (is_cut,) = crew.any(found is None)
        self._complete = found if is_cut else None
        if is_cut or found is None:
            return []
        segment, batches = found
        return [(Sampled(segment.steps * crew.size, segment.returns, segment.lengths), batches)]

    def get_state(self) -> dict[str, Any]:
        """Nothing: episodes that are under way are not resumed."""
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Begins other episodes than a run from the start."""
        salt = int(state["counters"]["clock"]["steps"])
        self.sampler.close()
        self.sampler = make_sampler(self._factory, self.sampler.actor, self._crew.rank, salt)
        self.sampler.start()


class RankTrainer(FusedTrainer):
    """A learner with its part of the memory, which is drawn from when no rank's is empty."""

    learner: Any

    def __init__(self, learner: Any, crew: Crew, factory: AgentFactory) -> None:
        super().__init__(learner)
        self._crew = crew
        self._factory = factory
        self._is_filled = False

    @property
    def is_ready(self) -> bool:
        if not self._is_filled:
            (is_empty,) = self._crew.any(self.learner.stored == 0)
            self._is_filled = not is_empty
        return self._is_filled

    @property
    def stored(self) -> int:
        """Of all ranks: they sample at the same pace."""
        return int(self.learner.stored) * self._crew.size

    @property
    def memory_nbytes(self) -> int:
        """Of all ranks."""
        return int(self.learner.memory_nbytes) * self._crew.size

    def records(self) -> dict[str, Any]:
        """Rank 0: those of all ranks, as batches that fit any engine and any number of ranks."""
        channel = self._crew.channel
        channel.command("export")
        exports = [list(self.learner.export()), *channel.reports()]
        return {"batches": [batch._asdict() for rank in exports for batch in rank]}

    def read_memory(self, saved: Any) -> SavedBatches:
        return saved_memory(self._factory, saved)

    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        state: dict[str, Any] = self.learner.get_state(memory=False)
        return {**state, "memory": self.records()} if memory else state

    def set_state(self, state: Mapping[str, Any]) -> None:
        super().set_state(state)
        self._is_filled = False


def open_rank(factory: AgentFactory, crew: Crew, horizon: int, salt: int = 0) -> Rounds:
    """The loop of one rank. `salt` sets its random numbers apart from those of another start."""
    agent = factory.make_rank(crew.rank, crew.size, crew, salt)
    pool = RankPool(factory, agent, crew)
    trainer = TRAINERS[factory.loop](agent)
    cadence = factory.cadence
    if factory.loop == "replay":
        trainer = RankTrainer(agent, crew, factory)
        # Each update learns from a batch of every rank: one of them is due after the steps of all.
        cadence = replace(cadence, train_freq=cadence.train_freq * crew.size)
    loop: Rounds = loop_class(factory.loop)(pool, trainer, cadence, Clock(horizon=horizon))
    return loop


def average_statistics(agent: Any, crew: Crew) -> None:
    """Running moments, after a round: each rank has counted its own steps."""
    mine = agent.executor.get_variables("statistic")
    if mine:
        means = crew.average([np.asarray(value) for value in mine.values()])
        agent.executor.set_variables(dict(zip(mine, means, strict=True)), "statistic")
