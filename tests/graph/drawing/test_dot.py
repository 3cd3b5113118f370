"""Graphviz source: a cluster for each scope, a port for each API method, an edge for each call."""

from __future__ import annotations

import re

from rlg.graph.drawing import to_dot
from tests.graph.drawing.parts import assert_accepted


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
