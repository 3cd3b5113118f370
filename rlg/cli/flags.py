"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlg.errors import SpecError


def _checked(folder: Path | None) -> Path | None:
    if folder is not None and not folder.is_dir():
        raise SpecError(
            f"--config-dir {folder}: there is no such folder. Give one that holds YAML files in "
            "folders like conf/: env/my_env.yaml."
        )
    return folder


Overrides = Annotated[
    list[str] | None,
    typer.Argument(metavar="KEY=VALUE", help="Overrides: env=pong agent.n_step=3."),
]
ConfigDir = Annotated[
    Path | None,
    typer.Option(
        "--config-dir", "-cd", callback=_checked, help="Search your own YAML files first."
    ),
]
ConfigName = Annotated[
    str, typer.Option("--config-name", "-cn", help="Another primary file of your folder.")
]
TrustPlugins = Annotated[
    bool, typer.Option("--trust-plugins", help="Import the plugins that the folder names.")
]
AsJson = Annotated[bool, typer.Option("--json", help="For programs.")]
