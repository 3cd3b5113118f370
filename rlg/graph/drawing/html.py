"""One HTML file that shows a graph: scopes fold by a click, edges follow. It needs no network.

Python writes down what there is as JSON. In `page/` are the parts that stand in the file with it:
`layout.js` places what is unfolded, `scene.js` says what that is, `draw.js` draws it and `page.js`
listens. `picture.css` also goes into SVG files that the page saves.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from rlg.graph.core.assembly.records import Graph
from rlg.graph.drawing.flows import Point, Stack, flows
from rlg.graph.drawing.picture import Arrow, Picture, Scope, api_name, wanted
from rlg.graph.drawing.words import full, short

if TYPE_CHECKING:
    from rlg.graph.core.build.builder import Builder

# How a flow is drawn: a value, variables that are handed over, variables that are shared.
VALUE, HANDED, SHARED = range(3)
SCRIPTS = ("layout", "scene", "draw", "page")


def to_html(
    builder: Builder,
    api: str | None = None,
    *,
    depth: int = 1,
    title: str = "",
    plans: Mapping[str, str] | None = None,
) -> str:
    """The page; `depth` levels of scopes are unfolded, `plans` are shown with the API methods."""
    data = {"title": title, "depth": depth, **describe(builder, api), "plans": dict(plans or {})}
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":")).replace("<", "\\u003c")
    root = builder.roots[0].path or ""
    parts = {
        "TITLE": escape(title or f"{root}: component graph"),
        "STYLE": _read("page.css"),
        "LOOK": _read("picture.css"),
        "SCRIPT": "\n".join(_read(f"{name}.js") for name in SCRIPTS),
        "DATA": text,
    }
    page = _read("page.html")
    before, *rest = page.split("{{")
    # Each part goes in once, so that what looks like a placeholder in one of them stays text.
    return before + "".join(parts[key] + tail for key, tail in (r.split("}}", 1) for r in rest))


def describe(builder: Builder, api: str | None = None) -> dict[str, Any]:
    """Scopes, flows and calls as plain data; scopes, devices and API methods are numbers."""
    picture = Picture(builder, api)
    scopes = [*picture.scopes, *picture.shared]
    numbers = {scope.path: n for n, scope in enumerate(scopes)}
    devices = {device: n for n, device in enumerate(picture.devices)}
    graphs = wanted(builder, api)
    apis = {name: n for n, name in enumerate(dict.fromkeys(api_name(builder, g) for g in graphs))}
    stacks: dict[Stack, int] = {(): 0}
    moving = [
        {
            "a": _end(flow.source, numbers),
            "b": _end(flow.target, numbers),
            "x": stacks.setdefault(flow.leaving, len(stacks)),
            "y": stacks.setdefault(flow.entering, len(stacks)),
            "l": flow.label,
            "t": flow.space,
            "k": HANDED if flow.source.kind == "variables" else VALUE,
            "i": [apis[name] for name in flow.apis],
        }
        for flow in flows(builder, api)
    ]
    moving += [_share(scope, numbers) for scope in picture.scopes if scope.shares]
    return {
        "backend": builder.backend.name,
        "devices": list(devices),
        "colours": [[picture.colours([d], shade)[0] for shade in (0, 1, 2)] for d in devices],
        "scopes": [_scope(scope, numbers, devices) for scope in scopes],
        "functions": _functions(builder, numbers),
        "apis": [_api(name, graphs, builder, picture) for name in apis],
        "stacks": [[[numbers[c.path or ""], m] for c, m in stack] for stack in stacks],
        "flows": moving,
        "calls": [_call(arrow, numbers, apis) for arrow in picture.arrows],
    }


def _scope(scope: Scope, numbers: dict[str, int], devices: dict[str, int]) -> dict[str, Any]:
    return {
        "path": scope.path,
        "name": scope.name,
        "kind": scope.kind,
        "doc": scope.doc,
        "parent": numbers[scope.parent.path] if scope.parent else -1,
        "shares": numbers[scope.shares.path] if scope.shares else -1,
        "devices": [devices[device] for device in scope.devices],
        "methods": [
            [name, scope.signatures.get(name) or method.signature(), name in scope.signatures]
            for name, method in scope.methods.items()
        ],
        "variables": [
            [
                held.name,
                short(held.space),
                held.space.flat_dim,
                held.trainable,
                devices[held.device],
            ]
            for held in scope.variables
        ],
    }


def _functions(builder: Builder, numbers: dict[str, int]) -> list[list[Any]]:
    """Scope, name and first line of each graph function."""
    return [
        [numbers[part.path or ""], name, _first_line(method.function)]
        for part in builder.components
        if (part.path or "") in numbers
        for name, method in part.methods().items()
        if method.mark.is_graph_fn
    ]


def _api(name: str, graphs: list[Graph], builder: Builder, picture: Picture) -> dict[str, Any]:
    graph = next(graph for graph in graphs if api_name(builder, graph) == name)
    entry = next(
        arrow
        for arrow in picture.arrows
        if not arrow.source
        and (arrow.target.path, arrow.method) == (graph.component.path, graph.name)
    )
    method = graph.component.api_methods()[graph.name]
    outputs = graph.outputs if isinstance(graph.outputs, tuple) else (graph.outputs,)
    return {
        "name": name,
        "doc": _first_line(method.function),
        "inputs": list(entry.inputs.values()),
        "outputs": entry.outputs,
        "signature": entry.signature,
        "returns": [full(output) for output in outputs if output is not None],
    }


def _call(arrow: Arrow, numbers: dict[str, int], apis: dict[str, int]) -> dict[str, Any]:
    return {
        "a": [numbers[arrow.source.path] if arrow.source else -1, arrow.via or ""],
        "b": [numbers[arrow.target.path], arrow.method],
        "l": arrow.label,
        "t": arrow.signature,
        "i": [apis[name] for name in arrow.apis],
    }


def _end(point: Point, numbers: dict[str, int]) -> list[Any]:
    """Scope, function, and the kind: f, v, i or o."""
    return [numbers[point.component.path or ""], point.name, point.kind[0]]


def _share(scope: Scope, numbers: dict[str, int]) -> dict[str, Any]:
    assert scope.shares is not None
    words = f"the variables of {scope.path} are in the shared scope {scope.shares.path}"
    ends = {"a": [numbers[scope.shares.path], "", "v"], "b": [numbers[scope.path], "", "v"]}
    return {**ends, "x": 0, "y": 0, "l": "", "t": words, "k": SHARED, "i": []}


def _first_line(thing: object) -> str:
    return (inspect.getdoc(thing) or "").partition("\n")[0]


def _read(name: str) -> str:
    return files("rlg.graph.drawing").joinpath("page", name).read_text(encoding="utf-8")
