"""TensorBoard events by its own writer, without TensorFlow or torch.

TensorBoard looks for TensorFlow unless a module `tensorboard.compat.notf` exists: importing that
framework would take seconds and half a gigabyte.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from rlg.spelling import flat

if TYPE_CHECKING:
    from rlg.graph.drawing.nodes import GraphNode

FLUSH = 10  # seconds
BINS = 64


class TensorBoardWriter:
    """Scalars, histograms, texts and the graph of one run; the x axis is environment steps."""

    def __init__(self, folder: Path, *, purge_step: int | None = None) -> None:
        """Starts a new event file.

        Args:
            purge_step: TensorBoard then hides events of earlier files from this step on.
        """
        _without_tensorflow()
        from tensorboard.compat.proto import event_pb2, summary_pb2
        from tensorboard.summary.writer.event_file_writer import EventFileWriter

        self._events, self._summaries = event_pb2, summary_pb2
        folder.mkdir(parents=True, exist_ok=True)
        self._writer = EventFileWriter(str(folder), flush_secs=FLUSH)
        if purge_step is not None:
            start = event_pb2.SessionLog(status=event_pb2.SessionLog.START)
            self._add(purge_step, session_log=start)

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        self._add_values(step, [{"tag": tag, "simple_value": x} for tag, x in values.items()])

    def histogram(self, step: int, tag: str, values: ArrayLike) -> None:
        self._add_values(step, [{"tag": tag, "histo": summarize(values)}])

    def text(self, step: int, tag: str, text: str) -> None:
        """Shown as Markdown: indent by four columns what shall keep its form."""
        from tensorboard.plugins.text.summary_v2 import text_pb

        self._add(step, summary=text_pb(tag, text))

    def hparams(self, config: Mapping[str, Any], metrics: Iterable[str]) -> None:
        """The run's options and the metrics to compare runs by, for the page "HParams"."""
        from tensorboard.plugins.hparams import summary_v2 as plugin

        values = {
            key: value if isinstance(value, bool | int | float) else str(value)
            for key, value in flat(config).items()
            if value is not None
        }
        shown = [plugin.Metric(tag) for tag in metrics]
        known = [plugin.HParam(name) for name in values]
        for summary in (plugin.hparams_config_pb(known, shown), plugin.hparams_pb(values)):
            self._add(0, summary=summary)

    def graph(self, nodes: Iterable[GraphNode]) -> None:
        """The component graph, for the page "Graphs"."""
        from tensorboard.compat.proto.graph_pb2 import GraphDef

        definition = GraphDef()
        for node in nodes:
            made = definition.node.add(name=node.name, op=node.op, device=node.device)
            made.input.extend(node.inputs)
            for key, text in node.attributes.items():
                made.attr[key].s = text.encode()
            if node.shape is not None:
                # The key that the page reads the shapes on edges from.
                shape = made.attr["_output_shapes"].list.shape.add()
                for size in node.shape:
                    shape.dim.add(size=size)
        self.graph_def(definition.SerializeToString())

    def graph_def(self, definition: bytes) -> None:
        """A graph as TensorFlow serializes it."""
        self._add(0, graph_def=definition)

    def flush(self) -> None:
        self._writer.flush()

    def close(self) -> None:
        self._writer.close()

    def _add_values(self, step: int, values: list[Any]) -> None:
        self._add(step, summary=self._summaries.Summary(value=values))

    def _add(self, step: int, **content: Any) -> None:
        event = self._events.Event(wall_time=time.time(), step=int(step), **content)
        self._writer.add_event(event)


def summarize(values: ArrayLike) -> dict[str, Any]:
    """The fields of a histogram; values that aren't finite are left out."""
    array = np.asarray(values, np.float64).reshape(-1)
    array = array[np.isfinite(array)]
    if array.size == 0:
        return {"num": 0.0, "bucket_limit": [0.0], "bucket": [0.0]}
    counts, edges = np.histogram(array, bins=BINS)
    return {
        "min": float(array.min()),
        "max": float(array.max()),
        "num": float(array.size),
        "sum": math.fsum(array),
        "sum_squares": math.fsum(array * array),
        "bucket_limit": edges[1:].tolist(),
        "bucket": counts.tolist(),
    }


def _without_tensorflow() -> None:
    name = "tensorboard.compat.notf"
    sys.modules.setdefault(name, ModuleType(name))
