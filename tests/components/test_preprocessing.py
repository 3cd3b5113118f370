"""Preprocessors by literal numbers, by cv2 and plain numpy, and what they refuse."""

from __future__ import annotations

import cv2
import numpy as np
import pytest

from rlg.errors import ComponentError, ExecutionError, RLGError, SpaceError
from rlg.graph.components.preprocessing.arithmetic import Clip, ConvertType, Divide, Multiply
from rlg.graph.components.preprocessing.images import Crop, Grayscale, ImageBinary, Resize
from rlg.graph.components.preprocessing.normalize import Normalize
from rlg.graph.components.preprocessing.reshape import (
    FlattenOneHot,
    FoldTime,
    Reshape,
    UnfoldTime,
)
from rlg.graph.components.preprocessing.sequence import FrameSequence
from rlg.graph.components.preprocessing.stack import DictPreprocessor, PreprocessorStack
from rlg.graph.components.preprocessing.standardize import MovingStandardize
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple
from rlg.testing import ComponentTest
from rlg.testing.component_test import compare

RNG = np.random.default_rng(7)
COLOURS = RNG.integers(0, 256, (2, 9, 12, 3)).astype("uint8")


def built(component, inputs, backend="numpy", **others):
    return ComponentTest(component, {"inputs": inputs, **others}, backend)


def test_arithmetic_goes_over_containers(backend):
    space = Dict(a=FloatBox(), b=Tuple(Box((2,))))
    value = {"a": [1.0, -3.0], "b": ([[0.5, 4.0], [-1.0, 2.0]],)}
    expected = {"a": [2.5, -7.5], "b": ([[1.25, 10.0], [-2.5, 5.0]],)}
    built(Multiply(2.5), space, backend).test("call", value, expected=expected)
    expected = {"a": [0.5, -1.5], "b": ([[0.25, 2.0], [-0.5, 1.0]],)}
    built(Divide(2.0), space, backend).test("call", value, expected=expected)
    expected = {"a": [1.0, -0.5], "b": ([[0.5, 1.0], [-0.5, 1.0]],)}
    built(Clip(-0.5, 1.0), space, backend).test("call", value, expected=expected)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "bool"])
def test_convert_type_casts(dtype, backend):
    test = built(ConvertType(dtype), Dict(a=FloatBox(), b=BoolBox()), backend)
    outputs = test.call("call", {"a": [0.0, 2.75], "b": [True, False]})
    assert outputs["a"].dtype == outputs["b"].dtype == dtype
    whole = {"float32": [0.0, 2.75], "bool": [0, 1]}.get(dtype, [0, 2])
    compare(outputs, {"a": whole, "b": [1, 0]})


def test_grayscale_rounds_integers_and_halves_go_up(backend):
    test = built(Grayscale(), Box((3,), "uint8"), backend)
    # 299 r + 587 g + 114 b: 50_000, 3260, 1495, 9496, 255_000.
    colours = [[50, 50, 50], [0, 4, 8], [5, 0, 0], [0, 2, 73], [255, 255, 255]]
    outputs = test.test("call", np.array(colours, "uint8"), expected=[[50], [3], [1], [9], [255]])
    assert outputs.dtype == "uint8"
    grid = np.stack(np.meshgrid(*[np.arange(64)] * 3), -1).reshape(-1, 3)
    halves = grid[grid @ [299, 587, 114] % 1000 == 500]
    assert len(halves) > 100
    expected = (halves @ [299, 587, 114])[:, None] / 1000 + 0.5
    test.test("call", halves.astype("uint8"), expected=expected)


def test_grayscale_of_floats_and_without_the_rank(backend):
    test = built(Grayscale(keep_rank=False), Box((1, 3), ranks="BT"), backend)
    test.test("call", [[[[1.0, 2.0, 3.0]]]], expected=[[[1.815]]])


@pytest.mark.parametrize(("keep_rank", "shape"), [(True, (1, 2, 2, 1)), (False, (1, 2, 2))])
def test_image_binary_finds_any_channel(keep_rank, shape, backend):
    test = built(ImageBinary(keep_rank), Box((2, 2, 2), "uint8"), backend)
    image = np.array([[[[0, 0], [0, 9]], [[255, 0], [0, 0]]]], "uint8")
    outputs = test.call("call", image)
    np.testing.assert_array_equal(outputs, np.array([0, 1, 1, 0], "uint8").reshape(shape))
    assert outputs.dtype == "uint8"


