"""Schedules by literal numbers, in the graph and in Python."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ComponentError, SpecError
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.components.schedules import make_schedule
from rlg.graph.components.schedules.constant import ConstantSchedule
from rlg.graph.components.schedules.piecewise import PiecewiseSchedule
from rlg.graph.components.schedules.ramps import (
    ExponentialSchedule,
    HalfLifeSchedule,
    LinearSchedule,
    PolynomialSchedule,
)
from rlg.graph.spaces import FloatBox, IntBox
from rlg.testing import ComponentTest

POINTS = [[10, 1.0], [20, 0.5], [40, 2.0]]
TIMES = [-5.0, 0.0, 0.25, 0.5, 1.0, 7.0]
STEPS = [0, 10, 15, 20, 30, 40, 1000]
# schedule, times, values
CASES = {
    "constant": (ConstantSchedule(0.25), TIMES, [0.25] * 6),
    "linear": (LinearSchedule(2.0, 1.0), TIMES, [2.0, 2.0, 1.75, 1.5, 1.0, 1.0]),
    "rising": (LinearSchedule(0.4, 1.0, 10, 20), STEPS, [0.4, 0.4, 0.55, 0.7, 1.0, 1.0, 1.0]),
    "polynomial": (
        PolynomialSchedule(2.0, 1.0, power=2.0),
        TIMES,
        [2.0, 2.0, 1.5625, 1.25, 1.0, 1.0],
    ),
    "exponential": (ExponentialSchedule(4.0, 1.0), TIMES, [4.0, 4.0, 8**0.5, 2.0, 1.0, 1.0]),
    "half_life": (
        HalfLifeSchedule(3.0, 10, 1.0, start=10),
        STEPS,
        [3.0, 3.0, 1 + 2**0.5, 2.0, 1.5, 1.25, 1.0],
    ),
    "piecewise": (PiecewiseSchedule(POINTS), STEPS, [1.0, 1.0, 0.75, 0.5, 1.25, 2.0, 2.0]),
    "steps": (PiecewiseSchedule(POINTS, False), STEPS, [1.0, 1.0, 1.0, 0.5, 0.5, 2.0, 2.0]),
    "point": (PiecewiseSchedule([[5, 3.0]]), STEPS, [3.0] * 7),
}


@pytest.mark.parametrize("name", CASES)
def test_values_in_python(name):
    schedule, times, values = CASES[name]
    np.testing.assert_allclose([schedule.at(time) for time in times], values, rtol=1e-12)
    assert type(schedule.at(times[0])) is float


@pytest.mark.parametrize("name", CASES)
def test_values_in_the_graph(name, backend):
    schedule, times, values = CASES[name]
    space = IntBox() if times is STEPS else FloatBox()
    test = ComponentTest(schedule.copy(), {"time": space}, backend)
    got = test.test("value", times, expected=values, tolerance=1e-6)
    assert got.dtype == "float32"


def test_a_single_time_gives_a_single_value(backend):
    test = ComponentTest(LinearSchedule(1.0, 0.0, 0, 10), {"time": IntBox(ranks="")}, backend)
    got = test.test("value", 5, expected=0.5)
    assert got.shape == ()


def test_both_ends_are_exact(backend):
    test = ComponentTest(LinearSchedule(1.0, 0.1, 0, 3), {"time": FloatBox()}, backend)
    got = test.call("value", [0.0, 3.0])
    assert got.tolist() == [1.0, np.float32(0.1)]


@pytest.mark.parametrize(
    ("spec", "kind", "at_half"),
    [
        (3, ConstantSchedule, 3.0),
        (0.5, ConstantSchedule, 0.5),
        ([[0, 1.0], [1, 0.0]], PiecewiseSchedule, 0.5),
        ({"type": "linear", "initial": 1.0, "final": 0.5}, LinearSchedule, 0.75),
        ({"type": "linear_schedule", "initial": 1.0}, LinearSchedule, 0.5),
        ({"type": "polynomial"}, PolynomialSchedule, 0.25),
        ({"type": "exponential", "final": 0.01}, ExponentialSchedule, 0.1),
        ({"type": "half_life", "half_life": 0.25}, HalfLifeSchedule, 0.25),
        ({"type": "piecewise", "points": [[0, 2.0]]}, PiecewiseSchedule, 2.0),
    ],
)
def test_schedules_have_plain_forms(spec, kind, at_half):
    schedule = make_schedule(spec)
    assert type(schedule) is kind
    assert schedule.at(0.5) == pytest.approx(at_half)
    assert make_schedule(schedule) is schedule


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("linear", "a number, a list of"),
        (True, "a number, a list of"),
        (None, "a number, a list of"),
        ({"initial": 1.0}, "a mapping with `type`"),
        ({"type": "liner"}, "Did you mean 'linear'"),
        ({"type": "dense", "units": 2}, "there is no schedule 'dense'"),
        ({"type": "linear", "from": 1.0}, "has no argument 'from'"),
        ([1.0, 2.0], r"list of \[time, value\] points"),
    ],
)
def test_other_forms_are_refused(spec, message):
    with pytest.raises(SpecError, match=message):
        make_schedule(spec)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: LinearSchedule(length=0), "length is 0; give a positive time"),
        (lambda: PolynomialSchedule(power=-1.0), "power must be positive, got -1.0"),
        (lambda: ExponentialSchedule(final=0.0), "both must be positive"),
        (lambda: HalfLifeSchedule(half_life=0), "half_life must be positive, got 0"),
        (lambda: PiecewiseSchedule([]), "with growing times"),
        (lambda: PiecewiseSchedule([[1, 0.0], [1, 1.0]]), "with growing times"),
    ],
)
def test_schedules_that_make_no_sense_are_refused(make, message):
    with pytest.raises(ComponentError, match=message):
        make()


def test_learning_rates_may_be_schedules():
    assert SGD(0.5).schedule is None
    falling = SGD({"type": "linear", "initial": "1e-3", "final": 0.0})  # As YAML 1.1 reads it.
    assert falling.schedule.at(0.25) == pytest.approx(7.5e-4)
    assert falling.constant_rate() == pytest.approx(1e-3)
    assert SGD([[0, 1.0], [10, 0.0]]).schedule.at(5) == 0.5
    with pytest.raises(SpecError, match="Did you mean 'linear'"):
        SGD({"type": "linaer"})
