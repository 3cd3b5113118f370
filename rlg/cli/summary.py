"""The summary at the end of a run: results, folder, and what to type next."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlg.api.expectation import Verdict
    from rlg.api.run import Outcome
    from rlg.api.sweeps.jobs import AlreadyDone
    from rlg.execution.evaluation import Evaluation

from rlg.api.phases import INTERRUPTED, phase_of
from rlg.display.readable import counted, duration, rate, short
from rlg.errors import RLGError


def print_outcome(outcome: Outcome) -> int:
    """Prints the result of a training run, and notes it in its log; returns the exit code."""
    from rlg.tracking.folder import RunFolder

    skipped = [f"skipped a broken checkpoint: {line}" for line in outcome.skipped]
    text = "\n".join([*skipped, *lines(outcome)])
    RunFolder(outcome.folder).log.write(text)
    print(text, flush=True)
    return outcome.exit_code


@contextmanager
def naming_failures(folder: Path) -> Iterator[None]:
    """Prints the folder of a run that fails or is stopped midway, and how to resume it."""
    try:
        yield
    except (Exception, KeyboardInterrupt) as error:
        if not isinstance(error, RLGError) or phase_of(error) == "running":
            _print_failure(folder)
        raise  # others were refused, or the folder is another's


def _print_failure(folder: Path) -> None:
    from rlg.tracking.checkpoints.store import CheckpointStore
    from rlg.tracking.folder import RunFolder

    run = RunFolder(folder)
    if not run.config.exists() or not run.checkpoints.is_dir():
        return
    steps = CheckpointStore(run.checkpoints, read_only=True).steps()
    name = shlex.quote(short(folder))
    print(f"results:    {name}")
    if steps:
        print(f"resume:     rlg resume {name}  # from step {steps[-1]:,}")
    sys.stdout.flush()


def print_job(job: str, outcome: Outcome | AlreadyDone) -> None:
    """Prints the result of one job of a sweep, in one line."""
    from rlg.api.sweeps.jobs import AlreadyDone

    folder = shlex.quote(short(outcome.folder))
    if isinstance(outcome, AlreadyDone):
        reward = "" if outcome.reward is None else f", mean reward {outcome.reward:.2f}"
        print(f"{job}: kept, it was done before{reward}; results: {folder}", flush=True)
        return
    reward = "" if outcome.evaluation is None else f", {describe(outcome.evaluation)}"
    if outcome.verdict is not None:
        reward = f", {_verdict(outcome.verdict)}"
    print(f"{job}: {_state(outcome)}{reward}; results: {folder}", flush=True)


def lines(outcome: Outcome) -> list[str]:
    """The summary; paths are as one can type them here."""
    folder = shlex.quote(short(outcome.folder))
    budget = "" if outcome.exit_code == INTERRUPTED else f" total_timesteps={2 * outcome.steps}"
    beside = shlex.quote(short(outcome.folder.resolve().parent))  # the runs in the same folder
    page = shlex.quote(short(outcome.folder / "graph.html"))
    best = outcome.best
    pairs = [
        ("warning", _no_updates(outcome)),
        ("evaluation", outcome.evaluation and describe(outcome.evaluation)),
        ("best", best and f"mean reward {best['mean_reward']:.2f} at step {best['step']:,}"),
        ("expected", outcome.verdict and _verdict(outcome.verdict)),
        ("results", folder),
        ("evaluate", f"rlg eval {folder}{_checkpoint(outcome)}"),
        ("resume", f"rlg resume {folder}{budget}"),
        ("curves", f"tensorboard --logdir {folder}"),
        ("compare", f"rlg plot {beside}"),
        ("graph", page if (outcome.folder / "graph.html").exists() else None),
    ]
    return [_state(outcome), *(f"{name + ':':12}{text}" for name, text in pairs if text)]


def _no_updates(outcome: Outcome) -> str | None:
    """Why a run has learned nothing."""
    from rlg.tracking.sweeps import config_of

    starts = config_of(outcome.folder).get("agent", {}).get("learning_starts")
    if outcome.updates or starts is None or outcome.steps > starts:
        return None
    return (
        f"nothing was learned: learning starts after {starts:,} steps (agent.learning_starts), the "
        f"run had {outcome.steps:,}"
    )


def _checkpoint(outcome: Outcome) -> str:
    """The best model, if it is another than the last."""
    is_kept = outcome.best is not None and (outcome.folder / "best").exists()
    is_last = outcome.best is not None and outcome.best["step"] == outcome.steps
    return " --checkpoint best" if is_kept and not is_last else ""


def _state(outcome: Outcome) -> str:
    state = "interrupted, saved" if outcome.exit_code == INTERRUPTED else "done"
    since = f" (resumed at {outcome.resumed_at:,})" if outcome.resumed_at is not None else ""
    speed = f" in {duration(outcome.seconds)}, {rate(outcome.steps_per_second)} steps/s"
    steps, updates = counted(outcome.steps, "step"), counted(outcome.updates, "update")
    return f"{state}: {steps}{since}, {updates}{speed}"


def _verdict(verdict: Verdict) -> str:
    """Whether a test was passed, with its figures."""
    word = "reached" if verdict.is_reached else "not reached"
    return (
        f"{word}: mean reward {verdict.evaluation.mean_reward:.2f}, expected "
        f"{verdict.expected:.2f}, after {verdict.steps:,} steps in {duration(verdict.seconds)}"
    )


def describe(evaluation: Evaluation) -> str:
    """Mean and spread of the returns."""
    cut = f"; {evaluation.cut_note}" if evaluation.cut else ""
    return (
        f"mean reward {evaluation.mean_reward:.2f} +- {evaluation.std_reward:.2f} over "
        f"{counted(len(evaluation.returns), 'episode')} of {evaluation.mean_length:.0f} steps{cut}"
    )
