"""One process, sampling and learning in turn. Resumes exactly.

By default the learner's own graph acts. With `actor_backend` actors have a graph of their own on
that backend and get the learner's weights; random streams are the same, so actions are too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from rlg.errors import SpecError
from rlg.execution.loops import loop_class
from rlg.execution.roles import AgentFactory, Loop, Role, Sampler, Stop, never
from rlg.execution.sampling import GradientSampler, SteppingSampler
from rlg.execution.trainers import BatchTrainer, FusedTrainer, GradientTrainer, QueueTrainer
from rlg.execution.types import Batch, Clock, Weights


class LocalPool:
    """One sampler, called when its samples are wanted."""

    is_concurrent = False
    keeps_episodes = True

    def __init__(self, sampler: Sampler, *, wants_weights: bool) -> None:
        self.sampler = sampler
        self.wants_weights = wants_weights

    def start(self) -> None:
        self.sampler.start()

    def ready(
        self, clock: Clock, stop: Stop = never, *, wait: bool = True, refill: Collection[int] = ()
    ) -> list[tuple[Any, Sequence[Batch]]]:
        if not self.wants_weights:
            self.sampler.version = clock.updates  # The learner's own weights act.
        found = self.sampler.sample(clock, stop)
        return [] if found is None else [found]

    def statistics(self) -> dict[str, float]:
        return {}

    def workers(self) -> dict[str, dict[str, float]]:
        return {}

    def publish(self, weights: Weights) -> None:
        self.sampler.set_weights(weights)

    def get_state(self) -> dict[str, Any]:
        return self.sampler.get_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        self.sampler.set_state(state)

    def close(self) -> None:
        self.sampler.close()


def open_local(factory: AgentFactory, settings: Mapping[str, Any], horizon: int) -> Loop:
    """Engine `local`."""
    backend = settings.get("actor_backend")
    roles: tuple[Role, ...] = ("actor",)
    if factory.loop == "gradients":
        roles, backend = ("actor", "gradient_worker"), differentiating(backend)
    learner = factory.make(*roles, "learner")
    actor = learner if backend is None else factory.make(*roles, backend=backend)
    pool = LocalPool(make_sampler(factory, actor), wants_weights=actor is not learner)
    return assemble(factory, learner, pool, horizon)


def differentiating(backend: str | None) -> str | None:
    """A backend for samplers that compute gradients; NumPy has none."""
    if backend == "numpy":
        raise SpecError(
            "executor.actor_backend: numpy computes forward only, but this agent's samplers "
            "compute gradients. Leave it out, or use torch or tf."
        )
    return backend


def make_sampler(
    factory: AgentFactory, actor: Any, index: int = 0, salt: int = 0
) -> SteppingSampler:
    """A sampler with environments of its own; with a salt, other episodes than without."""
    env, adder = factory.make_env(index, salt), factory.make_adder()
    adder.start = salt << 31  # Rows of frames never follow on those of another start.
    cls = GradientSampler if factory.loop == "gradients" else SteppingSampler
    return cls(env, actor, adder, factory.task_steps(env.num_envs))


TRAINERS = {
    "replay": FusedTrainer,
    "batches": BatchTrainer,
    "gradients": GradientTrainer,
    "actor_learner": QueueTrainer,
}


def assemble(
    factory: AgentFactory, learner: Any, pool: Any, horizon: int, trainer: Any = None
) -> Loop:
    """The agent's loop around a pool and a learner of this process."""
    trainer = trainer or TRAINERS[factory.loop](learner)
    loop: Loop = loop_class(factory.loop)(pool, trainer, factory.cadence, Clock(horizon=horizon))
    return loop
