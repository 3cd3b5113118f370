"""The figures of the README and docs/performance.md are those of docs/bench.json."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlg.bench.results import Report
from scripts import performance as script
from tests.bench.reports import by_both, report, row

TEXT = f"# Title\n\n{script.BEGIN}old\n{script.END}\nthe rest\n"


def test_the_summary_has_the_least_and_the_most_of_all_cases_against_an_opponent():
    found = report(
        row([0.5, 1.0, 2.0], cpu=[0.7, 0.8, 0.9]),
        row([0.25, 0.25, 0.25], cpu=[1.5, 1.5, 1.5], case="MLP, batch 4"),
        by_both([3.0], opponent="SB3"),
        row([9.0], opponent="SB3", is_model=True),
        row([], opponent="RLlib", missing="make bench-peers"),
    )
    assert script.summary(found) == [
        ["act", "rlg torch", "by hand", "2", "0.25x to 1.00x", "0.80x to 1.50x"],
        ["act", "rlg torch", "SB3", "1", "3.00x", "3.00x"],
    ]


def test_what_is_compared_by_cpu_time_alone_has_no_ratio_of_wall_time():
    found = report(row([0.5], cpu=[0.7], clock="cpu"))
    assert script.summary(found)[0][-2:] == ["", "0.70x"]


def test_builds_are_compared_by_their_difference():
    rows = (row([0.5], kind="difference"), row([4.0], kind="difference", case="large"))
    assert script.summary(report(*rows))[0][-2] == "-0 ms to +3 ms"


def test_the_section_has_date_machine_and_versions():
    text = script.section(report())
    assert "on 2030-01-31: Abacus 3000, 2 cores, 8 GB; rlg 1.2.3, torch 4.5.6." in text
    assert "| act | rlg torch | by hand | 1 | 1.00x | 1.00x |" in text


def test_the_page_has_warnings_and_every_row():
    text = script.page(report(row([0.5, 1.0, 2.0]), warnings=("others used 1.9 of 2 cores",)))
    assert "**Warning:** act: others used 1.9 of 2 cores." in text
    assert (
        "| MLP, batch 1 | rlg torch | 1 ms/call | by hand | 1 ms/call | 1.00x [0.75, 1.50] |"
        in text
    )


def test_a_suite_that_was_measured_again_replaces_the_older_one():
    old = report()
    memory = replace(old.suites[0], name="memory")
    old = replace(old, suites=(memory, old.suites[0]))
    new = report(row([7.0]), date="2031-02-01T12:00:00")
    found = script.joined(old, new)
    assert found.date == "2031-02-01T12:00:00"
    assert found.suites == (new.suites[0], memory)
    assert script.joined(None, new) is new


def test_only_what_stands_between_the_markers_is_replaced():
    text = script.replaced(TEXT, report())
    assert text.startswith(f"# Title\n\n{script.BEGIN}\nMeasured by")
    assert text.endswith(f"\n{script.END}\nthe rest\n")
    assert "old" not in text
    assert script.replaced(text, report()) == text


def test_a_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="the page lacks <!-- bench: begin -->"):
        script.replaced("# Title\n", report())


def test_the_readme_and_the_page_are_what_the_script_generates():
    found = Report.read(script.SOURCE)
    text = script.README.read_text("utf-8")
    assert text == script.replaced(text, found)
    assert script.PAGE.read_text("utf-8") == script.page(found)
