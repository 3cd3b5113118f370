"""Goldens of the preprocessors."""

from __future__ import annotations

from typing import Any

from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple
from rlg.testing.goldens.golden import Golden

PIXELS = Box((4, 5, 3), "uint8")
FLOATS = Dict(a=Box((3,)), b=Tuple(FloatBox(), Box((2, 2))))
# Rows of a state are environments: room for the largest batch of the tests.
ENVS = 7
EPISODE: list[tuple[str, dict[str, Any]]] = [
    ("call", {}),
    ("call", {}),
    ("reset", {}),
    ("call", {}),
]
LEARNING: list[tuple[str, dict[str, Any]]] = [
    ("call", {}),
    ("call", {}),
    ("call", {"update": False}),
]

PREPROCESSING: list[Golden] = [
    Golden(
        "convert_type",
        {"type": "convert_type", "dtype": "float32"},
        {"inputs": Dict(a=IntBox(5), b=BoolBox((2,)))},
    ),
    Golden("multiply", {"type": "multiply", "factor": 2.5}, {"inputs": FLOATS}),
    Golden("divide", {"type": "divide", "divisor": 3.0}, {"inputs": FLOATS}),
    Golden("clip", {"type": "clip", "low": -0.5, "high": 0.25}, {"inputs": FLOATS}),
    Golden("grayscale", {"type": "grayscale"}, {"inputs": Dict(a=PIXELS, b=Box((2, 3)))}),
    Golden("image_binary", {"type": "image_binary", "keep_rank": False}, {"inputs": PIXELS}),
    Golden("resize", {"type": "resize", "width": 3, "height": 2}, {"inputs": PIXELS}),
    Golden(
        "resize-bilinear",
        {"type": "resize", "width": 7, "height": 3, "interpolation": "bilinear"},
        {"inputs": Dict(a=Box((4, 5, 1), ranks="TB"), b=PIXELS.with_ranks("TB"))},
    ),
    Golden("crop", {"type": "crop", "x": 1, "y": 2, "width": 3, "height": 2}, {"inputs": PIXELS}),
    Golden(
        "normalize",
        {"type": "normalize", "low": -1.0},
        {"inputs": Dict(a=PIXELS, b=FloatBox([0.0, -2.0], [1.0, 6.0], (2,)))},
    ),
    Golden("moving_standardize", {"type": "moving_standardize"}, {"inputs": FLOATS}, LEARNING),
    Golden("reshape", {"type": "reshape", "shape": [2, 6]}, {"inputs": Box((4, 3), ranks="BT")}),
    Golden(
        "flatten_one_hot",
        {"type": "flatten_one_hot"},
        {"inputs": Dict(a=IntBox(3), b=IntBox([2, 3], shape=(2,)), c=BoolBox((2,)), d=PIXELS)},
    ),
    Golden("fold_time", {"type": "fold_time"}, {"inputs": Box((3,), ranks="TB")}),
    Golden(
        "unfold_time",
        {"type": "unfold_time"},
        {"inputs": Box((3,), ranks="F"), "like": Box((), ranks="TB")},
    ),
    Golden(
        "sequence",
        {"type": "sequence", "length": 3, "num_envs": ENVS},
        {"inputs": Dict(a=Box((2, 1), "uint8"), b=FloatBox()), "resets": BoolBox()},
        EPISODE,
    ),
    Golden(
        "sequence-no-new-rank",
        {"type": "sequence", "length": 2, "num_envs": ENVS, "add_rank": False},
        {"inputs": PIXELS, "resets": BoolBox()},
        EPISODE,
    ),
    Golden(
        "preprocessor_stack",
        {
            "type": "preprocessor_stack",
            "preprocessors": [
                "grayscale",
                {"type": "sequence", "length": 2, "num_envs": ENVS, "add_rank": False},
                "convert_type",
                "moving_standardize",
            ],
        },
        {"inputs": PIXELS, "resets": BoolBox()},
        [*EPISODE, ("call", {"update": False})],
    ),
    Golden(
        "dict_preprocessor",
        {
            "type": "dict_preprocessor",
            "preprocessors": {
                "image": [{"type": "crop", "x": 0, "y": 0, "width": 2, "height": 2}, "normalize"],
                "speed": "moving_standardize",
            },
        },
        {"inputs": Dict(image=PIXELS, speed=FloatBox(), other=IntBox(3)), "resets": BoolBox()},
        LEARNING,
    ),
]
