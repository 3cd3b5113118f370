"""What emitted plans call besides graph functions: folding and cutting of whole trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.graph.core.build.binding import Binding
from rlg.graph.core.component.component import Component


def fold_leaves(ops: Any, value: Any, space: Any = None) -> Any:
    """Merges batch and time in every leaf."""
    if isinstance(value, Mapping):
        return {key: fold_leaves(ops, item, space[key]) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(fold_leaves(ops, item, space[i]) for i, item in enumerate(value))
    return ops.fold_time(value) if space is None or len(space.ranks) == 2 else value


def unfold_leaves(ops: Any, value: Any, like: Any, space: Any = None) -> Any:
    """Takes batch and time apart again in every leaf."""
    if isinstance(value, Mapping):
        return {key: unfold_leaves(ops, item, like, space[key]) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(unfold_leaves(ops, item, like, space[i]) for i, item in enumerate(value))
    return ops.unfold_time(value, like) if space is None or space.ranks == "F" else value


def cut_leaves(ops: Any, value: Any) -> Any:
    """Cuts gradients off in every leaf."""
    if isinstance(value, Mapping):
        return {key: cut_leaves(ops, item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(cut_leaves(ops, item) for item in value)
    return ops.stop_gradient(value)


def region_ops(component: Component, binding: Binding) -> Any:
    """The operations that run a component's loops and branches: those of the backend."""
    if not component.on_host:
        return component.ops
    return binding.backend.ops_class(binding.devices.of_ops(component), None)
