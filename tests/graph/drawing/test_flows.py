"""Flows lead from the function that makes a value to those that take it, through all regions."""

from __future__ import annotations

import pytest

from rlg.graph.drawing import text_tree, to_dot, to_html, to_svg
from rlg.graph.drawing.flows import Flow, Point, flows
from rlg.graph.drawing.nodes import graph_nodes, node_name
from rlg.graph.spaces import BoolBox, Dict, FloatBox
from tests.graph.drawing.parts import STATES, Regions, Replicas, build


def words(point: Point) -> str:
    path = point.component.path
    if point.kind == "function":
        return f"{path}.{point.name}"
    return f"{point.kind} {point.name}{'/' if point.argument else ''}{point.argument}"


def pairs(found: list[Flow]) -> set[tuple[str, str]]:
    return {(words(flow.source), words(flow.target)) for flow in found}


def test_values_flow_from_maker_to_taker(dqn):
    assert pairs(flows(dqn, "update")) == {
        ("input update", "dqn/memory.sample"),  # nothing feeds it: the method begins here
        ("dqn/memory.sample", "dqn/policy/network/dense-0.call"),
        ("dqn/policy/network/dense-0.call", "dqn/policy/network/dense-1.call"),
        ("dqn/policy/network/dense-1.call", "dqn/policy/head.call"),
        ("dqn/policy/head.call", "dqn/loss.loss"),
        ("dqn/memory.sample", "dqn/target/network/dense-0.call"),
        ("dqn/target/network/dense-0.call", "dqn/target/network/dense-1.call"),
        ("dqn/target/network/dense-1.call", "dqn/target/head.call"),
        ("dqn/target/head.call", "dqn/loss.loss"),
        ("dqn/memory.sample", "dqn/loss.loss"),
        ("dqn/loss.loss", "output update"),
    }


def test_values_flow_through_replicas():
    builder = build(Replicas(), {"x": FloatBox(shape=(3,))}, replicas=2)
    inputs, layer = "input call/x", "replicas/layer.call"
    assert pairs(flows(builder, "call")) == {
        (inputs, layer),
        (layer, "replicas.mean"),
        (layer, "output call"),
        ("replicas.mean", "output call"),
    }
    for draw in (to_svg, to_dot, to_html, text_tree):
        assert "_body" in draw(builder) or draw is text_tree


def test_functions_that_are_no_api_methods_take_part(dqn):
    assert ("dqn/policy/head.call", "dqn/policy.greedy") in pairs(flows(dqn, "act"))
    assert ("dqn/policy.greedy", "output act") in pairs(flows(dqn, "act"))


def test_variables_flow_from_their_component(dqn):
    assert pairs(flows(dqn, "sync")) == {
        ("variables variables", "dqn/syncing.sync"),
        ("input sync", "dqn/syncing.sync"),
    }
    sources = [f.source.component.path for f in flows(dqn, "sync") if f.source.kind == "variables"]
    assert sources == ["dqn/policy", "dqn/target"]


def test_flows_know_spaces_shapes_and_the_api_methods_on_the_way(dqn):
    (flow,) = [
        flow
        for flow in flows(dqn)
        if words(flow.source) == "dqn/policy/head.call" and flow.target.name == "loss"
    ]
    assert (flow.label, flow.space, flow.shape) == ("f32[B,2]", "q: f32[B,2]", (-1, 2))
    assert list(flow.apis) == ["update"]
    assert [(c.path, name) for c, name in flow.leaving] == [("dqn", "update"), ("dqn/policy", "q")]
    assert [(c.path, name) for c, name in flow.entering] == [("dqn", "update")]


@pytest.fixture(scope="module")
def regions():
    spaces = {
        "carry": STATES,
        "xs": FloatBox(shape=(4,), ranks="TB"),
        "x": STATES,
        "flag": BoolBox(ranks=""),
        "parts": Dict(a=STATES, b=STATES),
    }
    return build(Regions(), spaces)


def test_flows_go_through_loops_branches_and_split_methods(regions):
    assert pairs(flows(regions, "loop")) == {
        ("input loop/xs", "regions/layer.call"),
        ("regions/layer.call", "output loop"),
    }
    assert pairs(flows(regions, "branch")) == {
        ("input branch/x", "regions/layer.call"),
        ("input branch/x", "regions/other.call"),
        ("regions/layer.call", "output branch"),
        ("regions/other.call", "output branch"),
    }
    assert pairs(flows(regions, "leaves")) == {
        ("input leaves/parts", "regions/layer.call"),
        ("regions/layer.call", "output leaves"),
    }


def test_the_stack_of_a_split_method_is_whole(regions):
    (flow,) = [flow for flow in flows(regions, "leaves") if flow.target.kind == "function"]
    assert [name for _, name in flow.entering] == ["leaves", "each"]


# -- nodes for TensorBoard ------------------------------------------------------------------------
def test_nodes_are_functions_variables_inputs_and_outputs(dqn):
    nodes = {node.name: node for node in graph_nodes(dqn)}
    assert len(nodes) == 18 + 11 + 4 + 2  # variables, functions, inputs, outputs
    head = nodes["dqn/policy/head/call"]
    assert (head.op, head.device, head.shape) == ("Dense", "cpu", (-1, 2))
    assert list(head.inputs) == [
        "dqn/policy/head/kernel",
        "dqn/policy/head/bias",
        "dqn/policy/network/dense-1/call",
    ]
    assert nodes["dqn/policy/head/kernel"].attributes == {"space": "f32[64,2]", "trainable": "True"}
    assert list(nodes["dqn/memory/insert"].inputs)[-1] == "inputs/observe/records"
    assert "^inputs/update/call" in nodes["dqn/memory/sample"].inputs
    assert list(nodes["outputs/act"].inputs) == ["dqn/policy/greedy"]


def test_every_input_of_a_node_is_a_node(dqn, placed, regions):
    for builder in (dqn, placed, regions):
        nodes = graph_nodes(builder)
        names = {node.name for node in nodes}
        assert len(names) == len(nodes)
        assert {name.lstrip("^") for node in nodes for name in node.inputs} <= names


def test_shared_variables_are_nodes_of_the_shared_scope(placed):
    nodes = {node.name: node for node in graph_nodes(placed)}
    assert nodes["common/layer/kernel"].device == "gpu:0"
    assert "common/layer/kernel" in nodes["placed/first/call"].inputs
    assert "common/layer/kernel" in nodes["placed/stack/dense-0/call"].inputs
    assert "placed/first/kernel" not in nodes


def test_names_of_nodes_have_only_what_tensorflow_allows():
    assert node_name('a/<&"b c{') == "a/___b_c_"
    assert node_name("_hidden/é") == "hidden/_"
