"""Splitters, mergers, slices and syncs by literal numbers, and what they refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, api
from rlg.graph.components.common.merger import ContainerMerger
from rlg.graph.components.common.slice import Slice
from rlg.graph.components.common.splitter import ContainerSplitter
from rlg.graph.components.common.sync import TargetSync
from rlg.graph.components.layers.dense import Dense
from rlg.graph.spaces import Box, Dict, FloatBox, Tuple
from rlg.testing import ComponentTest

PARTS = Dict(a=FloatBox(), b=Dict(c=Box((2,))))


def test_a_splitter_gives_entries_in_the_order_of_its_keys(backend):
    test = ComponentTest(ContainerSplitter(["b", "a"]), {"inputs": PARTS}, backend)
    expected = ({"c": [[2.0, 3.0]]}, [1.0])
    test.test("call", {"a": [1.0], "b": {"c": [[2.0, 3.0]]}}, expected=expected)


def test_a_splitter_of_one_key_gives_one_value(backend):
    test = ComponentTest(ContainerSplitter([1]), {"inputs": Tuple(FloatBox(), Box((2,)))}, backend)
    test.test("call", ([1.0], [[2.0, 3.0]]), expected=[[2.0, 3.0]])


class Exchange(Component):
    """Takes a Dict apart and puts it together under other names, in an API method."""

    def __init__(self) -> None:
        self.splitter = ContainerSplitter(["a", "b"])
        self.merger = ContainerMerger(["y", "x"])

    @api
    def call(self, inputs: Any) -> Any:
        first, second = self.splitter.call(inputs)
        return self.merger.call((first, second))["x"], first


def test_splitters_and_mergers_connect(backend):
    test = ComponentTest(Exchange(), {"inputs": PARTS}, backend)
    outputs = test.call("call", {"a": [1.0], "b": {"c": [[2.0, 3.0]]}})
    np.testing.assert_array_equal(outputs[0]["c"], [[2.0, 3.0]])
    np.testing.assert_array_equal(outputs[1], [1.0])


def test_keys_with_slashes_are_places_in_a_nested_dict(backend):
    merger = ContainerMerger(["eyes/left", "eyes/right", "speed"])
    spaces = {"inputs": Tuple(FloatBox(), PARTS, FloatBox())}
    test = ComponentTest(merger, spaces, backend)
    found = test.call("call", ([1.0], {"a": [2.0], "b": {"c": [[3.0, 4.0]]}}, [5.0]))
    assert found["eyes"]["left"].tolist() == [1.0]
    assert found["eyes"]["right"]["b"]["c"].tolist() == [[3.0, 4.0]]
    assert found["speed"].tolist() == [5.0]
    with pytest.raises(SpaceError, match="passes through another leaf"):
        ContainerMerger(["eyes", "eyes/left"])


CUBE = np.arange(24.0, dtype="float32").reshape(2, 3, 4)


@pytest.mark.parametrize(
    ("part", "ranks", "expected"),
    [
        (Slice(1, squeeze=True), "TB", CUBE[1]),
        (Slice(-1, squeeze=True), "BT", CUBE[-1]),
        (Slice(1), "TB", CUBE[1:]),
        (Slice(0, 2, axis=1), "TB", CUBE[:, :2]),
        (Slice(2, 3, axis=1, squeeze=True), "BT", CUBE[:, 2]),
        (Slice(1, 3, axis=2), "TB", CUBE[:, :, 1:3]),
        (Slice(-2, squeeze=True, axis=2), "BT", CUBE[:, :, 2]),
        (Slice(0, 2, axis=1), "B", CUBE[:, :2]),
        (Slice(1, 3, axis=1), "", CUBE[:, 1:3]),
    ],
)
def test_slices(part, ranks, expected, backend):
    again = Slice(part.start, part.stop, part.axis, part.squeeze)
    test = ComponentTest(again, {"inputs": Box(CUBE.shape[len(ranks) :], ranks=ranks)}, backend)
    test.test("call", CUBE, expected=expected)


def test_a_sliced_axis_is_known_to_what_follows(backend):
    class Last(Component):
        def __init__(self) -> None:
            self.part = Slice(-1, squeeze=True)
            self.output = Dense(1, kernel_init={"type": "constant", "value": 1.0})

        @api
        def call(self, inputs: Any) -> Any:
            return self.output.call(self.part.call(inputs))

    test = ComponentTest(Last(), {"inputs": Box((4,), ranks="TB")}, backend)
    test.test("call", CUBE, expected=[[54.0], [70.0], [86.0]])


class Following(Component):
    def __init__(self, tau: float, units: int = 1) -> None:
        self.source = Dense(1)
        self.target = Dense(units)
        self.target_sync = TargetSync(tau)

    @api
    def call(self, inputs: Any) -> Any:
        return self.source.call(inputs), self.target.call(inputs)

    @api
    def sync(self) -> None:
        self.target_sync.sync(self.source.variables(), self.target.variables())


@pytest.mark.parametrize(("tau", "first", "second"), [(1.0, 8.0, 8.0), (0.25, 2.0, 3.5)])
def test_targets_follow_their_source(tau, first, second, backend):
    test = ComponentTest(Following(tau), {"inputs": Box((1,))}, backend)
    test.write({"source/kernel": [[8.0]], "target/kernel": [[0.0]], "source/bias": [4.0]})
    test.call("sync")
    assert test.read("target/kernel") == first
    test.call("sync")
    assert test.read("target/kernel") == second
    assert test.read("target/bias") == second / 2
    assert test.read("source/kernel") == 8.0


def test_a_synced_target_is_no_alias_of_its_source(backend):
    test = ComponentTest(Following(1.0), {"inputs": Box((1,))}, backend)
    test.call("sync")
    before = test.read("target/kernel")
    test.write({"source/kernel": [[5.0]]})
    np.testing.assert_array_equal(test.read("target/kernel"), before)


@pytest.mark.parametrize(
    ("component", "inputs", "error", "message"),
    [
        (ContainerSplitter(["a", "x"]), PARTS, SpaceError, "has no 'x'.*among: 'a', 'b'"),
        (ContainerSplitter(["a"]), FloatBox(), SpaceError, "none, as it is not a container"),
        (ContainerMerger(["a"]), Tuple(FloatBox(), FloatBox()), SpaceError, "there are 1 keys, a"),
        (Slice(axis=2), FloatBox(), SpaceError, "axis is 2"),
        (Slice(4, axis=1), Box((4,)), SpaceError, "is empty.*within its 4 elements"),
        (Slice(0, 2, squeeze=True), FloatBox(), ComponentError, "squeeze drops an axis of one"),
    ],
)
def test_mismatching_inputs_are_refused(component, inputs, error, message):
    with pytest.raises(error, match=message):
        ComponentTest(component, {"inputs": inputs})


@pytest.mark.parametrize(
    ("component", "error", "message"),
    [
        (Following(0.0), ComponentError, "tau must be above 0 and at most 1, got 0.0"),
        (Following(1.0, units=2), SpaceError, "differ in bias, kernel. Make the target as a copy"),
    ],
)
def test_syncs_that_can_not_be_are_refused(component, error, message):
    with pytest.raises(error, match=f"following/target_sync: .*{message}"):
        ComponentTest(component, {"inputs": Box((1,))})


def test_keys_must_be_there_and_different():
    with pytest.raises(ComponentError, match="it has no keys"):
        ContainerSplitter([])
    with pytest.raises(ComponentError, match="each once"):
        ContainerMerger(["a", "a"])
