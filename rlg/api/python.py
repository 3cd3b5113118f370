"""rlg from Python: `rlg.compose`, `train`, `resume`, `load`, `evaluate`, `export`.

They take what the command line takes and do what it does; errors are raised instead of printed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any

from rlg.api.agents.agent import Agent
from rlg.api.composing.command_line import CommandLine, hydra_text
from rlg.api.composing.compose import changes_of, composed, new_run
from rlg.api.config.validate import validate
from rlg.api.export.export import export
from rlg.api.folders import RUN_DIR, new_folder
from rlg.api.loading import Checkpoint, load_run, step_given
from rlg.api.run import OnStart, Outcome
from rlg.api.run import resume as resume_run
from rlg.api.run import train as train_run
from rlg.display.video import Video
from rlg.errors import SpecError
from rlg.execution.demonstrations import Recorder
from rlg.execution.evaluation import Evaluation
from rlg.execution.evaluation import evaluate as play
from rlg.graph.core.component.randomness import key_of

__all__ = ["compose", "evaluate", "export", "load", "resume", "train"]


def compose(*overrides: str, config_dir: str | Path | None = None, **values: Any) -> dict[str, Any]:
    """The configuration of a run: `compose("env=pong", seed=3, agent={"n_step": 3})`.

    Args:
        overrides: As on the command line.
        values: The same with Python's values; those in a dict are single keys of a section.
    """
    return composed(_line(overrides, values, config_dir))


def train(
    *overrides: str,
    config: Mapping[str, Any] | None = None,
    folder: str | Path | None = None,
    config_dir: str | Path | None = None,
    as_test: bool = False,
    **values: Any,
) -> Outcome:
    """Trains, and returns how the run ended; a Ctrl-C saves it and returns too.

    Args:
        overrides, values, config_dir: As `compose` takes them.
        config: A whole configuration instead of these.
        folder: The run's folder; by default a new one below outputs/.
    """
    if config is None:
        named = () if folder is None else (f"{RUN_DIR}={hydra_text(str(folder))}",)
        line = _line((*overrides, *named), values, config_dir, as_test=as_test)
        with new_run(line) as run:
            return train_run(run.config, run.folder, run.command, as_test=as_test)
    if overrides or values:
        raise TypeError("rlg.train: give a config, or overrides and values, not both.")
    checked = validate(config)
    path = Path(folder) if folder is not None else _default_folder(checked)
    with new_folder(path, is_named=folder is not None) as place:
        return train_run(checked, place, as_test=as_test)


def resume(
    folder: str | Path,
    *overrides: str,
    checkpoint: Checkpoint = None,
    config_dir: str | Path | None = None,
    trust_plugins: bool = False,
    on_start: OnStart | None = None,
    **values: Any,
) -> Outcome:
    """Resumes a run: `resume(folder, total_timesteps=100_000)`."""
    step, line = step_given(checkpoint), _line(overrides, values, config_dir)
    return resume_run(
        folder,
        checkpoint=step,
        changes=changes_of(Path(folder), line.overrides, line.config_dir),
        trust_plugins=trust_plugins,
        on_start=on_start,
    )


def load(
    folder: str | Path, checkpoint: Checkpoint = None, *, trust_plugins: bool = False
) -> Agent:
    """The agent of a run, to act with: `load(folder).get_actions(observations, explore=False)`."""
    return load_run(folder, checkpoint, trust_plugins).agent


def evaluate(
    folder: str | Path,
    *,
    episodes: int = 20,
    checkpoint: Checkpoint = None,
    render: bool = False,
    video: str | Path | None = None,
    record: str | Path | None = None,
    trust_plugins: bool = False,
) -> Evaluation:
    """Plays episodes without exploration, as `rlg eval` does.

    `render` shows them in a window, `video` is the .mp4 or .gif file that they are written to,
    `record` the .npz file that their steps are written to, as demonstrations for `agent=dqfd`.
    """
    if episodes < 1:
        raise SpecError(f"--episodes: must be at least 1, got {episodes}.")
    film = None if video is None else Video(Path(video))  # refuses a name before anything is loaded
    notes = None if record is None else Recorder(Path(record))
    loaded = load_run(folder, checkpoint, trust_plugins)
    agent, config = loaded.agent, loaded.config
    env, most = config["env"], config["evaluation"]["max_steps"]
    # No training run and no other evaluation has these episodes.
    seed = key_of(int(config["seed"]), "rlg eval") % 2**31
    options: dict[str, Any] = {"max_steps": most}
    if notes is not None:
        notes.max_steps, options["record"] = most, notes.add
    if render:
        env, options["watch"] = {**env, "render_mode": "human"}, lambda *_: None
    if film is not None:
        env, options["watch"] = {**env, "render_mode": "rgb_array"}, film.add
    with film or nullcontext():
        found = play(agent, env, episodes, seed, **options)
    if notes is not None:
        notes.save()
    return found


def _default_folder(config: Mapping[str, Any]) -> Path:
    """Named as `hydra.run.dir` in conf/train.yaml names them."""
    names = [config["agent"]["type"], config["env"]["name"]]
    agent, env = (re.sub(r"[^\w.-]+", "-", name) for name in names)
    now = datetime.now()
    return Path("outputs", f"{now:%Y-%m-%d}", f"{now:%H-%M-%S}_{agent}_{env}_s{config['seed']}")


def _line(
    overrides: tuple[str, ...],
    values: Mapping[str, Any],
    config_dir: str | Path | None,
    *,
    as_test: bool = False,
) -> CommandLine:
    words = [*overrides]
    for key, value in values.items():
        inner = value if isinstance(value, Mapping) else {"": value}
        named = {f"{key}.{name}".rstrip("."): part for name, part in inner.items()}
        words += [f"{path}={hydra_text(part)}" for path, part in named.items()]
    return CommandLine(words, None if config_dir is None else Path(config_dir), as_test=as_test)
