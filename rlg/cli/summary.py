"""What a run prints when it ends: what came out, where it is, what to type next."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlg.api.evaluation import Evaluation
    from rlg.api.run import Outcome

from rlg.cli.exits import INTERRUPTED


def print_outcome(outcome: Outcome) -> None:
    """Prints the result of a training run."""
    for line in outcome.skipped:
        print(f"skipped a broken checkpoint: {line}")
    print("\n".join(lines(outcome)), flush=True)


def print_job(job: str, outcome: Outcome) -> None:
    """Prints the result of one job of a sweep, in one line."""
    reward = "" if outcome.evaluation is None else f", {describe(outcome.evaluation)}"
    state = _state(outcome)
    print(f"{job}: {state}{reward}; results: {shlex.quote(short(outcome.folder))}", flush=True)


def lines(outcome: Outcome) -> list[str]:
    """The summary; paths are as one can type them here."""
    folder = shlex.quote(short(outcome.folder))
    budget = "" if outcome.exit_code == INTERRUPTED else f" total_timesteps={2 * outcome.steps}"
    found = [_state(outcome)]
    if outcome.evaluation is not None:
        found.append(f"evaluation: {describe(outcome.evaluation)}")
    return [
        *found,
        f"results:    {folder}",
        f"evaluate:   rlg eval {folder}",
        f"resume:     rlg resume {folder}{budget}",
        f"curves:     tensorboard --logdir {folder}",
    ]


def _state(outcome: Outcome) -> str:
    state = "interrupted, saved" if outcome.exit_code == INTERRUPTED else "done"
    since = f" (resumed at {outcome.resumed_at:,})" if outcome.resumed_at is not None else ""
    return f"{state}: {outcome.steps:,} steps{since}, {outcome.updates:,} updates"


def describe(evaluation: Evaluation) -> str:
    """Mean and spread of the returns."""
    return (
        f"mean reward {evaluation.mean_reward:.2f} +- {evaluation.std_reward:.2f} over "
        f"{len(evaluation.returns)} episodes of {evaluation.mean_length:.0f} steps"
    )


def short(path: Path) -> str:
    """A path relative to the working folder, where it is below it."""
    try:
        return str(path.resolve().relative_to(Path.cwd()))
    except ValueError:
        return str(path)
