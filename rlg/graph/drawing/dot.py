"""Graphviz source of a picture."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from rlg.graph.drawing.picture import Picture, Scope

if TYPE_CHECKING:
    from rlg.graph.core.build.builder import Builder


def to_dot(builder: Builder, api: str | None = None) -> str:
    """Graphviz source: scopes as clusters, components as nodes, API calls as edges."""
    picture = Picture(builder, api)
    names = {id(scope): f"c{number}" for number, scope in enumerate(picture.canvas)}
    lines = [
        "digraph rlg {",
        'graph [rankdir=LR, fontname="Helvetica", fontsize=11, nodesep=0.2];',
        'node [shape=plain, fontname="Helvetica", fontsize=10];',
        'edge [fontname="Helvetica", fontsize=8, color="#546e7a", arrowsize=0.6];',
    ]
    stack: list[Scope | None] = [*reversed(picture.canvas.children)]
    while stack:
        scope = stack.pop()
        if scope is None:
            lines.append("}")
            continue
        if scope.children or scope.parent is None:
            fill = ":".join(picture.colours(scope.devices, 1)[:2])
            style = f"rounded,filled{'' if scope.signatures else ',dashed'}"
            lines.append(f"subgraph cluster_{names[id(scope)]} {{ label={_quoted(scope.path)};")
            lines.append(f'style="{style}"; fillcolor="{fill}"; color="#78909c";')
            stack += [None, *reversed(scope.children)]
        lines.append(_node(scope, names[id(scope)], picture))
    for scope in picture.scopes:
        if scope.shares is not None:
            ends = f"{names[id(scope)]} -> {names[id(scope.shares)]}"
            lines.append(f"{ends} [style=dashed, dir=none, constraint=false];")
    for number, arrow in enumerate(picture.arrows):
        head = names[id(arrow.target)] + _port(arrow.target, arrow.method)
        if arrow.source is not None:
            tail = names[id(arrow.source)] + _port(arrow.source, arrow.via)
            label = f"{arrow.method}({arrow.label})"
        else:
            tail, label = f"in{number}", arrow.method
            text = _quoted("\n".join(arrow.inputs.values()) or "no inputs")
            lines.append(f"{tail} [shape=ellipse, label={text}];")
        words = f"label={_quoted(label)}, tooltip={_quoted(arrow.signature)}"
        lines.append(f"{tail} -> {head} [{words}];")
        if arrow.outputs:
            text = _quoted("\n".join(arrow.outputs))
            lines.append(f"out{number} [shape=ellipse, label={text}]; {head} -> out{number};")
    return "\n".join([*lines, "}", ""])


def _node(scope: Scope, name: str, picture: Picture) -> str:
    fills, borders = (picture.colours(scope.devices, shade) for shade in (0, 2))
    rows = [f"<TD><B>{escape(scope.name)}</B><BR/>{escape(scope.kind)}</TD>"]
    for number, method in enumerate(scope.methods):
        rows.append(f'<TD PORT="p{number}" BGCOLOR="white">{escape(method)}</TD>')
    if scope.variables and scope.shares is None:
        rows.append(f"<TD>{'<BR/>'.join(escape(str(held)) for held in scope.variables)}</TD>")
    style = f'CELLBORDER="0" STYLE="ROUNDED" COLOR="{borders[0]}" BGCOLOR="{":".join(fills[:2])}"'
    table = "".join(f"<TR>{row}</TR>" for row in rows)
    return f"{name} [tooltip={_quoted(scope.tooltip)}, label=<<TABLE {style}>{table}</TABLE>>];"


def _port(scope: Scope, method: str | None) -> str:
    return f":p{list(scope.methods).index(method)}" if method in scope.methods else ""


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
