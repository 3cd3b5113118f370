"""A learner in the driver with the shards of its memory in other processes."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlg.execution.engines.ray.actors import Fill
from rlg.execution.engines.ray.cluster import Cluster
from rlg.execution.engines.ray.pool import Sampled
from rlg.execution.roles import AgentFactory
from rlg.execution.trainers import saved_memory
from rlg.execution.types import Clock, LearnResult, Sample, SavedBatches, Weights
from rlg.graph.spaces import map_leaves

PACKS = 2  # requests for samples in flight: the learner never waits for a shard
UPDATES = 8  # updates of priorities that nobody has looked at


@dataclass(slots=True)
class _Pack:
    """Several batches of one request, and the priorities that they get."""

    shard: int
    incarnation: int
    sample: Sample
    scale: float  # of importance weights: those of this shard against those of all
    next: int
    priorities: list[Any]


class ShardTrainer:
    """Learns from packs of batches that shards draw ahead of it."""

    def __init__(
        self,
        cluster: Cluster,
        factory: AgentFactory,
        learner: Any,
        shards: Sequence[Any],
        *,
        pack: int,
        minimum: int,
        num_workers: int,
        num_envs: int,
    ) -> None:
        """`minimum` is how many transitions a shard holds before it is drawn from, `num_envs` the
        number of each worker's environments.
        """
        self.cluster = cluster
        self.factory = factory
        self.learner = learner
        self.shards = shards
        self.burst = pack  # updates between two looks at the samplers
        self.minimum = max(1, minimum)
        self.num_workers = num_workers
        self.num_envs = num_envs
        self.batch_size: int = learner.batch_size
        self.stale = 0
        self.restarts = 0
        self.waited = 0.0
        self._since = time.perf_counter()
        self._fills = [Fill(index, 0, 0, 0) for index in range(len(shards))]
        self._ranges: dict[int, tuple[float, float]] = {}  # sum and least of priorities
        self._inserts: list[deque[tuple[int, Any]]] = [deque() for _ in shards]  # with their steps
        self._requests: deque[tuple[int, Any, Any]] = deque()  # shard, fill, sample
        self._updates: deque[Any] = deque()
        self._pack: _Pack | None = None
        self._rng = np.random.default_rng(0)

    # -- data -------------------------------------------------------------------------------------
    def absorb(self, items: Sequence[Sampled]) -> None:
        """Hands references on to shards; a shard owns whole workers."""
        for item in items:
            index = item.worker % len(self.shards)
            first_env = (item.worker // len(self.shards)) * self.num_envs
            insert = self.shards[index].insert.remote(item.batches, first_env)
            self._inserts[index].append((item.steps, insert))
            self._look_at_inserts(index)

    def _look_at_inserts(self, index: int, *, wait: bool = False) -> None:
        """Acknowledged ones count. How many can be under way is limited by the cadence."""
        ray, waiting = self.cluster.ray, self._inserts[index]
        while waiting:
            _, insert = waiting[0]
            done, _ = ray.wait([insert], timeout=None if wait else 0)
            if not done:
                return
            waiting.popleft()
            self._note_fill(self.cluster.get(insert))

    def _note_fill(self, fill: Fill) -> None:
        before = self._fills[fill.shard]
        if before.incarnation and before.incarnation != fill.incarnation:
            self.restarts += 1
            self._ranges.pop(fill.shard, None)
        self._fills[fill.shard] = fill

    @property
    def stored(self) -> int:
        """Transitions in all shards."""
        return sum(fill.stored for fill in self._fills)

    @property
    def memory_nbytes(self) -> int:
        return sum(fill.nbytes for fill in self._fills)

    @property
    def is_ready(self) -> bool:
        """Whether some shard can be drawn from."""
        for index in range(len(self.shards)):
            self._look_at_inserts(index)
        return bool(self._full())

    @property
    def hungry(self) -> Collection[int]:
        """The workers of shards that are below their minimum, at the start or after they died."""
        under_way = [sum(steps for steps, _ in waiting) for waiting in self._inserts]
        fed = {f.shard for f in self._fills if f.stored + under_way[f.shard] >= self.minimum}
        return [w for w in range(self.num_workers) if w % len(self.shards) not in fed]

    def _full(self) -> list[int]:
        return [fill.shard for fill in self._fills if fill.stored >= self.minimum]

    # -- learning ---------------------------------------------------------------------------------
    def learn(self, clock: Clock, due: int = 1) -> LearnResult | None:
        """One update; None if no samples have arrived for a while."""
        self._request(clock)
        if self._pack is None:
            self._pack = self._receive(clock)
        if self._pack is None:
            return None
        pack = self._pack
        # Draws are stratified and sorted: batches are dealt out by stride.
        part = slice(pack.next, None, self.burst)
        records = map_leaves(lambda x: x[part], pack.sample.records)
        weights = pack.sample.weights[part] * np.float32(pack.scale)
        sample = pack.sample._replace(records=records, keys=pack.sample.keys[part], weights=weights)
        result: LearnResult = self.learner.learn(sample, clock)
        pack.priorities.append((sample.keys, result.priorities))
        pack.next += 1
        if pack.next == self.burst:
            self._send_priorities(pack)
            self._pack = None
        return result

    def _request(self, clock: Clock) -> None:
        full = self._full()
        while full and len(self._requests) < PACKS:
            # In proportion to their priorities, so that all records have the chances that they
            # would have in one memory.
            totals = [self._ranges.get(index, (1.0, 1.0))[0] for index in full]
            chances = np.array(totals) / sum(totals)
            index = full[int(self._rng.choice(len(full), p=chances))]
            found = (
                self.shards[index]
                .sample.options(num_returns=2)
                .remote(self.batch_size * self.burst, clock)
            )
            self._requests.append((index, *found))

    def _receive(self, clock: Clock) -> _Pack | None:
        ray, begun = self.cluster.ray, time.perf_counter()
        while self._requests:
            index, fill_reference, reference = self._requests[0]
            done, _ = ray.wait([reference], timeout=0.5)
            if not done:
                break
            self._requests.popleft()
            fill, sample = self.cluster.get([fill_reference, reference])
            self._note_fill(fill)
            if sample is None:  # The shard died and came back empty.
                self._request(clock)
                continue
            self._ranges[index] = (sample.total, sample.least)
            self.waited += time.perf_counter() - begun
            return _Pack(index, fill.incarnation, sample, self._scale(index, clock), 0, [])
        self.waited += time.perf_counter() - begun
        return None

    def _scale(self, index: int, clock: Clock) -> float:
        """A shard's weights are relative to its own least priority."""
        least = min(known for _, known in self._ranges.values())
        return float((least / self._ranges[index][1]) ** self.learner.beta_at(clock))

    def _send_priorities(self, pack: _Pack) -> None:
        keys = np.concatenate([keys for keys, _ in pack.priorities])
        values = np.concatenate([values for _, values in pack.priorities])
        update = self.shards[pack.shard].update_priorities.remote(pack.incarnation, keys, values)
        self._updates.append(update)
        while len(self._updates) > UPDATES:
            # Looked at, so that errors show.
            self.stale += self.cluster.get(self._updates.popleft())

    def weights(self, version: int) -> Weights:
        found: Weights = self.learner.weights(version)
        return found

    def statistics(self) -> dict[str, float]:
        """Figures to log; waiting is a share of the time since the last call."""
        now = time.perf_counter()
        waiting, self.waited = self.waited / (now - self._since), 0.0
        self._since = now
        return {
            "ray/learner_waiting": waiting,
            "ray/packs_in_flight": len(self._requests),
            "ray/inserts_in_flight": sum(len(waiting) for waiting in self._inserts),
            "ray/shard_restarts": self.restarts,
            "ray/stale_priorities": self.stale,
            "ray/stored": self.stored,
            "ray/object_store_mb": self.cluster.store_used() / 2**20,
        }

    # -- state ------------------------------------------------------------------------------------
    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        state: dict[str, Any] = self.learner.get_state(memory=False)
        if memory:
            state["memory"] = self.records()
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.learner.set_state({k: v for k, v in state.items() if k != "memory"})
        if "memory" in state:
            self._load(state["memory"])

    def records(self) -> dict[str, Any]:
        """All replay data, as batches that fit any engine and any number of shards."""
        for index in range(len(self.shards)):
            self._look_at_inserts(index, wait=True)
        exports = self.cluster.get([shard.export.remote() for shard in self.shards])
        batches = [batch for shard in exports for batch in shard]
        return {"batches": [batch._asdict() for batch in batches]}

    def read_memory(self, saved: Any) -> SavedBatches:
        return saved_memory(self.factory, saved)

    def _load(self, batches: SavedBatches) -> None:
        """Deals the batches out to the shards, in turn."""
        for number, batch in enumerate(batches):
            index = number % len(self.shards)
            insert = self.shards[index].insert.remote([batch], 0)
            self._inserts[index].append((batch.size, insert))
            # One at a time: what is read from a checkpoint is not collected in shared memory.
            self._look_at_inserts(index, wait=True)
