"""Policies as SavedModels, which load without rlg."""

from __future__ import annotations

import errno
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from rlg.backends.executor import GraphExecutor
from rlg.backends.tf.ops import TFOps
from rlg.graph.spaces import Box

Function = Callable[[Any, Mapping[str, Any]], dict[str, Any]]
SIGNATURE = "serving_default"


def write_saved_model(
    executor: GraphExecutor, function: Function, inputs: Mapping[str, Box], path: Path
) -> None:
    """Writes a folder whose one signature takes and returns tensors by name."""
    ops, module = TFOps(), tf.Module()
    variables = (info.variable for info in executor.builder.binding.variables.values())
    module.weights = [v for v in variables if isinstance(v, tf.Variable)]
    specs = {
        name: tf.TensorSpec([None, *box.shape], box.dtype, name) for name, box in inputs.items()
    }

    def policy(**tensors: Any) -> dict[str, Any]:
        found = function(ops, tensors)
        return {name: tf.identity(tensor, name) for name, tensor in found.items()}

    module.policy = tf.function(policy, autograph=False)
    concrete = module.policy.get_concrete_function(**specs)
    try:
        tf.saved_model.save(module, str(path), signatures={SIGNATURE: concrete})
    except tf.errors.OpError as error:  # of its file system
        raise OSError(errno.EIO, " ".join(str(error.message).split())) from error


def load_saved_model(path: Path) -> Callable[..., dict[str, NDArray[Any]]]:
    """The function in a SavedModel, from arrays to arrays."""
    model = tf.saved_model.load(str(path))
    signature = model.signatures[SIGNATURE]

    def call(**arrays: NDArray[Any]) -> dict[str, NDArray[Any]]:
        found = signature(**{name: tf.constant(array) for name, array in arrays.items()})
        return {name: np.asarray(tensor) for name, tensor in found.items()}

    call.model = model  # type: ignore[attr-defined]  # Its variables live as long as it does.
    return call
