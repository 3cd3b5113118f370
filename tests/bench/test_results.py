"""Rows, their spreads, `bench.json`, and what tables and pages show of them."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rlg.bench import machine, measuring, page, pictures, tables
from rlg.bench.measuring import Absent, Cost, block_of, interleave
from rlg.bench.opponents import serve
from rlg.bench.results import Load, Report, Suite, joined, spread
from rlg.errors import SpecError
from tests.bench.reports import QUIET, by_process, report, row


def test_a_spread_is_between_what_the_median_of_another_run_is_expected():
    # Medians of processes 0.9, 1.0 and 1.1: deviation 0.1, Student's t of 3 values 4.30.
    found = spread([[0.9, 0.9, 7.0], [1.0], [1.05, 1.15, 1.0, 1.2]])
    assert found == pytest.approx((1 - 0.43, 1.0, 1 + 0.43))
    # Of 4 values t is 3.18, and sqrt(3 / 4) = 0.866.
    half = 3.18 * 0.0258199 * 0.8660254
    assert spread([[1.0], [1.02], [1.04], [1.06]]) == pytest.approx(
        (1.03 - half, 1.03, 1.03 + half)
    )
    assert spread([[1.0]] * 11 + [[2.0]]).high == pytest.approx(1 + 2.26 * 0.2886751 * 0.5)


def test_a_spread_is_never_less_than_one_percent():
    assert spread([[2.0], [2.0], [2.0]]) == pytest.approx((1.98, 2.0, 2.02))
    assert spread([[2.0], [2.0]], size=50.0) == pytest.approx((1.5, 2.0, 2.5))


def test_one_process_knows_its_quartiles_and_that_processes_differ_by_five_percent():
    assert spread([[4.0, 1.0, 2.0, 3.0, 5.0]]) == (2.0, 3.0, 4.0)
    assert spread([[2.0, 2.0]]) == pytest.approx((1.9, 2.0, 2.1))
    assert spread([[7.0]]) == pytest.approx((6.65, 7.0, 7.35))


def test_rows_compare_by_ratio_by_difference_or_not_at_all():
    assert row([0.5, 1.0, 2.0]).compared() == pytest.approx((0.75, 1.0, 1.5))
    assert row([0.5, 1.0, 2.0]).compared("cpu") == pytest.approx((0.95, 1.0, 1.05))
    difference = row([0.5, 1.0, 2.0], kind="difference").compared()
    assert difference == pytest.approx((-0.25e-3, 0.0, 0.5e-3))
    figure = row([0.5, 1.0, 2.0], kind="figure", others=())
    assert figure.compared() == pytest.approx((0.75e-3, 1e-3, 1.5e-3))


def test_rows_are_compared_process_by_process():
    found = by_process([0.9, 5.0, 0.9], [1.0, 1.0], [1.1]).compared()
    assert found == pytest.approx((0.57, 1.0, 1.43))
    # A difference's least spread is a share of what rlg takes: 1 % of 3 ms.
    found = by_process([3.0], [3.0], [3.0], kind="difference").compared()
    assert found == pytest.approx((1.97e-3, 2e-3, 2.03e-3))


def suite_of(*rows, load=QUIET):
    return Suite("act", "greedy actions", rows, load)


def test_what_processes_found_is_joined_with_its_samples_by_process():
    passes = [suite_of(row([0.5, 1.0])), suite_of(row([2.0])), suite_of(row([3.0, 4.0]))]
    (found,) = joined(passes).rows
    assert [cost.wall for cost in found.costs] == pytest.approx([5e-4, 1e-3, 2e-3, 3e-3, 4e-3])
    assert len(found.others) == 5
    assert found.processes == (2, 1, 2)


def test_the_loads_of_processes_are_joined():
    loads = Load(0.1, 0.9, 0.4, 0.1, 12.0, 11.0), Load(0.9, 1.2, 0.2, 1.7, 3.0, 2.0)
    found = joined([suite_of(row(), load=load) for load in loads]).load
    assert found == Load(0.1, 1.2, 0.4, 1.7, 15.0, 13.0)


def test_a_row_that_some_processes_lack_says_so():
    absent = row(costs=(), others=(), missing="SB3: it ended")
    (found,) = joined([suite_of(row([1.0], note="n")), suite_of(absent), suite_of(row([2.0]))]).rows
    assert found.processes == (1, 1)
    assert found.missing == ""
    assert found.note == "n; not in 1 of 3 processes (SB3: it ended)"
    (found,) = joined([suite_of(absent), suite_of(absent)]).rows
    assert found == absent


def test_a_row_that_only_one_process_has_is_kept():
    failure = row(costs=(), others=(), case="act", missing="failed: x")
    found = joined([suite_of(row()), suite_of(failure)]).rows
    assert [one.case for one in found] == ["MLP, batch 1", "act"]


def test_a_model_is_that_of_the_process_in_the_middle():
    models = [row([x], others=(), kind="figure", is_model=True, note=f"{x}") for x in (5, 1, 3)]
    (found,) = joined([suite_of(model) for model in models]).rows
    assert (found.note, len(found.costs)) == ("3", 1)


def test_files_of_format_1_are_read_as_rows_of_one_process(tmp_path):
    path = report(row([0.5, 1.0, 2.0])).write(tmp_path)
    content = json.loads(path.read_text())
    del content["suites"][0]["rows"][0]["processes"]
    path.write_text(json.dumps({**content, "format": 1}))
    assert Report.read(path) == report(row([0.5, 1.0, 2.0]))


def test_a_report_reads_back_as_it_was_written(tmp_path):
    whole = report(
        row(processes=(1, 2)), row([1.0], case="other", missing="", note="n", is_ceiling=True)
    )
    path = whole.write(tmp_path)
    assert path == tmp_path / "bench.json"
    assert Report.read(path) == whole


def test_every_sample_is_in_the_file(tmp_path):
    report(row([0.5, 2.0], processes=(1, 1))).write(tmp_path)
    content = json.loads((tmp_path / "bench.json").read_text())
    (found,) = content["suites"][0]["rows"]
    assert found["costs"] == [[0.0005, 0.002], [0.002, 0.002]]
    assert found["others"] == [[0.001, 0.002], [0.001, 0.002]]
    assert found["processes"] == [1, 1]
    assert content["machine"]["processor"] == "Abacus 3000"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        ("{", "this is not JSON"),
        ("[]", "expected a bench.json of format 2, got None"),
        ('{"format": 99}', "expected a bench.json of format 2, got 99"),
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


def test_a_block_costs_wall_and_cpu_time_per_unit(monkeypatch):
    walls, used = iter([10.0, 16.0]), iter([1.0, 4.0])
    clock = SimpleNamespace(perf_counter=lambda: next(walls), process_time=lambda: next(used))
    monkeypatch.setattr(measuring, "time", clock)
    calls = []
    cost = block_of(lambda: calls.append(1), calls=10, units=100)()
    assert len(calls) == 10
    assert cost == Cost(6 / 1000, 3 / 1000)


def test_a_row_shows_both_sides_the_ratio_and_its_quartiles():
    shown = tables.cells(row([0.5, 1.0, 2.0], settings={"replay_ratio": 20}, note="said"))
    assert shown[:5] == ["MLP, batch 1", "rlg torch", "1 ms/call", "by hand", "1 ms/call"]
    assert shown[5:] == ["1.00x [0.75, 1.50]", "1.00x [0.95, 1.05]", "replay ratio 20; said"]


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


def test_a_partial_report_says_how_many_processes_it_has(tmp_path):
    partial = report(settings={"threads": 1, "processes": 4}, finished=2)
    text = "a partial report: 2 of 4 processes have measured everything"
    assert list(tables.warnings(partial)) == [text]
    assert text in page.page(partial, {})
    assert Report.read(partial.write(tmp_path)) == partial
    whole = replace(partial, finished=4)
    assert list(tables.warnings(whole)) == list(tables.warnings(report())) == []


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


BURN = """
import sys, time
while time.process_time() < 0.3:
    pass
