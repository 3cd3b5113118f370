"""docs/coverage.md: every component class of RLgraph has a counterpart that exists, or a reason."""

from __future__ import annotations

from pathlib import Path

from scripts.coverage import PAGE, exists, page, rows


def test_the_page_is_that_of_its_table():
    assert Path(PAGE).read_text() == page()


def test_counterparts_exist_and_gaps_have_reasons():
    for _, name, counterpart, note in rows():
        if counterpart == "-":
            assert note, name
        else:
            assert exists(counterpart), f"{name}: {counterpart}"


def test_nothing_is_left_out():
    # All classes of its Python files below rlgraph/components.
    assert len(rows()) == 132
    assert not exists("no_such_component")