@pytest.mark.parametrize(("width", "height"), [(6, 3), (5, 7), (4, 4), (12, 9)])
def test_resize_by_area_equals_cv2(width, height, backend):
    test = built(Resize(width, height), Box((9, 12, 3)), backend)
    floats = COLOURS.astype("float32")
    resized = [cv2.resize(x, (width, height), interpolation=cv2.INTER_AREA) for x in floats]
    test.test("call", floats, expected=np.stack(resized), tolerance=1e-4)


@pytest.mark.parametrize(("width", "height"), [(6, 3), (5, 20), (17, 4)])
def test_resize_bilinear_equals_cv2(width, height, backend):
    test = built(Resize(width, height, "bilinear"), Box((9, 12, 3)), backend)
    floats = COLOURS.astype("float32")
    resized = [cv2.resize(x, (width, height), interpolation=cv2.INTER_LINEAR) for x in floats]
    test.test("call", floats, expected=np.stack(resized), tolerance=1e-3)


def test_resize_rounds_bytes_and_halves_go_up(backend):
    test = built(Resize(1, 1), Box((2, 2, 1), "uint8", ranks="TB"), backend)
    images = np.array([[0, 0, 0, 2], [1, 1, 1, 0], [255] * 4], "uint8").reshape(3, 1, 2, 2, 1)
    outputs = test.test("call", images, expected=np.reshape([1, 1, 255], (3, 1, 1, 1, 1)))
    assert outputs.dtype == "uint8"


def test_resize_of_bytes_is_equal_on_all_backends(backend):
    given = Box((9, 12, 3), "uint8")
    for size in ((5, 7), (8, 6)):
        expected = built(Resize(*size), given).call("call", COLOURS)
        outputs = built(Resize(*size), given, backend).call("call", COLOURS)
        np.testing.assert_array_equal(outputs, expected)


def test_crop_takes_columns_x_and_rows_y(backend):
    test = built(Crop(2, 1, 3, 4), Box((9, 12, 3), "uint8", ranks="BT"), backend)
    test.test("call", COLOURS[:, None], expected=COLOURS[:, None, 1:5, 2:5])


def test_normalize_goes_by_the_bounds_of_each_leaf(backend):
    space = Dict(
        bytes=Box((), "uint8"), floats=FloatBox([0.0, -2.0], [1.0, 6.0], (2,)), ints=IntBox(1, 4)
    )
    value = {
        "bytes": np.array([0, 51], "uint8"),
        "floats": [[0.5, 0.0], [1.0, 6.0]],
        "ints": [1, 2],
    }
    expected = {"bytes": [0.0, 0.2], "floats": [[0.5, 0.25], [1.0, 1.0]], "ints": [0.0, 0.5]}
    built(Normalize(), space, backend).test("call", value, expected=expected)
    expected = {"bytes": [-1.0, -0.6], "floats": [[0.0, -0.5], [1.0, 1.0]], "ints": [-1.0, 0.0]}
    built(Normalize(-1.0), space, backend).test("call", value, expected=expected)


def test_moving_standardize_has_the_moments_of_all_rows_so_far(backend):
    test = built(MovingStandardize(), Dict(a=Box((3,)), b=FloatBox()), backend)
    seen = np.zeros((0, 4))
    for size in (1, 5, 2, 50):
        rows = RNG.normal([100.0, -3.0, 0.0, 1e4], [1.0, 5.0, 1e-3, 10.0], (size, 4))
        rows = rows.astype("float32")
        seen = np.concatenate([seen, rows])
        scaled = (rows - seen.mean(0)) / np.sqrt(seen.var(0) + 1e-8)
        outputs = test.call("call", {"a": rows[:, :3], "b": rows[:, 3]})
        compare(outputs, {"a": scaled[:, :3], "b": scaled[:, 3]}, 1e-4)
    np.testing.assert_allclose(test.read("a/mean"), seen[:, :3].mean(0), rtol=1e-9)
    np.testing.assert_allclose(test.read("a/variance"), seen[:, :3].var(0), rtol=1e-9)
    np.testing.assert_allclose(test.read("b/variance"), seen[:, 3].var(), rtol=1e-9)
    assert test.read("b/count") == 58


def test_moving_standardize_clips_and_leaves_its_moments_alone_without_update(backend):
    test = built(MovingStandardize(clip=2.0), Box((), ranks="TB"), backend)
    test.test("call", [[5.0, -0.5]], False, expected=[[2.0, -0.5]])  # Mean 0 and variance 1 yet.
    test.call("call", [[1.0, 3.0], [1.0, 3.0]])
    test.test("call", [[2.0], [2.5], [9.0]], False, expected=[[0.0], [0.5], [2.0]])
    assert (test.read("mean"), test.read("variance"), test.read("count")) == (2.0, 1.0, 4.0)


