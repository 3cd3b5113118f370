"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from rlg.api.composing.command_line import CommandLine
from rlg.errors import SpecError

Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE", help="Overrides: env=pong agent.n_step=3."),
]
ConfigDir = Annotated[
    Path | None, typer.Option("--config-dir", "-cd", help="Search your own YAML files first.")
]
ConfigName = Annotated[
    str, typer.Option("--config-name", "-cn", help="Another primary file of your folder.")
]
TrustPlugins = Annotated[
    bool, typer.Option("--trust-plugins", help="Import the plugins that the folder names.")
]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]


def command_line(
    overrides: list[str] | None, config_dir: Path | None, config_name: str = "train", **more: Any
) -> CommandLine:
    """The command line of a command that composes a configuration."""
    if config_dir is not None and not config_dir.is_dir():
        raise SpecError(
            f"--config-dir {config_dir}: there is no such folder. Give one that holds YAML files "
            "in folders like conf/: env/my_env.yaml."
        )
    return CommandLine(overrides or [], config_dir, config_name, **more)
