"""How spaces pass each kind of node: calls, items, variables, regions.

Beside its space each record has `dims`: where a plan finds the size of each rank. Random numbers
are drawn outside of static graphs, before the call, so their sizes must come from its arguments.
Nodes with bodies are visited twice: first to feed the bodies (`purpose` says so), and again when
the bodies' outputs are known.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from rlg.errors import BuildError, SpaceError
from rlg.graph.core.assembly.assemble import Assembler, Fresh, leaves
from rlg.graph.core.assembly.records import (
    Call,
    Cond,
    Graph,
    Inline,
    Item,
    Node,
    Record,
    Scan,
    Tree,
    Variables,
    records_in,
)
from rlg.graph.core.build.binding import Binding
from rlg.graph.core.build.probe import Prober
from rlg.graph.core.component.methods import TENSOR
from rlg.graph.spaces import Box, Dict, Space, Tuple, path_name, unflatten

Path = tuple[str | int, ...]
Dims = dict[str, Any]
Known = Callable[[Record, Space, Dims], None]


def space_of(tree: Tree) -> Space:
    """The space of a tree whose records all have one."""
    if isinstance(tree, Record):
        assert tree.space is not None
        return tree.space
    if isinstance(tree, Mapping):
        return Dict({key: space_of(value) for key, value in tree.items()})
    if isinstance(tree, tuple):
        return Tuple(*(space_of(value) for value in tree))
    array = np.asarray(tree)
    dtype = "float32" if isinstance(tree, float) else array.dtype.name
    return Box(array.shape, dtype, ranks="")


def tree_space(tree: Tree) -> Any:
    """The space of what an API method returns: None of nothing, a tuple of several values."""
    if isinstance(tree, tuple):
        return tuple(tree_space(value) for value in tree)
    if isinstance(tree, Mapping):
        given = {key: space_of(value) for key, value in tree.items() if value is not None}
        return Dict(given) if given else None
    return None if tree is None else space_of(tree)


def input_dims(name: str, space: Space) -> Dims:
    """Where a plan reads the sizes of an input's ranks: (argument, path of a leaf, axis)."""
    dims: Dims = {}
    for path, box in space.flatten().items():
        for axis, rank in enumerate(box.ranks):
            dims.setdefault(rank, (name, path, axis))
    return dims


def call(node: Call, prober: Prober) -> None:
    """Runs a graph function dry, once for each leaf if it is split, and sets its output spaces."""
    where, mark = node.label, node.method.mark
    arguments = argument_spaces(node)
    parts, template = split(where, arguments) if mark.split else ({(): arguments}, None)
    found: list[dict[Path, Space]] = [{} for _ in node.outputs]
    sizes: Dims = {}
    for path, part in parts.items():
        ranks, folded = fold(where, part) if mark.fold_time else ("", part)
        node.folds = node.folds or bool(ranks)
        probe = node.probes[path] = prober.probe(node.component, node.method, folded)
        for index, space in enumerate(probe.outputs):
            found[index][path] = unfold(space, ranks) if ranks else space
        # A rank that came from a `Size` argument has that argument's value; None: an unknown size.
        for rank, name in probe.sizes.items():
            sizes[rank] = None if name is None else node.arguments[name]
    if mark.spaces is not None and not mark.keeps_time:
        # Declared outputs may be shorter or longer (slices, parts): nobody may rely on the inputs'.
        sizes["B"] = sizes["T"] = sizes["F"] = None
    dims = {**dims_of(node), **sizes, **_lengths(node, arguments)}
    for record, by_path in zip(node.outputs, found, strict=True):
        record.space = join(by_path, template)
        record.dims = dims


def _lengths(node: Call, arguments: dict[str, Any]) -> Dims:
    """The sizes of ranks that a function declares, in those of its inputs."""
    if node.method.mark.lengths is None:
        return {}
    known = dims_of(node)
    said = node.method.mark.lengths(node.component, **arguments)
    return {rank: resolved(size, known) for rank, size in said.items()}


def resolved(size: Any, dims: Mapping[str, Any]) -> Any:
    """A size with ranks replaced by the places where a plan finds theirs; None if one has none."""
    if size == "F":
        return dims.get("F") or resolved(("product", "B", "T"), dims)
    if isinstance(size, str):
        return dims.get(size)
    if isinstance(size, tuple):
        word, *parts = size
        found = [resolved(part, dims) for part in parts]
        return None if None in found else (word, *found)
    return size


def argument_spaces(node: Call | Inline) -> dict[str, Any]:
    """Spaces for tensors, values for the rest."""
    kinds = {p.name: p.kind for p in node.method.parameters}
    return {
        name: space_of(tree) if kinds[name] == TENSOR and _has_space(tree) else tree
        for name, tree in node.arguments.items()
    }


def _has_space(tree: Tree) -> bool:
    """Records and containers do; a constant goes into a call as it is."""
    return isinstance(tree, (Record, Mapping, tuple))


