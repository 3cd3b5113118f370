"""SVGs show every component, variable and API call, in nested boxes whose text fits."""

from __future__ import annotations

from itertools import combinations, pairwise

import numpy as np
import pytest

from rlg.errors import ExecutionError
from rlg.graph import Component, api
from rlg.graph.drawing import to_dot, to_svg
from rlg.graph.spaces import BoolBox, Dict, FloatBox, IntBox, Tuple
from tests.graph.drawing.parts import (
    STATES,
    Dense,
    Policy,
    Random,
    Regions,
    Stack,
    Svg,
    assert_accepted,
    assert_tidy,
    build,
    corners,
)

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


class Nested(Component):
    """Goes on with one method after it called another one of itself."""

    def __init__(self) -> None:
        self.layer, self.other = Dense(4), Dense(4)

    @api
    def outer(self, states):
        return self.other.call(self.inner(states))

    @api
    def inner(self, states):
        return self.layer.call(states)


def test_a_call_comes_from_the_method_that_makes_it_also_after_a_call_of_oneself():
    svg = assert_tidy(to_svg(build(Nested(), {"states": STATES})))
    assert set(svg.calls) == {
        ("", "nested.outer"),
        ("", "nested.inner"),
        ("nested.outer", "nested.inner"),
        ("nested.inner", "nested/layer.call"),
        ("nested.outer", "nested/other.call"),
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
