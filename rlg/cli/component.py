"""`rlg test-component`: one component alone, on every backend."""

from __future__ import annotations

from typing import Annotated

import typer

from rlg.cli.flags import AsJson, ConfigDir
from rlg.errors import SpecError
from rlg.spelling import unknown


def check(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="memory=prioritized, or dense units=4; then settings."),
    ] = None,
    backends: Annotated[
        str | None, typer.Option(help="Some of numpy,torch,tf,tf-graph; all if left out.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Every registered component, a line for each.")
    ] = False,
    as_json: AsJson = False,
    config_dir: ConfigDir = None,
) -> int:
    """Check one component on every backend: rlg test-component memory=prioritized.

    It is built alone from input spaces, all its API methods are called with random inputs, and
    outputs, variables, gradients and restored states are compared between the backends.

    KIND=NAME is conf/KIND/NAME.yaml, or else a registered component of that kind: policy=dueling,
    loss=dqn, network=nature_cnn. A name alone is a registered component: dense.

    The others are its arguments: units=[8] or network.units=[8].

    Settings: env=pong (its spaces), spaces.states={type: float, shape: [4]}, statics.n=8,
    plugins=[my_package], seed=1, batch=5, time=4, tolerance=1e-5.

    Exit code 1: something differs; 2: there is nothing to check.
    """
    names = _backends(backends)
    from rlg.cli.component_report import check_all, check_one

    if everything:
        return check_all(words or [], names, as_json=as_json)
    return check_one(words or [], names, config_dir, as_json=as_json)


def _backends(text: str | None) -> list[str] | None:
    if text is None:
        return None
    from rlg.testing.check import BACKENDS

    found = [name.strip().replace("_", "-") for name in text.split(",") if name.strip()]
    for name in found:
        if name not in BACKENDS:
            raise SpecError(f"--backends: {unknown('backend', name, BACKENDS)}")
    if not found:
        raise SpecError(f"--backends: it is empty. Give some of {','.join(BACKENDS)}.")
    return list(dict.fromkeys(found))
