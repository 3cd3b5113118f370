"""The plan: each API method as one straight line of graph-function calls, emitted as plain Python.

At run time there are no components: names are bound to graph functions, containers and folds are
spelled out, loops and branches are nested functions. The source is registered with linecache, so
tracebacks show it.
"""

from __future__ import annotations

import itertools
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from rlg.graph.core.assembly.records import (
    Call,
    Graph,
    Record,
    all_nodes,
)
from rlg.graph.core.plan.draws import PlannedDraw
from rlg.graph.core.plan.emit import Emitter
from rlg.graph.spaces import Box, Space

_NUMBERS = itertools.count()


class Lowering(Protocol):
    """How a backend wants its plans written."""

    # Random draws come in as arguments (static graphs) instead of being made when they are due.
    feeds: bool
    # Context manager factory around what needs no autograd, for backends that record by default.
    no_grad: Callable[[], Any] | None
    # Whether outputs of `no_gradient` nodes are cut off by stop_gradient.
    cuts: bool
    # (value, device) -> value, for backends without transfers of their own.
    transfer: Callable[[Any, str], Any] | None
    # device -> context manager, for backends that place what is made inside.
    place: Callable[[str], Any] | None
    # numpy array -> tensor, for draws that are made before a loop.
    from_host: Callable[[Any], Any]


@dataclass(slots=True, eq=False)
class Plan:
    """An emitted function with what executors need to know of it."""

    name: str
    source: str
    function: Callable[..., Any]
    # (parameter of the function, index of the call, argument) in order.
    inputs: list[tuple[str, int, str]]
    spaces: list[Space]
    draws: list[PlannedDraw] = field(default_factory=list)
    calls: int = 0
    writes: int = 0
    gradients: int = 0
    summaries: list[tuple[str, str]] = field(default_factory=list)
    # One tensor in, one tensor out: executors have a shorter way for those.
    is_array_to_array: bool = False


def make_plan(
    name: str,
    graphs: Sequence[Graph],
    lowering: Lowering,
    binding: Any,
    *,
    summaries: bool = False,
) -> Plan:
    """Emits and compiles one function for one or several API calls in a row."""
    emitter = Emitter(name, lowering, binding)
    source = emitter.function(graphs, summaries)
    filename = f"<rlg plan {next(_NUMBERS)}: {name}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), emitter.globals)
    calls = [node for graph in graphs for node in all_nodes(graph) if isinstance(node, Call)]
    probes = [probe for node in calls for probe in node.probes.values()]
    return Plan(
        name=name,
        source=source,
        function=emitter.globals[emitter.name],
        inputs=emitter.inputs,
        spaces=[graphs[index].inputs[argument].space for _, index, argument in emitter.inputs],
        draws=emitter.draws,
        calls=emitter.calls,
        writes=sum(probe.writes for probe in probes),
        gradients=sum(probe.gradients for probe in probes),
        summaries=emitter.summaries,
        is_array_to_array=not summaries and _is_array_to_array(graphs),
    )


def _is_array_to_array(graphs: Sequence[Graph]) -> bool:
    if len(graphs) != 1:
        return False
    values = [graphs[0].outputs, *graphs[0].inputs.values()]
    records = [value for value in values if isinstance(value, Record)]
    return (
        len(records) == 2
        and all(isinstance(record.space, Box) for record in records)
        and isinstance(graphs[0].outputs, Record)
        and graphs[0].outputs.node is not None
    )
