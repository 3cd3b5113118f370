"""Drawings show every component, variable and API call, in nested boxes whose text fits."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
from itertools import combinations, pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from rlg.backends.numpy.executor import NumpyExecutor
from rlg.errors import ExecutionError
from rlg.graph import Component, Size, Static, Tensor, api, graph_fn
from rlg.graph.core.build import Builder
from rlg.graph.core.draw import text_tree, to_dot, to_svg
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple


class Dense(Component):
    def __init__(self, units: int) -> None:
        self.units = units

    def create_variables(self, *, inputs: Box) -> None:
        self.kernel = self.variable("kernel", (inputs.shape[-1], self.units), trainable=True)
        self.bias = self.variable("bias", (self.units,), trainable=True)

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        return self.ops.relu(self.ops.matmul(inputs, self.kernel) + self.bias)


class Stack(Component):
    def __init__(self, *layers: Component) -> None:
        self.layers = layers

    @api
    def call(self, inputs):
        for layer in self.layers:
            inputs = layer.call(inputs)
        return inputs


class Policy(Component):
    def __init__(self, actions: int, units: tuple[int, ...] = (64, 64)) -> None:
        self.network = Stack(*map(Dense, units))
        self.head = Dense(actions)

    @api
    def q(self, states):
        return self.head.call(self.network.call(states))

    @api
    def act(self, states):
        return self.greedy(self.q(states))

    @graph_fn
    def greedy(self, q: Tensor) -> Tensor:
        return self.ops.argmax(q, -1)


class Memory(Component):
    def __init__(self, capacity: int = 100) -> None:
        self.capacity = capacity

    def create_variables(self, *, records: Dict) -> None:
        self.columns = {
            name: self.variable(name, (self.capacity, *box.shape), dtype=box.dtype)
            for name, box in records.items()
        }
        self.size = self.variable("size", dtype="int64")

    @api
    @graph_fn
    def insert(self, records: Tensor) -> None:
        ops = self.ops
        rows = ops.arange(ops.batch_size(records["rewards"]))
        for name, column in self.columns.items():
            ops.scatter_rows(column, rows, records[name])

    @api
    @graph_fn
    def sample(self, n: Size) -> Tensor:
        rows = self.ops.random_rows((n,), self.size)
        return {name: self.ops.take_rows(column, rows) for name, column in self.columns.items()}


class Loss(Component):
    @api
    @graph_fn
    def loss(self, q: Tensor, q_next: Tensor, rewards: Tensor, terminals: Tensor) -> Tensor:
        target = rewards + self.ops.where(terminals, 0.0, self.ops.max(q_next, -1))
        return self.ops.mean(self.ops.square(target - self.ops.max(q, -1)))


class Sync(Component):
    @api
    @graph_fn
    def sync(self, source: Tensor, target: Tensor) -> None:
        for name in source:
            self.ops.assign(target[name], source[name])


class DQN(Component):
    def __init__(self) -> None:
        self.policy = Policy(actions=2)
        self.target = self.policy.copy()
        self.memory = Memory()
        self.loss = Loss()
        self.syncing = Sync()

    @api
    def act(self, states):
        return self.policy.act(states)

    @api
    def observe(self, records):
        self.memory.insert(records)

    @api
    def update(self, n: Size = 32):
        batch = self.memory.sample(n)
        q = self.policy.q(batch["states"])
        q_next = self.target.q(batch["next_states"])
        return self.loss.loss(q, q_next, batch["rewards"], batch["terminals"])

    @api
    def sync(self):
        self.syncing.sync(self.policy.variables(), self.target.variables())


class AnyDevice(NumpyExecutor):
    """Believes in every device."""

    def check_device(self, device: str) -> str:
        return device


STATES = FloatBox(shape=(4,))
RECORDS = Dict(
    states=STATES, actions=IntBox(2), rewards=FloatBox(), terminals=BoolBox(), next_states=STATES
)
SPACES = {"states": STATES, "records": RECORDS}
DRAWINGS = [text_tree, to_dot, to_svg]


def build(root, spaces, executor=NumpyExecutor, **options) -> Builder:
    made = executor(**options)
    made.build(root, spaces)
    return made.builder


@pytest.fixture(scope="module")
def dqn() -> Builder:
    return build(DQN(), SPACES)


# -- what an SVG shows ----------------------------------------------------------------------------
class Svg:
    """A parsed drawing: boxes by path, texts as rectangles, calls with their corners."""

    def __init__(self, source: str) -> None:
        self.root = ET.fromstring(re.sub(' xmlns="[^"]+"', "", source, count=1))
        self.scopes = {g.get("data-path"): g for g in self.groups("scope")}
        self.boxes = {path: rectangle(g.find("rect")) for path, g in self.scopes.items()}
        self.calls = {(g.get("data-from"), g.get("data-to")): g for g in self.groups("call")}

    def groups(self, name: str) -> list[ET.Element]:
        return [g for g in self.root.iter("g") if g.get("class") == name]

    def texts(self) -> list[tuple[str, tuple[float, ...]]]:
        return [(text.text, text_rectangle(text)) for text in self.root.iter("text")]

    def pill(self, path: str, method: str) -> tuple[float, ...]:
        pills = [g for g in self.scopes[path].findall("g") if g.find("text").text == method]
        return rectangle(pills[0].find("rect"))


def rectangle(element) -> tuple[float, ...]:
    x, y, width, height = (float(element.get(key)) for key in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def text_rectangle(text) -> tuple[float, ...]:
    """The room that a text takes in a font whose characters are 0.602 wide."""
    x, y, size = (float(text.get(key)) for key in ("x", "y", "font-size"))
    width = len(text.text) * size * 0.602
    left = x - width / 2 if text.get("text-anchor") == "middle" else x
    return left, y - 0.75 * size, left + width, y + 0.2 * size


def corners(call) -> list[tuple[float, float]]:
    words = re.findall(r"[MLQ]([-\d. ]+)", call.find("path").get("d"))
    numbers = [list(map(float, word.split())) for word in words]
    return [(word[n], word[n + 1]) for word in numbers for n in range(0, len(word), 2)]


def is_inside(inner, outer) -> bool:
    return all(inner[n] >= outer[n] and inner[n + 2] <= outer[n + 2] for n in (0, 1))


def overlap(one, other) -> bool:
    return all(one[n] < other[n + 2] and other[n] < one[n + 2] for n in (0, 1))


def parent_of(path: str, boxes) -> str | None:
    """The nearest box around a path."""
    parts = path.split("/")
    prefixes = ("/".join(parts[:n]) for n in range(len(parts) - 1, 0, -1))
    return next((prefix for prefix in prefixes if prefix in boxes), None)


def assert_tidy(source: str) -> Svg:
    """Boxes in boxes, beside each other; texts in boxes, apart; arrows cross no text."""
    svg = Svg(source)
    canvas = (0, 0, float(svg.root.get("width")), float(svg.root.get("height")))
    around = {path: parent_of(path, svg.boxes) for path in svg.boxes}
    for path, parent in around.items():
        assert is_inside(svg.boxes[path], svg.boxes[parent] if parent else canvas), path
    for one, other in combinations(svg.boxes, 2):
        if around[one] == around[other]:
            assert not overlap(svg.boxes[one], svg.boxes[other]), (one, other)
    for path, group in svg.scopes.items():
        for text in group.iter("text"):
            is_label = text.get("class") == "label"
            box = svg.boxes[around[path] or path] if is_label else svg.boxes[path]
            assert is_inside(text_rectangle(text), box), (path, text.text)
    texts = svg.texts()
    for (one, first), (other, second) in combinations(texts, 2):
        assert not overlap(first, second), (one, other)
    for ends, call in svg.calls.items():
        points = corners(call)
        for (x, y), (to_x, to_y) in pairwise(points):
            line = (min(x, to_x), min(y, to_y), max(x, to_x) + 0.01, max(y, to_y) + 0.01)
            assert is_inside(line, canvas)
            crossed = [text for text, room in texts if overlap(line, room)]
            assert not crossed, (ends, crossed)
    ovals = [oval_of(group) for group in (*svg.groups("input"), *svg.groups("output"))]
    rooms = [(x - rx, y - ry, x + rx, y + ry) for x, y, rx, ry, _ in ovals]
    assert all(is_inside(room, canvas) for room in rooms)
    assert not any(overlap(one, other) for one, other in combinations(rooms, 2))
    for cx, cy, rx, ry, texts_inside in ovals:
        for left, top, right, bottom in texts_inside:
            for x, y in ((left, top), (right, top), (left, bottom), (right, bottom)):
                assert ((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 <= 1
    return svg


def oval_of(group):
    shape = group.find("ellipse")
    sizes = (float(shape.get(key)) for key in ("cx", "cy", "rx", "ry"))
    return *sizes, [text_rectangle(text) for text in group.iter("text")]


# -- the tree -------------------------------------------------------------------------------------
def test_the_tree_shows_scopes_apis_variables_and_totals(dqn):
    assert text_tree(dqn) == TREE


TREE = """\
dqn: DQN  act, observe, update, sync
├─ policy: Policy  q, act
│  ├─ network: Stack  call
│  │  ├─ dense-0: Dense  call
│  │  │     · kernel f32[4,64]  256 trainable
│  │  │     · bias f32[64]  64 trainable
│  │  └─ dense-1: Dense  call
│  │        · kernel f32[64,64]  4,096 trainable
│  │        · bias f32[64]  64 trainable
│  └─ head: Dense  call
│        · kernel f32[64,2]  128 trainable
│        · bias f32[2]  2 trainable
├─ memory: Memory  insert, sample
│     · actions i64[100]  100 state
│     · next_states f32[100,4]  400 state
│     · rewards f32[100]  100 state
│     · states f32[100,4]  400 state
│     · terminals bool[100]  100 state
│     · size i64  1 state
├─ target: Policy  q, act
│  ├─ network: Stack  call
│  │  ├─ dense-0: Dense  call
│  │  │     · kernel f32[4,64]  256 trainable
│  │  │     · bias f32[64]  64 trainable
│  │  └─ dense-1: Dense  call
│  │        · kernel f32[64,64]  4,096 trainable
│  │        · bias f32[64]  64 trainable
│  └─ head: Dense  call
│        · kernel f32[64,2]  128 trainable
│        · bias f32[2]  2 trainable
├─ loss: Loss  loss
└─ syncing: Sync  sync

