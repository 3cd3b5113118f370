"""Prioritized replay of stacked images that keeps each frame once.

A transition of two stacks of k frames would hold 2k frames, of which all but one are held by its
neighbours too. Here each environment has a ring of single frames; stacks are put together again
when they are sampled. Rows of the tree are places of frames, and a place has a priority as long as
all frames of its transition are there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Size, Tensor, api, graph_fn
from rlg.graph.components.memories.columns import bytes_of, check_free, weighted_spaces
from rlg.graph.components.memories.prioritized import Prioritized
from rlg.graph.components.memories.priority_tree import PriorityTree
from rlg.graph.limits import Fraction, PositiveFloat, PositiveInt
from rlg.graph.spaces import Box, Dict, Space

STACKS = ("states", "next_states")
ENDS = ("terminals", "truncations")


class FrameReplay(Prioritized):
    """Keeps `buffer_size` single frames of `num_envs` environments: Mnih et al. (2015), appendix.

    records: a Dict of one step of each of B environments: `states` and `next_states` [B, ..., k]
    (stacks, newest frame last, filled up with zeros after a reset), `terminals` and perhaps
    `truncations`, and any others; env_ids: int64 [B], all different (default: 0 to B - 1).
    `next_states` at the end of an episode is its own last stack, not the next episode's first.
    """

    def __init__(
        self,
        buffer_size: PositiveInt = 100_000,
        num_envs: PositiveInt = 1,
        alpha: Fraction = 0.6,
        beta: Fraction = 0.4,
        epsilon: PositiveFloat = 1e-6,
    ) -> None:
        self.buffer_size = buffer_size
        self.num_envs = num_envs
        self.alpha = alpha
        self.beta = beta
        self.epsilon = epsilon
        self.tree = PriorityTree(buffer_size)

    def create_variables(self, *, records: Space) -> None:
        states = self._check(records)
        self._space = records
        self._stack = states.shape[-1]
        self._length = self.buffer_size // max(self.num_envs, 1)
        if self.num_envs < 1 or self._length < self._stack + 2:
            raise ComponentError(
                f"{self.path}: buffer_size is {self.buffer_size} for {self.num_envs} environments; "
                f"stacks of {self._stack} need {self._stack + 2} frames for each environment."
            )
        boxes = {name: box for name, box in records.items() if name not in STACKS}  # type: ignore[attr-defined]
        frame = Box(states.shape[:-1], states.dtype)
        check_free(self.path, self.buffer_size, bytes_of(Dict(boxes)) + bytes_of(frame))
        # The last row is the frame before an episode: zeros.
        shape = (self.buffer_size + 1, *frame.shape)
        self._frames = self.variable("frames", shape, dtype=frame.dtype)
        self._others = {
            name: self.variable(name, (self.buffer_size, *box.shape), dtype=box.dtype)
            for name, box in boxes.items()
        }
        # How many frames of the same episode lie before each, k - 1 at most.
        self._ages = self.variable("ages", (self.buffer_size,), dtype="int64")
        self._heads = self.variable("heads", (self.num_envs,), dtype="int64")
        self._resets = self.variable("resets", (self.num_envs,), dtype="bool", value=True)
        self._create_priorities()

    def _check(self, records: Space) -> Box:
        boxes = dict(records.items()) if isinstance(records, Dict) else {}
        found = [boxes.get(name) for name in STACKS]
        states, ends = found[0], boxes.get("terminals")
        is_stack = isinstance(states, Box) and len(states.shape) > 1 and states.ranks == "B"
        if not is_stack or found[1] != states or not isinstance(ends, Box) or ends.kind != "bool":
            raise SpaceError(
                f"{self.path}: `records` is {records}; it keeps frames of stacked images. Give a "
                "Dict with equal boxes `states` and `next_states` of shape (..., k), and "
                "`terminals` (BoolBox()); use prioritized_replay for other records."
            )
        flat = [name for name, box in boxes.items() if not isinstance(box, Box) or box.ranks != "B"]
        taken = {
            "frames",
            "ages",
            "heads",
            "resets",
            "tree",
            "max_priority",
            "generations",
        } & boxes.keys()
        if flat or taken:
            raise SpaceError(
                f"{self.path}: `records` has the keys {', '.join([*flat, *sorted(taken)])}, which "
                "are nested, have no batch rank, or name a variable of the memory."
            )
        assert isinstance(states, Box)
        return states

    @api
    def insert(self, records: Any, priorities: Any = None, env_ids: Any = None) -> None:
        """One step of each environment; overwrites the oldest frames."""
        rows, gone = self.place(records, env_ids)
        leaves = self.newest(rows) if priorities is None else self.raised(priorities)
        self.tree.set(*self.joined(gone, rows, leaves))

    @api
    def sample(self, n: Size, beta: Any = None) -> Any:
        """Records with both stacks, keys, and importance weights as in prioritized replay."""
        rows, priorities = self.tree.draw(n)
        return self.read(rows, priorities, self.tree.least(), beta)

    @api
    def size(self) -> Any:
        """How many transitions there are."""
        return self.counted(self.tree.get(self.rows()))

    @graph_fn
    def rows(self) -> Tensor:
        """All places."""
        return self.ops.arange(self.buffer_size)

    @graph_fn
    def counted(self, leaves: Tensor) -> Tensor:
        """How many of the leaves have a priority."""
        return self.ops.sum(self.ops.cast(leaves > 0.0, "int64"))

    @graph_fn
    def place(self, records: Tensor, env_ids: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Writes a step; the rows of its transitions [B], and those that lost a frame [B, 3]."""
        ops, length, stack = self.ops, self._length, self._stack
        n = ops.batch_size(records["states"])
        envs = ops.arange(n) if env_ids is None else env_ids
        ops.require(
            ops.all(ops.logical_and(envs >= 0, envs < self.num_envs)),
            f"{self.path}.insert: there are {self.num_envs} environments, and one step of each at "
            "most. Raise num_envs, or insert step by step.",
        )
        envs = envs % self.num_envs  # Dry runs are larger.
        resets = ops.take_rows(self._resets, envs)
        heads = ops.take_rows(self._heads, envs)
        here = (heads + ops.cast(resets, "int64")) % length
        following = (here + 1) % length
        rows, next_rows = envs * length + here, envs * length + following
        ages = ops.where(resets, 0 * rows, ops.take_rows(self._ages, envs * length + heads))
        # In the middle of episodes a state's frame came as the last step's next one.
        ops.cond(
            ops.any(resets),
            lambda: ops.scatter_rows(self._frames, rows, records["states"][..., -1]),
            lambda: None,
        )
        ops.scatter_rows(self._frames, next_rows, records["next_states"][..., -1])
        ops.scatter_rows(self._ages, rows, ages)
        ops.scatter_rows(self._ages, next_rows, ops.minimum(ages + 1, 0 * ages + (stack - 1)))
        for name, column in self._others.items():
            ops.scatter_rows(column, rows, records[name])
        self._renew(rows)
        ended = records["terminals"]
        if "truncations" in self._others:
            ended = ops.logical_or(ended, records["truncations"])
        ops.scatter_rows(self._resets, envs, ended)
        ops.scatter_rows(self._heads, envs, following)
        # A step takes one place, a first step two: the stacks that began there are broken.
        gone = [envs * length + (following + ahead) % length for ahead in (0, stack - 2, stack - 1)]
        return rows, ops.stack(gone, -1)

    @graph_fn
    def joined(self, gone: Tensor, rows: Tensor, leaves: Tensor) -> tuple[Tensor, Tensor]:
        """Rows to set, first those to clear, with their leaves."""
        ops = self.ops
        lost = ops.reshape(gone, (-1,))
        zeros = 0.0 * ops.cast(lost, "float64")
        return ops.concat([lost, rows], 0), ops.concat([zeros, ops.cast(leaves, "float64")], 0)

    @graph_fn(bounds=weighted_spaces)
    def read(
        self, rows: Tensor, priorities: Tensor, least: Tensor, beta: Tensor | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Records, keys and weights."""
        ops, stack, length = self.ops, self._stack, self._length
        steps = ops.constant(np.arange(1 - stack, 2), "int64")  # [k + 1]
        envs, places = ops.expand_dims(rows // length, -1), ops.expand_dims(rows % length, -1)
        ages = ops.expand_dims(ops.take_rows(self._ages, rows), -1)
        frames = envs * length + (places + steps) % length  # [n, k + 1]
        frames = ops.where(steps >= -ages, frames, 0 * frames + self.buffer_size)
        images = ops.take_rows(self._frames, frames)  # [n, k + 1, ...]: both stacks are views.
        axes = (0, *range(2, len(ops.shape_of(images))), 1)
        records = {name: ops.take_rows(column, rows) for name, column in self._others.items()}
        records["states"] = ops.transpose(images[:, :-1], axes)
        records["next_states"] = ops.transpose(images[:, 1:], axes)
        return records, self._keys(rows), self._weights(priorities, least, beta)
