"""The ring buffer: the newest records in order, by number or by episodes (on-policy algorithms)."""

from __future__ import annotations

from typing import Any

from rlg.errors import SpaceError
from rlg.graph import Size, Static, Tensor, api, graph_fn
from rlg.graph.components.memories.columns import Columns, records_space
from rlg.graph.spaces import Box, Dict, Space

ENDS = ("terminals", "truncations")


class RingBuffer(Columns):
    """Keeps the newest `buffer_size` records of one environment and gives them back in order.

    records: a Dict with `terminals` (bool [B]) and, told apart from them, `truncations`: an episode
    ends with either. The oldest episode may have lost its beginning.
    """

    on_host = True

    def create_variables(self, *, records: Space) -> None:
        boxes = dict(records.items()) if isinstance(records, Dict) else {}
        self._ends = [name for name in ENDS if name in boxes]
        for name in self._ends or ["terminals"]:
            box = boxes.get(name)
            if not isinstance(box, Box) or box.kind != "bool" or box.shape:
                raise SpaceError(
                    f"{self.path}: `records` is {records}; episodes are known by their ends. Give "
                    f"it a key {name!r} with a BoolBox()."
                )
        super().create_variables(records=records)

    @api
    @graph_fn
    def insert(self, records: Tensor) -> None:
        """Overwrites the oldest; of more than `buffer_size` records the last ones stay."""
        self._write(records)

    @api
    @graph_fn(bounds=records_space)
    def get_records(self, n: Size) -> Tensor:
        """The newest n, oldest first."""
        ops = self.ops
        ops.require(
            self._size >= n,
            f"{self.path}.get_records: fewer than {n} records are there. Insert more, or ask for "
            "fewer.",
        )
        return self._gather(self._columns, (self._index - n + ops.arange(n)) % self.buffer_size)

    def _spaces(self, n: Any) -> Space:
        return self._space

    @api
    @graph_fn(spaces=_spaces)
    def get_episodes(self, n: Static[int] = 1) -> Tensor:
        """The records of the newest n episodes that have ended, oldest first."""
        ops = self.ops
        rows, ended = self._in_order()
        before = ops.cumsum(ops.cast(ended, "int64"), 0) - ops.cast(ended, "int64")
        episodes = ops.sum(ops.cast(ended, "int64"))
        ops.require(
            episodes >= n,
            f"{self.path}.get_episodes: fewer than {n} episodes have ended. Insert more, or ask "
            "for fewer.",
        )
        wanted = ops.logical_and(before >= episodes - n, before < episodes)
        wanted = ops.logical_and(wanted, ops.arange(self.buffer_size) < self._size)
        first = ops.argmax(ops.cast(wanted, "int64"), 0)
        count = ops.sum(ops.cast(wanted, "int64"))
        return self._gather(self._columns, ops.take_rows(rows, first + ops.arange(count)))

    @api
    @graph_fn
    def num_episodes(self) -> Tensor:
        """How many of the records end an episode."""
        return self.ops.sum(self.ops.cast(self._in_order()[1], "int64"))

    def _in_order(self) -> tuple[Tensor, Tensor]:
        """All rows from the oldest record on, and whether a record is there and ends an episode."""
        ops = self.ops
        places = ops.arange(self.buffer_size)
        rows = (self._index - self._size + places) % self.buffer_size
        ended = ops.take_rows(self._columns[self._ends[0]], rows)
        for name in self._ends[1:]:
            ended = ops.logical_or(ended, ops.take_rows(self._columns[name], rows))
        return rows, ops.logical_and(ended, places < self._size)
