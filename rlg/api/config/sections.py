"""The sections that describe a run rather than a component, with their defaults."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from rlg.api.config.signatures import arguments_of, checked, mapping


@dataclass(frozen=True, slots=True)
class Executor:
    """The engine that samples and learns.

    `actor_backend`: another backend for acting than the learner's, which gets its weights.
    """

    type: Literal["local", "threads"] = "local"
    actor_backend: Literal["numpy", "torch", "tf"] | None = None


@dataclass(frozen=True, slots=True)
class Logger:
    """Lines of metrics: environment steps between them (0: never), TensorBoard as well or not.

    `graph`: pictures of the component graph at the start. On request, for TensorBoard: what
    components name, and histograms (steps between them).
    """

    interval: int = 2_500
    tensorboard: bool = True
    graph: bool = True
    summaries: bool = False
    histograms: int = 0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Episodes without exploration: environment steps between them (0: never), how many.

    A run whose mean reward reaches `stop_at` is done.
    """

    interval: int = 10_000
    episodes: int = 20
    stop_at: float | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Environment steps between them (0: at the end only), how many stay, and with experience?

    `best` keeps the model of the best evaluation beside them.
    """

    interval: int = 25_000
    keep: int | None = 2
    memory: bool = True
    best: bool = True


@dataclass(frozen=True, slots=True)
class Expected:
    """What the run reaches, and with how much: what `--as-test` asks for.

    Steps and minutes are upper bounds. `seeds` are those that it was seen with; without them the
    figure is another's, that `source` names.
    """

    mean_reward: float | None = None
    total_timesteps: int | None = None
    minutes: float | None = None
    seeds: Sequence[int] = ()
    source: str | None = None


SECTIONS: dict[str, type] = {
    "executor": Executor,
    "logger": Logger,
    "evaluation": Evaluation,
    "checkpoint": Checkpoint,
    "expected": Expected,
}


def check_section(name: str, given: Any) -> dict[str, Any]:
    """The section, converted and complete."""
    cls = SECTIONS[name]
    arguments = arguments_of(cls)
    first = next(iter(arguments))
    section = mapping(given, name, f"{name}.{first}={arguments[first].default}")
    made = cls(**checked(section, arguments, name, name))
    return asdict(made)
