"""The commands of `rlg` and their help page."""

from __future__ import annotations

import sys
from contextlib import suppress
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from rlg import __version__
from rlg.api.phases import DONE
from rlg.cli import completion, config_view, doctor, graph, listing, plot, runs, sweep, train
from rlg.cli.component import command as checking
from rlg.cli.main import TRACEBACK
from rlg.errors import SpecError

UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # typer brings its own click, or not

# The help page's parts and their commands, in order; others stand in the last part.
PARTS: dict[str, tuple[str, ...]] = {
    "Experiments": ("train", "sweep", "resume", "eval", "plot"),
    "Components": ("test-component", "graph"),
    "Inspect": ("list", "config", "doctor", "completion"),
    "More": (),
}


class Commands(TyperGroup):
    """Prints commands in parts; typer's own panels would need rich."""

    def invoke(self, ctx: Any) -> Any:
        """Runs a command; typer would make an exit code of Ctrl-C without a word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise _StoppedError from stop

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        lines = {
            name: _fitting(command.get_short_help_str(1000), formatter.width - 20)
            for name, command in self.commands.items()
            if not command.hidden
        }
        placed = {name for names in PARTS.values() for name in names}
        for part, names in PARTS.items():
            found = names or [name for name in lines if name not in placed]
            rows = [(f"{name:14}", lines[name]) for name in found if name in lines]
            if rows:
                with formatter.section(part):
                    formatter.write_dl(rows)


class _StoppedError(Exception):
    """Ctrl-C where there was nothing to save."""


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


app.command()(train.train)
app.command()(sweep.sweep)
app.command()(plot.plot)
app.command()(runs.resume)
app.command("eval")(runs.evaluate)
app.command("list")(listing.list_)
app.command()(config_view.config)
app.command()(graph.graph)
app.command()(doctor.doctor)
app.command()(completion.completion)
app.command("test-component")(checking.check)


def run(words: list[str], shows_all: bool) -> int:
    """Runs one command."""
    if words == ["--version"]:
        print(f"rlg {__version__}")
        return DONE
    if words[:1] == [completion.ENTRY]:
        with suppress(Exception):  # whatever goes wrong, a shell must not see an error
            print("\n".join(completion.answer(words[1], words[2:], _flags())))
        return DONE
    try:
        code = app(words or ["--help"], prog_name="rlg", standalone_mode=False, obj=shows_all)
    except SystemExit as stop:  # Hydra's own help pages
        code = stop.code
    except (_StoppedError, typer.Abort) as stop:
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
        if not command.hidden
    }


def _fitting(text: str, width: int) -> str:
    """The example is left out where it doesn't fit."""
    return text if len(text) <= width else f"{text.partition(': ')[0].rstrip('.')}."
