"""`rlg plot`: runs compared in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rlg.errors import SpecError

if TYPE_CHECKING:
    from rlg.tracking.chart import Chart
    from rlg.tracking.chart.curves import CurveGroup

FORMATS = (".html", ".svg", ".png")
X_LABELS = {"steps": "environment steps", "frames": "frames"}
TIMES = ((2 * 3600.0, 3600.0, "hours"), (120.0, 60.0, "minutes"), (0.0, 1.0, "seconds"))


def plot(
    folders: Annotated[list[Path], typer.Argument(help="Runs, sweeps, or folders of them.")],
    metric: Annotated[str, typer.Option(help="A name in metrics.jsonl.")] = "eval/mean_reward",
    x: Annotated[str, typer.Option("--x", help="steps, time or frames.")] = "steps",
    group_by: Annotated[
        str | None,
        typer.Option(help="Keys like agent,backend; by default all that differ but the seed."),
    ] = None,
    smooth: Annotated[
        int, typer.Option(min=1, help="Means of this many last points; 1 leaves them as they are.")
    ] = 1,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="An .html, .svg or .png file.")
    ] = None,
) -> int:
    """Compare runs in one picture: rlg plot multirun/... --output compare.html."""
    _check(x, output)
    from rlg.tracking.chart.curves import grouped, read_curves, runs_in

    curves, without = read_curves(runs_in(folders), metric, x)
    if smooth > 1:
        curves = [curve.smoothed(smooth) for curve in curves]
    keys = None if group_by is None else [key.strip() for key in group_by.split(",")]
    groups = grouped(curves, keys)
    _print(groups, metric)
    if without:
        print(f"left out:   {len(without)} without {metric}: {', '.join(map(str, without))}")
    if output is not None:
        _write(_chart(groups, metric, x, smooth), output)
        print(f"picture:    {output}")
    return 0


def _check(x: str, output: Path | None) -> None:
    from rlg.spelling import suggestion

    if x not in X_LABELS and x != "time":
        hint = suggestion(x, [*X_LABELS, "time"])
        raise SpecError(f"--x {x}: it is steps, time or frames.{hint}")
    if output is not None and output.suffix not in FORMATS:
        raise SpecError(f"--output {output}: its name ends in .html, .svg or .png. Choose one.")
    if output is not None and not output.parent.is_dir():
        raise SpecError(f"--output {output}: there is no folder {output.parent}. Make it first.")


def _print(groups: list[CurveGroup], metric: str) -> None:
    from rlg.cli.tables import Table, print_table

    table = Table((metric, "runs", "last", "std", "best", "seeds"), right={"last", "std", "best"})
    for group in groups:
        mean, std = group.last()
        table.add(
            (
                group.label,
                str(group.count),
                f"{mean:.2f}",
                "" if std is None else f"{std:.2f}",
                f"{group.best():.2f}",
                " ".join(str(curve.seed) for curve in group.curves),
            )
        )
    print_table(table)


def _chart(groups: list[CurveGroup], metric: str, x: str, smooth: int) -> Chart:
    from rlg.tracking.chart import Chart

    label = X_LABELS.get(x, "")
    if x == "time":
        groups, label = _timed(groups)
    parts = []
    if any(group.count > 1 for group in groups):
        over = "seeds" if all(group.has_distinct_seeds for group in groups) else "runs"
        parts.append(f"thick: mean over {over}, band: ± standard deviation, thin: single runs")
    if smooth > 1:
        parts.append(f"each run smoothed over {smooth} points")
    return Chart(_title(groups, metric), "; ".join(parts), label, metric, tuple(groups))


def _title(groups: list[CurveGroup], metric: str) -> str:
    """What all runs have in common."""
    configs = [curve.config for group in groups for curve in group.curves]
    common = [
        str(configs[0][key])
        for key in ("agent.type", "env.name")
        if len({str(config.get(key)) for config in configs}) == 1 and key in configs[0]
    ]
    return f"{' on '.join(common)}: {metric}" if common else metric


def _timed(groups: list[CurveGroup]) -> tuple[list[CurveGroup], str]:
    """Seconds in the unit that suits the longest run."""
    from dataclasses import replace

    longest = max(float(curve.x[-1]) for group in groups for curve in group.curves)
    _, unit, name = next(entry for entry in TIMES if longest >= entry[0])
    scaled = [
        replace(group, curves=tuple(replace(curve, x=curve.x / unit) for curve in group.curves))
        for group in groups
    ]
    return scaled, f"{name} of training"


def _write(chart: Chart, output: Path) -> None:
    from rlg.tracking.chart import draw, to_html, to_png, to_svg

    picture = draw(chart)
    if output.suffix == ".png":
        output.write_bytes(to_png(picture))
    else:
        text = to_svg(picture) if output.suffix == ".svg" else to_html(picture, chart)
        output.write_text(text, encoding="utf-8")
