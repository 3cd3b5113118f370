"""The flags of commands that compose a configuration; everything else they get is an override.

They are Hydra's, in any order with the overrides. Parsed here, because Hydra's own parser answers a
mistake with a page of usage.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

from rlg.errors import SpecError

SHOWN = ("job", "hydra", "all")
FACTS = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")


@dataclass(frozen=True, slots=True)
class Words:
    """What follows the command."""

    overrides: list[str] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)  # for Hydra
    config_dir: Path | None = None
    config_name: str = "train"
    as_test: bool = False  # judge the reward at the end

    @property
    def for_hydra(self) -> list[str]:
        return [*self.flags, *self.overrides]


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise SpecError(f"{self.prog}: {message}. See {self.prog} --help.")


def parse(command: str, words: Sequence[str], config_name: str | None = None) -> Words:
    """Takes flags and overrides apart; by default the file to compose has the command's name."""
    parser = _Parser(prog=f"rlg {command}", add_help=False, allow_abbrev=False)
    parser.add_argument("overrides", nargs="*")
    parser.add_argument("-m", "--multirun", action="store_true")
    parser.add_argument("-c", "--cfg", choices=SHOWN)
    parser.add_argument("--resolve", action="store_true")
    parser.add_argument("-p", "--package")
    parser.add_argument("-i", "--info", choices=FACTS)
    parser.add_argument("--hydra-help", action="store_true")
    parser.add_argument("-cd", "--config-dir", type=Path)
    parser.add_argument("-cn", "--config-name", default=config_name or command)
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
    flags = [name for name in ("multirun", "resolve", "hydra_help") if getattr(found, name)]
    shown = [f"--{name.replace('_', '-')}" for name in flags]
    for name in ("cfg", "package", "info"):
        if getattr(found, name) is not None:
            shown += [f"--{name}", getattr(found, name)]
    as_test = bool(getattr(found, "as_test", False))
    return Words(found.overrides, shown, found.config_dir, found.config_name, as_test)
