"""Loops, branches and host calls as plain Python: for every backend that runs define-by-run.

Trees are nested dicts and tuples (or lists); `None` is a tree without leaves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rlg.backends.numpy.host import Output, call
from rlg.errors import BackendError

Tree = Any


def leaves(tree: Tree) -> list[Any]:
    """The leaves, depth first, dict keys sorted."""
    if tree is None:
        return []
    if isinstance(tree, dict):
        tree = [tree[key] for key in sorted(tree)]
    if isinstance(tree, (tuple, list)):
        return [leaf for branch in tree for leaf in leaves(branch)]
    return [tree]


def rebuild(template: Tree, values: Iterator[Any]) -> Tree:
    """The template's structure with other leaves."""
    if template is None:
        return None
    if isinstance(template, dict):
        return {key: rebuild(template[key], values) for key in sorted(template)}
    if isinstance(template, (tuple, list)):
        return tuple([rebuild(branch, values) for branch in template])
    return next(values)


def common_length(sizes: Sequence[Any], length: Any | None) -> Any:
    """The number of steps that all of them agree on; sizes unknown while tracing are left out."""
    known = {int(n) for n in [*sizes, length] if n is not None}
    if len(known) > 1:
        raise BackendError(f"scan: leading axes and length differ: {sorted(known)}.")
    if not known and not sizes:
        raise BackendError("scan: it has no xs, so it needs a length.")
    return known.pop() if known else None


class PythonRegions:
    """`scan`, `cond` and `host` by Python's own loop, branch and call."""

    stack: Callable[..., Any]

    def scan(
        self,
        body: Callable[[Tree, Tree], tuple[Tree, Tree]],
        carry: Tree,
        xs: Tree,
        length: Any | None = None,
    ) -> tuple[Tree, Tree]:
        columns = leaves(xs)
        steps = common_length([len(column) for column in columns], length)
        if steps == 0:
            raise BackendError("scan: it has no steps, so what it would stack is unknown.")
        rows = zip(*columns, strict=True) if columns else iter([()] * steps)
        ys = []
        for row in rows:
            carry, y = body(carry, rebuild(xs, iter(row)))
            ys.append(y)
        stacked = [self.stack(column, 0) for column in zip(*map(leaves, ys), strict=True)]
        return carry, rebuild(ys[0], iter(stacked))

    @staticmethod
    def cond(predicate: Any, when_true: Callable[[], Tree], when_false: Callable[[], Tree]) -> Tree:
        return when_true() if predicate else when_false()

    @staticmethod
    def host(
        fn: Callable[..., Any], args: Sequence[Any], outputs: Sequence[Output]
    ) -> tuple[Any, ...]:
        return call(fn, args, outputs)
