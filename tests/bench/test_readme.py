"""The README's figures are those of docs/bench.json, once there is one."""

from __future__ import annotations

import pytest

from rlg.bench.results import Report
from scripts import readme_performance as script
from tests.bench.reports import report, row

PAGE = f"# Title\n\n{script.BEGIN}old\n{script.END}\nthe rest\n"


def test_the_section_has_date_machine_versions_warnings_and_figures():
    text = script.section(report(row([0.5, 1.0, 2.0]), warnings=("others used 1.9 of 2 cores",)))
    assert "on 2030-01-31: Abacus 3000, 2 cores, 8 GB; rlg 1.2.3, torch 4.5.6." in text
    assert "**Warning:** act: others used 1.9 of 2 cores." in text
    assert (
        "| MLP, batch 1 | rlg torch | 1 ms/call | by hand | 1 ms/call | 1.00x [0.75, 1.50] |"
        in text
    )


def test_only_what_stands_between_the_markers_is_replaced():
    text = script.replaced(PAGE, report())
    assert text.startswith(f"# Title\n\n{script.BEGIN}\nMeasured by")
    assert text.endswith(f"\n{script.END}\nthe rest\n")
    assert "old" not in text
    assert script.replaced(text, report()) == text


def test_a_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="the page lacks <!-- bench: begin -->"):
        script.replaced("# Title\n", report())


def test_the_readme_is_what_the_script_generates_or_written_by_hand_without_markers():
    text = script.README.read_text("utf-8")
    assert (script.BEGIN in text) == script.SOURCE.exists()
    if script.SOURCE.exists():
        assert text == script.replaced(text, Report.read(script.SOURCE))
