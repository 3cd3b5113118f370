"""Writes the source of a plan, node by node.

Why source and not closures: a plan that can be read explains itself (`rlg graph`, tracebacks, run
folders), torch.compile and TensorFlow trace it like any function, and a call costs one Python
frame for each graph function and none for what lies between them.
"""

from __future__ import annotations

import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from rlg.graph.core.assembly.assemble import leaves
from rlg.graph.core.assembly.records import (
    Call,
    Cond,
    Graph,
    Inline,
    Item,
    Node,
    Record,
    Replicate,
    Scan,
    Tree,
    Variables,
    is_host_step,
    records_in,
)
from rlg.graph.core.build.flow import argument_spaces, fold, space_of, split
from rlg.graph.core.build.replicas import layout_of
from rlg.graph.core.component.component import Component
from rlg.graph.core.plan.aliasing import Views, owning, snapshot_leaves, watched
from rlg.graph.core.plan.draws import draws_anything, length_of
from rlg.graph.core.plan.feeds import DrawWriter
from rlg.graph.core.plan.liveness import all_summaries, live_nodes, needs_gradient
from rlg.graph.core.plan.runtime import cut_leaves, fold_leaves, region_ops, unfold_leaves
from rlg.graph.core.plan.writer import identifier, source_of
from rlg.graph.spaces import Space, unflatten

if TYPE_CHECKING:
    from rlg.graph.core.plan.plan import Lowering

Path = tuple[str | int, ...]


