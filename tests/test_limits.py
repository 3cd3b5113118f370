"""Limits of numbers in signatures: what they refuse, in which words, and where they hold."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from rlg.api.config.signatures import describe
from rlg.errors import SpecError
from rlg.graph import limits, registry
from rlg.graph.limits import violation


@pytest.mark.parametrize(
    ("annotation", "good", "bad", "words"),
    [
        (limits.PositiveInt, [1, 9], [0, -3], "at least 1"),
        (limits.NonNegativeInt, [0, 1], [-1], "at least 0"),
        (limits.PositiveFloat, [1e-9, 5.0], [0, -1.0], "positive"),
        (limits.NonNegativeFloat, [0.0, 2.0], [-1e-9], "at least 0"),
        (limits.Fraction, [0, 0.5, 1], [-0.1, 1.1], "between 0 and 1"),
        (limits.PositiveFraction, [0.1, 1.0], [0.0, 1.1], "positive and at most 1"),
        (limits.Decay, [0, 0.99], [1.0, -0.1], "at least 0 and below 1"),
        (limits.FiniteFloat, [-3.0, 0, 3e30], [], ""),
        (limits.PositiveInt | None, [None, 1], [0], "at least 1"),
        (Sequence[limits.PositiveInt], [[], [1, 2]], [[2, 0]], "at least 1"),
        (int, [-1, 0], [], ""),
    ],
)
def test_numbers_outside_of_the_limits_are_refused_in_words(annotation, good, bad, words):
    assert [violation(value, annotation) for value in good] == [None] * len(good)
    for value in bad:
        number = value[-1] if isinstance(value, list) else value
        assert violation(value, annotation) == f"must be {words}, got {number}"


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_limited_numbers_are_finite(value):
    assert violation(value, limits.FiniteFloat) == f"must be finite, got {value}"
    assert violation(value, limits.PositiveFloat | None) == f"must be finite, got {value}"
    assert violation(value, float) is None


def test_booleans_and_text_are_not_numbers():
    assert violation(False, limits.PositiveInt) is None
    assert violation("0", limits.PositiveInt) is None


def test_limits_hold_for_specs_in_python_too():
    with pytest.raises(SpecError, match=r"component 'replay': buffer_size must be at least 1, got"):
        registry.make({"type": "replay", "buffer_size": 0})
    with pytest.raises(SpecError, match=r"component 'mlp': units must be at least 1, got 0"):
        registry.make({"type": "mlp", "units": [4, 0]})


def test_limits_are_described_on_request():
    assert describe(limits.Decay | None) == "a number or null"
    assert describe(limits.Decay, limits=True) == "a number (at least 0 and below 1)"
    assert describe(Sequence[limits.PositiveInt], limits=True) == (
        "a list, each item an integer (at least 1)"
    )
