"""`rlg train`: compose a configuration from overrides, and train."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from rlg.api.composing.command_line import CommandLine
from rlg.cli.flags import ConfigDir, ConfigName, Overrides
from rlg.cli.waiting import loading_message, print_start, waiting
from rlg.errors import SpecError

Facts = Literal["all", "config", "defaults", "defaults-tree", "plugins", "searchpath"]


def train(
    ctx: typer.Context,
    overrides: Overrides = None,
    multirun: Annotated[
        bool,
        typer.Option("--multirun", "-m", help="Run all combinations of values: seed=range(0,5)."),
    ] = False,
    as_test: Annotated[
        bool, typer.Option("--as-test", help="Exit 3 if the reward of `expected` is not reached.")
    ] = False,
    config_dir: ConfigDir = None,
    config_name: ConfigName = "train",
    cfg: Annotated[
        Literal["job", "hydra", "all"] | None,
        typer.Option("--cfg", "-c", help="Print the configuration instead."),
    ] = None,
    resolve: Annotated[bool, typer.Option("--resolve", help="With --cfg: resolved.")] = False,
    package: Annotated[
        str | None, typer.Option("--package", "-p", help="With --cfg: one section.")
    ] = None,
    info: Annotated[
        Facts | None, typer.Option("--info", "-i", help="Print how it is composed instead.")
    ] = None,
    hydra_help: Annotated[bool, typer.Option("--hydra-help", help="Hydra's own help.")] = False,
) -> int:
    """Train an agent: rlg train agent=dqn env=cartpole seed=3.

    Overrides choose an option of a group (env=pong, backend=tf, experiment=pong_dqn) or set a value
    (optimizer.learning_rate=1e-3, network.units=[64,64]). With -m, values with commas become one
    job for each combination: seed=0,1,2.
    """
    multirun = multirun or "hydra.mode=MULTIRUN" in (overrides or ())
    line = CommandLine(overrides or [], config_dir, config_name, as_test=as_test)
    if sum(map(bool, (multirun, cfg, info, hydra_help))) > 1:
        raise SpecError("-m, --cfg and --info exclude each other. Give one of them.")
    if resolve and not cfg:
        raise SpecError("--resolve: it goes with --cfg. Write --cfg job --resolve.")
    if multirun:
        from rlg.cli.sweep import run

        return run(line, shows_all=bool(ctx.obj))
    if cfg or info or hydra_help:
        return _show(line, cfg, package, resolve, info)
    from rlg.api.composing.compose import new_run

    with new_run(line) as new, waiting(loading_message(new.config)):
        from rlg.api.run import train as train_run
        from rlg.cli.summary import naming_failures, print_outcome

        with naming_failures(new.folder):
            outcome = train_run(
                new.config, new.folder, new.command, as_test=as_test, on_start=print_start
            )
    return print_outcome(outcome)


def _show(
    line: CommandLine, cfg: str | None, package: str | None, resolve: bool, info: str | None
) -> int:
    """Hydra's own pages: the configuration, how it is composed, or its help."""
    import logging

    from hydra._internal.utils import get_args_parser

    from rlg.api.composing.errors import explained
    from rlg.api.composing.loader import open_hydra

    logging.raiseExceptions = False  # Hydra logs its facts, and the reader may be `head`
    with explained(line), open_hydra(line.config_dir) as hydra:
        if cfg:
            hydra.show_cfg(line.config_name, line.overrides, cfg, package, resolve)
        elif info:
            hydra.show_info(info, line.config_name, line.overrides)
        else:
            parser = get_args_parser()
            hydra.hydra_help("train", parser, parser.parse_args(line.overrides))
    return 0
