"""`rlg bench --compare`: what counts as slower."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rlg.bench.verdicts import differences, verdicts
from tests.bench.reports import MACHINE, by_both, by_process, report, row

SMALL = [1.00, 1.01, 1.02, 1.03, 1.04]  # of one process: 1.02, known to 5 %


def word(old, new, **options):
    (found,) = verdicts(report(old), report(new, **options))
    return found.word


def scaled(factor: float) -> list[float]:
    return [factor * ratio for ratio in SMALL]


def processes(*ratios: float):
    return by_process(*([ratio] for ratio in ratios))


def test_slower_is_beyond_what_processes_differ_by():
    old = processes(0.99, 0.99, 1.01, 1.01)
    assert word(old, processes(1.02, 1.02, 1.04, 1.04)) == "slower"
    assert word(old, processes(1.00, 1.00, 1.02, 1.02)) == "same"
    assert word(old, processes(0.96, 0.96, 0.98, 0.98)) == "faster"
    assert word(old, old) == "same"


def test_the_more_rows_a_table_has_the_more_a_change_has_to_be():
    old, new = processes(0.99, 0.99, 1.01, 1.01), processes(1.02, 1.02, 1.04, 1.04)
    rows = [replace(old, case=f"row {n}") for n in range(34)]
    found = verdicts(report(old, *rows), report(new, *rows))
    assert [verdict.word for verdict in found] == ["same"] * 35
    far = processes(1.08, 1.08, 1.10, 1.10)
    found = verdicts(report(old, *rows), report(far, *rows))
    assert [verdict.word for verdict in found] == ["slower"] + ["same"] * 34
    found = verdicts(report(far, *rows), report(old, *rows))
    assert [verdict.word for verdict in found] == ["faster"] + ["same"] * 34


def test_medians_are_held_against_the_earlier_spread():
    old = processes(0.99, 0.99, 1.01, 1.01)  # between 0.968 and 1.032
    for ratio, is_inside in ((1.03, True), (1.04, False), (0.97, True), (0.96, False)):
        (found,) = verdicts(report(old), report(processes(*[ratio] * 4)))
        assert found.is_inside == is_inside
    (found,) = verdicts(report(row(case="gone")), report(row(costs=(), others=(), missing="x")))[1:]
    assert not found.is_inside


def test_one_process_needs_more_than_ten_percent():
    assert word(by_both(SMALL), by_both(scaled(1.12))) == "slower"
    assert word(by_both(SMALL), by_both(scaled(1.08))) == "same"
    assert word(by_both(SMALL), by_both(scaled(0.88))) == "faster"
    assert word(by_both(SMALL), by_both(SMALL)) == "same"


@pytest.mark.parametrize("between", [0.0, 0.01, 0.05])
def test_equal_code_is_slower_in_one_run_of_20_however_much_processes_differ(between):
    rng = np.random.default_rng(0)

    def run(level):
        bases = level * (1 + between * rng.standard_normal(4))
        return by_process(*(list(base * (1 + 0.01 * rng.standard_normal(4))) for base in bases))

    words = [word(run(1.0), run(1.0)) for _ in range(500)]  # tables of one row
    assert words.count("slower") <= 25
    assert words.count("faster") <= 25
    assert word(run(1.0), run(2.0)) == "slower"


def test_what_only_one_clock_says_is_no_verdict():
    assert word(by_both(SMALL), row(scaled(1.20), cpu=SMALL)) == "same"  # somebody else was running
    assert word(by_both(SMALL), row(SMALL, cpu=scaled(1.20))) == "same"
    assert word(by_both(SMALL), row(scaled(0.80), cpu=scaled(1.20))) == "same"


def test_wide_spreads_justify_a_worse_median():
    assert word(by_both([0.5, 1.0, 1.5, 2.0, 2.5]), by_both([0.9, 1.2, 1.8, 2.4, 2.9])) == "same"


def test_builds_are_compared_by_their_difference():
    old = by_both([1.5, 1.51, 1.52], kind="difference")
    assert word(old, by_both([1.8, 1.81, 1.82], kind="difference")) == "slower"
    assert word(old, by_both([1.53, 1.54, 1.55], kind="difference")) == "same"


def test_rows_that_are_gone_are_missing_and_others_are_new():
    old, new = report(row(), row(case="gone")), report(row(), row(case="added"))
    words = {verdict.row.case: verdict.word for verdict in verdicts(old, new)}
    assert words == {"MLP, batch 1": "same", "gone": "missing", "added": "new"}


def test_an_opponent_that_is_not_there_now_is_missing():
    absent = row(costs=(), others=(), missing="no .venv-peers")
    assert word(row(), absent) == "missing"
    assert word(absent, row()) == "new"


def test_suites_that_did_not_run_are_not_missed():
    assert verdicts(report(row()), report(suites=())) == []


def test_other_settings_are_not_compared():
    old = row(settings={"threads": 1})
    assert word(old, row(scaled(9.0), settings={"threads": 2})) == "other settings"


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"cores": 4}, "cores: 2 before, 4 now"),
        ({"processor": "Other"}, "processor: Abacus 3000 before, Other now"),
        ({"memory": 16_000_000_000}, "memory: 8000000000 before, 16000000000 now"),
    ],
)
def test_another_machine_is_named(change, text):
    assert differences(report(), report(machine={**MACHINE, **change})) == [text]
    assert differences(report(), report(machine={**MACHINE, "memory": 8_010_000_000})) == []


def test_figures_without_opponent_are_shown_but_not_judged():
    old = row(SMALL, kind="figure", others=())
    assert word(old, row(scaled(3.0), kind="figure", others=())) == "no opponent"


def test_models_are_not_compared():
    model = row(is_model=True, kind="figure", others=())
    assert verdicts(report(model), report(model)) == []
    assert verdicts(report(model), report(row(case="other")))[0].word == "new"
    assert len(verdicts(report(model), report(row(case="other")))) == 1


def test_seconds_of_another_machine_are_not_compared_but_ratios_are():
    other = {"machine": {**MACHINE, "cores": 64}}
    old = row(SMALL, kind="figure", others=())
    assert word(old, row(scaled(3.0), kind="figure", others=()), **other) == "other machine"
    assert word(by_both(SMALL), by_both(scaled(3.0)), **other) == "slower"