def test_moving_standardize_is_saved_with_the_state(backend):
    test = built(MovingStandardize(), FloatBox(), backend)
    test.call("call", [1.0, 3.0, 8.0])
    twin = built(MovingStandardize(), FloatBox(), backend)
    twin.executor.set_state(test.executor.get_state())
    assert twin.call("call", [2.0], False) == test.call("call", [2.0], False)


@pytest.mark.parametrize(("ranks", "lead"), [("B", (4,)), ("TB", (2, 3))])
def test_flatten_one_hot_knows_choices_from_numbers(ranks, lead, backend):
    space = Dict(
        choice=IntBox(3, ranks=ranks),
        choices=IntBox([2, 3], shape=(2,), ranks=ranks),
        flags=BoolBox((2,), ranks=ranks),
        image=Box((1, 2), "uint8", 0, 255, ranks),
        number=FloatBox(ranks=ranks),
    )
    test = built(FlattenOneHot(), space, backend)
    item = {
        "choice": np.int64(1),
        "choices": np.array([1, 2]),
        "flags": np.array([True, False]),
        "image": np.array([[7, 255]], "uint8"),
        "number": np.float32(1.5),
    }
    expected = {
        "choice": [0, 1, 0],
        "choices": [0, 1, 0, 0, 1],
        "flags": [1, 0],
        "image": [7, 255],
        "number": [1.5],
    }
    tiled = {key: np.broadcast_to(value, (*lead, *np.shape(value))) for key, value in item.items()}
    wanted = {k: np.broadcast_to(np.float32(v), (*lead, len(v))) for k, v in expected.items()}
    outputs = test.test("call", tiled, expected=wanted)
    assert {value.dtype.name for value in outputs.values()} == {"float32"}
    assert outputs["number"].shape == (*lead, 1)


def test_reshape_keeps_batch_and_time(backend):
    test = built(Reshape([3, 2]), Dict(a=Box((6,), ranks="BT"), b=Box((2, 3), ranks="BT")), backend)
    numbers = np.arange(24, dtype="float32")
    value = {"a": numbers.reshape(2, 2, 6), "b": numbers.reshape(2, 2, 2, 3)}
    expected = numbers.reshape(2, 2, 3, 2)
    test.test("call", value, expected={"a": expected, "b": expected})


def test_time_folds_and_unfolds(backend):
    numbers = np.arange(24, dtype="float32").reshape(2, 3, 4)
    folded = built(FoldTime(), Box((4,), ranks="TB"), backend).call("call", numbers)
    np.testing.assert_array_equal(folded, numbers.reshape(6, 4))
    like = Box((), ranks="TB")
    test = built(UnfoldTime(), Box((4,), ranks="F"), backend, like=like)
    test.test("call", folded, np.zeros((2, 3)), expected=numbers)


def test_sequences_of_environments_start_on_their_own(backend):
    test = built(FrameSequence(3, num_envs=2), FloatBox(), backend, resets=BoolBox())
    test.test("call", [1.0, 10.0], expected=[[1, 1, 1], [10, 10, 10]])
    test.test("call", [2.0, 20.0], expected=[[1, 1, 2], [10, 10, 20]])
    resets = [False, True]
    test.test("call", [3.0, 30.0], resets, expected=[[1, 2, 3], [30, 30, 30]])
    test.test("call", [4.0], expected=[[2, 3, 4]])  # The second environment rests.
    test.test("call", [5.0, 40.0], expected=[[3, 4, 5], [30, 30, 40]])
    test.call("reset")
    test.test("call", [6.0, 50.0], expected=[[6, 6, 6], [50, 50, 50]])


def test_sequences_of_frames_extend_the_channels(backend):
    test = built(FrameSequence(2, add_rank=False), Dict(a=Box((1, 1, 2), "uint8")), backend)
    outputs = test.call("call", {"a": np.array([[[[1, 2]]]], "uint8")})
    compare(outputs, {"a": [[[[1, 2, 1, 2]]]]})
    outputs = test.call("call", {"a": np.array([[[[3, 4]]]], "uint8")})
    compare(outputs, {"a": [[[[1, 2, 3, 4]]]]})
    assert outputs["a"].dtype == "uint8"


def test_more_rows_than_environments_are_refused(backend):
    test = built(FrameSequence(2), FloatBox(), backend)
    if backend in ("numpy", "torch"):
        with pytest.raises(ExecutionError, match=r"inputs have 3 rows.*Give num_envs=3"):
            test.call("call", [1.0, 2.0, 3.0])
    else:
        with pytest.raises(Exception, match=r"not in \[0, 1\)"):
            test.call("call", [1.0, 2.0, 3.0])


