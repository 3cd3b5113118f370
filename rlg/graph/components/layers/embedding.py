"""Learned vectors for categories."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.initializers import InitializerSpec, initializer
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import Box, Space


class Embedding(Component):
    """One learned row for each category.

    inputs: int64 [...], from 0 up to `num_embeddings` (default: what the space's bounds say); any
    ranks. outputs: [..., embedding_dim].
    """

    def __init__(
        self,
        embedding_dim: PositiveInt,
        num_embeddings: PositiveInt | None = None,
        kernel_init: InitializerSpec = "glorot_uniform",
    ) -> None:
        self.embedding_dim = embedding_dim
        self.num_embeddings = num_embeddings
        self.kernel_init = kernel_init

    def create_variables(self, *, inputs: Space) -> None:
        if not isinstance(inputs, Box) or inputs.kind != "int":
            raise SpaceError(
                f"{self.path}: Embedding takes integers, but `inputs` is {inputs}. Give an IntBox."
            )
        rows = self.num_embeddings or inputs.num_categories
        if not isinstance(rows, int) or rows < 1 or self.embedding_dim < 1:
            raise ComponentError(
                f"{self.path}: there are {rows} rows of {self.embedding_dim}, for {inputs}. Give "
                "num_embeddings, or integers from 0 with one bound for all, and an embedding_dim "
                "of 1 or more."
            )
        known = inputs.num_categories
        if isinstance(known, int) and known > rows:
            raise ComponentError(
                f"{self.path}: num_embeddings is {rows}, but `inputs` has {known} categories, "
                f"{inputs}. Give at least {known}."
            )
        self._table = self.variable(
            "table",
            (rows, self.embedding_dim),
            value=initializer(self.kernel_init),
            trainable=True,
        )

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.take_rows(self._table, self.ops.cast(inputs, "int64"))
