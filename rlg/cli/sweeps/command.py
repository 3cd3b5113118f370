"""`rlg sweep`: what became of a sweep, and going on with it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlg.errors import SpecError


def sweep(
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(help="The folder that `rlg train -m` named.")],
    overrides: Annotated[
        list[str] | None,
        typer.Argument(help="With --resume, Hydra's own keys: hydra.launcher.n_jobs=4."),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Run what is missing, failed or was cut off.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="All figures, for programs.")] = False,
) -> int:
    """Show a sweep's jobs, best first: rlg sweep multirun/...; --resume goes on with it."""
    if resume and as_json:
        raise SpecError("rlg sweep: --json and --resume don't go together. Resume, then look.")
    if resume:
        return _resume(folder, overrides or [], shows_all=bool(ctx.obj))
    if overrides:
        raise SpecError(f"{overrides[0]}: words go with --resume: rlg sweep {folder} --resume ...")
    from rlg.cli.sweeps import report as sweep_report
    from rlg.tracking.sweeps.rows import read_sweep

    found = read_sweep(folder)
    if as_json:
        print(sweep_report.as_json(found))
    else:
        sweep_report.print_sweep(found)
    return 0


def _resume(folder: Path, overrides: list[str], *, shows_all: bool) -> int:
    from contextlib import chdir, nullcontext

    from rlg.cli.composing.flags import Words
    from rlg.cli.sweeps.running import run_jobs
    from rlg.tracking.sweeps.files import SWEEP, Plan

    if not (folder / SWEEP).is_file():
        raise SpecError(
            f"{folder}: no {SWEEP} in it, so it can't be resumed. Give the folder that "
            "`rlg train -m` named."
        )
    wrong = [word for word in overrides if not word.startswith(("hydra.", "hydra/"))]
    if wrong:
        raise SpecError(
            f"{wrong[0]}: a sweep goes on with the values it began with; only Hydra's own keys may "
            "change, such as hydra.launcher.n_jobs=4. For other values start a sweep of its own."
        )
    plan = Plan.read(folder)
    kept = [word for word in plan.words if not word.startswith("hydra.sweep.dir=")]
    # Written in the old place: configuration folders and plugins are found from there.
    where = Path(plan.cwd)
    target = folder if where == Path.cwd() else folder.resolve()
    words = Words(
        overrides=[*kept, *overrides, f"hydra.sweep.dir={_quoted(target)}"],
        flags=["--multirun"],
        config_dir=None if plan.config_dir is None else Path(plan.config_dir),
        config_name=plan.config_name,
        as_test=plan.as_test,
    )
    with chdir(where) if where.is_dir() else nullcontext():
        return run_jobs(words, shows_all=shows_all)


def _quoted(path: Path) -> str:
    """As a value of Hydra's grammar, where commas and blanks mean something."""
    text = str(path).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{text}'"
