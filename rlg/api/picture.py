"""Pictures of a built graph in files: of every run at its start, and those that `rlg graph` writes.

The names are those of a run's folder: `graph.svg`, `graph.html`, `plans/`, `tb/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlg.api.agents.factory import agent_of, build_options
from rlg.api.config.environments import spaces_of
from rlg.api.config.validate import validate
from rlg.backends.executor import GraphExecutor
from rlg.graph.core.assembly.records import Graph, Record
from rlg.graph.drawing import text_tree, to_dot, to_html, to_svg
from rlg.graph.drawing.nodes import graph_nodes
from rlg.graph.drawing.picture import api_name, wanted
from rlg.graph.drawing.words import short
from rlg.tracking.folder import RunFolder
from rlg.tracking.metrics import MetricsLog
from rlg.tracking.tensorboard import TensorBoardWriter

# Where each format goes, in a folder.
NAMES = {
    "html": "graph.html",
    "svg": "graph.svg",
    "text": "graph.txt",
    "dot": "graph.dot",
    "plan": "plans",
    "tensorboard": "tb",
}
DRAWINGS = {"svg": to_svg, "text": text_tree, "dot": to_dot}
DEPTH = 1  # levels of scopes that a page unfolds at first


def built_graph(config: Mapping[str, Any]) -> GraphExecutor:
    """The executor of the agent that `rlg train` would train: built, and not trained."""
    checked = validate(config)
    agent = agent_of(checked, *spaces_of(checked["env"]))
    agent.build(build_options(checked))
    return agent.executor


def draw_run(folder: RunFolder, executor: GraphExecutor, log: MetricsLog) -> None:
    """Puts the pictures of a run's graph into its folder, and into its TensorBoard events."""
    for kind in ("svg", "html", "plan"):
        write_picture(executor, kind, folder.path / NAMES[kind], title=folder.path.resolve().name)
    if log.events is not None:
        log.events.graph(graph_nodes(executor.builder))


def write_picture(
    executor: GraphExecutor,
    kind: str,
    path: Path,
    api: str | None = None,
    title: str = "",
    depth: int | None = None,
) -> None:
    """Writes one format: a file, or a folder of plans or of TensorBoard events."""
    if kind == "plan":
        for name, source in plan_sources(executor, api).items():
            _write(path / f"{name.replace('/', '.')}.py", source)
    elif kind == "tensorboard":
        _write_events(executor, path, api)
    elif kind == "html":
        plans, unfolded = plan_sources(executor, api), DEPTH if depth is None else depth
        _write(path, to_html(executor.builder, api, depth=unfolded, title=title, plans=plans))
    else:
        _write(path, DRAWINGS[kind](executor.builder, api))


def plan_sources(executor: GraphExecutor, api: str | None = None) -> dict[str, str]:
    """The emitted source of each API method, with all variants that were built."""
    builder, found = executor.builder, dict[str, list[str]]()
    for graph in wanted(builder, api):
        source = executor.emit(graph.name, [graph]).source
        words = f"# {graph.component.path}.{graph.name}({', '.join(_arguments(graph))})"
        found.setdefault(api_name(builder, graph), []).append(f"{words}\n{source}")
    return {name: "\n\n".join(sources) for name, sources in found.items()}


def _arguments(graph: Graph) -> list[str]:
    return [
        f"{name}: {short(value)}" if isinstance(value, Record) else f"{name}={value!r}"
        for name, value in graph.inputs.items()
    ]


def _write_events(executor: GraphExecutor, path: Path, api: str | None) -> None:
    graphs = {"": TensorBoardWriter(path)}
    graphs[""].graph(graph_nodes(executor.builder, api))
    if executor.name == "tf":
        from rlg.backends.tf.traced import operations

        for name, definition in operations(executor, api).items():  # type: ignore[arg-type]
            graphs[name] = TensorBoardWriter(path / f"operations_{name.replace('/', '.')}")
            graphs[name].graph_def(definition)
    for writer in graphs.values():
        writer.close()


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
