"""Runs the jobs of a command; of a sweep, says at its end what became of all of them."""

from __future__ import annotations

import sys
from pathlib import Path

from rlg.cli.composing.flags import Words
from rlg.cli.composing.hydra_task import run_with_hydra
from rlg.cli.exits import DONE, INTERRUPTED, REWARD_NOT_REACHED, JobsFailedError, report
from rlg.cli.sweeps.job import Jobs
from rlg.cli.sweeps.optuna_conf import offer_optuna
from rlg.cli.sweeps.plan import SweepRefused, planned
from rlg.cli.sweeps.report import print_sweep
from rlg.display.readable import short
from rlg.tracking.sweeps.rows import DONE as IS_DONE
from rlg.tracking.sweeps.rows import FAILED, Sweep, read_sweep

NAMED = 20  # failed jobs in one line


def run_jobs(words: Words, *, shows_all: bool = False) -> int:
    """The exit code of `rlg train`, with or without -m."""
    offer_optuna()
    jobs = Jobs(words, shows_all=shows_all)
    was_interrupted = False
    with planned(words) as sweeping:
        try:
            run_with_hydra(words, jobs)
        except SweepRefused as refused:
            raise refused.error from refused
        except KeyboardInterrupt:
            if sweeping.folder is None:
                raise
            was_interrupted = True
        except Exception as error:
            # A process of jobs that died, or a sweeper without a single result.
            if sweeping.folder is None or not _has_begun(sweeping.folder):
                raise
            if not sweeping.stopping.requested:
                report(error, shows_all=shows_all)
        was_interrupted |= sweeping.stopping.requested
    if sweeping.folder is not None:
        return _end(sweeping.folder, was_interrupted)
    if jobs.error is not None:
        raise jobs.error
    return jobs.exit_code


def _has_begun(folder: Path) -> bool:
    return any(row.steps or row.state in (IS_DONE, FAILED) for row in read_sweep(folder).rows)


def _end(folder: Path, was_interrupted: bool) -> int:
    sweep = read_sweep(folder)
    print()
    print_sweep(sweep)
    if was_interrupted:
        print("rlg: interrupted", file=sys.stderr)
        return INTERRUPTED
    missing = [row for row in sweep.rows if row.state != IS_DONE]
    if missing:
        raise JobsFailedError(_failure(sweep))
    codes = {row.exit_code for row in sweep.rows}
    return REWARD_NOT_REACHED if REWARD_NOT_REACHED in codes else DONE


def _failure(sweep: Sweep) -> str:
    numbers = sorted(row.job.number for row in sweep.rows if row.state != IS_DONE)
    count = f"{len(numbers)} of {len(sweep.rows)} jobs failed"
    named = ", ".join(map(str, numbers[:NAMED])) + ("..." if len(numbers) > NAMED else "")
    return (
        f"{count}: {named}. Their errors are above; rlg sweep {short(sweep.folder)} --resume runs "
        "them again."
    )
