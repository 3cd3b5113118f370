"""The flags of commands that compose a configuration; everything else they get is an override.

They are Hydra's, in any order with the overrides. Parsed here, because Hydra's own parser answers a
mistake with a page of usage.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from rlg.api.composing.command_line import CommandLine
from rlg.errors import SpecError

SHOWN = ("job", "hydra", "all")
FACTS = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")
# For typer: these commands take what it doesn't know.
CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SpecError(f"{self.prog}: {message}. See {self.prog} --help.")


def parse(command: str, words: Sequence[str]) -> CommandLine:
    """Takes the flags and overrides of `rlg train` apart; other commands take overrides only."""
    parser = _Parser(prog=f"rlg {command}", add_help=False, allow_abbrev=False)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("-c", "--cfg", choices=SHOWN)
    parser.add_argument("--resolve", action="store_true")
    parser.add_argument("-p", "--package")
    parser.add_argument("-i", "--info", choices=FACTS)
    parser.add_argument("--hydra-help", action="store_const", const="")
    parser.add_argument("-cd", "--config-dir", type=Path)
    parser.add_argument("-cn", "--config-name", default="train")
    if command == "train":
        parser.add_argument("--as-test", action="store_true")
    found = parser.parse_intermixed_args(list(words))
    if found.config_dir is not None and not found.config_dir.is_dir():
        raise SpecError(
            f"--config-dir {found.config_dir}: there is no such folder. Give one that holds YAML "
            "files in folders like conf/: env/my_env.yaml."
        )
    if found.resolve and not found.cfg:
        raise SpecError("--resolve: it goes with --cfg. Write --cfg job --resolve.")
    named = {"--cfg": found.cfg, "--info": found.info, "--hydra-help": found.hydra_help}
    shows = [(flag, value) for flag, value in named.items() if value is not None]
    if len(shows) + found.multirun > 1:
        raise SpecError("-m, --cfg and --info exclude each other. Give one of them.")
    if command != "train" and (shows or found.multirun):
        flag = shows[0][0] if shows else "--multirun"
        raise SpecError(f"rlg {command}: {flag} is for rlg train. Give overrides only.")
    return CommandLine(
        found.overrides,
        found.config_dir,
        found.config_name,
        multirun=found.multirun or "hydra.mode=MULTIRUN" in found.overrides,
        as_test=bool(getattr(found, "as_test", False)),
        shows=shows[0] if shows else None,
        package=found.package,
        resolve=found.resolve,
    )
