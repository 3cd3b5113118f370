"""`rlg config`: the resolved configuration, where each value comes from, and a summary of it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rlg.cli.flags import AsJson, ConfigDir, ConfigName, Overrides, command_line
from rlg.spelling import flat

if TYPE_CHECKING:
    from rlg.api.composing.command_line import CommandLine
    from rlg.api.inspection.estimate import Report


def config(
    overrides: Overrides = None,
    config_dir: ConfigDir = None,
    config_name: ConfigName = "train",
    as_json: AsJson = False,
) -> int:
    """Show the resolved configuration: rlg config env=pong.

    Overrides are those of `rlg train`; a run's folder shows what that run is, with changes as `rlg
    resume` takes them. Every value stands beside the file that it comes from. The output is YAML.
    """
    words = command_line(overrides, config_dir, config_name)
    from rlg.api.config.validate import validate

    tree, sources = _read(words)
    is_run = bool(words.overrides) and "=" not in words.overrides[0]
    from rlg.api.inspection.estimate import Report, report_on

    if is_run and tree.get("plugins"):
        # Code of whoever wrote the folder: to look at it is not to run it.
        report = Report(
            warnings=[f"nothing is checked: plugins {tree['plugins']} are not imported"]
        )
        checked = tree
    else:
        checked = validate(tree, loads_backend=False)
        report = report_on(checked)
    found = sources()
    if as_json:
        _print_json(checked, found, report)
    else:
        _print(checked, found, report)
    return 0


def _read(words: CommandLine) -> tuple[dict[str, Any], Callable[[], dict[str, str]]]:
    """The configuration, from a run's folder or composed; and what finds its sources."""
    first = words.overrides[0] if words.overrides else ""
    if "=" in first or not first or not Path(first).exists():
        from rlg.api.composing.compose import composed, sources

        return composed(words), partial(sources, words)
    from rlg.api.composing.changes import changes_of
    from rlg.api.composing.compose import COMMAND_LINE
    from rlg.api.folders import run_config

    folder = Path(first)
    before = run_config(folder)
    changes = changes_of(folder, words.overrides[1:], words.config_dir)
    after = {**before, **changes}
    old, new = flat(before), flat(after)
    file = str(folder / "config.yaml")
    found = {p: file if p in old and old[p] == new[p] else COMMAND_LINE for p in new}
    return after, lambda: found


def _print(checked: Mapping[str, Any], found: Mapping[str, str], report: Report) -> None:
    from rlg.api.composing.compose import source_of

    rows: list[tuple[str, str]] = []
    for key, value in checked.items():
        rows += _rows(key, value, "", 0)
    lines = dict(rows)
    width = min(52, max(map(len, lines.values())) + 2)
    for path, text in lines.items():
        is_section = text.endswith(":")
        print(text if is_section else f"{text:{width}} # {source_of(path, found)}")
    print("\n# Summary:")
    for figure in report.figures:
        if figure.line:
            print(f"# {figure.line}")
    for warning in report.warnings:
        print(f"# warning: {warning}")


def _rows(key: str, value: Any, prefix: str, depth: int) -> list[tuple[str, str]]:
    path, indent = f"{prefix}{key}", "  " * depth
    if isinstance(value, Mapping) and value:
        rows = [(path, f"{indent}{key}:")]
        for name, inner in value.items():
            rows += _rows(name, inner, f"{path}.", depth + 1)
        return rows
    return [(path, f"{indent}{key}: {_yaml(value)}")]


def _yaml(value: Any) -> str:
    import yaml

    text: str = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
    return text.removesuffix("\n").removesuffix("\n...")


def _print_json(checked: Mapping[str, Any], found: Mapping[str, str], report: Report) -> None:
    from rlg.api.composing.compose import source_of

    content = {
        "config": checked,
        "sources": {path: source_of(path, found) for path in flat(checked)},
        "figures": report.values(),
        "warnings": report.warnings,
    }
    print(json.dumps(content, indent=2))
