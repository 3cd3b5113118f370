"""`rlg export`: a run's policy as a file that needs no rlg."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rlg.cli.flags import AsJson, TrustPlugins
from rlg.cli.output import print_json
from rlg.cli.runs import Folder, StepOrBest
from rlg.cli.waiting import waiting

FORMATS = ("onnx", "torch", "savedmodel", "numpy")  # here too: help pages load no components


def export(
    folder: Folder,
    to: Annotated[str, typer.Option("--to", help=f"The format: {', '.join(FORMATS)}.")],
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="A file (savedmodel: a folder). [default: in the run]"),
    ] = None,
    checkpoint: StepOrBest = None,
    observations: Annotated[
        int, typer.Option("--observations", min=1, help="How many to compare the file on.")
    ] = 256,
    as_json: AsJson = False,
    trust_plugins: TrustPlugins = False,
) -> int:
    """Write the policy as a file that needs no rlg: rlg export outputs/... --to onnx.

    The file and the run then act on the same observations; exit code 1 says that they disagree.
    """
    from rlg.api.python import export as export_run
    from rlg.display.readable import short

    with waiting(f"exporting to {to}..."):
        found = export_run(
            folder,
            to,
            output,
            checkpoint=checkpoint,
            observations=observations,
            trust_plugins=trust_plugins,
        )
    if as_json:
        import json

        print_json(json.loads(found.metadata.read_text()))
        return 0
    print(f"{to + ':':12}{short(found.path)}")
    print(f"{'parity:':12}{found.parity.line}")
    print(f"{'details:':12}{short(found.metadata)}")
    print(f"{'usage:':12}{found.usage.replace(chr(10), chr(10) + ' ' * 12)}")
    return 0
