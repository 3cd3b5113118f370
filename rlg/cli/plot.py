"""`rlg plot`: runs compared in one picture."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlg.cli.output import print_table
from rlg.errors import SpecError
from rlg.spelling import suggestion


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
        Path, typer.Option("--output", "-o", help="A .png, .svg, .pdf or .html file.")
    ] = Path("plot.png"),
) -> int:
    """Compare runs in one picture: rlg plot multirun/... --output compare.html."""
    _check(x, output)
    from rlg.display.curves import COLUMNS, grouped, read_curves, runs_in
    from rlg.display.plot import Chart, write_plot
    from rlg.tracking.files import writing

    curves, without = read_curves(runs_in(folders), metric, x)
    keys = None if group_by is None else [key.strip() for key in group_by.split(",")]
    groups = grouped(curves, keys)
    rows = [group.cells(lambda value, _: f"{value:.2f}") for group in groups]
    print_table((metric, *COLUMNS), rows, right=("last", "std", "best"))
    if without:
        print(f"left out:   {len(without)} without {metric}: {', '.join(map(str, without))}")
    with writing(output, "--output"):
        write_plot(Chart(tuple(groups), metric, x, smooth), output)
    print(f"picture:    {output}")
    return 0


def _check(x: str, output: Path) -> None:
    from rlg.display.plot import AXES, FORMATS

    if x not in AXES:
        raise SpecError(f"--x {x}: expected steps, time or frames.{suggestion(x, AXES)}")
    if output.suffix not in FORMATS:
        raise SpecError(f"--output {output}: expected a name that ends in {', '.join(FORMATS)}.")
    if not output.parent.is_dir():
        raise SpecError(f"--output {output}: there is no folder {output.parent}. Make it first.")