ATARI = [
    "grayscale",
    {"type": "resize", "width": 2, "height": 2},
    {"type": "sequence", "length": 2, "num_envs": 2, "add_rank": False},
    "scale",
]


def test_a_stack_hands_resets_and_update_to_those_that_take_them(backend):
    stack = PreprocessorStack([*ATARI, "moving_standardize"])
    test = built(stack, Box((4, 4, 3), "uint8"), backend, resets=BoolBox())
    dark, light = (np.full((2, 4, 4, 3), value, "uint8") for value in (51, 102))
    test.call("call", dark)
    test.call("call", light, [True, False])
    place = "moving-standardize-4/count"
    assert test.read(place) == 4
    test.call("call", light, None, False)
    assert test.read(place) == 4
    frames = test.read("frame-sequence-2/frames")[:, 0, 0]
    np.testing.assert_array_equal(frames, [[102, 102], [102, 102]])
    mean = test.read("moving-standardize-4/mean")[0, 0]
    np.testing.assert_allclose(mean, [0.25, 0.3], atol=1e-6)
    test.call("reset")
    assert not test.read("frame-sequence-2/started").any()


def test_a_dict_has_a_stack_for_each_key_and_passes_the_others(backend):
    component = DictPreprocessor({"image": ATARI, "speed": {"type": "multiply", "factor": 2.0}})
    space = Dict(image=Box((4, 4, 3), "uint8"), speed=Box((2,)), other=IntBox(3))
    test = built(component, space, backend, resets=BoolBox())
    value = {"image": np.full((1, 4, 4, 3), 51, "uint8"), "speed": [[1.0, 2.0]], "other": [2]}
    expected = {"image": np.full((1, 2, 2, 2), 0.2), "speed": [[2.0, 4.0]], "other": [2]}
    test.test("call", value, expected=expected)
    test.test("call", value, [True], expected=expected)
    test.call("reset")


@pytest.mark.parametrize(
    ("component", "inputs", "error", "message"),
    [
        (ConvertType("float8"), FloatBox(), ComponentError, "use one of float32"),
        (Multiply(2.0), IntBox(3), SpaceError, "Put a convert_type before it"),
        (Divide(0.0), FloatBox(), ComponentError, "divisor is 0"),
        (Clip(1.0, 0.0), FloatBox(), ComponentError, "low is 1.0 and high 0.0"),
        (Grayscale(), Box((4, 4, 1), "uint8"), SpaceError, "last axis of 3 colours"),
        (ImageBinary(), FloatBox(), SpaceError, "last axis of channels"),
        (Resize(0, 2), Box((4, 4, 1)), ComponentError, "width is 0"),
        (Resize(2, 2, "cubic"), Box((4, 4, 1)), ComponentError, "use area or bilinear"),
        (Resize(2, 2), Box((4, 4)), SpaceError, "takes batches of images"),
        (Crop(0, 0, 5, 4), Box((4, 4, 1)), ComponentError, r"is no part of images of \(4, 4\)"),
        (Crop(-1, 0, 2, 2), Box((4, 4, 1)), ComponentError, "Give one that lies inside"),
        (Normalize(), FloatBox(0.0), SpaceError, "low and high, or use moving_standardize"),
        (Normalize(1.0, 1.0), FloatBox(0.0, 1.0), ComponentError, "give a low below high"),
        (MovingStandardize(), IntBox(3), SpaceError, "Put a convert_type before it"),
        (MovingStandardize(clip=0.0), FloatBox(), ComponentError, "give both above 0"),
        (Reshape([5]), Box((2, 3)), SpaceError, "Give a shape of 6 numbers"),
        (FlattenOneHot(), FloatBox(ranks=""), SpaceError, "ranks='B'"),
        (FoldTime(), FloatBox(), SpaceError, "ranks='BT' or 'TB'"),
        (FrameSequence(0), FloatBox(), ComponentError, "length is 0"),
        (FrameSequence(2), FloatBox(ranks="TB"), SpaceError, "one step of each environment"),
        (FrameSequence(2, add_rank=False), FloatBox(), SpaceError, "Say add_rank=True"),
        (DictPreprocessor({"a": "scale"}), Dict(b=FloatBox()), RLGError, "keys"),
    ],
)
def test_refusals_show_the_way_out(component, inputs, error, message):
    with pytest.raises(error, match=message):
        ComponentTest(component, {"inputs": inputs})


@pytest.mark.parametrize("make", [lambda: PreprocessorStack([]), lambda: DictPreprocessor({})])
def test_empty_stacks_are_refused(make):
    with pytest.raises(ComponentError, match="has no preprocessors"):
        make()
