"""`rlg train`: compose a configuration from words, and train."""

from __future__ import annotations

import typer

CONTEXT = {"allow_extra_args": True, "ignore_unknown_options": True}


def train(ctx: typer.Context) -> int:
    """Train an agent: rlg train agent=dqn env=cartpole seed=3.

    Words are key=value: a group's option (env=pong, backend=tf, experiment=pong_dqn) or a value
    (optimizer.learning_rate=1e-3, network.units=[64,64]). Flags are Hydra's:

    -m: run all combinations of values with commas: seed=0,1,2 or seed=range(0,5).

    --as-test: train within the budget of the section `expected`; exit 3 if it isn't reached.

    --cfg job: print the configuration instead.

    --config-dir DIR: search your own YAML files first.

    --info defaults, --hydra-help: how a configuration comes about.
    """
    from rlg.cli.composing.flags import parse
    from rlg.cli.sweeps.running import run_jobs

    return run_jobs(parse("train", ctx.args), shows_all=bool(ctx.obj))
