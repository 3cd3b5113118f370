"""Rows, their spreads, `bench.json`, and what tables and pages show of them."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from rlg.bench import machine, page, pictures, tables
from rlg.bench.measuring import Absent, Cost, block_of, interleave
from rlg.bench.results import Load, Report, spread
from rlg.errors import SpecError
from tests.bench.reports import report, row


def test_a_spread_is_the_median_with_quartiles():
    assert spread([4.0, 1.0, 2.0, 3.0, 5.0]) == (2.0, 3.0, 4.0)
    assert spread([7.0]) == (7.0, 7.0, 7.0)


def test_rows_compare_by_ratio_by_difference_or_not_at_all():
    assert row([0.5, 1.0, 2.0]).compared() == pytest.approx((0.75, 1.0, 1.5))
    assert row([0.5, 1.0, 2.0]).compared("cpu") == (1.0, 1.0, 1.0)
    difference = row([0.5, 1.0, 2.0], kind="difference").compared()
    assert difference == pytest.approx((-0.25e-3, 0.0, 0.5e-3))
    figure = row([0.5, 1.0, 2.0], kind="figure", others=())
    assert figure.compared() == pytest.approx((0.75e-3, 1e-3, 1.5e-3))


def test_a_report_reads_back_as_it_was_written(tmp_path):
    whole = report(row(), row([1.0], case="other", missing="", note="n", is_ceiling=True))
    path = whole.write(tmp_path)
    assert path == tmp_path / "bench.json"
    assert Report.read(path) == whole


def test_every_sample_is_in_the_file(tmp_path):
    report(row([0.5, 2.0])).write(tmp_path)
    content = json.loads((tmp_path / "bench.json").read_text())
    (found,) = content["suites"][0]["rows"]
    assert found["costs"] == [[0.0005, 0.002], [0.002, 0.002]]
    assert found["others"] == [[0.001, 0.002], [0.001, 0.002]]
    assert content["machine"]["processor"] == "Abacus 3000"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("{", "this is not JSON"),
        ("[]", "expected a bench.json of format 1, got None"),
        ('{"format": 99}', "expected a bench.json of format 1, got 99"),
        ('{"format": 1}', "this is not what rlg bench writes: 'suites'"),
    ],
)
def test_other_files_are_refused(tmp_path, content, message):
    path = tmp_path / "bench.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SpecError, match=message):
        Report.read(path)


def test_contenders_take_turns_and_the_first_round_is_not_kept():
    order: list[str] = []

    def named(name: str):
        return lambda: order.append(name) or Cost(float(len(order)), 0.0)

    found = interleave({"a": named("a"), "b": named("b")}, rounds=2)
    assert "".join(order) == "abbaab"
    assert [cost.wall for cost in found["a"]] == [4.0, 5.0]
    assert [cost.wall for cost in found["b"]] == [3.0, 6.0]


def test_a_contender_that_dies_is_left_out_and_the_others_go_on():
    calls = iter([Cost(1.0, 1.0), Cost(1.0, 1.0)])

    def dies() -> Cost:
        try:
            return next(calls)
        except StopIteration:
            raise Absent("gone") from None

    found = interleave({"ours": lambda: Cost(2.0, 2.0), "theirs": dies}, rounds=4)
    assert found == {"ours": [Cost(2.0, 2.0)] * 4}


def test_a_block_costs_wall_and_cpu_time_per_unit():
    cost = block_of(lambda: sum(range(100_000)), calls=10, units=100)()
    assert 0 < cost.cpu < 1e-3
    assert cost.wall > 0


def test_a_row_shows_both_sides_the_ratio_and_its_quartiles():
    shown = tables.cells(row([0.5, 1.0, 2.0], settings={"replay_ratio": 20}, note="said"))
    assert shown[:5] == ["MLP, batch 1", "rlg torch", "1 ms/call", "by hand", "1 ms/call"]
    assert shown[5:] == ["1.00x [0.75, 1.50]", "1.00x [1.00, 1.00]", "replay ratio 20; said"]


def test_steps_have_a_rate_beside_them():
    shown = tables.cells(row([0.5], unit="step", clock="cpu", is_ceiling=True))
    assert shown[2] == "2 ms/step, 2,000/s"
    assert shown[4] == "2 ms/step, 1,000/s"
    assert shown[7] == "by CPU time; a ceiling"


def test_what_was_not_measured_says_why():
    shown = tables.cells(row(costs=(), others=(), missing="no .venv-peers: make bench-peers"))
    assert shown[5:] == ["not measured", "", "no .venv-peers: make bench-peers"]


def test_settings_that_all_rows_share_stand_once_in_the_headline():
    one, two = {"threads": 1, "num_envs": 4}, {"threads": 1, "num_envs": 16}
    suite = report(row(settings=one), row(case="b", settings=two)).suites[0]
    assert tables.headline(suite).endswith("0.9 after); threads 1")
    assert [cells[7] for cells in tables.table_of(suite)] == ["num envs 4", "num envs 16"]


def test_a_model_is_labelled():
    assert "a model, not a measurement" in tables.cells(row(is_model=True))[7]


@pytest.mark.parametrize(
    ("value", "text"),
    [(2.0, "2 s"), (0.0123, "12.3 ms"), (1.47e-4, "147 us"), (5e-7, "0.50 us"), (-0.05, "-50 ms")],
)
def test_seconds_have_three_digits_and_a_unit(value, text):
    assert tables.seconds(value) == text


def test_the_page_holds_figures_pictures_machine_and_warnings(tmp_path):
    busy = ("others used 1.9 of 2 cores while it ran",)
    whole = report(row([0.5, 1.0, 2.0]), row([3.0], case="<b>", kind="difference"), warnings=busy)
    drawn = pictures.draw(whole.suites[0], tmp_path)
    assert [path.name for path in drawn] == ["act.png", "act-ms.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in drawn)
    text = page.page(whole, {"act": drawn})
    assert text.count('src="data:image/png;base64,') == 2
    for part in ("1.00x [0.75, 1.50]", "Abacus 3000, 2 cores, 8 GB", "4.5.6", "&lt;b&gt;", busy[0]):
        assert part in text
    assert "load average 0.1 before and 0.9 after" in text
    assert "http" not in text


def test_a_suite_without_opponents_has_no_picture(tmp_path):
    absent = row(costs=(), others=(), missing="x")
    assert pictures.draw(report(absent).suites[0], tmp_path) == []


def test_load_of_others_is_a_warning_above_half_a_core_per_core():
    quiet = Load(before=1.0, after=9.0, others_before=1.0, others_during=1.0)
    assert machine.load_warnings(quiet, 2, is_first=True) == []
    busy = replace(quiet, others_during=1.1)
    text = "others used 1.1 of 2 cores while it ran"
    assert machine.load_warnings(busy, 2, is_first=False) == [text]
    earlier = replace(quiet, others_before=1.5)
    text = "others used 1.5 of 2 cores before it began"
    assert machine.load_warnings(earlier, 2, is_first=False) == [text]


def test_the_load_average_counts_before_the_first_suite_only():
    load = Load(before=3.0, after=3.0)
    text = "the load average was 3.0 on 2 cores before it began"
    assert machine.load_warnings(load, 2, is_first=True) == [text]
    assert machine.load_warnings(load, 2, is_first=False) == []


def test_the_machine_is_described_and_watched():
    assert {"cores", "processor", "memory", "system"} == set(machine.describe())
    assert {"rlg", "python", "torch", "numpy"} <= set(machine.versions())
    with machine.watched() as loads:
        sum(range(2_000_000))
    (load,) = loads
    assert load.seconds > 0
    assert load.cpu_seconds > 0
