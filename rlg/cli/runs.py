"""Commands on a run's folder: `rlg resume` and `rlg eval`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlg.cli.flags import AsJson, ConfigDir, TrustPlugins
from rlg.cli.output import print_json
from rlg.cli.waiting import print_start, waiting
from rlg.errors import SpecError

Folder = Annotated[Path, typer.Argument(help="The folder that `rlg train` named.")]
Step = Annotated[str | None, typer.Option(help="Step (default: latest intact).")]
StepOrBest = Annotated[str | None, typer.Option(help="Step, or 'best' (default: latest intact).")]


def resume(
    folder: Folder,
    overrides: Annotated[
        list[str] | None, typer.Argument(help="Changes: total_timesteps=100000 backend=tf.")
    ] = None,
    checkpoint: Step = None,
    config_dir: ConfigDir = None,
    trust_plugins: TrustPlugins = False,
) -> int:
    """Resume a run: rlg resume outputs/... total_timesteps=100000.

    Schedules (epsilon, learning rate) keep their span; schedule_timesteps=... changes it.
    """
    from rlg.api.python import resume as resume_run
    from rlg.cli.summary import naming_failures, print_outcome

    with naming_failures(folder), waiting("loading the run..."):
        outcome = resume_run(
            folder,
            *(overrides or ()),
            checkpoint=checkpoint,
            config_dir=config_dir,
            trust_plugins=trust_plugins,
            on_start=print_start,
        )
    return print_outcome(outcome)


def evaluate(
    folder: Folder,
    episodes: Annotated[
        int | None, typer.Option(min=1, help="How many (default: 20, or 1 to look at).")
    ] = None,
    checkpoint: StepOrBest = None,
    render: Annotated[bool, typer.Option("--render", help="Show them in a window.")] = False,
    video: Annotated[
        Path | None, typer.Option("--video", help="Film them: an .mp4 or .gif file.")
    ] = None,
    record: Annotated[
        Path | None,
        typer.Option("--record", help="Write their steps: an .npz file for agent=dqfd."),
    ] = None,
    as_json: AsJson = False,
    trust_plugins: TrustPlugins = False,
) -> int:
    """Play episodes without exploration: rlg eval outputs/... --episodes 100.

    --checkpoint best: with the model of the best evaluation.
    """
    if render and video:
        raise SpecError("rlg eval: give --render or --video, not both.")
    from rlg.api.python import evaluate as evaluate_run
    from rlg.cli.summary import describe
    from rlg.display.readable import counted

    count = episodes or (1 if render or video else 20)
    with waiting(f"playing {counted(count, 'episode')}..."):
        found = evaluate_run(
            folder,
            episodes=count,
            checkpoint=checkpoint,
            render=render,
            video=video,
            record=record,
            trust_plugins=trust_plugins,
        )
    if as_json:
        names = ("mean_reward", "std_reward", "mean_length", "returns", "lengths", "cut")
        print_json({name: getattr(found, name) for name in names})
        return 0
    print(describe(found))
    if video is not None:
        print(f"video:      {video}")
    if record is not None:
        print(f"record:     {record}, {sum(found.lengths):,} steps")
    return 0