print("done", flush=True)
sys.stdin.readline()
"""


@pytest.mark.parametrize("used", [machine.own_cpu, serve.cpu_seconds], ids=["ours", "theirs"])
def test_cpu_time_counts_the_processes_below(used):
    before, pipe = used(), subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", BURN], stdin=pipe, stdout=pipe) as child:
        assert child.stdout.readline() == b"done\n"
        assert used() - before >= 0.25


def test_the_load_of_others_is_what_is_not_ours(monkeypatch):
    # CPU seconds of the machine and of ours: at first, after the pause, at the start, at the end.
    used = iter([(0.0, 0.0), (0.05, 0.0), (1.0, 0.5), (11.0, 8.5)])
    clock = iter([100.0, 110.0])
    monkeypatch.setattr(machine, "_used", lambda: next(used))
    fake = SimpleNamespace(perf_counter=lambda: next(clock), sleep=lambda _: None)
    monkeypatch.setattr(machine, "time", fake)
    with machine.watched() as loads:
        pass
    (load,) = loads
    assert load.others_before == pytest.approx(0.5)
    assert load.others_during == pytest.approx(0.2)
    assert (load.seconds, load.cpu_seconds) == (10.0, 8.0)


def test_the_tail_of_single_calls_is_their_99th_percentile(monkeypatch):
    class Clock:
        now = 0.0

        def perf_counter(self):
            return self.now

        def process_time(self):
            return 2 * self.now

    clock, calls = Clock(), iter(range(1_000))
    monkeypatch.setattr(measuring, "time", clock)

    def call():
        clock.now += 10.0 if next(calls) >= 297 else 1.0

    assert measuring.single_calls(call, 300)() == Cost(10.0, 2 * (297 + 30) / 300)
