"""Host steps: components that compute on numpy arrays whatever the backend of the rest is.

Memories are such components. A plan of nothing else runs on arrays from end to end; in other plans
each of their graph functions is a step that takes the backend's tensors and gives them back.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from rlg.backends.entry import Check
from rlg.graph.core.assembly.records import Call, Graph, Item, all_nodes
from rlg.graph.core.plan.plan import Plan

LOWERING: Any = SimpleNamespace(
    feeds=False, no_grad=None, cuts=False, transfer=None, place=None, from_host=np.asarray
)


def is_hosted(graphs: Sequence[Graph]) -> bool:
    """Whether nothing in these graphs needs the backend."""
    nodes = [node for graph in graphs for node in all_nodes(graph) if not isinstance(node, Item)]
    return bool(nodes) and all(
        isinstance(node, Call) and node.component.on_host and not node.folds for node in nodes
    )


def host_entry(plan: Plan, checks: Sequence[Check]) -> Callable[..., Any]:
    """The function from numpy to numpy around a plan of host steps."""
    function = plan.function

    def entry(*args: Any) -> Any:
        values = [check(arg) for check, arg in zip(checks, args, strict=True)]
        return map_arrays(np.asarray, function(*values))

    return entry


def map_arrays(fn: Callable[[Any], Any], tree: Any) -> Any:
    """`fn` on every leaf of nested arguments or results."""
    if isinstance(tree, tuple):
        return tuple([map_arrays(fn, value) for value in tree])
    if isinstance(tree, dict):  # Mapping would cost each leaf three times as much.
        return {key: map_arrays(fn, value) for key, value in tree.items()}
    return None if tree is None else fn(tree)