14 components, 20 API calls
18 variables, 9,220 trainable parameters
"""


class Placed(Component):
    """Two layers that share variables on a device, and one that is torn between devices."""

    def __init__(self) -> None:
        self.first = Dense(4).configure(shared_scope="common/layer", device="gpu:0")
        self.stack = Stack(Dense(4).configure(shared_scope="common/layer", device="gpu:0"))
        self.torn = Dense(3).configure(device="gpu:0", variable_device="cpu")
        self.away = Stack(Dense(4))

    @api
    def call(self, states):
        return self.torn.call(self.away.call(self.stack.call(self.first.call(states))))

    @api
    def stay(self, states):
        return self.away.call(states)


@pytest.fixture(scope="module")
def placed() -> Builder:
    return build(Placed(), {"states": STATES}, AnyDevice, devices={"placed/away": "gpu:1"})


def test_the_tree_names_other_devices_and_counts_shared_variables_once(placed):
    assert text_tree(placed).splitlines() == [
        "placed: Placed  call, stay",
        "├─ first: Dense  call  on gpu:0  variables in common/layer",
        "├─ stack: Stack  call",
        "│  └─ dense-0: Dense  call  on gpu:0  variables in common/layer",
        "├─ away: Stack  call",
        "│  └─ dense-0: Dense  call  on gpu:1",
        "│        · kernel f32[4,4]  16 trainable  on gpu:1",
        "│        · bias f32[4]  4 trainable  on gpu:1",
        "└─ torn: Dense  call  on gpu:0",
        "      · kernel f32[4,3]  12 trainable",
        "      · bias f32[3]  3 trainable",
        "common/layer: shared scope",
        "   · kernel f32[4,4]  16 trainable  on gpu:0",
        "   · bias f32[4]  4 trainable  on gpu:0",
        "",
        "7 components, 9 API calls",
        "6 variables, 55 trainable parameters",
    ]


# -- calls ----------------------------------------------------------------------------------------
DQN_CALLS = {
    ("", "dqn.act"),
    ("", "dqn.observe"),
    ("", "dqn.update"),
    ("", "dqn.sync"),
    ("dqn.act", "dqn/policy.act"),
    ("dqn/policy.act", "dqn/policy.q"),
    ("dqn/policy.q", "dqn/policy/network.call"),
    ("dqn/policy.q", "dqn/policy/head.call"),
    ("dqn/policy/network.call", "dqn/policy/network/dense-0.call"),
    ("dqn/policy/network.call", "dqn/policy/network/dense-1.call"),
    ("dqn.observe", "dqn/memory.insert"),
    ("dqn.update", "dqn/memory.sample"),
    ("dqn.update", "dqn/policy.q"),
    ("dqn.update", "dqn/target.q"),
    ("dqn/target.q", "dqn/target/network.call"),
    ("dqn/target.q", "dqn/target/head.call"),
    ("dqn/target/network.call", "dqn/target/network/dense-0.call"),
    ("dqn/target/network.call", "dqn/target/network/dense-1.call"),
    ("dqn.update", "dqn/loss.loss"),
    ("dqn.sync", "dqn/syncing.sync"),
}


def test_there_is_one_arrow_for_each_distinct_call(dqn):
    svg = Svg(to_svg(dqn))
    assert set(svg.calls) == DQN_CALLS
    assert len(svg.groups("call")) == len(DQN_CALLS)
    assert to_dot(dqn).count(" -> ") == len(DQN_CALLS) + 2  # and two outputs


def test_arrows_lead_from_pill_to_pill(dqn):
    svg = Svg(to_svg(dqn))
    for (caller, callee), call in svg.calls.items():
        points = corners(call)
        left, top, right, bottom = svg.pill(*callee.split("."))
        assert left < points[-1][0] < right
        assert points[-1][1] in (top, bottom)  # from outside, or by the component itself
        if caller:
            left, _, right, bottom = svg.pill(*caller.split("."))
            assert left < points[0][0] < right
            assert points[0][1] == bottom


@pytest.mark.parametrize("seed", range(8))
def test_arrows_of_different_callers_share_no_lane(seed):
    builder = build(Random(np.random.default_rng(seed), []), {"inputs": STATES})
    lanes: dict[float, list[tuple[float, float, str]]] = {}
    for (caller, _), call in Svg(to_svg(builder)).calls.items():
        for (x, y), (to_x, to_y) in pairwise(corners(call)):
            if y == to_y and x != to_x:
                lanes.setdefault(y, []).append((min(x, to_x), max(x, to_x), caller))
    assert lanes
    for lines in lanes.values():
        for (low, high, one), (other_low, other_high, other) in combinations(lines, 2):
            assert one == other or high < other_low or other_high < low


def test_labels_number_the_calls_of_a_method_and_show_spaces(dqn):
    svg = Svg(to_svg(dqn, "update"))
    labels = {
        path.removeprefix("dqn/"): [t.text for t in group.iter("text") if t.get("class")]
        for path, group in svg.scopes.items()
    }
    assert labels["memory"] == ["1: n"]
    assert labels["policy"] == ["2: f32[B,4]"]
    assert labels["target"] == ["3: f32[B,4]"]
    assert labels["loss"] == ["4: f32[B,2], f32[B,2], f32[B], …"]


def test_children_stand_left_to_right_in_the_order_of_their_calls(dqn):
    boxes = Svg(to_svg(dqn, "update")).boxes
    assert boxes["dqn/memory"][0] < boxes["dqn/policy"][0]
    assert boxes["dqn/policy/network/dense-0"][0] < boxes["dqn/policy/network/dense-1"][0]
    assert boxes["dqn/policy/network"][0] < boxes["dqn/policy/head"][0]


def test_inputs_and_outputs_of_the_roots_are_ellipses(dqn):
    svg = Svg(to_svg(dqn))
    inputs = [[text.text for text in group.iter("text")] for group in svg.groups("input")]
    outputs = [[text.text for text in group.iter("text")] for group in svg.groups("output")]
    assert inputs == [
        ["states: f32[B,4]"],
        ["records: {actions, next_states, …}"],
        ["n"],
        ["no inputs"],
    ]
    assert outputs == [["i64[B]"], ["f32"]]


class Regions(Component):
    """Calls inside of a loop, of a branch and of a split method; optional inputs."""

    def __init__(self) -> None:
        self.layer, self.other = Dense(4), Dense(4)

    @api
    def loop(self, carry, xs):
        return self.scan(self.step, carry, xs)

    @api
    def step(self, carry, x):
        return self.layer.call(x), None

    @api
    def branch(self, flag, x):
        return self.cond(flag, self.layer.call, self.other.call, x)

    @api
    def leaves(self, parts, extra=None, double: Static[bool] = False):
        return self.each(parts)

    @api(split=True)
    def each(self, parts):
        return self.layer.call(parts)


def test_calls_inside_of_regions_are_drawn():
    spaces = {
        "carry": STATES,
        "xs": FloatBox(shape=(4,), ranks="TB"),
        "x": STATES,
        "flag": BoolBox(ranks=""),
        "parts": Dict(a=STATES, b=STATES),
        "extra": Tuple(STATES, IntBox(3)),
    }
    builder = build(Regions(), spaces)
    svg = assert_tidy(to_svg(builder))
    assert set(svg.calls) >= {
        ("regions.loop", "regions.step"),
        ("regions.step", "regions/layer.call"),
        ("regions.branch", "regions/layer.call"),
        ("regions.branch", "regions/other.call"),
        ("regions.leaves", "regions.each"),
        ("regions.each", "regions/layer.call"),
    }
    (group,) = Svg(to_svg(builder, "leaves")).groups("input")
    assert [text.text for text in group.iter("text")] == [
        "parts: {a, b}",
        "extra?: (f32[B,4], i64[B])",
        "double",
    ]


class Unsure(Component):
    """After it called itself, nobody can tell from the edges which of its methods goes on."""

    def __init__(self) -> None:
        self.layer, self.other = Dense(4), Dense(4)

    @api
    def outer(self, states):
        return self.other.call(self.inner(states))

    @api
    def inner(self, states):
        return self.layer.call(states)


def test_a_call_whose_method_is_uncertain_comes_from_the_component():
    svg = assert_tidy(to_svg(build(Unsure(), {"states": STATES})))
    assert set(svg.calls) == {
        ("", "unsure.outer"),
        ("", "unsure.inner"),
        ("unsure.outer", "unsure.inner"),
        ("unsure.inner", "unsure/layer.call"),
        ("unsure", "unsure/other.call"),
    }


def test_a_drawing_of_one_api_method_leaves_out_the_rest(dqn):
    svg = assert_tidy(to_svg(dqn, "observe"))
    assert set(svg.boxes) == {"dqn", "dqn/memory"}
    assert set(svg.calls) == {("", "dqn.observe"), ("dqn.observe", "dqn/memory.insert")}
    assert "loss" not in to_dot(dqn, "dqn/observe")


def test_components_whose_variables_are_read_stay_in_the_drawing(dqn):
    assert set(Svg(to_svg(dqn, "sync")).boxes) == {"dqn", "dqn/syncing", "dqn/policy", "dqn/target"}


def test_an_unknown_api_method_is_refused_with_the_known_ones(dqn):
    with pytest.raises(ExecutionError, match=r"'updat' to draw. Did you mean 'update'\? API: act,"):
        to_svg(dqn, "updat")


# -- layout ---------------------------------------------------------------------------------------
def test_boxes_nest_and_texts_fit(dqn):
    svg = assert_tidy(to_svg(dqn))
    assert set(svg.boxes) == {component.path for component in dqn.components}


@pytest.mark.parametrize("api_method", ["act", "observe", "update", "sync"])
def test_drawings_of_single_methods_are_tidy(dqn, api_method):
    assert_tidy(to_svg(dqn, api_method))


class Random(Component):
    """A random tree whose nodes call their children and, past all order, other nodes' leaves."""

    def __init__(self, rng: np.random.Generator, leaves: list[Component], depth: int = 2) -> None:
        self.parts = [
            Random(rng, leaves, depth - 1) if depth and rng.random() < 0.5 else Dense(4)
            for _ in range(rng.integers(1, 7))
        ]
        leaves += [part for part in self.parts if isinstance(part, Dense)]
        picked = rng.integers(0, 10**6, size=rng.integers(0, 3))
        self._pick = lambda: [leaves[n % len(leaves)] for n in picked]
        for n in range(rng.integers(0, 3)):
            self.register_api(f"method_{'x' * n}", lambda self, inputs: self.parts[0].call(inputs))

    @api
    def call(self, inputs):
        for part in (*self.parts, *self._pick()):
            inputs = part.call(inputs)
            for name in part.methods():
                inputs = getattr(part, name)(inputs) if name != "call" else inputs
        return inputs


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_with_calls_across_are_tidy(seed):
    builder = build(Random(np.random.default_rng(seed), []), {"inputs": STATES})
    svg = assert_tidy(to_svg(builder))
    assert len(svg.boxes) == len(builder.components)


