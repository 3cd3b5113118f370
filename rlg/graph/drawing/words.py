"""Spaces and arguments in few words, for labels, and in full, for tooltips."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from rlg.graph.core.assembly.records import Edge, Record, Tree
from rlg.graph.core.component.methods import TENSOR
from rlg.graph.spaces import Box, Dict, Tuple

# Characters that a label has at most, about; tooltips say the rest.
LABEL = 30


def short(tree: Tree, limit: float = LABEL) -> str:
    """`f32[B,4]`, `{action, reward, …}`, `(i64[B], f32[B])`, or a constant; without limit, all."""
    space = tree.space if isinstance(tree, Record) else tree
    if isinstance(space, Box):
        sizes = ",".join([*space.ranks, *map(str, space.shape)])
        dtype = re.sub(r"(?<=[a-z])[a-z]+(?=\d)", "", space.dtype)
        return f"{dtype}[{sizes}]" if sizes else dtype
    if isinstance(space, (Dict, Mapping)):
        items = [(str(key)[:LABEL], value) for key, value in space.items()]
        words = [k if limit == LABEL else f"{k}: {short(v, limit)}" for k, v in items]
        return f"{{{listed(words, limit)}}}"
    if isinstance(space, (Tuple, tuple, list)):
        return f"({listed([short(item, limit) for item in space], limit)})"
    return repr(space)[:LABEL]


def full(tree: Tree) -> str:
    """The same with nothing left out."""
    return short(tree, math.inf)


def call_words(edge: Edge) -> tuple[str, str]:
    """The spaces of a call's arguments, in few words, and in full behind the method."""
    tensors = {p.name for p in edge.method.parameters if p.kind == TENSOR}
    given = {name: value for name, value in edge.arguments.items() if value is not None}
    words = [short(value) if name in tensors else name for name, value in given.items()]
    long = [f"{n}: {full(v)}" if n in tensors else n for n, v in given.items()]
    return listed(words, LABEL), f"{edge.method.name}({', '.join(long)})"


def listed(words: list[str], limit: float) -> str:
    """Words between commas; those that go beyond the limit become an ellipsis."""
    kept, length = list[str](), 0
    for word in words:
        length += len(word) + 2
        if kept and length > limit:
            return ", ".join([*kept, "…"])
        kept.append(word)
    return ", ".join(kept)
