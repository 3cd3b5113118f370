"""Adders: from steps of environments to records of a memory, as they are, as windows or sequences.

Why in front of the graph: a sampler hands over whole segments of time, so what needs several steps
is computed once for all of them, and what waits for later steps is a few arrays of a checkpoint.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ExecutionError
from rlg.execution.types import Batch, Segment
from rlg.graph.components.algorithms.sequences import sequence_of
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Space, map_leaves

Records = dict[str, Any]


class Adder(Protocol):
    """Turns segments into batches; belongs to one sampler, which saves its state."""

    start: int  # of numbers that it gives to rows: adders that replace others start elsewhere
    # Whether it takes the newest frames out of stacks: a sampler then keeps no others.
    takes_frames: ClassVar[bool]

    def add(self, segment: Segment) -> Iterable[Batch]:
        """What these steps complete."""

    def get_state(self) -> dict[str, Any]: ...
    def set_state(self, state: Mapping[str, Any]) -> None: ...


class Segments:
    """Whole segments as they are, for agents that learn from them once: A2C, PPO."""

    start = 0
    takes_frames: ClassVar[bool] = False

    def add(self, segment: Segment) -> Iterable[Batch]:
        yield Batch({"segment": segment}, segment.steps)

    def get_state(self) -> dict[str, Any]:
        return {}

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Nothing waits for later steps."""


class Steps:
    """Each step is a record of its own."""

    start = 0
    takes_frames: ClassVar[bool] = False

    def add(self, segment: Segment) -> Iterable[Batch]:
        """What these steps complete."""
        return self.batches(segment.transitions())

    def spaces(self, steps: Mapping[str, Space]) -> dict[str, Space]:
        """The root's input spaces for records, from the spaces of one step."""
        return {"records": Dict({k: v for k, v in steps.items() if k != "truncations"})}

    def stored(self, steps: Mapping[str, Space]) -> Space:
        """The space of what the memory keeps."""
        return self.spaces(steps)["records"]

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


