"""The commands of `rlg` and their help page."""

from __future__ import annotations

import sys
from contextlib import suppress
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


@app.callback()
def rlg(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
    traceback: Annotated[
        bool, typer.Option(TRACEBACK, help="Show the traceback of an error; after a command too.")
    ] = False,
) -> None:
    """Reinforcement learning from components, on PyTorch and TensorFlow."""


for part in PARTS.values():
    for name, function in part.items():
        app.command(name)(function)


def run(words: list[str], shows_all: bool) -> int:
    """Runs one command."""
    if words == ["--version"]:
        print(f"rlg {__version__}")
        return DONE
    if words[:1] == [completion.ENTRY]:
        with suppress(Exception):  # whatever goes wrong, a shell must not see an error
            print("\n".join(completion.answer(words[1], words[2:], _flags())))
        return DONE
    # Not by app(): typer would make an exit code of Ctrl-C without a word.
    command: Any = typer.main.get_command(app)
    try:
        with command.make_context("rlg", words or ["--help"], obj=shows_all) as context:
            code = command.invoke(context)
    except typer.Exit as stop:  # help pages
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


def _flags() -> dict[str, list[str]]:
    """The options of each command."""
    commands: Any = typer.main.get_command(app)
    return {
        name: [o for p in command.params for o in p.opts if o.startswith("-")]
        for name, command in commands.commands.items()
    }


def _fitting(text: str, width: int) -> str:
    """The example is left out where it doesn't fit."""
    return text if len(text) <= width else f"{text.partition(': ')[0].rstrip('.')}."
