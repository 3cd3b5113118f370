"""`rlg config`: the resolved configuration, where each value comes from, and a summary of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from rlg.api.composing.command_line import CommandLine
from rlg.cli.flags import AsJson, ConfigDir, ConfigName, Overrides
from rlg.cli.output import print_json
from rlg.spelling import flat


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
    line = CommandLine(overrides or [], config_dir, config_name)
    folder = _run_of(line)
    from rlg.api.composing.compose import composed, source_of, sources
    from rlg.api.config.validate import validate
    from rlg.api.inspection.estimate import Report, report_on

    tree, found = (composed(line), None) if folder is None else _read(folder, line)
    if folder is not None and tree.get("plugins"):
        # Code of whoever wrote the folder: to look at it is not to run it.
        checked = tree
        report = Report(
            warnings=[f"nothing is checked: plugins {tree['plugins']} are not imported"]
        )
    else:
        checked = validate(tree, loads_backend=False)
        report = report_on(checked)
    known = sources(line) if found is None else found
    origins = {path: source_of(path, known) for path in flat(checked)}
    if as_json:
        figures = {"figures": report.values(), "warnings": report.warnings}
        print_json({"config": checked, "sources": origins, **figures})
        return 0
    lines = list(_lines(checked))
    width = min(52, max(len(text) for _, text in lines) + 2)
    for path, text in lines:
        print(f"{text:{width}} # {origins[path]}" if path else text)
    print("\n# Summary:")
    for text in [*report.lines(), *(f"warning: {warning}" for warning in report.warnings)]:
        print(f"# {text}")
    return 0


def _run_of(line: CommandLine) -> Path | None:
    """The run's folder, if that is what the first word names."""
    first = line.overrides[0] if line.overrides else ""
    return Path(first) if first and "=" not in first and Path(first).exists() else None


def _read(folder: Path, line: CommandLine) -> tuple[dict[str, Any], dict[str, str]]:
    """The configuration of a run with changes, and where its values come from."""
    from rlg.api.composing.compose import COMMAND_LINE, changes_of
    from rlg.api.folders import run_config

    before = run_config(folder)
    after = {**before, **changes_of(folder, line.overrides[1:], line.config_dir)}
    old, file = flat(before), str(folder / "config.yaml")
    found = {
        path: file if path in old and old[path] == value else COMMAND_LINE
        for path, value in flat(after).items()
    }
    return after, found


def _lines(
    tree: Mapping[str, Any], prefix: str = "", indent: str = ""
) -> Iterator[tuple[str, str]]:
    """The lines of a YAML file, each with the path of its value; a section's heading has none."""
    import yaml

    for key, value in tree.items():
        if isinstance(value, Mapping) and value:
            yield "", f"{indent}{key}:"
            yield from _lines(value, f"{prefix}{key}.", f"{indent}  ")
        else:
            text = yaml.safe_dump(value, default_flow_style=True, width=10_000, sort_keys=False)
            text = text.removesuffix("\n").removesuffix("\n...")
            yield f"{prefix}{key}", f"{indent}{key}: {text}"
