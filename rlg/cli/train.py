"""`rlg train`: compose a configuration from overrides, and train."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from rlg.api.composing.command_line import CommandLine


def train(ctx: typer.Context) -> int:
    """Train an agent: rlg train agent=dqn env=cartpole seed=3.

    Overrides are key=value: a group's option (env=pong, backend=tf, experiment=pong_dqn) or a
    value (optimizer.learning_rate=1e-3, network.units=[64,64]). Flags are Hydra's:

    -m: run all combinations of values with commas: seed=0,1,2 or seed=range(0,5).

    --as-test: train within the budget of the section `expected`; exit 3 if it isn't reached.

    --cfg job: print the configuration instead.

    --config-dir DIR: search your own YAML files first.

    --info defaults, --hydra-help: how a configuration comes about.
    """
    from rlg.cli.flags import parse

    line = parse("train", ctx.args)
    if line.shows is not None:
        return _show(line, *line.shows)
    if line.multirun:
        from rlg.cli.sweep import run

        return run(line, shows_all=bool(ctx.obj))
    return _run(line)


def _run(line: CommandLine) -> int:
    from rlg.api.composing.compose import new_run
    from rlg.cli.waiting import loading_message, print_start, waiting

    with new_run(line) as run:
        with waiting(loading_message(run.config)):
            from rlg.api.run import train as train_run
            from rlg.cli.summary import print_failure, print_outcome

            try:
                outcome = train_run(
                    run.config,
                    run.folder,
                    run.command,
                    as_test=line.as_test,
                    on_start=print_start,
                )
            except Exception as error:
                print_failure(run.folder, error)
                raise
        print_outcome(outcome)
    return outcome.exit_code


def _show(line: CommandLine, flag: str, what: str) -> int:
    """Hydra's own pages about a configuration."""
    import logging

    from hydra._internal.utils import get_args_parser

    from rlg.api.composing.compose import explained
    from rlg.api.composing.opening import open_hydra

    logging.raiseExceptions = False  # Hydra logs its facts, and the reader may be `head`
    with explained(line), open_hydra(line.config_dir) as hydra:
        if flag == "--cfg":
            hydra.show_cfg(line.config_name, line.overrides, what, line.package, line.resolve)
        elif flag == "--info":
            hydra.show_info(what, line.config_name, line.overrides)
        else:
            parser = get_args_parser()
            hydra.hydra_help(line.config_name, parser, parser.parse_args(line.overrides))
    return 0
