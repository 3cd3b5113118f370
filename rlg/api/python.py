"""rlg from Python: `rlg.compose`, `rlg.train`, `rlg.resume`, `rlg.load`, `rlg.evaluate`.

They take what the command line takes and do what it does; errors are raised instead of printed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from rlg.api.agents.agent import Agent
from rlg.api.composing.changes import changes_of
from rlg.api.composing.command_line import CommandLine
from rlg.api.composing.compose import composed, new_run
from rlg.api.config.validate import validate
from rlg.api.folders import RUN_DIR, new_folder, run_config
from rlg.api.loading import load_agent
from rlg.api.run import OnStart, Outcome, evaluate_run
from rlg.api.run import resume as resume_run
from rlg.api.run import train as train_run
from rlg.errors import CheckpointError, SpecError
from rlg.execution.evaluation import Evaluation
from rlg.tracking.checkpoints.store import step_of
from rlg.tracking.folder import RunFolder

Checkpoint = int | str | None  # a step, "best", or the newest intact one


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
        named = () if folder is None else (f"{RUN_DIR}={_text(str(folder))}",)
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
    step, line = _step(checkpoint), _line(overrides, values, config_dir)
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
    config = validate(run_config(folder, imports_plugins=True, trust_plugins=trust_plugins))
    agent, _ = load_agent(config, RunFolder(folder), *_chosen(checkpoint))
    return agent


def evaluate(
    folder: str | Path,
    *,
    episodes: int = 20,
    checkpoint: Checkpoint = None,
    render: bool = False,
    video: str | Path | None = None,
    trust_plugins: bool = False,
) -> Evaluation:
    """Plays episodes without exploration, as `rlg eval` does; `render` shows them in a window."""
    step, best = _chosen(checkpoint)
    return evaluate_run(
        folder,
        episodes=episodes,
        checkpoint=step,
        best=best,
        trust_plugins=trust_plugins,
        render=render,
        video=None if video is None else Path(video),
    )


def _chosen(checkpoint: Checkpoint) -> tuple[int | None, bool]:
    best = checkpoint == "best"
    return None if best else _step(checkpoint), best


def _step(checkpoint: Checkpoint) -> int | None:
    try:
        return None if checkpoint is None else step_of(str(checkpoint))
    except CheckpointError as error:
        raise SpecError(f"--checkpoint: {error}") from None


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
        words += [f"{key}.{name}".rstrip(".") + f"={_text(part)}" for name, part in inner.items()]
    return CommandLine(words, None if config_dir is None else Path(config_dir), as_test=as_test)


def _text(value: Any) -> str:
    """A value in Hydra's grammar."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_text(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_text, value)) + "]"
    if isinstance(value, (int, float)) or re.fullmatch(r"[A-Za-z_][\w/-]*", str(value)):
        return str(value)
    escaped = str(value).replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
