"""`rlg bench --compare`: what is slower by more than luck, in a whole table."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.bench.significance import Change, holm, slower, tail
from tests.bench.reports import by_both, by_process, row

ROWS = 35  # of a quick run's table


def processes(*ratios: float, **options):
    return by_process(*([ratio] for ratio in ratios), **options)


@pytest.mark.parametrize(
    ("t", "freedom", "chance"),
    [(6.314, 1, 0.05), (2.92, 2, 0.05), (4.541, 3, 0.01), (1.943, 6, 0.05), (5.208, 6, 0.001)],
)
def test_students_t_is_that_of_the_tables(t, freedom, chance):
    assert tail(t, freedom) == pytest.approx(chance, rel=2e-3)
    assert tail(-t, freedom) == pytest.approx(1 - chance, rel=2e-3)
    assert tail(0.0, freedom) == pytest.approx(0.5)


def test_five_percent_are_shared_by_all_rows():
    assert holm([0.049]) == [True]
    assert holm([0.051]) == [False]
    assert holm([0.026, 0.026]) == [False, False]
    assert holm([0.9, 0.024, 0.049]) == [False, False, False]  # 0.05 / 3 is the first step
    assert holm([0.024, 0.016, 0.9]) == [True, True, False]  # and 0.05 / 2 the second
    assert holm([0.024, 0.016, 0.04]) == [True, True, True]
    assert holm([]) == slower([]) == []


# How processes differ: normally, with heavy tails, in two states, seldom and then a lot.
DRAWS = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "heavy": lambda rng, n: rng.standard_t(3, n) / np.sqrt(3),
    "two states": lambda rng, n: rng.choice([-1, 1], n) + 0.1 * rng.standard_normal(n),
    "seldom": lambda rng, n: np.where(rng.random(n) < 0.1, 4, 0) + 0.3 * rng.standard_normal(n),
}


def table(rng, kind, deviations, slowdown=1.0):
    """The rows of one run of four processes; rows share half of what differs between them. The
    first is slower.
    """
    common = DRAWS[kind](rng, 4)
    found = []
    for index, deviation in enumerate(deviations):
        own = DRAWS[kind](rng, 4)
        ratios = np.exp(deviation * (own + common) / np.sqrt(2))
        found.append(processes(*(ratios * (slowdown if index == 0 else 1.0)).tolist()))
    return found


@pytest.mark.parametrize("kind", DRAWS)
@pytest.mark.parametrize("deviations", [[0.02] * ROWS, np.geomspace(0.002, 0.2, ROWS)])
def test_equal_code_is_called_slower_in_one_table_of_twenty_at_most(kind, deviations):
    rng, tables = np.random.default_rng(0), 100
    runs = [(table(rng, kind, deviations), table(rng, kind, deviations)) for _ in range(tables)]
    called = sum(any(slower(list(zip(*run, strict=True)))) for run in runs)
    assert called <= tables / 20


@pytest.mark.parametrize(
    ("slowdown", "deviation", "kind"),
    [(1.1, 0.015, "normal"), (1.2, 0.03, "normal"), (1.2, 0.03, "two states")],
)
def test_real_slowdowns_are_found_among_35_rows(slowdown, deviation, kind):
    rng, deviations = np.random.default_rng(0), [deviation] * ROWS
    found, others = 0, 0
    for _ in range(50):
        new = table(rng, kind, deviations, slowdown)
        first, *rest = slower(list(zip(table(rng, kind, deviations), new, strict=True)))
        found, others = found + first, others + any(rest)
    assert found >= 45
    assert others <= 5


def test_four_processes_that_agree_by_luck_are_no_proof():
    noisy = (processes(0.94, 0.98, 1.02, 1.06), processes(0.95, 0.99, 1.03, 1.05))
    lucky = (processes(1.0, 1.0, 1.0, 1.0), processes(1.05, 1.05, 1.05, 1.05))
    assert slower([lucky]) == [True]  # Alone nothing is known but that.
    assert slower([lucky, noisy, noisy]) == [False] * 3


def test_two_percent_are_never_a_verdict():
    assert slower([(processes(*[1.0] * 4), processes(*[1.019] * 4))]) == [False]
    assert slower([(processes(*[1.0] * 4), processes(*[1.022] * 4))]) == [True]
    assert Change(0.02, 0.0, 6, 0.7).chance(0.01) == 1.0


def test_ratios_are_compared_as_shares():
    """A tenth more is a tenth more, whatever the ratio is."""
    for level in (0.25, 1.0, 6.0):
        old = processes(*(level * ratio for ratio in (0.99, 1.0, 1.0, 1.01)))
        new = processes(*(1.1 * level * ratio for ratio in (0.99, 1.0, 1.0, 1.01)))
        assert slower([(old, new)]) == [True]
        assert slower([(new, old)]) == [False]


def test_differences_are_compared_as_shares_of_what_rlg_took():
    def build(*ours: float):
        return processes(*ours, kind="difference")  # over an opponent that takes 1 ms

    old = build(100.0, 100.2, 99.8, 100.0)
    assert slower([(old, build(103.0, 103.2, 102.8, 103.0))]) == [True]
    assert slower([(old, build(101.9, 102.1, 101.7, 101.9))]) == [False]
    # Nothing more than by hand, and then as much as the whole build.
    assert slower([(build(1.0, 1.0, 1.0, 1.0), build(2.0, 2.0, 2.0, 2.0))]) == [True]


def test_both_clocks_have_to_say_so():
    quiet, loud = [1.0, 1.0, 1.0, 1.0], [1.3, 1.3, 1.3, 1.3]

    def run(wall, cpu):
        return row(wall, cpu=cpu, processes=(1, 1, 1, 1))

    assert slower([(run(quiet, quiet), run(loud, loud))]) == [True]
    assert slower([(run(quiet, quiet), run(loud, quiet))]) == [False]
    assert slower([(run(quiet, quiet), run(quiet, loud))]) == [False]


def test_a_process_counts_once_however_many_rounds_it_has():
    old = by_process([1.0] * 50, [1.1] * 50)
    assert slower([(old, by_process([1.1] * 50, [1.2] * 50))]) == [False]


def test_runs_of_one_process_and_of_several_are_compared():
    one = by_both([1.0, 1.0])
    assert slower([(one, processes(1.3, 1.31, 1.29, 1.3))]) == [True]
    assert slower([(one, processes(1.0, 1.1, 1.2, 1.3))]) == [False]


def test_what_is_not_finite_is_no_verdict():
    old = processes(1.0, 1.0, 1.0, 1.0)
    assert slower([(old, processes(*[float("inf")] * 4))]) == [False]
