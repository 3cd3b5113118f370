"""Commands on a run's folder: `rlg resume` and `rlg eval`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from rlg.errors import SpecError

Folder = Annotated[Path, typer.Argument(help="The folder that `rlg train` named.")]
Step = Annotated[
    str | None, typer.Option("--checkpoint", help="Its step; the newest intact one if left out.")
]


def resume(
    folder: Folder,
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Changes: total_timesteps=100000 backend=tf.")
    ] = None,
    checkpoint: Step = None,
    config_dir: Annotated[Path | None, typer.Option(help="Your own YAML files.")] = None,
) -> int:
    """Go on with a run: rlg resume outputs/... total_timesteps=100000."""
    check_run(folder)
    step = _step(checkpoint)
    from rlg.api.composing.changes import changes_of

    changes = changes_of(folder, overrides or [], config_dir)
    from rlg.api.run import resume as go_on
    from rlg.cli.summary import print_failure, print_outcome
    from rlg.cli.waiting import waiting

    try:
        with waiting("loading the run..."):
            outcome = go_on(folder, checkpoint=step, changes=changes)
    except Exception as error:
        print_failure(folder, error)
        raise
    print_outcome(outcome)
    return outcome.exit_code


def evaluate(
    folder: Folder,
    episodes: Annotated[int, typer.Option(min=1, help="How many to play.")] = 20,
    checkpoint: Step = None,
    as_json: Annotated[bool, typer.Option("--json", help="For machines.")] = False,
) -> int:
    """Play episodes without exploration: rlg eval outputs/... --episodes 100.

    --checkpoint best: with the model of the best evaluation.
    """
    check_run(folder)
    best = checkpoint == "best"
    step = None if best else _step(checkpoint)
    from rlg.api.run import evaluate_run
    from rlg.cli.summary import describe, figures_of
    from rlg.cli.waiting import waiting

    with waiting(f"playing {episodes} episodes..."):
        found = evaluate_run(folder, episodes=episodes, checkpoint=step, best=best)
    print(json.dumps(figures_of(found)) if as_json else describe(found))
    return 0


def check_run(folder: Path) -> None:
    """Refuses a folder without a run."""
    from rlg.tracking.folder import RunFolder

    if missing := RunFolder(folder).missing:
        depths = ("*", "*/*", "*/*/*")  # a sweep, a day, all of outputs or multirun
        found = [path.parent for depth in depths for path in folder.glob(f"{depth}/status.json")]
        newest = max(found, key=lambda path: path.stat().st_mtime, default=None)
        wanted = (
            "Give the folder that `rlg train` named, such as "
            "outputs/2030-01-31/12-00-00_dqn_cartpole_s0."
            if newest is None
            else f"Give one of the {len(found)} runs in it; the newest is {newest}."
        )
        names = " and ".join(missing)
        raise SpecError(
            f"{folder}: not a run folder: {names} {'is' if len(missing) == 1 else 'are'} missing. "
            f"{wanted}"
        )


def _step(name: str | None) -> int | None:
    if name is None:
        return None
    from rlg.errors import CheckpointError
    from rlg.tracking.checkpoints.store import step_of

    try:
        return step_of(name)
    except CheckpointError as error:
        raise SpecError(f"--checkpoint: {error}") from None
