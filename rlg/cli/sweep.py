"""`rlg train -m` and `rlg sweep`: running a sweep, showing its jobs, and resuming it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager, chdir
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlg.api.phases import DONE, INTERRUPTED, REWARD_NOT_REACHED
from rlg.cli.exits import JobsFailedError, report
from rlg.cli.flags import AsJson, TrustPlugins
from rlg.cli.waiting import loading_message, print_start, waiting
from rlg.errors import SpecError

if TYPE_CHECKING:
    from rlg.api.composing.command_line import CommandLine
    from rlg.api.run import Outcome, Start
    from rlg.api.sweeps.jobs import AlreadyDone
    from rlg.tracking.sweeps import Job

NAMED = 20  # failed jobs in one line


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
    as_json: AsJson = False,
    trust_plugins: TrustPlugins = False,
) -> int:
    """Show a sweep's jobs, best first: rlg sweep multirun/...; --resume runs the rest."""
    if resume and as_json:
        raise SpecError("rlg sweep: --json and --resume don't go together. Resume, then look.")
    if resume:
        from rlg.api.sweeps.run import line_of

        line, place = line_of(folder, overrides or [], trust_plugins=trust_plugins)
        with chdir(place):
            return run(line, shows_all=bool(ctx.obj))
    if overrides:
        raise SpecError(
            f"{overrides[0]}: overrides go with --resume: rlg sweep {folder} --resume ..."
        )
    from rlg.cli.sweep_table import print_sweep, print_sweep_json
    from rlg.tracking.sweeps import read_sweep

    (print_sweep_json if as_json else print_sweep)(read_sweep(folder))
    return DONE


def run(line: CommandLine, *, shows_all: bool = False) -> int:
    """Runs a sweep; at its end says what became of all of its jobs."""
    from rlg.api.sweeps.run import run_sweep
    from rlg.cli.sweep_table import print_sweep
    from rlg.display.readable import short
    from rlg.tracking.sweeps import read_sweep

    folder, was_interrupted = run_sweep(line, JobLines(shows_all))
    found = read_sweep(folder)
    print()
    print_sweep(found)
    if was_interrupted:
        print("rlg: interrupted", file=sys.stderr)
        return INTERRUPTED
    failed = sorted(row.job.number for row in found.rows if row.state != "done")
    if failed:
        named = ", ".join(map(str, failed[:NAMED])) + ("..." if len(failed) > NAMED else "")
        raise JobsFailedError(
            f"{len(failed)} of {len(found.rows)} jobs failed: {named}. Their errors are above; rlg "
            f"sweep {short(folder)} --resume runs them again."
        )
    codes = {row.exit_code for row in found.rows}
    return REWARD_NOT_REACHED if REWARD_NOT_REACHED in codes else DONE


@dataclass(frozen=True)
class JobLines:
    """Prints a line for each job of a sweep, from whichever process runs it."""

    shows_all: bool = False

    def loading(self, config: Mapping[str, Any]) -> AbstractContextManager[None]:
        return waiting(loading_message(config))

    def started(self, name: str, start: Start) -> None:
        print_start(start, f"{name}: ")

    def ended(self, job: Job, outcome: Outcome | AlreadyDone) -> None:
        from rlg.cli.summary import print_job

        print_job(job.name, outcome)

    def failed(self, name: str, error: Exception) -> None:
        report(error, shows_all=self.shows_all, prefix=f"{name}: " if name else "")
