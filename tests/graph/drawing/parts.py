"""Components to draw, and an SVG as boxes, texts and arrows."""

from __future__ import annotations

import re
import shutil
import subprocess
from itertools import combinations, pairwise
from xml.etree import ElementTree as ET

import numpy as np

from rlg.backends.numpy.executor import NumpyExecutor
from rlg.graph import Component, Size, Static, Tensor, api, graph_fn
from rlg.graph.core.build.builder import Builder
from rlg.graph.drawing import text_tree, to_dot, to_html, to_svg
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox


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


class Replicas(Component):
    """Replicas that call a component, by a body that no one else may call."""

    def __init__(self) -> None:
        self.layer = Dense(4)

    @api
    def call(self, x):
        return self.replicate(self._body, x)

    @api
    def _body(self, x):
        y = self.layer.call(x)
        return y, self.mean(y)

    @graph_fn
    def mean(self, y: Tensor) -> Tensor:
        return self.ops.mean(y)


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


STATES = FloatBox(shape=(4,))
RECORDS = Dict(
    states=STATES, actions=IntBox(2), rewards=FloatBox(), terminals=BoolBox(), next_states=STATES
)
SPACES = {"states": STATES, "records": RECORDS}
DRAWINGS = [text_tree, to_dot, to_svg, to_html]


def build(root, spaces, executor=NumpyExecutor, **options) -> Builder:
    made = executor(**options)
    made.build(root, spaces)
    return made.builder


def build_dqn() -> Builder:
    return build(DQN(), SPACES)


def build_placed() -> Builder:
    return build(Placed(), {"states": STATES}, AnyDevice, devices={"placed/away": "gpu:1"})


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
