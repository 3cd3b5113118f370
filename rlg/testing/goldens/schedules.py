"""Goldens of schedules."""

from __future__ import annotations

from rlg.graph.spaces import FloatBox, IntBox
from rlg.testing.goldens.golden import Golden

TIME = {"time": FloatBox(0.0, 1.0)}
STEP = {"time": IntBox(0, 200, ranks="")}
RAMP = {"initial": 1.0, "final": 0.1, "start": 50, "length": 100}

SCHEDULES: list[Golden] = [
    Golden("constant_schedule", {"type": "constant_schedule", "constant": 0.5}, TIME),
    Golden("linear_schedule", {"type": "linear_schedule", **RAMP}, STEP),
    Golden("polynomial_schedule", {"type": "polynomial_schedule", "power": 3.0}, TIME),
    Golden("exponential_schedule", {"type": "exponential_schedule", **RAMP}, STEP),
    Golden("half_life_schedule", {"type": "half_life_schedule", "half_life": 50}, STEP),
    Golden(
        "piecewise_schedule",
        {"type": "piecewise_schedule", "points": [[0.0, 1.0], [0.25, 0.5], [0.75, 0.0]]},
        TIME,
    ),
]
