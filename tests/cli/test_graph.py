"""`rlg graph` draws the graph that `rlg train` would build, in every format."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tensorboard.backend.event_processing.event_file_loader import EventFileLoader
from tensorboard.compat.proto.graph_pb2 import GraphDef

from tests.cli.conftest import TINY

SMALL = [
    *("network.units=[16]", "memory.buffer_size=1000"),
    *("agent.n_step=1", "agent.double=true", "agent.dueling=true"),
]


def graph_in(folder: Path) -> GraphDef:
    """The graph in the only event file of a folder."""
    (file,) = folder.glob("events.*")
    (found,) = [e.graph_def for e in EventFileLoader(str(file)).Load() if e.graph_def]
    return GraphDef.FromString(found)


def scopes_in(page: str) -> list[str]:
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page)
    return [scope["path"] for scope in json.loads(text)["scopes"]]


def test_the_page_is_written_beside_one_and_named(rlg, folder):
    result = rlg("graph", *SMALL)
    assert (result.code, result.err) == (0, "")
    assert result.out == "html:        graph.html\n"
    page = (folder / "graph.html").read_text()
    assert "<title>dqn on cartpole</title>" in page
    assert {"agent", "agent/policy/network/dense-0", "agent/memory"} <= set(scopes_in(page))
    assert "def update(" in page
    assert [path.name for path in folder.iterdir()] == ["graph.html"]  # and no run's folder


def test_every_format_goes_into_a_folder(rlg, folder):
    kinds = "html,svg,dot,text,plan,tensorboard"
    result = rlg("graph", *SMALL, "--format", kinds, "--output", "pictures")
    assert result.code == 0, result.err
    names = sorted(str(p.relative_to("pictures")) for p in Path("pictures").rglob("*.*"))
    assert [name for name in names if not name.startswith("tb/")] == [
        "graph.dot",
        "graph.html",
        "graph.svg",
        "graph.txt",
        "plans/get_actions.py",
        "plans/insert.py",
        "plans/observe.py",
        "plans/sync_target.py",
        "plans/update.py",
        "plans/update_from.py",
        "plans/updates.py",
    ]
    ET.parse(folder / "pictures/graph.svg")
    for plan in (folder / "pictures/plans").iterdir():
        compile(plan.read_text(), plan.name, "exec")
    names = {node.name for node in graph_in(folder / "pictures/tb").node}
    assert {"agent/memory/sample", "agent/optimizer/step", "outputs/update"} <= names


@pytest.mark.parametrize("name", ["drawing.svg", "deep/er/drawing.dot", "drawing.txt", "d.html"])
def test_the_suffix_of_a_file_says_the_format(rlg, folder, name):
    assert rlg("graph", *SMALL, "--output", name).code == 0
    starts = {"svg": "<svg ", "dot": "digraph rlg", "txt": "agent: DQN", "html": "<!doctype html>"}
    assert (folder / name).read_text().startswith(starts[name.rpartition(".")[2]])


def test_text_and_plans_are_printed_and_nothing_is_written(rlg, folder):
    result = rlg("graph", "--text", "--depth", "1", *SMALL)
    lines = result.out.splitlines()
    assert (
        lines[0]
        == "agent: DQN  get_actions, observe, insert, update, updates, update_from, sync_target"
    )
    assert "├─ policy: QPolicy  q_values, greedy  [7 inside, 131 trainable parameters]" in lines
    assert lines[-1].endswith(" 262 trainable parameters")
    every = rlg("graph", "--plan", *SMALL).out
    one = rlg("graph", "--plan", "sync_target", *SMALL).out
    assert re.findall(r"^def (\w+)", one, re.MULTILINE) == ["sync_target"]
    assert one.strip() in every
    assert "# agent.get_actions(states: f32[B,4], epsilon: f32, explore=True)" in every
    assert list(folder.iterdir()) == []


def test_one_api_method_can_be_drawn_alone(rlg, folder):
    assert rlg("graph", "--api", "observe", *SMALL).code == 0
    assert scopes_in((folder / "graph.html").read_text()) == ["agent", "agent/memory"]


def test_tensorflow_gets_its_own_graphs_too(rlg, folder):
    result = rlg(
        "graph",
        "backend=tf",
        "backend.threads=null",
        *SMALL,
        "--format",
        "tensorboard",
        "--api",
        "update",
    )
    assert result.code == 0, result.err
    names = {node.name for node in graph_in(folder / "tb").node}
    assert "agent/policy/network/dense-0/call" in names
    operations = graph_in(folder / "tb/operations_update").node
    places = {n.name.rpartition("/")[0] for n in operations if n.op == "MatMul"}
    assert {"agent/policy/network/dense-0", "agent/target_policy/network/dense-0"} <= places
    assert any(node.name.startswith("agent/optimizer/") for node in operations)


def test_a_run_has_its_pictures_and_can_be_drawn_again(rlg, folder):
    run = rlg("train", *TINY, "total_timesteps=128", "evaluation.interval=0").folder
    page = (run / "graph.html").read_text()
    assert (run / "graph.svg").read_text().startswith("<svg ")
    assert "def update(" in (run / "plans/update.py").read_text()
    nodes = graph_in(run / "tb" / run.name).node
    assert "agent/policy/network/dense-0/kernel" in {node.name for node in nodes}
    result = rlg("graph", str(run))
    assert result.code == 0, result.err
    assert scopes_in((folder / "graph.html").read_text()) == scopes_in(page)


def test_pictures_of_runs_can_be_switched_off(rlg):
    words = [*TINY, "total_timesteps=128", "evaluation.interval=0", "logger.graph=false"]
    run = rlg("train", *words).folder
    assert not {"graph.svg", "graph.html", "plans"} & {path.name for path in run.iterdir()}


MISTAKES = [
    (["--format", "htlm"], r"--format htlm: there is no such format. Did you mean 'html'\? Known:"),
    (
        ["--format", "svg,dot", "--output", "a.svg"],
        r"--output a.svg: several formats need a folder",
    ),
    (["--format", "pdf"], r"--format pdf: there is no such format"),
    (["--output", "g.pdf"], r"g.pdf: there is no such format. Known: html"),
    (["--api", "updat"], r"there is no API method 'updat' to draw. Did you mean 'update'\?"),
    (["--plan", "updat"], r"there is no API method 'updat' to draw. Did you mean 'update'\?"),
    (["outputs/nothing"], r"outputs/nothing: not a run folder"),
    (["--cfg", "job"], r"rlg graph: No such option: --cfg"),
    (["network.unit=[16]"], r"network.unit"),
    (["agent=dqm"], r"dqn"),
    (["--depth", "-1"], r"--depth"),
]


@pytest.mark.parametrize(("words", "line"), MISTAKES, ids=lambda value: str(value)[:30])
def test_mistakes_are_one_line(rlg, folder, words, line):
    result = rlg("graph", *words)
    assert (result.code, result.out) == (2, "")
    assert result.err.startswith("rlg: error: ")
    assert result.err.count("\n") == 1
    assert re.search(line, result.err)
    assert list(folder.iterdir()) == []