def dims_of(node: Node) -> Dims:
    """The sizes that an output inherits: for each rank those of the first input that has it."""
    dims: Dims = {}
    for record in node.inputs():
        for rank, dim in record.dims.items():
            dims.setdefault(rank, dim)
    return dims


def split(where: str, arguments: dict[str, Any]) -> tuple[dict[Path, dict[str, Any]], Space | None]:
    """One set of arguments per leaf; anything but a container goes to every leaf."""
    flat = {
        name: space.flatten()
        for name, space in arguments.items()
        if isinstance(space, Space) and space.is_container
    }
    if not flat:
        return {(): arguments}, None
    first, *others = flat
    for other in others:
        if flat[other].keys() != flat[first].keys():
            raise BuildError(
                f"{where}: it is split over the leaves of its inputs, but `{first}` has "
                f"{_names(flat[first])} and `{other}` has {_names(flat[other])}. Feed containers "
                "with equal keys, or a single tensor, which goes to every leaf."
            )
    parts = {
        path: {name: flat[name][path] if name in flat else arguments[name] for name in arguments}
        for path in flat[first]
    }
    return parts, arguments[first]


def join(by_path: dict[Path, Space], template: Space | None) -> Space:
    """Spaces per leaf in the structure of `template`; the leaves may have become containers."""
    if template is None:
        return by_path[()]
    return _as_space(unflatten(dict(by_path)))


def _as_space(tree: Any) -> Space:
    if isinstance(tree, Space):
        return tree
    if isinstance(tree, Mapping):
        return Dict({key: _as_space(value) for key, value in tree.items()})
    return Tuple(*(_as_space(value) for value in tree))


def fold(where: str, arguments: dict[str, Any]) -> tuple[str, dict[str, Any]]:
    """Arguments with batch and time merged, and the ranks they had ("" if none has time)."""
    orders: dict[str, str] = {}
    for name, space in arguments.items():
        if isinstance(space, Space):
            for box in space.flatten().values():
                if len(box.ranks) == 2:
                    orders.setdefault(box.ranks, name)
    if len(orders) > 1:
        (one, name), (other, another) = list(orders.items())[:2]
        raise BuildError(
            f"{where}: it folds time, but `{name}` is {one} and `{another}` is {other}. Bring all "
            "inputs into one order, batch or time first."
        )
    if not orders:
        return "", arguments
    return next(iter(orders)), {
        name: space.map(_fold_box) if isinstance(space, Space) else space
        for name, space in arguments.items()
    }


def _fold_box(box: Box) -> Box:
    return box.with_ranks("F") if len(box.ranks) == 2 else box


def unfold(space: Space, ranks: str) -> Space:
    """Folded leaves get their two ranks back."""
    return space.map(lambda box: box.with_ranks(ranks) if box.ranks == "F" else box)


def item(node: Item) -> None:
    """Takes one element of a container's space."""
    source = node.source.space
    output = node.outputs[0]
    try:
        if not isinstance(source, (Dict, Tuple)):
            raise KeyError
        output.space = source[node.key]  # type: ignore[index]
    except (KeyError, SpaceError):
        has = "it is not a container"
        if isinstance(source, Dict):
            has = f"its keys are {', '.join(source.keys())}"
        elif isinstance(source, Tuple):
            has = f"it has {len(source)} elements"
        raise BuildError(
            f"{node.graph.component.path}.{node.graph.name}: [{node.key!r}] of {source}: {has}."
        ) from None
    output.dims = node.source.dims


def variables(node: Variables, binding: Binding) -> None:
    """A Dict of the variables' own spaces."""
    infos = binding.variables_of(node.component, node.trainable)
    if not infos:
        kind = "" if node.trainable is None else "trainable " if node.trainable else "other "
        raise BuildError(
            f"{node.graph.component.path}.{node.graph.name}: asks for the {kind}variables of "
            f"{node.component.path}, which has none."
        )
    node.outputs[0].space = Dict({name: info.space for name, info in infos.items()})


def scan(node: Scan, known: Known) -> bool:
    """Feeds the loop's body, then takes its outputs; False while the body is not through."""
    where, body = node.body.component.path_or_name + "." + node.body.name, node.body
    carry, xs = body.inputs["carry"], body.inputs["x"]
    if not node.purpose:
        node.purpose = "entered"
        for inner, outer in zip(leaves(carry), leaves(node.carry), strict=True):
            known(inner, space_of(outer), outer.dims if isinstance(outer, Record) else {})
        for inner, outer in zip(leaves(xs), leaves(node.xs), strict=True):
            space = space_of(outer).map(lambda box: _drop_leading(where, box))
            dims = outer.dims if isinstance(outer, Record) else {}
            # The leading rank is the loop's own: inside, a draw must not take its size for B's.
            known(inner, space, {rank: dim for rank, dim in dims.items() if rank in _ranks(space)})
    if waits(node, body.outputs):
        return False
    after, ys = body.outputs
    lead = _leading(node)
    outputs = iter(node.outputs)
    for before, now in zip(leaves(node.carry), leaves(after), strict=True):
        same_ranks = _ranks(space_of(now)) == _ranks(space_of(before))
        if not space_of(now).like(space_of(before)) or not same_ranks:
            raise BuildError(
                f"{where}: the carry is {space_of(before)} going in and {space_of(now)} coming "
                "out. A scan needs equal spaces on both sides."
            )
        record = next(outputs)
        record.space, record.dims = space_of(now), now.dims if isinstance(now, Record) else {}
    for y in leaves(ys):
        record = next(outputs)
        record.space = space_of(y).map(lambda box: _add_leading(where, box, lead))
        record.dims = {**dims_of(node), **(y.dims if isinstance(y, Record) else {})}
    return True


