"""Replicas in drawings: how many of a component there are, and the colours of their devices."""

from __future__ import annotations

import pytest

from rlg.graph import Component, api
from rlg.graph.core.build.builder import Builder
from rlg.graph.drawing import text_tree, to_dot, to_html, to_svg
from rlg.graph.drawing.nodes import graph_nodes
from rlg.graph.spaces import FloatBox
from tests.graph.drawing.parts import AnyDevice, Dense, Svg, build

SPACE = {"x": FloatBox(shape=(3,))}


class Tower(Component):
    """Layers in replicas: one of them is called outside too, one has a device of its own."""

    def __init__(self) -> None:
        self.inside, self.both, self.fixed = Dense(3), Dense(3), Dense(3)
        self.outside = Dense(3)

    @api
    def call(self, x):
        return self.outside.call(self.replicate(self._body, self.both.call(x)))

    @api
    def _body(self, x):
        return self.fixed.call(self.both.call(self.inside.call(x)))


@pytest.fixture(scope="module")
def tower() -> Builder:
    words = {"replica_devices": ["gpu:0", "gpu:1"], "devices": {"tower/fixed": "gpu:2"}}
    return build(Tower(), SPACE, AnyDevice, **words)


def test_the_tree_counts_replicas_and_names_their_devices(tower):
    lines = [line[3:] for line in text_tree(tower).splitlines() if "Dense" in line]
    assert lines == [
        "both: Dense x2  call  on cpu, gpu:0, gpu:1",
        "outside: Dense  call",
        "inside: Dense x2  call  on gpu:0, gpu:1",
        "fixed: Dense x2  call  on gpu:2",
    ]


def test_replicas_have_the_colours_of_their_devices(tower):
    svg = Svg(to_svg(tower))
    # Variables are on the CPU: a stripe of their own.
    stops = {path: len(g.findall("linearGradient/stop")) for path, g in svg.scopes.items()}
    assert stops == {
        "tower": 4,
        "tower/both": 3,
        "tower/inside": 3,
        "tower/fixed": 0,
        "tower/outside": 0,
    }
    names = [t.text for t in svg.root.iter("text") if t.get("class") == "device"]
    assert names == ["cpu", "gpu:0", "gpu:1", "gpu:2"]
    assert "Dense x2" in [text.text for text in svg.scopes["tower/inside"].iter("text")]
    for draw in (to_dot, to_html):
        assert "Dense x2" in draw(tower)


def test_tensorboard_gets_the_devices_of_replicas(tower):
    devices = {node.name: node.device for node in graph_nodes(tower)}
    assert devices["tower/inside/call"] == "gpu:0, gpu:1"
    assert devices["tower/fixed/call"] == "gpu:2"
    assert devices["tower/inside/kernel"] == "cpu"


def test_replicas_on_one_device_are_counted_and_one_replica_is_not():
    lines = text_tree(build(Tower(), SPACE, replicas=3)).splitlines()
    assert lines[1] == "├─ both: Dense x3  call"
    assert " x" not in text_tree(build(Tower(), SPACE))
