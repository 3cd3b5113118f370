"""Replicas of one process: a body on parts of a batch, and its outputs put together again.

What all backends share. Parts are as even as they can be, the larger ones first; outputs without a
batch rank are means over items, so their average weighs each part by its size, and replicas
return what one call on the whole batch would. Sums are made in the order of the parts, so results
repeat bit by bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from rlg.errors import BackendError, ExecutionError, RLGError
from rlg.graph.core.build.binding import AVERAGE, Layout

Task = Callable[[], Any]
AUTO = "auto"


class Replicated:
    """What an executor does with replicated bodies; by itself, for arrays and in turn."""

    replicas: int
    # One for each replica, or none: then all are on the executor's own.
    replica_devices: tuple[str, ...]

    def place_replicas(self, replicas: int, devices: Sequence[str] | None) -> None:
        """One replica on each of these devices; AUTO: on every accelerator."""
        named = self.accelerators() if devices == AUTO else list(devices or ())
        if devices != AUTO and named and replicas not in (1, len(named)):
            raise BackendError(
                f"replicas is {replicas}, but replica_devices names {len(named)}: "
                f"{', '.join(map(str, named))}. There is one replica for each; leave replicas out."
            )
        self.replica_devices = tuple(map(self.check_device, named))
        self.replicas = len(named) or replicas

    def replicate(
        self, body: Callable[[Any], Any], args: Any, layout: Layout, *, in_turn: bool = False
    ) -> Any:
        """The body's outputs for the whole batch."""
        sizes = part_sizes(self._batch_size(args, layout), self.replicas)
        parts = _cut(args, layout.inputs, lambda x, axis: self.cut(x, sizes, axis), len(sizes))
        devices, where = self.replica_devices, layout.where
        bodies = [self.placed(body, devices[i]) if devices else body for i in range(len(parts))]
        tasks = [
            partial(_named, where, i, len(parts), bodies[i], part) for i, part in enumerate(parts)
        ]
        outputs = [task() for task in tasks] if in_turn else self.at_once(tasks)
        columns = zip(*(_averaged_leaves(out, layout.outputs) for out in outputs), strict=True)
        means = iter(self.average(list(columns), sizes))
        return _merged(outputs, layout.outputs, self.join, means)

    def _batch_size(self, args: Any, layout: Layout) -> Any:
        found = [self.axis_size(x, axis) for x, axis in _split_leaves(args, layout.inputs)]
        known = sorted({size for size in found if isinstance(size, int)})
        if len(known) > 1:
            raise ExecutionError(
                f"{layout.where}: the arguments that replicas share have batches of different "
                f"sizes: {', '.join(map(str, known))}. Pass equal ones."
            )
        return known[0] if known else found[0]

    def close(self) -> None:
        """Ends threads that wait for work; the next call starts them again."""

    # -- what backends do differently -------------------------------------------------------------
    def check_device(self, device: str) -> str:
        """The device's full name, or a BackendError that lists the valid ones."""
        raise NotImplementedError

    def accelerators(self) -> list[str]:
        """Devices that are faster than the CPU."""
        return []

    def placed(self, body: Callable[[Any], Any], device: str) -> Callable[[Any], Any]:
        """The body on a device, with outputs that others can be put together with."""
        return body

    def at_once(self, tasks: Sequence[Task]) -> list[Any]:
        """The results of all tasks, in their order."""
        return [task() for task in tasks]

    def axis_size(self, x: Any, axis: int) -> Any:
        """A number, or a tensor where a graph is traced that does not know it."""
        return x.shape[axis]

    def cut(self, x: Any, sizes: Sequence[Any], axis: int) -> Sequence[Any]:
        """Parts of these sizes, as views where the backend has them."""
        return np.split(x, np.cumsum(sizes[:-1]), axis)

    def join(self, parts: Sequence[Any], axis: int) -> Any:
        """One tensor of all parts."""
        return np.concatenate(parts, axis)

    def average(self, columns: Sequence[Sequence[Any]], sizes: Sequence[Any]) -> Sequence[Any]:
        """For each output its mean over the parts, weighed by their sizes."""
        total = sum(sizes)
        if not total:
            return [parts[0] for parts in columns]
        weighed = ((p * (n / total) for p, n in zip(c, sizes, strict=True)) for c in columns)
        return [sum(parts) for parts in weighed]


def part_sizes(size: Any, count: int) -> list[Any]:
    """The sizes of parts of a batch: none is empty, unless tracing can't know the batch's size."""
    if isinstance(size, int):
        count = max(1, min(count, size))
    return [(size + count - 1 - index) // count for index in range(count)]


def _named(where: str, index: int, count: int, body: Callable[[Any], Any], part: Any) -> Any:
    try:
        return body(part)
    except Exception as error:
        kind = "" if isinstance(error, RLGError) else f"{type(error).__name__}: "
        raise ExecutionError(
            f"{where}: replica {index + 1} of {count} failed: {kind}{error}"
        ) from error


def _split_leaves(value: Any, axes: Any) -> Iterator[tuple[Any, int]]:
    """Tensors that are split, with the axis of their batch."""
    if isinstance(axes, Mapping):
        for key, inner in axes.items():
            yield from _split_leaves(value[key], inner)
    elif isinstance(axes, tuple):
        for item, inner in zip(value, axes, strict=True):
            yield from _split_leaves(item, inner)
    elif axes is not None:
        yield value, axes


def _cut(value: Any, axes: Any, cut: Callable[[Any, int], Sequence[Any]], count: int) -> list[Any]:
    """The arguments of each replica."""
    if isinstance(axes, Mapping):
        by_key = {key: _cut(value[key], inner, cut, count) for key, inner in axes.items()}
        return [{key: parts[i] for key, parts in by_key.items()} for i in range(count)]
    if isinstance(axes, tuple):
        items = [_cut(item, inner, cut, count) for item, inner in zip(value, axes, strict=True)]
        return [tuple([parts[i] for parts in items]) for i in range(count)]
    return [value] * count if axes is None else list(cut(value, axes))


def _averaged_leaves(value: Any, axes: Any) -> list[Any]:
    if isinstance(axes, Mapping):
        return [leaf for key, inner in axes.items() for leaf in _averaged_leaves(value[key], inner)]
    if isinstance(axes, tuple):
        pairs = zip(value, axes, strict=True)
        return [leaf for item, inner in pairs for leaf in _averaged_leaves(item, inner)]
    return [value] if axes == AVERAGE else []


def _merged(parts: Sequence[Any], axes: Any, join: Callable[..., Any], means: Iterator[Any]) -> Any:
    if isinstance(axes, Mapping):
        return {
            key: _merged([part[key] for part in parts], inner, join, means)
            for key, inner in axes.items()
        }
    if isinstance(axes, tuple):
        columns = zip(*parts, strict=True)
        return tuple(
            [
                _merged(column, inner, join, means)
                for column, inner in zip(columns, axes, strict=True)
            ]
        )
    if axes == AVERAGE:
        return next(means)
    return None if axes is None else join(parts, axes)
