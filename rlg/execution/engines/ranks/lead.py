"""Rank 0 and those that follow it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any

import numpy as np

from rlg.execution.engines.ranks.collective import RankLostError
from rlg.execution.engines.ranks.crew import Crew, Report
from rlg.execution.engines.ranks.rounds import average_statistics, open_rank
from rlg.execution.loops.rounds import Rounds
from rlg.execution.roles import AgentFactory, Evaluator, Stop
from rlg.execution.types import Batch, Clock, Iteration, SavedBatches
from rlg.graph.spaces import flatten, map_leaves

# Of a checkpoint, what ranks start from: model, counters, the learner's own.
COMMON = ("model", "learner", "counters")


class LeadingLoop:
    """The loop of rank 0, which tells the others what to do; a session sees a loop like others."""

    def __init__(self, rounds: Rounds, crew: Crew, factory: AgentFactory) -> None:
        self.rounds = rounds
        self.crew = crew
        self.factory = factory
        self.learner: Any = rounds.learner
        self.pool = rounds.pool
        self.trainer = rounds.trainer
        self.evaluator: Evaluator | None = None
        self.description = ""
        self._since = time.perf_counter()

    @property
    def clock(self) -> Clock:
        return self.rounds.clock

    @clock.setter
    def clock(self, clock: Clock) -> None:
        self.rounds.clock = clock

    def start(self) -> None:
        """The others begin with this rank's weights."""
        self.crew.channel.command("start", self.learner.get_model())
        self.rounds.start()

    def iterate(self, stop: Stop) -> Iteration:
        channel = self.crew.channel

        def wish() -> bool:
            if stop():
                channel.hurry()
                return True
            return False

        with self._explaining():
            channel.command("iterate")
            iteration = iterated(self.rounds, self.crew, wish)
            reports: list[Report] = channel.reports()
        for report in reports:
            iteration.returns += report.returns
            iteration.lengths += report.lengths
        for name, value in iteration.train.items():
            values = [value, *(report.train[name] for report in reports)]
            iteration.train[name] = float(np.mean(values))
        return iteration

    def statistics(self) -> dict[str, float]:
        """Figures to log; the time in reductions is a share of that since the last call."""
        now = time.perf_counter()
        share, self.crew.seconds = self.crew.seconds / (now - self._since), 0.0
        self._since = now
        return {**self.rounds.statistics(), "ranks/reducing": share}

    # -- state ------------------------------------------------------------------------------------
    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        return self.rounds.get_state(memory=memory)

    def set_state(self, state: Mapping[str, Any], horizon: int | None = None) -> None:
        """All ranks continue with the same model, and share the replay data."""
        common, batches = {name: state[name] for name in COMMON}, state.get("memory")
        has_batches = isinstance(batches, SavedBatches)
        self.crew.channel.command("load", common, has_batches, horizon)
        if isinstance(batches, SavedBatches):
            state = {**state, "memory": SavedBatches(partial(self._dealt, batches))}
        self.rounds.set_state(state, horizon)

    def _dealt(self, batches: SavedBatches) -> Iterator[Batch]:
        """This rank's; the others get theirs on the way."""
        for number, batch in enumerate(batches):
            for rank, part in enumerate(_parts(batch, number, self.crew.size)):
                if part is not None and rank:
                    self.crew.channel.command("insert", part, to=rank)
                elif part is not None:
                    yield part

    @contextmanager
    def _explaining(self) -> Iterator[None]:
        """Says which rank is gone, and why, where others only see that it is."""
        try:
            yield
        except RankLostError as error:
            raise self.crew.channel.explained(error) from error

    def close(self) -> None:
        try:
            self.rounds.close()
        finally:
            self.crew.close()


class Follower:
    """A rank that does what rank 0 says, until it is told to leave."""

    def __init__(self, factory: AgentFactory, crew: Crew, horizon: int) -> None:
        self.factory = factory
        self.crew = crew
        self.horizon = horizon
        self.rounds = open_rank(factory, crew, horizon)

    def follow(self) -> None:
        while True:
            name, args = self.crew.channel.receive()
            if name == "leave":
                return
            getattr(self, name)(*args)

    def close(self) -> None:
        self.rounds.close()
        self.rounds.learner.executor.close()  # type: ignore[attr-defined]

    # -- commands ---------------------------------------------------------------------------------
    def start(self, model: Mapping[str, Any]) -> None:
        self._agent.set_model(model)
        self.rounds.start()

    def iterate(self) -> None:
        found = iterated(self.rounds, self.crew, self.crew.channel.is_hurried)
        self.crew.channel.report(Report(found.returns, found.lengths, found.train))

    def export(self) -> None:
        self.crew.channel.report(list(self._agent.export()))

    def load(self, common: Mapping[str, Any], has_batches: bool, horizon: int | None) -> None:
        """From a checkpoint, with other random numbers than a run from the start."""
        self.close()
        salt = int(common["counters"]["clock"]["steps"])
        self.rounds = open_rank(self.factory, self.crew, self.horizon, salt)
        state = {**common, "streams": {}}
        if has_batches:  # They come one by one.
            state["memory"] = SavedBatches(lambda: iter(()))
        self.rounds.set_state(state, horizon)

    def insert(self, batch: Batch) -> None:
        self._agent.insert(batch)

    @property
    def _agent(self) -> Any:
        return self.rounds.learner


def iterated(rounds: Rounds, crew: Crew, wish: Stop) -> Iteration:
    """One round of one rank."""
    crew.begin_round(wish)
    iteration = rounds.iterate(crew.is_stopped)
    if iteration.is_complete:
        average_statistics(rounds.learner, crew)
    return iteration


def _parts(batch: Batch, number: int, count: int) -> list[Batch | None]:
    """A batch of saved records for `count` ranks: rows in turn, or (frames, which belong together)
    whole for one of them.
    """
    assert batch.priorities is not None, "records of a memory have priorities"
    rows = len(batch.priorities)
    leaves = flatten(batch.records).values()
    if any(len(leaf) != rows for leaf in leaves):
        return [batch if rank == number % count else None for rank in range(count)]
    parts: list[Batch | None] = []
    for rank in range(count):
        mine = slice(rank, None, count)
        priorities = batch.priorities[mine]
        records = map_leaves(lambda x, mine=mine: x[mine], batch.records)
        size = batch.size * len(priorities) // rows
        parts.append(Batch(records, size, priorities) if size else None)
    return parts
