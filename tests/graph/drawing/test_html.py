"""The page is one file with everything in it, and lays its boxes out without overlaps."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

from rlg.graph import Component, api
from rlg.graph.drawing import to_html
from tests.graph.drawing.parts import STATES, Dense, build
from tests.patience import PATIENCE


def data_of(page: str) -> dict:
    (text,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page)
    return json.loads(text)


def test_the_page_needs_no_network(dqn):
    page = to_html(dqn)
    assert re.findall(r"https?://[^\s\"'<>)]+", page) == ["http://www.w3.org/2000/svg"] * 2
    assert not re.search(r"<(script|link|img|iframe)[^>]+(src|href)=", page)
    assert "@import" not in page
    assert "{{" not in page
    assert len(page) < 300_000


def test_scopes_have_all_that_the_panel_shows(dqn):
    data = data_of(to_html(dqn, title="my graph", depth=2))
    assert (data["title"], data["depth"], data["backend"]) == ("my graph", 2, "numpy")
    scopes = {scope["path"]: scope for scope in data["scopes"]}
    assert set(scopes) == {component.path for component in dqn.components}
    head = scopes["dqn/policy/head"]
    assert (head["kind"], data["scopes"][head["parent"]]["path"]) == ("Dense", "dqn/policy")
    assert head["variables"] == [
        ["kernel", "f32[64,2]", 128, True, 0],
        ["bias", "f32[2]", 2, True, 0],
    ]
    assert head["methods"] == [["call", "call(inputs: f32[B,64])", True]]
    assert [name for _, name, _ in data["functions"]].count("greedy") == 2


def test_first_lines_of_docstrings_are_shown_and_none_is_inherited(placed):
    docs = {scope["path"]: scope["doc"] for scope in data_of(to_html(placed))["scopes"]}
    assert docs["placed"].startswith("Two layers that share variables on a device")
    assert docs["placed/first"] == ""


def test_flows_and_calls_name_their_api_methods(dqn):
    data = data_of(to_html(dqn))
    assert [api["name"] for api in data["apis"]] == ["act", "observe", "update", "sync"]
    assert data["apis"][0]["inputs"] == ["states: f32[B,4]"]
    assert data["apis"][0]["returns"] == ["i64[B]"]
    paths = [scope["path"] for scope in data["scopes"]]
    calls = {
        (paths[c["a"][0]] if c["a"][0] >= 0 else "", paths[c["b"][0]]): c for c in data["calls"]
    }
    assert calls["dqn", "dqn/loss"]["i"] == [2]
    assert calls["dqn/policy", "dqn/policy/head"]["i"] == [0, 2]
    stacks = {tuple((paths[n], name) for n, name in stack) for stack in data["stacks"]}
    assert (("dqn", "update"), ("dqn/policy", "q"), ("dqn/policy/network", "call")) in stacks


def test_devices_colours_and_shared_scopes_are_told(placed):
    data = data_of(to_html(placed))
    scopes = {scope["path"]: scope for scope in data["scopes"]}
    assert data["devices"] == ["cpu", "gpu:0", "gpu:1"]
    assert len(data["colours"]) == 3
    assert scopes["placed"]["devices"] == [0, 1, 2]
    assert scopes["placed/torn"]["devices"] == [0, 1]
    assert data["scopes"][scopes["placed/first"]["shares"]]["path"] == "common/layer"
    shares = [flow for flow in data["flows"] if flow["k"] == 2]
    assert [data["scopes"][flow["b"][0]]["path"] for flow in shares] == [
        "placed/first",
        "placed/stack/dense-0",
    ]


def test_a_page_of_one_api_method_has_the_rest_left_out(dqn):
    data = data_of(to_html(dqn, "observe", plans={"observe": "def observe(records): ..."}))
    assert [scope["path"] for scope in data["scopes"]] == ["dqn", "dqn/memory"]
    assert [api["name"] for api in data["apis"]] == ["observe"]
    assert data["plans"] == {"observe": "def observe(records): ..."}


class Hostile(Component):
    """</script><script>alert(1)</script> {{DATA}}"""

    def __init__(self) -> None:
        self.parts = {"</script>": Dense(4), "<!--": Dense(4)}

    @api
    def call(self, states):
        for part in self.parts.values():
            states = part.call(states)
        return states


def test_texts_cannot_leave_their_place():
    page = to_html(build(Hostile(), {"states": STATES}), title="</title><b>")
    scopes = data_of(page)["scopes"]
    assert scopes[0]["doc"] == "</script><script>alert(1)</script> {{DATA}}"
    assert page.count("</script>") == 2
    assert "<b>" not in page


# -- the layout, in JavaScript --------------------------------------------------------------------
@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_boxes_of_random_graphs_do_not_overlap_and_edges_meet_them():
    layout = files("rlg.graph.drawing").joinpath("page", "layout.js").read_text(encoding="utf-8")
    check = Path(__file__).with_name("layout_check.js").read_text(encoding="utf-8")
    words = ["node", "-e", layout + check]
    run = subprocess.run(words, capture_output=True, text=True, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    found = json.loads(run.stdout)
    assert found["problems"] == []
    assert found["cut"] == [
        ["s0", "s1", "s2", 2],
        ["s2", "in:in_s2", "s3", 3],
        ["s0", "in:m", "s2", 1],
    ]


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
@pytest.mark.parametrize("view", ["", "#depth=9", "#depth=9&edges=calls", "#api=update"])
def test_a_browser_draws_every_unfolded_component(view, dqn, tmp_path):
    page = tmp_path / "graph.html"
    page.write_text(to_html(dqn))
    words = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=3000",
    ]
    run = subprocess.run(
        [*words, "--dump-dom", f"{page.as_uri()}{view}"],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    boxes = re.findall(r'class="box[^"]*" data-id="s(\d+)"', run.stdout)
    assert len(boxes) == (14 if "depth=9" in view else 6)
    assert run.stdout.count('class="edge') >= 10


# Folds, searches, points and clicks as a reader would, and tells what came of it in the title.
CLICKS = """
const tell = [], boxOf = (path) => `.box[data-id="${scopes.find((s) => s.path === path).id}"]`;
const press = new MouseEvent("click", { bubbles: true, detail: 1 });
const click = (target) => target.dispatchEvent(new MouseEvent(press.type, press));
const shown = () => document.querySelectorAll(".box").length;
tell.push(shown());
click(document.querySelector(`${boxOf("dqn/policy")} .fold`));
tell.push(shown());
click(document.querySelector(`${boxOf("dqn/policy/head")} .shape`));
tell.push(document.querySelector("#panel").textContent.includes("kernel f32[64,2]128 trainable"));
const piece = pieces.find((p) => p.to === scopes.find((s) => s.path === "dqn/loss").id);
piece.group.dispatchEvent(new MouseEvent("mouseenter"));
tell.push(document.querySelector("#tip").textContent.includes("dqn/loss.loss"));
$("search").value = "dense-1";
search("dense-1");
$("found").querySelector("li").click();
tell.push(document.querySelector("#panel h2").textContent, Boolean(boxes.get(state.chosen.id)));
setApi(apis.findIndex((api) => api.name === "sync"));
tell.push(document.querySelector(boxOf("dqn/memory")).classList.contains("off"));
tell.push(document.querySelector(boxOf("dqn/syncing")).classList.contains("off"));
setMode("calls");
$("theme").onclick();
tell.push(document.querySelectorAll(".pillgroup").length > 3, state.theme);
document.title = JSON.stringify(tell);
"""


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_reader_folds_searches_points_and_clicks(dqn, tmp_path):
    page = tmp_path / "graph.html"
    page.write_text(to_html(dqn).replace("</body>", f"<script>{CLICKS}</script></body>"))
    words = [
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--virtual-time-budget=3000",
    ]
    run = subprocess.run(
        [*words, "--dump-dom", page.as_uri()],
        capture_output=True,
        text=True,
        check=True,
        timeout=PATIENCE,
    )
    (title,) = re.findall("<title>(.*?)</title>", run.stdout)
    before, after, *rest = json.loads(title)
    assert (before, after) == (12, 15)  # 6 components, 4 inputs, 2 outputs; then 2 and a function
    head, tip, found, is_shown, is_memory_off, is_sync_off, has_pills, theme = rest
    assert head
    assert tip
    assert (found, is_shown) == ("dqn/policy/network/dense-1", True)
    assert (is_memory_off, is_sync_off) == (True, False)
    assert has_pills
    assert theme == "dark"
