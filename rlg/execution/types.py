"""The values that samplers, trainers and loops hand to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlg.graph.spaces import map_leaves


@dataclass(frozen=True, slots=True)
class Clock:
    """Where a run stands. The loop owns it; schedules and target syncs are functions of it."""

    steps: int = 0  # environment steps, of all environments together
    updates: int = 0
    horizon: int = 1  # environment steps over which schedules run from 0 to 1

    @property
    def progress(self) -> float:
        """The share of the horizon that has passed, 1 at most."""
        return min(1.0, self.steps / self.horizon)

    def after(self, steps: int = 0, updates: int = 0) -> Clock:
        """The time that many steps and updates later."""
        return replace(self, steps=self.steps + steps, updates=self.updates + updates)


@dataclass(frozen=True, slots=True)
class Weights:
    """What actors act by: weights and statistics by path, with the version that they are."""

    version: int
    arrays: Mapping[str, NDArray[Any]]


class Action(NamedTuple):
    """What an actor returns for N environments."""

    env: Any  # [N, ...]: what the environments get
    columns: Mapping[str, Any]  # [N, ...]: what is learnt from, by name
    state: Any = None  # recurrent state after the step


@dataclass(frozen=True, slots=True)
class Segment:
    """T steps of N environments, time first. Whoever receives it may keep the arrays."""

    states: Any  # [T, N, ...]
    columns: dict[str, Any]  # [T, N, ...]: those of the actor
    rewards: NDArray[np.float32]  # [T, N]
    terminals: NDArray[np.bool_]  # [T, N]: nothing of value follows
    truncations: NDArray[np.bool_]  # [T, N]: a time limit ended the episode, its value goes on
    last_states: Any  # [N, ...]: after the last step; of the next episode where one ended
    ends: tuple[NDArray[np.int64], NDArray[np.int64]]  # [E]: step and environment of each end
    final_states: Any  # [E, ...]: the true last observations of the episodes that ended
    returns: list[float] = field(default_factory=list)  # of whole episodes, unclipped
    lengths: list[int] = field(default_factory=list)
    first_hidden: Any = None  # recurrent state before the first step
    final_hidden: Any = None  # [E, ...]: recurrent state after each step that ended an episode
    last_hidden: Any = None  # recurrent state after the last step
    resets: NDArray[np.bool_] | None = None  # [T, N]: where episodes begin; recurrent actors
    version: int = 0  # of the weights that acted

    @property
    def steps(self) -> int:
        """Environment steps, of all environments together."""
        return self.rewards.size

    def next_states(self) -> Any:
        """What followed each step, [T, N, ...]: the true last observations where episodes ended."""

        def follow(states: Any, last: Any, final: Any) -> Any:
            following = np.concatenate([states[1:], last[None]])
            if len(final):
                following[self.ends] = final
            return following

        return map_leaves(follow, self.states, self.last_states, self.final_states)

    def observed(self, look: Callable[[Any], Any]) -> Segment:
        """The same with what `look` returns of its observations."""
        names = ("states", "last_states", "final_states")
        return replace(self, **{name: look(getattr(self, name)) for name in names})

    def transitions(self) -> dict[str, Any]:
        """The columns of all steps with what followed them."""
        return {
            "states": self.states,
            **self.columns,
            "rewards": self.rewards,
            "terminals": self.terminals,
            "next_states": self.next_states(),
            "truncations": self.truncations,
        }


def joined(segments: Sequence[Segment]) -> Segment:
    """Segments of the same environments, one after the other, as one."""
    first, last = segments[0], segments[-1]
    starts = np.cumsum([0, *(len(segment.rewards) for segment in segments)])

    def along(name: str) -> Any:
        parts = [getattr(segment, name) for segment in segments]
        return None if parts[0] is None else map_leaves(_concatenated, *parts)

    names = ("states", "columns", "rewards", "terminals", "truncations", "final_states")
    times = [segment.ends[0] + start for segment, start in zip(segments, starts[:-1], strict=True)]
    return Segment(
        **{name: along(name) for name in (*names, "final_hidden", "resets")},
        last_states=last.last_states,
        ends=(np.concatenate(times), np.concatenate([segment.ends[1] for segment in segments])),
        returns=[value for segment in segments for value in segment.returns],
        lengths=[value for segment in segments for value in segment.lengths],
        first_hidden=first.first_hidden,
        last_hidden=last.last_hidden,
        version=first.version,
    )


def side_by_side(segments: Sequence[Segment]) -> Segment:
    """Segments of different environments over equally many steps as one, which is what a sampler
    of all these environments would have returned. Environments are numbered in this order.
    """
    if len(segments) == 1:
        return segments[0]
    counts = [segment.rewards.shape[1] for segment in segments]
    firsts = np.cumsum([0, *counts[:-1]])
    times = np.concatenate([segment.ends[0] for segment in segments])
    rows = np.concatenate([s.ends[1] + first for s, first in zip(segments, firsts, strict=True)])
    order = np.lexsort((rows, times))  # by time, then by environment

    def along(name: str, axis: int) -> Any:
        parts = [getattr(segment, name) for segment in segments]
        return None if parts[0] is None else map_leaves(partial(_concatenated, axis=axis), *parts)

    def ordered(name: str) -> Any:
        found = along(name, 0)
        return None if found is None else map_leaves(lambda x: x[order], found)

    steps = ("states", "columns", "rewards", "terminals", "truncations", "resets")
    return Segment(
        **{name: along(name, 1) for name in steps},
        **{name: along(name, 0) for name in ("last_states", "first_hidden", "last_hidden")},
        **{name: ordered(name) for name in ("final_states", "final_hidden")},
        ends=(times[order], rows[order]),
        returns=[value for segment in segments for value in segment.returns],
        lengths=[value for segment in segments for value in segment.lengths],
        version=min(segment.version for segment in segments),
    )


def _concatenated(*parts: NDArray[Any], axis: int = 0) -> NDArray[Any]:
    return np.concatenate(parts, axis)


def segment_to_tree(segment: Segment) -> dict[str, Any]:
    """Its fields, for a checkpoint."""
    return {entry.name: getattr(segment, entry.name) for entry in fields(segment)}


def segment_from_tree(tree: Mapping[str, Any]) -> Segment:
    """From its fields."""
    return Segment(**{**tree, "ends": tuple(tree["ends"])})


class Batch(NamedTuple):
    """Records for one insertion, or one update, and how many they are."""

    records: dict[str, Any]
    size: int  # in transitions
    # First priorities [size]: then an actor has prepared the records, and they are stored as such.
    priorities: NDArray[np.float32] | None = None


@dataclass(frozen=True, slots=True)
class SavedBatches:
    """Replay data as batches, oldest first: they fit a memory of any engine, size or number of
    shards. `batches` makes them anew for each pass.
    """

    batches: Callable[[], Iterator[Batch]]

    def __iter__(self) -> Iterator[Batch]:
        return self.batches()


class Sample(NamedTuple):
    """Records that a memory drew, to learn from."""

    records: dict[str, Any]  # [n, ...]
    keys: NDArray[np.int64]  # [n]: what their new priorities are sent back by
    weights: NDArray[np.float32]  # [n]: importance weights, the largest of the whole memory is 1
    total: float  # sum of all priorities of the memory
    least: float  # smallest one


class Gradients(NamedTuple):
    """What a gradient worker made of one segment."""

    arrays: Mapping[str, NDArray[Any]]  # by path below the policy
    metrics: Mapping[str, Any]  # figures of the loss


@dataclass(frozen=True, slots=True)
class LearnResult:
    """What an update, or several in one call, returned: figures to log, numbers or arrays."""

    metrics: Mapping[str, Any]
    priorities: NDArray[np.float32] | None = None  # new ones of the records that were learnt from
    updates: int = 1  # made in one call; figures are their means


@dataclass(slots=True)
class Iteration:
    """What one round of sampling and learning brought."""

    returns: list[float] = field(default_factory=list)
    lengths: list[int] = field(default_factory=list)
    train: dict[str, float] = field(default_factory=dict)
    # False: the user asked to stop on the way; the rest of the round comes first at a resume.
    is_complete: bool = True


def mean_metrics(results: list[LearnResult]) -> dict[str, float]:
    """The mean of each figure over several updates, signs kept; a call counts by its updates."""
    if not results:
        return {}
    counts = [result.updates for result in results]
    columns = {name: [result.metrics[name] for result in results] for name in results[0].metrics}
    if min(counts) == max(counts):  # faster
        return {name: float(np.mean(column)) for name, column in columns.items()}
    return {
        name: float(np.average([np.mean(figure) for figure in column], weights=counts))
        for name, column in columns.items()
    }
