"""The replay memory: a ring of records, sampled uniformly. Priorities are not kept here."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.graph import Size, Tensor, api, graph_fn
from rlg.graph.components.memories.columns import Columns, sampled_spaces


class ReplayMemory(Columns):
    """Keeps the newest `buffer_size` records and samples uniformly: Lin (1992).

    records: any nested space with a batch rank; rows: int64 [n], the places of sampled records. It
    lives on the host: rows are written and gathered on numpy arrays whatever the backend of the
    rest is.
    """

    on_host = True

    @api
    @graph_fn
    def insert(self, records: Tensor) -> None:
        """Overwrites the oldest; of more than `buffer_size` records the last ones stay."""
        self._write(records)

    def export(self, chunk: int = 4096) -> Iterator[tuple[Any, NDArray[np.float32]]]:
        """All records, oldest first, as `insert` takes them, and equal priorities.

        For other memories, of any size. Not a part of the graph: it reads the arrays on the host.
        """
        for rows, records in self._by_age(chunk):
            yield records, np.ones(len(rows), np.float32)

    @api
    @graph_fn(bounds=sampled_spaces)
    def sample(self, n: Size) -> tuple[Tensor, Tensor]:
        """Draws with replacement, from one record or more."""
        self.ops.require(
            self._size > 0,
            f"{self.path}.sample: the memory is empty. Insert records before you sample.",
        )
        rows = self.ops.random_rows((n,), self._size)
        return self._gather(self._columns, rows), rows
