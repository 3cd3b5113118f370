"""What all drawings promise: equal bytes, no limit of depth, work in proportion to the graph."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rlg.graph import Component
from rlg.graph.core.build.builder import Builder
from rlg.graph.drawing import to_svg
from rlg.graph.drawing.picture import Picture
from tests.graph.drawing.parts import (
    DRAWINGS,
    STATES,
    Dense,
    Stack,
    assert_tidy,
    build,
    build_dqn,
    build_placed,
)


@pytest.mark.parametrize("draw", DRAWINGS)
def test_equal_graphs_give_equal_bytes(draw, dqn, placed):
    assert draw(build_dqn()) == draw(dqn)
    assert draw(build_placed()) == draw(placed)


def test_drawings_do_not_depend_on_the_hash_seed():
    lines = "from tests.graph.drawing import parts as p; b = p.build_dqn(); "
    words = [sys.executable, "-c", lines + "print([draw(b) for draw in p.DRAWINGS])"]
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


def calls_of(function, *args) -> int:
    """Python calls, without those of the garbage collector."""
    count = 0

    def note(frame, event, arg) -> None:
        nonlocal count
        count += event == "call"

    gc.disable()
    sys.setprofile(note)
    try:
        function(*args)
    finally:
        sys.setprofile(None)
        gc.enable()
    return count


@pytest.fixture(scope="module")
def chains() -> list[Builder]:
    """Chains of 100, 200 and 400 components."""
    sizes = (100, 200, 400)
    return [build(Stack(*(Dense(2) for _ in range(n))), {"inputs": STATES}) for n in sizes]


@pytest.mark.parametrize("draw", DRAWINGS)
def test_the_work_grows_with_the_graph_and_not_faster(draw, chains):
    assert "dense-399" in draw(chains[2])  # imports and patterns are in memory now
    first, second, third = (calls_of(draw, builder) for builder in chains)
    assert third - second == pytest.approx(2 * (second - first), rel=0.05)


def test_each_edge_is_visited_once(chains):
    edges = [sum(len(graph.edges) for graph in builder.graphs) for builder in chains]
    assert edges == [101, 201, 401]
    assert [Picture(builder).visited for builder in chains] == edges


@pytest.mark.parametrize("draw", DRAWINGS)
def test_a_hundred_scopes_inside_each_other_are_drawn(draw):
    component: Component = Dense(2)
    for _ in range(100):
        component = Stack(component)
    builder = build(component, {"inputs": STATES})
    assert draw(builder).count("Stack") >= 100
    assert_tidy(to_svg(builder))
