"""Summaries on request: what components name by `self.summary`, and histograms of weights.

They go to TensorBoard only, under the paths of their components. Plans hold them only if they are
asked for, so they cost nothing otherwise.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.backends.executor import GraphExecutor
from rlg.graph.spaces import flatten
from rlg.tracking.metrics import MetricsLog


def are_wanted(logger: Mapping[str, Any]) -> bool:
    """Whether the executor has to collect what components name."""
    return bool(logger["summaries"] or logger["histograms"])


def write_scalars(executor: GraphExecutor, log: MetricsLog, step: int) -> None:
    """The newest scalars of all components; the mean where there are several numbers."""
    values = {tag: float(np.mean(array)) for tag, array in _newest(executor, "scalar")}
    if values and log.events is not None:
        log.events.scalars(step, values)


def write_histograms(executor: GraphExecutor, log: MetricsLog, step: int) -> None:
    """The newest histograms of all components, and those of all weights."""
    if log.events is None:
        return
    for tag, array in (*_newest(executor, "histogram"), *executor.get_weights().items()):
        log.events.histogram(step, tag, array)


def _newest(executor: GraphExecutor, kind: str) -> Iterator[tuple[str, NDArray[Any]]]:
    kinds = executor.summary_kinds()
    for tag, tree in executor.summaries.items():
        for path, array in flatten(tree).items() if kinds.get(tag) == kind else ():
            yield "/".join([tag, *map(str, path)]), np.asarray(array)