class Hostile(Component):
    def __init__(self) -> None:
        self.parts = {'<&"\\{': Dense(4), "a/b": Dense(4), "x" * 80: Dense(4)}
        self.register_api("say<&>", lambda self, states: self.call(states))

    @api
    def call(self, states):
        for part in self.parts.values():
            states = part.call(states)
        return {'"<&': states}


def test_strange_and_long_names_are_escaped_and_cut():
    builder = build(Hostile(), {"states": STATES})
    svg = assert_tidy(to_svg(builder))
    assert set(svg.boxes) == {component.path for component in builder.components}
    assert_accepted(to_dot(builder))


def test_several_roots_stand_beside_each_other():
    builder = build([Stack(Dense(2)), Policy(2)], {"inputs": STATES, "states": STATES})
    svg = assert_tidy(to_svg(builder))
    assert {"stack", "policy"} <= set(svg.boxes)
    assert set(Svg(to_svg(builder, "stack/call")).boxes) == {"stack", "stack/dense-0"}


def test_tooltips_have_class_devices_spaces_and_variables(dqn):
    scope = Svg(to_svg(dqn)).scopes["dqn/memory"]
    lines = scope.find("title").text.splitlines()
    assert lines[:2] == ["dqn/memory: Memory", "on cpu"]
    assert "insert(records: {actions: i64[B], next_states: f32[B,4]," in lines[2]
    assert lines[3] == "sample(n)"
    assert lines[-1] == "size i64 on cpu, state"


