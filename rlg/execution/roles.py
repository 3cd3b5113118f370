"""The roles of a run, and what loops see of them.

Roles are parts of one graph: every process composes the same root from the same configuration and
builds only the API methods of its roles. So one agent object plays any of them:

    actor = factory.make("actor", index=3)     # acts; no memory, target or optimizer in its process
    learner = factory.make("learner")          # learns; holds the memory where it is in the graph
    agent = factory.make("actor", "learner")   # both, on one graph, in one process

Loops see a SamplerPool and a Trainer only, so that one process, threads and clusters are no special
cases. Counters belong to the loop's Clock, environments and recurrent states to samplers, the
memory to the trainer, statistics and weights to the learner.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Literal, Protocol

from rlg.envs import VectorEnv
from rlg.execution.adders import Adder
from rlg.execution.cadence import Cadence
from rlg.execution.types import (
    Action,
    Batch,
    Clock,
    Gradients,
    Iteration,
    LearnResult,
    Sample,
    Segment,
    Weights,
)
from rlg.graph.spaces import Space

# "preparer": an actor that also knows first priorities; "gradient_worker": an actor that also
# differentiates what it sampled; "memory": replay data alone; "updater": a learner whose memories
# are elsewhere; "fused_actor", "fused_learner": see `rlg.execution.fused_roles`.
Acting = Literal["actor", "preparer", "gradient_worker", "fused_actor"]
Role = Acting | Literal["learner", "updater", "memory", "fused_learner"]
Stop = Callable[[], bool]


def never() -> bool:
    """A Stop that never stops."""
    return False


class Stateful(Protocol):
    """Has a state that checkpoints hold, as sections by name."""

    def get_state(self) -> dict[str, Any]: ...
    def set_state(self, state: Mapping[str, Any]) -> None: ...


class Actor(Protocol):
    """Acts in environments. What a sampler does with it:

    action = actor.act(observations, hidden, resets, clock)
    step = env.step(action.env)
    hidden = action.state
    """

    # What `act` returns beside the environment's actions, and a recurrent policy's state.
    @property
    def columns(self) -> Mapping[str, Space]: ...
    @property
    def state_space(self) -> Space | None: ...

    def act(
        self, observations: Any, state: Any, resets: Any, clock: Clock, *, explore: bool = True
    ) -> Action:
        """Actions for N environments. Without `explore` nothing changes: neither random streams
        nor statistics.
        """

    def load_weights(self, weights: Weights) -> None:
        """Acts by these from now on."""

    def prepare(self, batch: Batch) -> Batch:
        """What a memory in another process stores of this batch; one call per task."""

    # The random streams of its graph.
    def get_streams(self) -> dict[str, Any]: ...
    def set_streams(self, streams: Mapping[str, Any]) -> None: ...


class Learner(Protocol):
    """Learns from batches, or from a memory in its own graph. What a trainer does with it:

    learner.insert(batch)                # where the memory is in the graph
    result = learner.learn(None, clock)
    weights = learner.weights(version)
    """

    def insert(self, batch: Batch) -> None:
        """Stores records in the memory of this graph."""

    def learn(self, batch: Batch | Sample | None, clock: Clock) -> LearnResult:
        """One update: from a batch, or from the memory of this graph."""

    def learn_due(self, due: int, clock: Clock) -> LearnResult:
        """From the memory of this graph: of `due` updates one, or several in one call."""

    @property
    def stored(self) -> int:
        """Transitions in the memory, since it was empty."""

    @property
    def memory_nbytes(self) -> int: ...

    def weights(self, version: int) -> Weights:
        """What actors act by."""

    def records(self) -> dict[str, Any]:
        """The arrays of the memory of this graph."""

    # The memory can be left out: it is most of a state.
    def get_state(self, *, memory: bool = True) -> dict[str, Any]: ...
    def set_state(self, state: Mapping[str, Any]) -> None: ...


class GradientWorker(Actor, Protocol):
    """An actor that differentiates too, for a learner in another process. What both do:

    gradients = worker.gradients(batch)
    result = learner.apply(gradients, clock)
    """

    def gradients(self, batch: Batch) -> Gradients:
        """Of the loss on this batch, at the weights that it acts by, which stay as they are."""


class GradientLearner(Learner, Protocol):
    """A learner whose gradients come from gradient workers."""

    def apply(self, gradients: Gradients, clock: Clock) -> LearnResult:
        """One update."""


class RolloutLearner(Learner, Protocol):
    """A learner of rollouts that others made by older weights, corrected for that."""

    batch_rollouts: int  # of an update
    queue: int  # rollouts that may wait for the learner; then samplers wait

    def task_steps(self, num_envs: int) -> int:
        """Steps of a rollout."""


class Memory(Protocol):
    """Replay data apart from the learner. What shards do with it:

    memory.insert(actor.prepare(batch))          # from a sampler
    sample = memory.sample(n, clock)             # for the learner
    stale = memory.update_priorities(sample.keys, result.priorities)
    """

    def insert(self, batch: Batch) -> None: ...
    def sample(self, n: int, clock: Clock) -> Sample: ...
    def update_priorities(self, keys: Any, priorities: Any) -> int:
        """Returns how many keys were stale, of records that are gone."""


class Sampler(Stateful, Protocol):
    """An actor with its environments."""

    actor: Actor
    version: int  # of the weights that act

    def start(self) -> None:
        """Begins the first episodes."""

    def sample(self, clock: Clock, stop: Stop = never) -> tuple[Segment, Sequence[Any]] | None:
        """One task: the next steps, and the records that they complete (or gradients on them).

        None if stopped on the way: what was sampled is kept, and the rest comes with the next call.
        """

    def set_weights(self, weights: Weights) -> None: ...
    def close(self) -> None: ...


class SamplerPool(Stateful, Protocol):
    """All samplers of a run, wherever they are."""

    def start(self) -> None: ...
    def ready(
        self, clock: Clock, stop: Stop = never, *, wait: bool = True, refill: Collection[int] = ()
    ) -> list[tuple[Any, Sequence[Any]]]:
        """What was sampled: segments (or what says their steps, returns and lengths) and items for
        the trainer; empty if stopped before a task was complete. Concurrent samplers are not waited
        for without `wait`; those in `refill` sample beyond the cadence, to fill a memory.
        """

    def publish(self, weights: Weights) -> None:
        """Samplers act by these from their next task on."""

    # Whether `publish` does anything: samplers may act by the learner's own graph.
    @property
    def wants_weights(self) -> bool: ...

    is_concurrent: bool  # whether samplers go on while the learner learns
    keeps_episodes: bool  # whether its state holds the episodes that are under way

    def workers(self) -> dict[str, dict[str, float]]:
        """Figures of each sampler by name, to show; empty where there is only this process."""

    def statistics(self) -> dict[str, float]:
        """Figures to log, by tag."""

    def close(self) -> None: ...


class Trainer(Protocol):
    """A learner with its data."""

    learner: Learner

    burst: int | None  # updates between two looks at concurrent samplers; None: all that are due

    def absorb(self, items: Sequence[Any]) -> None:
        """Takes what was sampled: batches, or references to them."""

    @property
    def is_ready(self) -> bool:
        """Whether there is data to learn from."""

    @property
    def stored(self) -> int:
        """Transitions in the memory, since it was empty."""

    @property
    def memory_nbytes(self) -> int:
        """What the replay data takes."""

    @property
    def hungry(self) -> Collection[int]:
        """Samplers whose part of the memory has to be filled, whatever the cadence says."""

    def learn(self, clock: Clock, due: int = 1) -> LearnResult | None:
        """Of `due` updates one, or several in one call; None if its data has not arrived yet."""

    def statistics(self) -> dict[str, float]:
        """Figures to log, by tag."""

    def records(self) -> dict[str, Any]:
        """The replay data, for a checkpoint."""

    def read_memory(self, saved: Any) -> Any:
        """The replay data of a checkpoint that any engine has saved, for `set_state`."""

    def weights(self, version: int) -> Weights: ...
    def get_state(self, *, memory: bool = True) -> dict[str, Any]: ...
    def set_state(self, state: Mapping[str, Any]) -> None: ...


class Evaluator(Protocol):
    """Plays evaluations beside the run, one at a time."""

    @property
    def is_busy(self) -> bool: ...
    def start(
        self,
        weights: Weights,
        env: Mapping[str, Any],
        episodes: int,
        seed: int,
        max_steps: int | None = None,
    ) -> None: ...
    def poll(self, timeout: float = 0.0) -> Any:
        """The Evaluation, or None if it is not there within `timeout` seconds."""


class Loop(Protocol):
    """Brings sampling and learning together; knows neither the algorithm nor the engine.

    loop.start()
    while loop.clock.steps < total:
        iteration = loop.iterate(stop)
    """

    clock: Clock
    learner: Any  # the agent of this process, which can also act for evaluations
    pool: SamplerPool
    trainer: Trainer
    evaluator: Evaluator | None
    description: str  # what runs where, for the user; empty: all in this process

    def start(self) -> None: ...
    def iterate(self, stop: Stop) -> Iteration:
        """One round. `stop` is asked between steps of environments and between updates."""

    def statistics(self) -> dict[str, float]:
        """Figures to log, by tag."""

    def get_state(self, *, memory: bool = True) -> dict[str, Any]: ...
    def set_state(self, state: Mapping[str, Any], horizon: int | None = None) -> None:
        """Continues from there; schedules keep their horizon unless another is given."""

    def close(self) -> None: ...


class AgentFactory(Protocol):
    """Makes agents that play roles, in this process or in another one: it can be pickled."""

    loop: str  # by name
    cadence: Cadence

    @property
    def backend(self) -> str:
        """That of the run, by name."""

    @property
    def threads(self) -> int | None:
        """Those of one operation of the learner; None: the framework decides."""

    @property
    def num_envs(self) -> int:
        """Environments of one sampler."""

    def task_steps(self, num_envs: int) -> int:
        """Steps of each environment in one task of a sampler."""

    def make(
        self,
        *roles: Role,
        index: int = 0,
        count: int = 1,
        stream: str | None = None,
        backend: str | None = None,
        num_envs: int | None = None,
        place: Mapping[str, Any] | None = None,
    ) -> Any:
        """An agent that is built for these roles.

        Args:
            index: which of `count` actors it is.
            stream: a name for random streams of its own; None: those of the run's one graph.
            backend: another one than the run's.
            num_envs: how many environments it learns from; None: those of one sampler.
            place: options of the graph executor that say where it runs; beside the run's own.
        """

    def make_rank(self, index: int, count: int, others: Any, salt: int = 0) -> Any:
        """An actor and learner with one of `count` parts of the memory, which averages gradients
        with `others` (see `rlg.graph.components.optimizers.average`). Initial values are those of
        all ranks, random streams its own, and others with another salt.
        """

    def make_memory(self, index: int, count: int, num_envs: int) -> Any:
        """One of `count` shards of the memory, for that many environments; see `Memory`."""

    def actor_backend(self, wanted: str | None) -> str:
        """The backend of actors in other processes."""

    def memory_nbytes(self) -> int:
        """What the replay data of all shards together takes."""

    def make_adder(self) -> Adder: ...
    def make_env(self, index: int = 0, salt: int = 0) -> VectorEnv: ...
