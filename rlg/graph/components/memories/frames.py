"""Prioritized replay of stacked images that keeps each frame once.

A transition of two stacks of k frames would hold 2k frames, of which all but one are held by its
neighbours too. Here each environment has a ring of single frames; stacks are put together again
when they are sampled. Rows of the tree are places of frames, and a place has a priority as long as
all frames of its transition are there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Size, Tensor, api, graph_fn
from rlg.graph.components.memories.columns import bytes_of, check_free, weighted_spaces
from rlg.graph.components.memories.prioritized import Prioritized
from rlg.graph.components.memories.priority_tree import PriorityTree
from rlg.graph.limits import Fraction, PositiveFloat, PositiveInt
from rlg.graph.spaces import Box, Dict, Space

ROWS = ("frames", "env_ids", "positions", "before", "ages")
PLACES = ("env_ids", "positions")
# Variables of the memory, and what sampled records have beside their columns.
TAKEN = {"ages", "ends", "frames", "generations", "heads", "held", "max_priority", "tree"}
TAKEN |= {"states", "next_states"}
# Numbers of exported rows: no sampler's rows follow on them.
EXPORTED = -(2**40)


class FrameReplay(Prioritized):
    """Keeps `buffer_size` single frames of `num_envs` environments: Mnih et al. (2015), appendix.

    records: as the adder Frames and FrameTransitions make them. A Dict of `rows`: `frames` [R, ...]
    of any environments (`env_ids`), in each of them one after the other (`positions` 0, 1, ... in
    this batch, behind `before` rows of earlier ones), with `ages`: how many frames of the same
    episode lie before it, k - 1 at most (IntBox(k): so the memory knows how many a stack has);
    beside it any columns of records [B] with `env_ids` and `positions` (the state's row, counted
    from the environment's first one). The next state is `spans` rows ahead, IntBox(1, n_step + 1),
    or one if there are none.

    Batches may get lost or come again: rows that don't follow on those before them are a new
    beginning, and records that lack a frame are dropped. `frame_stack`: how many frames a state
    has; None: as many as `ages` say.
    """

    def __init__(
        self,
        buffer_size: PositiveInt = 100_000,
        num_envs: PositiveInt = 1,
        alpha: Fraction = 0.6,
        beta: Fraction = 0.4,
        epsilon: PositiveFloat = 1e-6,
        frame_stack: PositiveInt | None = None,
    ) -> None:
        self.buffer_size = buffer_size
        self.num_envs = num_envs
        self.alpha = alpha
        self.beta = beta
        self.epsilon = epsilon
        self.frame_stack = frame_stack
        self.tree = PriorityTree(buffer_size)

    def create_variables(self, *, records: Space) -> None:
        frame, boxes = self._check(records)
        self._length = self.buffer_size // max(self.num_envs, 1)
        # Each step of a window may be an episode of its own, of two rows.
        least = self._stack + 2 * self._n_step
        if self.num_envs < 1 or self._length < least:
            raise ComponentError(
                f"{self.path}: buffer_size is {self.buffer_size} for {self.num_envs} environments; "
                f"stacks of {self._stack} need {least} frames for each environment."
            )
        kept = {name: box for name, box in boxes.items() if name not in PLACES}
        self._space = self._sampled(frame, kept)
        check_free(self.path, self.buffer_size, bytes_of(Dict(kept)) + bytes_of(frame))
        # The last row is the frame before an episode: zeros.
        shape = (self.buffer_size + 1, *frame.shape)
        self._frames = self.variable("frames", shape, dtype=frame.dtype)
        self._others = {
            name: self.variable(name, (self.buffer_size, *box.shape), dtype=box.dtype)
            for name, box in kept.items()
        }
        self._ages = self.variable("ages", (self.buffer_size,), dtype="int64")
        # Of each environment: where its next frame goes, the number of the row that is expected
        # there, and how many of the newest rows follow on each other.
        self._heads = self.variable("heads", (self.num_envs,), dtype="int64")
        self._ends = self.variable("ends", (self.num_envs,), dtype="int64")
        self._held = self.variable("held", (self.num_envs,), dtype="int64")
        self._create_priorities()

    def _check(self, records: Space) -> tuple[Box, dict[str, Box]]:
        """The space of a frame, and those of records; notes the sizes of stacks and windows."""
        boxes: dict[str, Any] = dict(records.items()) if isinstance(records, Dict) else {}
        rows = boxes.pop("rows", None)
        parts: dict[str, Any] = dict(rows.items()) if isinstance(rows, Dict) else {}
        stack = parts["ages"].num_categories if {*parts} == {*ROWS} else None
        if stack is None or any(name not in boxes for name in (*PLACES, "terminals")):
            raise SpaceError(
                f"{self.path}: `records` is {records}; it keeps frames of stacked images. Give a "
                f"Dict of `rows` with the keys {', '.join(ROWS)} (ages: IntBox(k)), `env_ids`, "
                "`positions` and `terminals`, as the adder Frames does; use prioritized_replay for "
                "other records."
            )
        if self.frame_stack not in (None, stack):
            raise SpaceError(
                f"{self.path}: frame_stack is {self.frame_stack}, but `rows/ages` is "
                f"{parts['ages']}: stacks have {stack} frames. Give frame_stack {stack}."
            )
        flat = [name for name, box in boxes.items() if not isinstance(box, Box) or box.ranks != "B"]
        taken = sorted(TAKEN & boxes.keys())
        if flat or taken:
            raise SpaceError(
                f"{self.path}: `records` has the keys {', '.join([*flat, *taken])}, which are "
                "nested, have no batch rank, or name a variable of the memory."
            )
        self._stack: int = stack
        self._n_step: int = boxes["spans"].high if "spans" in boxes else 1
        return parts["frames"], boxes

    def _sampled(self, frame: Box, kept: dict[str, Box]) -> Dict:
        """What comes out, with the bounds of what went in."""
        shape = (*frame.shape, self._stack)
        low, high = (
            np.broadcast_to(np.asarray(bound)[..., None], shape) if np.ndim(bound) else bound
            for bound in (frame.low, frame.high)
        )
        stacks = Box(shape, frame.dtype, low, high)
        columns = {name: box for name, box in kept.items() if name != "spans"}
        return Dict({**columns, "states": stacks, "next_states": stacks})

    @api
    def insert(self, records: Any, priorities: Any = None) -> None:
        """Overwrites the oldest frames of each environment."""
        gone = self.write(records)
        rows, kept = self.place(records)
        leaves = self.newest(rows) if priorities is None else self.raised(priorities)
        self.tree.set(*self.joined(gone, rows, leaves, kept))

    @api
    def sample(self, n: Size, beta: Any = None) -> Any:
        """Records with both stacks, keys, and importance weights as in prioritized replay."""
        rows, priorities = self.tree.draw(n)
        return self.read(rows, priorities, self.tree.least(), beta)

    @api
    def size(self) -> Any:
        """How many transitions there are."""
        return self.counted(self.tree.get(self.rows()))

    def export(self, chunk: int = 256) -> Iterator[tuple[Any, NDArray[np.float32]]]:
        """Records and TD errors of all that is there, as `insert` takes them.

        For other memories, of any size. Each batch has all frames of its records, of one
        environment; a few frames come twice. Not a part of the graph: it reads arrays on the host.
        """
        chunk = min(chunk, max(self._length // 4, self._stack + 2 * self._n_step))
        for env in range(self.num_envs):
            # All places of the environment, the oldest first, and the records among them.
            places = (self._heads[env] + np.arange(self._length)) % self._length
            places += env * self._length
            found = np.flatnonzero(self.tree.leaves_of(places) > 0)
            while len(found):
                first = int(found[0] - self._ages[places[found[0]]])
                spans = self._others["spans"][places[found]] if self._n_step > 1 else 1
                count = int(np.argmin(np.append(found + spans < first + chunk, False)))
                records = self._exported(env, places, first, found[:count], chunk)
                yield records, self.errors_of(places[found[:count]])
                found = found[count:]

    def _exported(
        self,
        env: int,
        places: NDArray[np.int64],
        first: int,
        found: NDArray[np.int64],
        chunk: int,
    ) -> dict[str, Any]:
        rows = places[first : first + chunk]
        positions, ids = np.arange(len(rows)), np.full(len(rows), env)
        before = np.full(len(rows), EXPORTED)
        columns = {name: column[places[found]] for name, column in self._others.items()}
        return {
            "rows": {
                "frames": self._frames[rows],
                "env_ids": ids,
                "positions": positions,
                "before": before,
                "ages": self._ages[rows],
            },
            "env_ids": np.full(len(found), env),
            "positions": EXPORTED + found - first,
            **columns,
        }

    @graph_fn
    def rows(self) -> Tensor:
        """All places."""
        return self.ops.arange(self.buffer_size)

    @graph_fn
    def counted(self, leaves: Tensor) -> Tensor:
        """How many of the leaves have a priority."""
        return self.ops.sum(self.ops.cast(leaves > 0.0, "int64"))

    @graph_fn
    def write(self, records: Tensor) -> Tensor:
        """Writes frames and returns the places whose transitions lost one."""
        ops, length, rows = self.ops, self._length, records["rows"]
        envs, positions, before = rows["env_ids"], rows["positions"], rows["before"]
        for ids in (envs, records["env_ids"]):
            ops.require(
                ops.all(ops.logical_and(ids >= 0, ids < self.num_envs)),
                f"{self.path}.insert: there are {self.num_envs} environments, from 0 to "
                f"{self.num_envs - 1}. Raise num_envs, or give other env_ids.",
            )
        ops.require(
            ops.all(positions < length),
            f"{self.path}.insert: more than {length} frames of an environment in one batch, which "
            "is all that it has. Raise buffer_size, or insert shorter segments.",
        )
        envs = envs % self.num_envs  # Dry runs are larger.
        places = ops.take_rows(self._heads, envs) + positions
        follows = ops.equal(before, ops.take_rows(self._ends, envs))
        held = ops.cast(follows, "int64") * ops.take_rows(self._held, envs)
        here = envs * length + places % length
        ops.scatter_rows(self._frames, here, rows["frames"])
        ops.scatter_rows(self._ages, here, rows["ages"])
        # Of each environment the last row wins.
        ops.scatter_rows(self._heads, envs, (places + 1) % length)
        ops.scatter_rows(self._ends, envs, before + positions + 1)
        ops.scatter_rows(self._held, envs, held + positions + 1)
        # Stacks from here on are broken; those between are so since earlier frames were written.
        broken = envs * length + (places + self._stack - 1) % length
        return ops.concat([here, broken], 0)

    @graph_fn
    def place(self, records: Tensor) -> tuple[Tensor, Tensor]:
        """Writes records; their rows [B], and which of them are there with all their frames."""
        ops, length = self.ops, self._length
        envs = records["env_ids"] % self.num_envs
        heads = ops.take_rows(self._heads, envs)
        back = ops.take_rows(self._ends, envs) - records["positions"]  # 1: the newest row
        here = envs * length + (heads - back) % length
        needed = back + ops.take_rows(self._ages, here)
        kept = ops.logical_and(needed <= ops.take_rows(self._held, envs), needed <= length)
        # The newest row is no state of a transition yet: what is dropped does no harm there.
        rows = ops.where(kept, here, envs * length + (heads - 1) % length)
        for name, column in self._others.items():
            ops.scatter_rows(column, rows, records[name])
        self._renew(rows)
        return rows, kept

    @graph_fn
    def joined(
        self, gone: Tensor, rows: Tensor, leaves: Tensor, kept: Tensor
    ) -> tuple[Tensor, Tensor]:
        """Rows to set, first those to clear, with their leaves."""
        ops = self.ops
        zeros = 0.0 * ops.cast(gone, "float64")
        values = ops.cast(kept, "float64") * ops.cast(leaves, "float64")
        return ops.concat([gone, rows], 0), ops.concat([zeros, values], 0)

    @graph_fn(bounds=weighted_spaces)
    def read(
        self, rows: Tensor, priorities: Tensor, least: Tensor, beta: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Records, keys and weights."""
        ops, stack = self.ops, self._stack
        records = {name: ops.take_rows(column, rows) for name, column in self._others.items()}
        if self._n_step == 1:
            # Both stacks are views of k + 1 frames.
            images = ops.take_rows(self._frames, self._places(rows, 1 - stack, 2))
            before, after = images[:, :-1], images[:, 1:]
        else:
            ahead = rows % self._length + records.pop("spans")
            following = rows // self._length * self._length + ahead % self._length
            both = [self._places(row, 1 - stack, 1) for row in (rows, following)]
            images = ops.take_rows(self._frames, ops.concat(both, 1))  # [n, 2k, ...]
            before, after = images[:, :stack], images[:, stack:]
        axes = (0, *range(2, len(ops.shape_of(images))), 1)
        records["states"] = ops.transpose(before, axes)
        records["next_states"] = ops.transpose(after, axes)
        return records, self._keys(rows), self._weights(priorities, least, beta)

    def _places(self, rows: Tensor, first: int, end: int) -> Tensor:
        """The places of frames around rows, [n, end - first]; before an episode the zeros."""
        ops, length = self.ops, self._length
        steps = ops.constant(np.arange(first, end), "int64")
        envs, places = ops.expand_dims(rows // length, -1), ops.expand_dims(rows % length, -1)
        ages = ops.expand_dims(ops.take_rows(self._ages, rows), -1)
        frames = envs * length + (places + steps) % length
        return ops.where(steps >= -ages, frames, 0 * frames + self.buffer_size)
