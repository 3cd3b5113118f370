"""Random rows of a batch."""

from __future__ import annotations

from rlg.errors import SpaceError
from rlg.graph import Component, Size, Tensor, api, graph_fn
from rlg.graph.spaces import Space, flatten, map_leaves, path_name


class Sampler(Component):
    """Draws `n` records of a batch, uniformly and with replacement.

    records: any nested space with a batch rank; rows: int64 [n], the places of the records drawn.
    """

    def create_variables(self, *, records: Space) -> None:
        for path, box in records.flatten().items():
            if box.ranks not in ("B", "F"):
                raise SpaceError(
                    f"{self.path}: `records{'/' if path else ''}{path_name(path)}` is {box}; "
                    "records come in batches. Give it a batch rank: ranks='B'."
                )

    @api
    @graph_fn
    def sample(self, records: Tensor, n: Size) -> tuple[Tensor, Tensor]:
        ops = self.ops
        rows = ops.random_rows((n,), ops.batch_size(next(iter(flatten(records).values()))))
        return map_leaves(lambda x: ops.take_rows(x, rows), records), rows