class Frames(Steps):
    """Single frames and the steps between them, for FrameReplay: each frame is sent once.

    Environments have rows of frames: one for each state (its newest frame), and one for the last
    observation of each episode. So m steps of an episode lead m rows ahead. Frames are sent when
    they are seen; steps wait until their windows are whole, and with `q_values` for those of the
    state behind the window.

    Args:
        first_env: id of the first environment; other adders of the same memory have others.
        start: number of an environment's first row. Rows that don't follow on those before are a
            new beginning for the memory: adders that replace others start elsewhere.
    """

    takes_frames = True

    def __init__(
        self,
        n_step: int,
        frame_stack: int,
        q_values: Space | None = None,
        first_env: int = 0,
        start: int = 0,
    ) -> None:
        self.n_step = n_step
        self.frame_stack = frame_stack
        self.first_env = first_env
        self.start = start
        self._q_values = q_values
        self._carried = n_step - 1 if q_values is None else n_step  # steps that come again
        self._tail: Records | None = None
        # Rows that wait for the first whole window.
        self._rows: Records | None = None
        # Of each environment: rows seen and sent, whether an episode begins, the last row's age.
        self._envs: dict[str, NDArray[Any]] = {}

    def spaces(self, steps: Mapping[str, Space]) -> dict[str, Space]:
        names = ("states", "actions", "rewards", "terminals", "next_states")
        sampled = {name: steps[name] for name in names}
        if self.n_step > 1:
            sampled["discounts"] = FloatBox()
        stored = self.stored(steps)
        dropped = ("rows", "discounts", "spans")
        waiting = {name: box for name, box in stored.items() if name not in dropped}
        waiting["truncations"] = BoolBox()
        if self._q_values is not None:
            waiting["q_values"] = self._q_values
        segments = Dict(rows=stored["rows"], steps=Dict(waiting).with_ranks("TB"))
        found: dict[str, Space] = {"records": Dict(sampled), "observe.records": segments}
        found["insert.records"] = stored
        if self._q_values is not None:
            found["prepare.records"] = segments
        return found

    def stored(self, steps: Mapping[str, Space]) -> Dict:
        """What FrameTransitions makes of it, for the memory."""
        columns = {name: steps[name] for name in ("actions", "rewards", "terminals")}
        columns |= {"env_ids": IntBox(), "positions": IntBox()}
        if self.n_step > 1:
            columns |= {"discounts": FloatBox(), "spans": IntBox(1, self.n_step + 1)}
        return Dict({"rows": self._row_space(steps["states"]), **columns})

    def _row_space(self, stacks: Space) -> Dict:
        assert isinstance(stacks, Box)
        low, high = (np.asarray(x)[..., -1] if np.ndim(x) else x for x in (stacks.low, stacks.high))
        # There are more of them than records.
        return Dict(
            frames=Box(stacks.shape[:-1], stacks.dtype, low, high, "F"),
            env_ids=IntBox(ranks="F"),
            positions=IntBox(ranks="F"),  # among the rows of this batch
            before=IntBox(ranks="F"),  # rows of the environment before this batch
            ages=IntBox(self.frame_stack, ranks="F"),  # frames of the same episode before it
        )

    def add(self, segment: Segment) -> Iterable[Batch]:
        # Newest frames alone: stacks of what follows would be copied for nothing.
        return self._batches(segment.observed(lambda x: x[..., -1]).transitions())

    def batches(self, steps: Records) -> Iterator[Batch]:
        frames = {name: steps[name][..., -1] for name in ("states", "next_states")}
        return self._batches({**steps, **frames})

    def _batches(self, steps: Records) -> Iterator[Batch]:
        """From steps whose states are single frames."""
        ended = steps["terminals"] | steps["truncations"]  # [T, B]
        envs = self._envs_of(ended.shape[1])
        begins = np.concatenate([envs["begins"][None], ended[:-1]])
        # The row of what follows each step: one row a step, and one for the state that began.
        following = envs["seen"] + np.cumsum(1 + begins, 0) - 1
        ids = self.first_env + np.arange(ended.shape[1]) + np.zeros_like(following)
        rows = self._rows_of(steps, begins, following, ids)
        names = ("actions", "rewards", "terminals", "truncations", "q_values")
        waiting = {name: steps[name] for name in names if name in steps}
        waiting = _behind(self._tail, {**waiting, "env_ids": ids, "positions": following - 1})
        count = len(waiting["rewards"]) - self._carried
        self._tail = _copied(waiting, max(0, count)) if self._carried else None
        self._rows = rows
        envs |= {"seen": following[-1] + 1, "begins": ended[-1].copy()}
        if count > 0:
            before = envs["sent"][rows["env_ids"] - self.first_env]
            rows = {**rows, "positions": rows["positions"] - before, "before": before}
            self._rows, envs["sent"] = None, envs["seen"]
            yield Batch({"rows": rows, "steps": waiting}, waiting["rewards"][:count].size)

    def _envs_of(self, num_envs: int) -> dict[str, NDArray[Any]]:
        if not self._envs:
            start, zeros = np.full(num_envs, self.start, np.int64), np.zeros(num_envs, np.int64)
            self._envs = {"seen": start, "sent": start, "begins": zeros == 0, "ages": zeros}
        _check_envs(len(self._envs["seen"]), num_envs)
        return self._envs

    def _rows_of(
        self,
        steps: Records,
        begins: NDArray[np.bool_],
        following: NDArray[np.int64],
        ids: NDArray[np.int64],
    ) -> Records:
        """All rows that wait, by time: what follows each step, before it the state that began."""
        times = np.arange(len(begins))[:, None]
        first = np.maximum.accumulate(np.where(begins, times, -self._envs["ages"]))
        ages = np.minimum(times - first + 1, self.frame_stack - 1)
        self._envs["ages"] = ages[-1]
        columns = {"env_ids": (ids, ids), "positions": (following - 1, following)}
        columns["ages"] = np.zeros_like(ages), ages
        frames = _folded(np.ascontiguousarray(steps["next_states"]))
        if begins.any():
            present = np.stack([begins, np.ones_like(begins)], 1)  # [T, 2, B]
            rows = {name: np.stack(pair, 1)[present] for name, pair in columns.items()}
            is_next = np.broadcast_to(np.array([[False], [True]]), present.shape)[present]
            later, frames = frames, np.empty((len(is_next), *frames.shape[1:]), frames.dtype)
            frames[is_next], frames[~is_next] = later, steps["states"][begins]
        else:
            rows = {name: _folded(later) for name, (_, later) in columns.items()}
        rows["frames"] = frames
        if self._rows is None:
            return rows
        return {name: np.concatenate([self._rows[name], x]) for name, x in rows.items()}

    def get_state(self) -> dict[str, Any]:
        waiting = {"tail": self._tail, "rows": self._rows, "envs": self._envs or None}
        return {name: value for name, value in waiting.items() if value is not None}

    def set_state(self, state: Mapping[str, Any]) -> None:
        self._tail, self._rows = state.get("tail"), state.get("rows")
        self._envs = dict(state.get("envs", {}))


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
    """Sequences of `length` steps, as RecurrentDQN takes them.

    The last `burn_in` steps of each are the first ones of the next: all steps but those at the
    start are learned from once. With `hidden`, the space of an actor's recurrent state, records
    have what it was before their first step; steps that don't tell have zeros.
    """

    def __init__(self, length: int, burn_in: int = 0, hidden: Space | None = None) -> None:
        self.length = length
        self.stride = length - burn_in
        self._hidden = hidden
        self._tail: Records | None = None
        self._begins: NDArray[np.bool_] | None = None

    def spaces(self, steps: Mapping[str, Space]) -> dict[str, Space]:
        kept = {name: steps[name] for name in ("actions", "rewards", "terminals")}
        longer = {"states": steps["states"], "resets": BoolBox()}
        records = {name: sequence_of(space, self.length) for name, space in kept.items()}
        records |= {name: sequence_of(space, self.length + 1) for name, space in longer.items()}
        if self._hidden is not None:
            records["hidden"] = self._hidden
        return {"records": Dict({**records, "masks": FloatBox(shape=(self.length,))})}

    def batches(self, steps: Records) -> Iterator[Batch]:
        ended = steps["terminals"] | steps["truncations"]
        first = np.ones(ended.shape[1], np.bool_) if self._begins is None else self._begins
        resets = np.concatenate([first[None], ended[:-1]])
        if self._hidden is not None and "hidden" not in steps:
            zeros = self._hidden.zeros(ended.size)
            shaped = map_leaves(lambda x: x.reshape(*ended.shape, *x.shape[1:]), zeros)
            steps = {**steps, "hidden": shaped}
        steps = _behind(self._tail, {**steps, "resets": resets})
        count = max(0, len(steps["rewards"]) - self.length + self.stride) // self.stride
        self._begins = ended[-1].copy()
        self._tail = _copied(steps, count * self.stride)
        if count:
            yield Batch(self._cut(steps, count), count * self.stride * ended.shape[1])

    def _cut(self, steps: Records, count: int) -> Records:
        starts = self.stride * np.arange(count)

        def cut(x: NDArray[Any]) -> NDArray[Any]:
            parts: NDArray[Any] = x[starts[:, None] + np.arange(self.length)]
            return parts.swapaxes(1, 2).reshape(-1, self.length, *x.shape[2:])

        hidden = {
            k: map_leaves(lambda x: _folded(x[starts]), steps[k]) for k in steps if k == "hidden"
        }
        rows = {k: map_leaves(cut, value) for k, value in steps.items() if k != "hidden"}
        # Inside, the state that a cut episode led to is lost; at the end it is kept.
        lost = rows.pop("truncations") & ~rows["terminals"]
        masks = np.where(lost, np.float32(0.0), np.float32(1.0))
        masks[:, -1] = 1.0
        after = rows.pop("next_states")
        rows["states"] = map_leaves(
            lambda x, y: np.concatenate([x, y[:, -1:]], 1), rows["states"], after
        )
        rows["resets"] = np.pad(rows["resets"], ((0, 0), (0, 1)))
        return {**rows, **hidden, "masks": masks}

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
    _check_envs(waiting["rewards"].shape[1], steps["rewards"].shape[1])
    return {
        name: map_leaves(lambda old, new: np.concatenate([old, new]), old, steps[name])
        for name, old in waiting.items()
    }


def _check_envs(before: int, now: int) -> None:
    if before != now:
        raise ExecutionError(
            f"observe: steps of {now} environments follow steps of {before}, but windows and "
            "sequences run on in the same environments. Observe all of them in each call."
        )


def _copied(steps: Records, start: int) -> Records:
    """The steps from there on, apart from columns that their owner writes into again."""
    return map_leaves(lambda x: np.array(x[start:]), steps)  # type: ignore[no-any-return]


def _folded(x: NDArray[Any]) -> NDArray[Any]:
    return x.reshape(-1, *x.shape[2:])
