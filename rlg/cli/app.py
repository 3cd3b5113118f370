"""The commands of `rlg` and their help page."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rlg import __version__
from rlg.api.phases import DONE
from rlg.cli import (
    bench,
    completion,
    component,
    config_view,
    doctor,
    export,
    graph,
    listing,
    plot,
    runs,
    sweep,
    train,
)
from rlg.cli.main import TRACEBACK
from rlg.errors import SpecError

UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # typer brings its own click, or not

# The help page's parts and their commands.
PARTS: dict[str, dict[str, Any]] = {
    "Experiments": {
        "train": train.train,
        "sweep": sweep.sweep,
        "resume": runs.resume,
        "eval": runs.evaluate,
        "plot": plot.plot,
        "export": export.export,
    },
    "Components": {"test-component": component.check, "graph": graph.graph},
    "Inspect": {
        "list": listing.list_,
        "config": config_view.config,
        "doctor": doctor.doctor,
        "bench": bench.bench,
        "completion": completion.completion,
    },
}


class Commands(TyperGroup):
    """Prints commands in parts; typer's own panels would need rich."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        for part, names in PARTS.items():
            with formatter.section(part):
                lines = {name: self.commands[name].get_short_help_str(1000) for name in names}
                width = formatter.width - 20
                formatter.write_dl([(f"{n:14}", _fitting(lines[n], width)) for n in lines])


app = typer.Typer(
    name="rlg",
    cls=Commands,
    add_completion=False,
    context_settings={"help_option_names": ["--help", "-h"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # rich would double the time to print a help page
)


def _print_version(is_asked: bool) -> None:
    if is_asked:
        print(f"rlg {__version__}")
        raise typer.Exit


@app.callback()
def rlg(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version."),
    ] = False,
    traceback: Annotated[
        bool, typer.Option(TRACEBACK, help="Show the traceback of an error; after a command too.")
    ] = False,
) -> None:
    """Reinforcement learning from components, on PyTorch and TensorFlow."""


for part in PARTS.values():
    for name, function in part.items():
        app.command(name)(function)
app.command(completion.ENTRY, hidden=True, context_settings=completion.AS_THEY_ARE)(
    completion.answer
)


def run(words: list[str], shows_all: bool) -> int:
    """Runs one command."""
    # Not by app(): typer would make an exit code of Ctrl-C without a word.
    command: Any = typer.main.get_command(app)
    try:
        with command.make_context("rlg", words or ["--help"], obj=shows_all) as context:
            code = command.invoke(context)
    except typer.Exit as stop:  # help pages and the version
        code = stop.exit_code
    except SystemExit as stop:  # Hydra's own help pages
        code = stop.code
    except typer.Abort as stop:
        raise KeyboardInterrupt from stop
    sys.stdout.flush()
    return int(code or DONE)


def usage_error(error: Exception) -> SpecError:
    """Wrong options or arguments of a command, said as all other mistakes are."""
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "rlg"
    where = "" if command == "rlg" else f"{command}: "
    return SpecError(
        f"{where}{text}{'' if text.endswith(('.', '?')) else '.'} See {command} --help."
    )


def _fitting(text: str, width: int) -> str:
    """The example is left out where it doesn't fit."""
    return text if len(text) <= width else f"{text.partition(': ')[0].rstrip('.')}."
