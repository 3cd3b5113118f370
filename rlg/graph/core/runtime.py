"""What emitted plans call besides graph functions: folding and cutting of whole trees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def fold_leaves(ops: Any, value: Any) -> Any:
    """Merges batch and time in every leaf."""
    if isinstance(value, Mapping):
        return {key: fold_leaves(ops, item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(fold_leaves(ops, item) for item in value)
    return ops.fold_time(value)


def unfold_leaves(ops: Any, value: Any, like: Any) -> Any:
    """Takes batch and time apart again in every leaf."""
    if isinstance(value, Mapping):
        return {key: unfold_leaves(ops, item, like) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(unfold_leaves(ops, item, like) for item in value)
    return ops.unfold_time(value, like)


def cut_leaves(ops: Any, value: Any) -> Any:
    """Cuts gradients off in every leaf."""
    if isinstance(value, Mapping):
        return {key: cut_leaves(ops, item) for key, item in value.items()}
    if isinstance(value, tuple):
        return tuple(cut_leaves(ops, item) for item in value)
    return ops.stop_gradient(value)