# -- devices and sharing --------------------------------------------------------------------------
def fill_of(svg: Svg, path: str) -> str:
    return svg.scopes[path].find("rect").get("fill")


def test_components_that_span_devices_have_a_gradient(placed):
    svg = Svg(to_svg(placed))
    assert fill_of(svg, "placed/first").startswith("#")
    assert len(svg.scopes["placed/torn"].findall("linearGradient/stop")) == 2
    assert len(svg.scopes["placed"].findall("linearGradient/stop")) == 3
    mix = svg.scopes["placed"].find("linearGradient").get("id")
    assert fill_of(svg, "placed") == f"url(#{mix})"


def test_the_legend_names_the_devices(placed, dqn):
    names = [t.text for t in Svg(to_svg(placed)).root.iter("text") if t.get("class") == "device"]
    assert names == ["cpu", "gpu:0", "gpu:1"]
    names = [t.text for t in Svg(to_svg(dqn)).root.iter("text") if t.get("class") == "device"]
    assert names == ["cpu"]


def test_a_device_has_the_same_colour_in_all_drawings_of_a_graph(placed):
    path = "placed/away/dense-0"
    whole, part = fill_of(Svg(to_svg(placed)), path), fill_of(Svg(to_svg(placed, "stay")), path)
    assert whole == part
    assert whole in to_dot(placed)


