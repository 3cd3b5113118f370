"""`rlg test-component`: one component alone, on every backend."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlg.errors import SpecError


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
    as_json: Annotated[bool, typer.Option("--json", help="For programs.")] = False,
    config_dir: Annotated[Path | None, typer.Option(help="Your own YAML files.")] = None,
) -> int:
    """Check one component on every backend: rlg test-component memory=prioritized.

    It is built alone from input spaces, all its API methods are called with random inputs, and
    outputs, variables, gradients and restored states are compared between the backends.

    KIND=NAME is conf/KIND/NAME.yaml, or else a registered component of that kind: policy=dueling,
    loss=dqn, network=nature_cnn. A name alone is a registered component: dense.

    Further words are its arguments: units=[8] or network.units=[8].

    Settings: env=pong (its spaces), spaces.states={type: float, shape: [4]}, statics.n=8,
    plugins=[my_package], seed=1, batch=5, time=4, tolerance=1e-5.

    Exit code 1: something differs; 2: there is nothing to check.
    """
    names = _backends(backends)
    if config_dir is not None and not config_dir.is_dir():
        raise SpecError(f"--config-dir {config_dir}: there is no such folder.")
    if everything:
        from rlg.cli.component.survey import check_all

        return check_all(words or [], names, as_json=as_json)
    from rlg.cli.component.table import print_json, print_report
    from rlg.cli.component.words import question_of
    from rlg.cli.waiting import waiting
    from rlg.testing.check import BACKENDS, check_component

    question = question_of(words or [], config_dir)
    checked = names or BACKENDS
    with waiting(f"checking on {', '.join(checked)}..."):
        report = check_component(
            question.golden, checked, statics=question.statics, **question.settings
        )
    print_json(report.to_dict()) if as_json else print_report(report)
    return 0 if report.passed else 1


def _backends(text: str | None) -> list[str] | None:
    if text is None:
        return None
    from rlg.spelling import suggestion
    from rlg.testing.check import BACKENDS

    found = [name.strip().replace("_", "-") for name in text.split(",") if name.strip()]
    for name in found:
        if name not in BACKENDS:
            hint = suggestion(name, BACKENDS)
            raise SpecError(
                f"--backends: there is no backend {name!r}.{hint} Known: {', '.join(BACKENDS)}."
            )
    if not found:
        raise SpecError(f"--backends: it is empty. Give some of {','.join(BACKENDS)}.")
    return list(dict.fromkeys(found))
