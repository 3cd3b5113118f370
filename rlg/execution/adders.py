"""Adders: from steps of environments to records of a memory, as they are, as windows or sequences.

Why in front of the graph: a sampler hands over whole segments of time, so what needs several steps
is computed once for all of them, and what waits for later steps is a few arrays of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ExecutionError
from rlg.execution.types import Batch, Segment
from rlg.graph.components.algorithms.sequences import sequence_of
from rlg.graph.spaces import BoolBox, Dict, FloatBox, Space, map_leaves

Records = dict[str, Any]


class Adder(Protocol):
    """Turns segments into batches; belongs to one sampler, which saves its state."""

    def add(self, segment: Segment) -> Iterable[Batch]:
        """What these steps complete."""

    def get_state(self) -> dict[str, Any]: ...
    def set_state(self, state: Mapping[str, Any]) -> None: ...


class Segments:
    """Whole segments as they are, for agents that learn from them once: A2C, PPO."""

    def add(self, segment: Segment) -> Iterable[Batch]:
        yield Batch({"segment": segment}, segment.steps)

    def get_state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Nothing waits for later steps."""


class Steps:
    """Each step is a record of its own."""

    def add(self, segment: Segment) -> Iterable[Batch]:
        """What these steps complete."""
        return self.batches(segment.transitions())

    def spaces(self, steps: Mapping[str, Space]) -> dict[str, Space]:
        """The root's input spaces for records, from the spaces of one step."""
        return {"records": Dict({k: v for k, v in steps.items() if k != "truncations"})}

    def batches(self, steps: Records) -> Iterator[Batch]:
        """What to insert after these steps, [T, B, ...]."""
        records = {name: value for name, value in steps.items() if name != "truncations"}
        yield Batch(map_leaves(_folded, records), steps["rewards"].size)

    def get_state(self) -> dict[str, Any]:
        """What waits for later steps, for a checkpoint."""
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Continues from there."""


class Rows(Steps):
    """Steps one after the other, for memories that keep the order of frames."""

    def spaces(self, steps: Mapping[str, Space]) -> dict[str, Space]:
        return {"records": Dict(steps)}

    def batches(self, steps: Records) -> Iterator[Batch]:
        for row in range(len(steps["rewards"])):
            step = map_leaves(lambda x, row=row: x[row], steps)
            yield Batch(step, steps["rewards"].shape[1])


class Windows(Steps):
    """Segments whose first steps begin windows of `n_step`; the last n - 1 steps carry over."""

    def __init__(self, n_step: int) -> None:
        self.n_step = n_step
        self._carried = n_step - 1  # steps that come again
        self._tail: Records | None = None

    def spaces(self, steps: Mapping[str, Space]) -> dict[str, Space]:
        records = {k: v for k, v in steps.items() if k != "truncations"}
        return {
            "records": Dict({**records, "discounts": FloatBox()}),
            "observe.records": Dict(steps).with_ranks("TB"),
        }

    def batches(self, steps: Records) -> Iterator[Batch]:
        steps = _behind(self._tail, steps)
        count = len(steps["rewards"]) - self._carried
        self._tail = _copied(steps, max(0, count))
        if count > 0:
            yield Batch(steps, steps["rewards"][:count].size)

    def get_state(self) -> dict[str, Any]:
        return {} if self._tail is None else {"tail": self._tail}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._tail = state.get("tail")


class PrioritizedWindows(Windows):
    """Windows with the Q-values that acting went by, also of the state behind each window.

    So the last n steps carry over. FirstPriorities makes records and priorities of them.
    """

    def __init__(self, n_step: int, q_values: Space) -> None:
        super().__init__(n_step)
        self._carried = n_step
        self._q_values = q_values

    def spaces(self, steps: Mapping[str, Space]) -> dict[str, Space]:
        found = super().spaces({**steps, "q_values": self._q_values})
        records = {k: v for k, v in found["records"].items() if k != "q_values"}  # type: ignore[attr-defined]
        segments = found["observe.records"]
        return {**found, "records": Dict(records), "prepare.records": segments}


class Sequences(Steps):
    """Sequences of `length` steps, one after the other, as RecurrentDQN takes them."""

    def __init__(self, length: int) -> None:
        self.length = length
        self._tail: Records | None = None
        self._begins: NDArray[np.bool_] | None = None

    def spaces(self, steps: Mapping[str, Space]) -> dict[str, Space]:
        kept = {name: steps[name] for name in ("actions", "rewards", "terminals")}
        longer = {"states": steps["states"], "resets": BoolBox()}
        records = {name: sequence_of(space, self.length) for name, space in kept.items()}
        records |= {name: sequence_of(space, self.length + 1) for name, space in longer.items()}
        return {"records": Dict({**records, "masks": FloatBox(shape=(self.length,))})}

    def batches(self, steps: Records) -> Iterator[Batch]:
        ended = steps["terminals"] | steps["truncations"]
        first = np.ones(ended.shape[1], np.bool_) if self._begins is None else self._begins
        resets = np.concatenate([first[None], ended[:-1]])
        steps = _behind(self._tail, {**steps, "resets": resets})
        count = len(steps["rewards"]) // self.length
        self._begins = ended[-1].copy()
        self._tail = _copied(steps, count * self.length)
        if count:
            records = self._cut(steps, count)
            yield Batch(records, records["rewards"].size)

    def _cut(self, steps: Records, count: int) -> Records:
        def cut(x: NDArray[Any]) -> NDArray[Any]:
            parts = x[: count * self.length].reshape(count, self.length, *x.shape[1:])
            return parts.swapaxes(1, 2).reshape(-1, self.length, *x.shape[2:])

        rows = {name: map_leaves(cut, value) for name, value in steps.items()}
        # Inside, the state that a cut episode led to is lost; at the end it is kept.
        lost = rows.pop("truncations") & ~rows["terminals"]
        masks = np.where(lost, np.float32(0.0), np.float32(1.0))
        masks[:, -1] = 1.0
        after = rows.pop("next_states")
        rows["states"] = map_leaves(
            lambda x, y: np.concatenate([x, y[:, -1:]], 1), rows["states"], after
        )
        rows["resets"] = np.pad(rows["resets"], ((0, 0), (0, 1)))
        return {**rows, "masks": masks}

    def get_state(self) -> dict[str, Any]:
        return {} if self._tail is None else {"tail": self._tail, "begins": self._begins}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._tail, self._begins = state.get("tail"), state.get("begins")


def as_steps(records: Records) -> Records:
    """One transition, a step of B environments [B, ...], or T steps, as arrays [T, B, ...]."""
    lead = (1, 1)[np.ndim(records["rewards"]) :]
    return map_leaves(lambda x: np.asarray(x).reshape(*lead, *np.shape(x)), records)  # type: ignore[no-any-return]


def _behind(waiting: Records | None, steps: Records) -> Records:
    """Steps behind earlier ones of the same environments."""
    if waiting is None:
        return steps
    before, now = (records["rewards"].shape[1] for records in (waiting, steps))
    if before != now:
        raise ExecutionError(
            f"observe: steps of {now} environments follow steps of {before}, but windows and "
            "sequences run on in the same environments. Observe all of them in each call."
        )
    return {
        name: map_leaves(lambda old, new: np.concatenate([old, new]), old, steps[name])
        for name, old in waiting.items()
    }


def _copied(steps: Records, start: int) -> Records:
    """The steps from there on, apart from columns that their owner writes into again."""
    return map_leaves(lambda x: np.array(x[start:]), steps)  # type: ignore[no-any-return]


def _folded(x: NDArray[Any]) -> NDArray[Any]:
    return x.reshape(-1, *x.shape[2:])
