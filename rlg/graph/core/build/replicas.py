"""Replicas: how their arguments are split, and what their bodies may not do.

The body is built once, on the spaces of the whole batch: a part differs in nothing but its size.
Replicas run at the same time and share all variables, so a write in one would show in the others
or not, as it happens; and a stream of random numbers has one order.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.errors import BuildError
from rlg.graph.core.assembly.records import Call, Record, Replicate, Tree, records_in
from rlg.graph.core.build.binding import AVERAGE, Layout
from rlg.graph.core.build.flow import Known, argument_spaces, space_of, waits
from rlg.graph.core.build.probe import Probe, Prober
from rlg.graph.spaces import Box, Dict, Space, Tuple


def replicate(node: Replicate, known: Known) -> bool:
    """Feeds the body, then takes its outputs; False while the body is not through."""
    if not node.purpose:
        node.purpose = "entered"
        _check_ranks(node)
        for inner_tree, outer_tree in zip(node.body.inputs.values(), node.arguments, strict=True):
            for inner, outer in zip(records_in(inner_tree), records_in(outer_tree), strict=True):
                known(inner, space_of(outer), outer.dims)
    if waits(node, node.body.outputs):
        return False
    for record, output in zip(node.outputs, records_in(node.body.outputs), strict=True):
        record.space, record.dims = space_of(output), output.dims
        _check_output(node, record.space)
    return True


def layout_of(node: Replicate) -> Layout:
    """Where the batch is in arguments and outputs."""
    return Layout(node.label, _axes(node.arguments, None), _axes(node.body.outputs, AVERAGE))


def check(node: Call, prober: Prober) -> None:
    """Refuses what replicas can't do at the same time."""
    replica = node.graph.replica_of
    if replica is None:
        return
    mark, probes = node.method.mark, list(node.probes.values())
    if mark.spaces is not None and not mark.is_host:
        # Declared outputs: nothing ran dry so far.
        probes.append(prober.look(node.component, node.method, argument_spaces(node)))
    deed = _deed(probes)
    if mark.is_host:
        deed = "calls Python outside of the graph"
    if deed:
        raise BuildError(
            f"{node.label}: it {deed}, but it is called in {replica}, which replicas run on parts "
            "of the batch at the same time. Call it outside of the replicated method, or set "
            "replicas=1."
        )


def _deed(probes: list[Probe]) -> str:
    if any(probe.writes for probe in probes):
        return "writes variables"
    return "draws random numbers" if any(probe.draws for probe in probes) else ""


def _axes(tree: Tree, otherwise: str | None) -> Any:
    if isinstance(tree, Record):
        assert tree.space is not None
        return _space_axes(tree.space, otherwise)
    if isinstance(tree, Mapping):
        return {key: _axes(value, otherwise) for key, value in tree.items()}
    if isinstance(tree, tuple):
        return tuple(_axes(value, otherwise) for value in tree)
    return None  # Constants pass by the replicas.


def _space_axes(space: Space, otherwise: str | None) -> Any:
    if isinstance(space, Dict):
        return {key: _space_axes(value, otherwise) for key, value in space.items()}
    if isinstance(space, Tuple):
        return tuple(_space_axes(value, otherwise) for value in space)
    assert isinstance(space, Box)
    return next((axis for axis, rank in enumerate(space.ranks) if rank in "BF"), otherwise)


def _check_ranks(node: Replicate) -> None:
    spaces = [space_of(record) for record in node.inputs()]
    ranks = {rank for space in spaces for box in space.flatten().values() for rank in box.ranks}
    if not ranks & {"B", "F"}:
        given = ", ".join(map(str, spaces)) or "none"
        raise BuildError(
            f"{node.label}: replicas get parts of a batch, but none of the arguments has a batch "
            f"rank: {given}. Pass one that has, or call the method itself."
        )
    if {"B", "F"} <= ranks:
        raise BuildError(
            f"{node.label}: some of the arguments have time folded into the batch and some have "
            "not, so equal parts of them don't belong together. Unfold the former."
        )


def _check_output(node: Replicate, space: Space) -> None:
    for box in space.flatten().values():
        if _space_axes(box, AVERAGE) == AVERAGE and box.kind != "float":
            raise BuildError(
                f"{node.label}: it returns {box}, without a batch rank. Replicas average such "
                "outputs, and these are not floats. Return one for each item, or compute it "
                "outside of the replicated method."
            )