def test_a_shared_scope_is_a_box_of_its_own(placed):
    svg = assert_tidy(to_svg(placed))
    texts = [text.text for text in svg.scopes["common/layer"].iter("text")]
    assert texts == ["common/layer", "shared scope", "kernel f32[4,4]", "bias f32[4]"]
    assert len([path for path in svg.root.iter("path") if path.get("class") == "share"]) == 2
    source = to_dot(placed)
    assert 'label="common/layer"' in source
    assert source.count("dir=none") == 2


# -- Graphviz -------------------------------------------------------------------------------------
def assert_accepted(source: str) -> None:
    """Braces match outside of strings and HTML; `dot` takes it where it is installed."""
    bare = re.sub(r"<<TABLE.*?</TABLE>>", "", re.sub(r'"(?:[^"\\]|\\.)*"', "", source))
    depths = np.cumsum([{"{": 1, "}": -1}.get(character, 0) for character in bare])
    assert depths[-1] == 0
    assert (depths[:-2] > 0)[bare.index("{") :].all()
    assert '"' not in bare
    if shutil.which("dot"):
        words = ["dot", "-Tsvg"]
        run = subprocess.run(words, input=source, capture_output=True, text=True, check=False)
        assert (run.returncode, run.stderr) == (0, "")


def test_dot_source_is_balanced_and_accepted(dqn, placed):
    for builder in (dqn, placed):
        assert_accepted(to_dot(builder))
    assert_accepted(to_dot(dqn, "update"))