class Emitter(DrawWriter):
    """Turns graphs into the source of one function and the globals it needs."""

    def __init__(self, name: str, lowering: Lowering, binding: Any) -> None:
        super().__init__(name, lowering, binding)
        self.summaries: list[tuple[str, str]] = []
        self.calls = 0
        self._in_no_grad = False
        self._devices: dict[int, str] = {}

    def function(self, graphs: Sequence[Graph], summaries: bool) -> str:
        """The whole function."""
        outputs = []
        noted: list[tuple[str, str]] = []
        for index, graph in enumerate(graphs):
            for argument, tree in graph.inputs.items():
                if isinstance(tree, Record):
                    name, used = argument, {taken for taken, _, _ in self.inputs}
                    while name in used:
                        name = f"{name}_{index}"
                    self.inputs.append((name, index, argument))
        # In a plan without gradients the executor turns autograd off as a whole.
        self._gradient_nodes = {n for graph in graphs for n in needs_gradient(graph)}
        for index, graph in enumerate(graphs):
            # Here, since one graph may be called twice.
            self._own = {argument: name for name, i, argument in self.inputs if i == index}
            self._names.update((id(graph.inputs[a]), name) for a, name in self._own.items())
            found = all_summaries(graph) if summaries else []
            extra = [tree for _, _, tree in graph.summaries] if summaries else []
            self._body(graph, extra)
            views = Views(graph)
            outputs.append(self._returned(graph.outputs, views))
            noted += [(tag, self._returned(tree, views)) for tag, _, tree in found]
            self.summaries += [(tag, kind) for tag, kind, _ in found]
        result = outputs[0] if len(outputs) == 1 else f"({', '.join(outputs)},)"
        if summaries:
            words = ", ".join(f"{tag!r}: {text}" for tag, text in noted)
            result = f"{result}, {{{words}}}"
        names = [name for name, _, _ in self.inputs]
        names += [f"draw_{i}" for i in range(len(self.draws))] if self._lowering.feeds else []
        return "\n".join(
            [f"def {self.name}({', '.join(names)}):", *self._lines, f"    return {result}", ""]
        )

    def _returned(self, tree: Tree, views: Views) -> str:
        """What leaves the plan: the caller's own, so views are copied."""
        if isinstance(tree, Record) and tree in views:
            snapshot = self._global("snapshot", snapshot_leaves)
            ops = self._global("ops", self._binding.backend.ops_class)
            return f"{snapshot}({ops}, {self._expression(tree)})"
        if isinstance(tree, Mapping):
            words = (f"{k!r}: {self._returned(v, views)}" for k, v in tree.items())
            return "{" + ", ".join(words) + "}"
        if isinstance(tree, tuple):
            return f"({''.join(self._returned(value, views) + ', ' for value in tree)})"
        return self._expression(tree)

    # -- nodes ------------------------------------------------------------------------------------
    def _body(self, graph: Graph, extra: Iterable[Tree] = ()) -> None:
        for node in live_nodes(graph, extra):
            if isinstance(node, Item):
                self._names[id(node.outputs[0])] = f"{self._expression(node.source)}[{node.key!r}]"
            elif isinstance(node, Variables):
                self._variables(node)
            else:
                with self._autograd(node), self._placed(node):
                    self._statement(node)

    def _statement(self, node: Node) -> None:
        if isinstance(node, Call):
            self._call(node)
        elif isinstance(node, Scan):
            self._scan(node)
        elif isinstance(node, Cond):
            self._cond(node)
        elif isinstance(node, Replicate):
            self._replicate(node)
        elif isinstance(node, Inline):
            self._inline(node)

    @contextmanager
    def _autograd(self, node: Node) -> Iterator[None]:
        """Without autograd where no gradient passes: recording costs about as much as computing."""
        context = self._lowering.no_grad
        wanted = bool(self._gradient_nodes) and (
            node.no_gradient or node not in self._gradient_nodes
        )
        if context is None or not wanted or self._in_no_grad:
            yield
            return
        # Neighbours that need no autograd share one block.
        header = f"{'    ' * self._depth}with {self._global('no_grad', context)}():"
        if not self._reopens(header):
            self._lines.append(header)
        self._in_no_grad = True
        self._depth += 1
        yield
        self._depth -= 1
        self._in_no_grad = False

    @contextmanager
    def _placed(self, node: Node) -> Iterator[None]:
        """On its own device, for backends that place what is made inside a context."""
        place, devices = self._lowering.place, self._binding.devices
        device = devices.of_ops(node.component) if isinstance(node, Call) else devices.default
        if place is None or device == devices.default:
            yield
            return
        self._line(f"with {self._global('on_device', place)}({device!r}):")
        self._depth += 1
        yield
        self._depth -= 1

    def _reopens(self, header: str) -> bool:
        """Whether the block that was written last has this header, and can be written on."""
        indent = "    " * self._depth
        for line in reversed(self._lines):
            if line == header:
                return True
            if not line.startswith(indent + "    "):
                return False
        return False

    def _call(self, node: Call) -> None:
        component, method = node.component, node.method
        function = self._function(node)
        parts: dict[Path, Any] = {(): None}
        template: Space | None = None
        if method.mark.split:
            parts, template = split(node.label, argument_spaces(node))
        results: list[dict[Path, str]] = [{} for _ in node.outputs]
        for path in parts:
            self.calls += 1
            arguments, like = self._arguments(node, path)
            self._feed(node, path)
            call = f"{self._hosted(node, path, function)}({', '.join(arguments)})"
            names = [self._temporary() for _ in node.outputs]
            targets = f"{', '.join(names)} = " if names else ""
            label = f"{component.path}.{method.name}" if method.name != "call" else component.path
            self._line(f"{targets}{call}", label)
            self._unfeed(node, path)
            for index, name in enumerate(names):
                results[index][path] = self._finish(node, name, index, path, like)
        for record, by_path in zip(node.outputs, results, strict=True):
            self._names[id(record)] = (
                by_path[()] if template is None else source_of(unflatten(by_path))
            )
            if template is not None:
                name = self._temporary()
                self._line(f"{name} = {self._names[id(record)]}")
                self._names[id(record)] = name
            self._devices[id(record)] = self._binding.devices.of_ops(component)

    def _function(self, node: Call) -> str:
        component, method = node.component, node.method
        short = identifier((component.path or "").rsplit("/", 1)[-1])
        bound = types.MethodType(method.function, component)
        function = owning(node, bound, self._binding)
        # One call of a method may need copies where another does not.
        key = ("function", component.path, method.name, function is bound)
        if key not in self._globals_by_id and short in self.globals:
            short = f"{short}_{method.name}"
        return self._global(short, watched(node, function, self._binding), key)

    def _hosted(self, node: Call, path: Path, function: str) -> str:
        """A function on numpy values as one on the backend's tensors."""
        if not is_host_step(node) or self._lowering.from_host is np.asarray:
            return function  # On arrays there is nothing to convert.
        hosted = self._binding.backend.hosted(self.globals[function], node.probes[path].outputs)
        return self._global(f"host_{function}", hosted, ("host", id(node), path))

    def _spaced(self, space: Space) -> str:
        """The last argument of `fold` and `unfold`: which leaves of a container have time."""
        return f", {self._global('space', space, ('space', space))}" if space.is_container else ""

    def _finish(self, node: Call, name: str, index: int, path: Path, like: str | None) -> str:
        ops = self._ops(node.component)
        if like is not None and _has_fold(node.probes[path].outputs[index]):
            unfolded = self._global("unfold", unfold_leaves)
            given = self._spaced(node.probes[path].outputs[index])
            self._line(f"{name} = {unfolded}({ops}, {name}, {like}{given})")
        # TensorFlow differentiates whatever it traced, so constants are marked on their outputs;
        # torch records nothing inside of `no_grad`, see `_autograd`.
        if node.no_gradient and self._lowering.cuts and self._gradient_nodes:
            cut = self._global("cut", cut_leaves)
            self._line(f"{name} = {cut}({ops}, {name})")
        return name

    def _arguments(self, node: Call, path: Path) -> tuple[list[str], str | None]:
        """The argument expressions for one leaf, folded if need be, and what to unfold by."""
        # What is folded is unfolded by the sizes of an argument: they are known in every trace.
        like = None
        found = []
        spaces = argument_spaces(node)
        for parameter in node.method.parameters:
            tree, space = node.arguments[parameter.name], spaces[parameter.name]
            if isinstance(space, Space) and node.method.mark.split and space.is_container:
                text = self._moved(node, tree, path)
                space = space.flatten()[path]
            else:
                text = self._moved(node, tree)
            if not isinstance(space, Space):
                found.append(text)
                continue
            if node.folds:
                ranks, _ = fold(node.label, {"x": space})
                if ranks:
                    leaf = next(p for p, box in space.flatten().items() if len(box.ranks) == 2)
                    like = like or text + "".join(f"[{key!r}]" for key in leaf)
                    given = f"{self._ops(node.component)}, {text}{self._spaced(space)}"
                    text = f"{self._global('fold', fold_leaves)}({given})"
            found.append(text)
        # Absent arguments at the end are left out, as somebody who writes the call would.
        while (
            found and found[-1] == "None" and node.method.parameters[len(found) - 1].default is None
        ):
            found.pop()
        for index, parameter in enumerate(node.method.parameters[: len(found)]):
            if parameter.by_keyword:
                found[index] = f"{parameter.name}={found[index]}"
        return found, like

    def _moved(self, node: Call, tree: Tree, path: Path = ()) -> str:
        text = self._selected(tree, path)
        device = self._binding.devices.of_ops(node.component)
        transfer = self._lowering.transfer
        elsewhere = any(self._devices.get(id(r), device) != device for r in records_in(tree))
        if transfer is None or not elsewhere:
            return text
        return f"{self._global('to_device', transfer)}({text}, {device!r})"

    def _inline(self, node: Inline) -> None:
        spaces = argument_spaces(node)
        parts: dict[Path, Any] = {(): spaces}
        template: Space | None = None
        if node.method.mark.split:
            parts, template = split(node.label, spaces)
        results: list[dict[Path, str]] = [{} for _ in node.outputs]
        ops = self._ops(node.component)
        for path, part in parts.items():
            body, like = node.bodies[path], None
            for name, record in body.inputs.items():
                if not isinstance(record, Record):
                    continue
                is_split = template is not None and spaces[name].is_container
                text = self._selected(node.arguments[name], path if is_split else ())
                ranks, _ = fold(node.label, {"x": part[name]}) if node.folds else ("", None)
                if ranks:
                    flat = part[name].flatten()
                    leaf = next(p for p, box in flat.items() if len(box.ranks) == 2)
                    like = like or text + "".join(f"[{key!r}]" for key in leaf)
                    folded, given = self._temporary(), self._spaced(part[name])
                    function = self._global("fold", fold_leaves)
                    self._line(f"{folded} = {function}({ops}, {text}{given})")
                    text = folded
                self._names[id(record)] = text
            self._body(body, [tree for _, _, tree in body.summaries])
            for index, leaf in enumerate(leaves(body.outputs)):
                text = self._expression(leaf)
                if like is not None and _has_fold(space_of(leaf)):
                    given = f"{ops}, {text}, {like}{self._spaced(space_of(leaf))}"
                    text = f"{self._global('unfold', unfold_leaves)}({given})"
                results[index][path] = text
        for record, by_path in zip(node.outputs, results, strict=True):
            name = self._temporary()
            value = by_path[()] if template is None else source_of(unflatten(by_path))
            self._line(f"{name} = {value}")
            self._names[id(record)] = name

    def _scan(self, node: Scan) -> None:
        number = self._temporary()
        body, inner_draws = f"body_{number}", self._open_region(f"body_{number}(carry, x)")
        names = "x, draws = x" if draws_anything(node.body) else ""
        if names:
            self._line(names)
        self._bind(node.body.inputs["carry"], "carry")
        self._bind(node.body.inputs["x"], "x")
        self._body(node.body)
        self._line(f"return {self._expression(node.body.outputs)}")
        self._close_region()
        carry, xs = self._expression(node.carry), self._expression(node.xs)
        if inner_draws:
            length = length_of(node)
            xs = f"({xs}, {self._outer_draws(inner_draws, length)})"
        self._line(
            f"{number} = {self._region_ops(node.component)}.scan({body}, {carry}, {xs})", node.label
        )
        self._name_outputs(node, node.body.outputs, number)

    def _cond(self, node: Cond) -> None:
        number = self._temporary()
        branches = []
        for word, body in zip(("true", "false"), node.bodies, strict=True):
            inner = self._open_region(f"{word}_{number}()")
            marker = len(self._lines)
            for inputs, outer in zip(body.inputs.values(), node.arguments, strict=True):
                for record, tree in zip(leaves(inputs), leaves(outer), strict=True):
                    self._names[id(record)] = self._expression(tree)
            self._body(body)
            self._line(f"return {self._expression(body.outputs)}")
            self._close_region()
            if inner:
                # The branch reads its draws from a name bound before it, in both branches.
                name = self._temporary()
                self._lines.insert(
                    marker - 1, f"{'    ' * self._depth}{name} = {self._outer_draws(inner, None)}"
                )
                self._lines.insert(marker + 1, f"{'    ' * (self._depth + 1)}draws = {name}")
            branches.append(f"{word}_{number}")
        predicate = self._expression(node.predicate)
        ops = self._region_ops(node.component)
        self._line(f"{number} = {ops}.cond({predicate}, {', '.join(branches)})", node.label)
        self._name_outputs(node, node.bodies[0].outputs, number)

    def _replicate(self, node: Replicate) -> None:
        number = self._temporary()
        self._open_region(f"replica_{number}(x)")
        self._bind(tuple(node.body.inputs.values()), "x")
        self._body(node.body)
        self._line(f"return {self._expression(node.body.outputs)}")
        self._close_region()
        replicate = self._global("replicate", self._binding.backend.replicate, "replicate")
        layout = self._global("layout", layout_of(node), ("layout", id(node)))
        given = f"replica_{number}, {self._expression(node.arguments)}, {layout}"
        self._line(f"{number} = {replicate}({given})", node.label)
        self._bind(node.results, number)

    def _region_ops(self, component: Component) -> str:
        """Loops and branches are the backend's, also those of components that live on the host."""
        if not component.on_host:
            return self._ops(component)
        return self._global("ops_regions", region_ops(component, self._binding), "ops_regions")

    def _variables(self, node: Variables) -> None:
        infos = self._binding.variables_of(node.component, node.trainable)
        table = {name: info.variable for name, info in infos.items()}
        key = ("variables", node.component.path, node.trainable)
        short = f"{identifier((node.component.path or '').rsplit('/', 1)[-1])}_variables"
        self._names[id(node.outputs[0])] = self._global(short, table, key)


def _has_fold(space: Space) -> bool:
    return any(box.ranks == "F" for box in space.flatten().values())