def _leading(node: Scan) -> str | int:
    boxes = [box for tree in leaves(node.xs) for box in space_of(tree).flatten().values()]
    return boxes[0].ranks[:1] or boxes[0].shape[0]


def _ranks(space: Space) -> set[str]:
    return {rank for box in space.flatten().values() for rank in box.ranks}


def _drop_leading(where: str, box: Box) -> Box:
    if box.ranks == "BT":
        raise BuildError(
            f"{where}: a scan runs over the leading axis, but `x` is batch-major, {box}. Put time "
            "first."
        )
    if box.ranks:
        return box.with_ranks(box.ranks[1:])
    if not box.shape:
        raise BuildError(
            f"{where}: a scan runs over the leading axis, and `x` is {box}: it has none."
        )
    return Box(box.shape[1:], box.dtype, ranks="")


def _add_leading(where: str, box: Box, lead: str | int) -> Box:
    if isinstance(lead, int):
        if box.ranks:
            raise BuildError(
                f"{where}: stacking {box} over a fixed {lead} steps would hide its batch rank."
            )
        return Box((lead, *box.shape), box.dtype, ranks="")
    if lead + box.ranks not in ("B", "T", "F", "TB"):
        raise BuildError(f"{where}: can't stack {box} along {lead!r}; scan over time-major inputs.")
    return box.with_ranks(lead + box.ranks)


def cond(node: Cond, known: Known) -> bool:
    """Feeds both branches, then compares their outputs; False while one is not finished."""
    where = node.component.path_or_name
    if not node.purpose:
        node.purpose = "entered"
        predicate = space_of(node.predicate)
        if (
            not isinstance(predicate, Box)
            or predicate.dtype != "bool"
            or predicate.ranks
            or predicate.shape
        ):
            raise BuildError(
                f"{where}: the predicate of a cond is {predicate}; it must be one bool without "
                "ranks. For a choice per item use ops.where in a graph function."
            )
        for body in node.bodies:
            for inner_tree, outer_tree in zip(body.inputs.values(), node.arguments, strict=True):
                for inner, outer in zip(leaves(inner_tree), leaves(outer_tree), strict=True):
                    known(inner, space_of(outer), outer.dims if isinstance(outer, Record) else {})
    for body in node.bodies:
        if waits(node, body.outputs):
            return False
    for record, one, other in zip(
        node.outputs, leaves(node.bodies[0].outputs), leaves(node.bodies[1].outputs), strict=True
    ):
        first, second = space_of(one), space_of(other)
        if not first.like(second) or first.ranks != second.ranks:
            raise BuildError(
                f"{where}: the branches of a cond give {first} and {second}; both must give equal "
                "spaces."
            )
        record.space, record.dims = first, one.dims if isinstance(one, Record) else {}
    return True


def inline(
    node: Inline, assembler: Assembler, known: Known, enqueue: Callable[[Graph], None]
) -> bool:
    """Traces a split or folded API method for each leaf, then joins their outputs."""
    mark = node.method.mark
    arguments = argument_spaces(node)
    parts, template = split(node.label, arguments) if mark.split else ({(): arguments}, None)
    folded = {
        p: fold(node.label, part) if mark.fold_time else ("", part) for p, part in parts.items()
    }
    if not node.purpose:
        node.purpose = "entered"
        dims = dims_of(node)
        for path, (ranks, part) in folded.items():
            node.folds = node.folds or bool(ranks)
            fresh = {name: Fresh() if isinstance(v, Space) else v for name, v in part.items()}
            body = node.bodies[path] = assembler.expand(node, fresh)
            for name, space in part.items():
                if isinstance(space, Space):
                    known(body.inputs[name], space, dims)
            enqueue(body)
    for body in node.bodies.values():
        if waits(node, body.outputs):
            return False
    for index, record in enumerate(node.outputs):
        by_path = {}
        for path, body in node.bodies.items():
            space = space_of(leaves(body.outputs)[index])
            by_path[path] = unfold(space, folded[path][0]) if folded[path][0] else space
        record.space, record.dims = join(by_path, template), dims_of(node)
    return True


def waits(node: Node, outputs: Tree) -> bool:
    """Whether an output of a body has no space yet; the node is then called again."""
    for record in records_in(outputs):
        if record.space is None:
            record.waiters.append(node)
            return True
    return False


def _names(flat: Mapping[Path, Any]) -> str:
    return ", ".join(path_name(path) for path in flat)