def test_dot_has_a_cluster_for_each_scope_and_a_port_for_each_api(dqn):
    source = to_dot(dqn)
    clusters = re.findall(r'subgraph cluster_\w+ { label="([^"]+)"', source)
    assert clusters == ["dqn", *(f"dqn/{path}" for path in DQN_SCOPES)]
    assert source.count("PORT=") == sum(len(part.api_methods()) for part in dqn.components)
    for component in dqn.components:
        assert f'tooltip="{component.path}: {type(component).__name__}' in source


DQN_SCOPES = ("policy", "policy/network", "target", "target/network")


# -- all ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("draw", DRAWINGS)
def test_equal_graphs_give_equal_bytes(draw, dqn, placed):
    assert draw(build(DQN(), SPACES)) == draw(dqn)
    again = build(Placed(), {"states": STATES}, AnyDevice, devices={"placed/away": "gpu:1"})
    assert draw(again) == draw(placed)


def test_drawings_do_not_depend_on_the_hash_seed():
    lines = "from tests.graph.core import test_draw as t; b = t.build(t.DQN(), t.SPACES); "
    words = [sys.executable, "-c", lines + "print([draw(b) for draw in t.DRAWINGS])"]
    runs = [
        subprocess.run(
            words,
            cwd=Path(__file__).parents[3],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        )
        for seed in ("1", "2")
    ]
    assert runs[0].stdout == runs[1].stdout


@pytest.mark.parametrize("draw", DRAWINGS)
def test_a_chain_of_a_thousand_components_draws_in_seconds(draw):
    builder = build(Stack(*(Dense(2) for _ in range(1000))), {"inputs": STATES})
    started = time.perf_counter()
    drawing = draw(builder)
    assert time.perf_counter() - started < 5
    assert "dense-999" in drawing


@pytest.mark.parametrize("draw", DRAWINGS)
def test_a_hundred_scopes_inside_each_other_are_drawn(draw):
    component: Component = Dense(2)
    for _ in range(100):
        component = Stack(component)
    builder = build(component, {"inputs": STATES})
    assert draw(builder).count("Stack") >= 100
    assert_tidy(to_svg(builder))
