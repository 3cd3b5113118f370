"""The program `rlg`: its commands, and what every one of them does with errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Annotated

import typer

from rlg import __version__
from rlg.api.phases import DONE, INTERRUPTED
from rlg.cli import completion, config_view, doctor, graph, listing, runs
from rlg.cli import plot as plotting
from rlg.cli import sweep as sweeps
from rlg.cli import train as training
from rlg.cli.component import command as checking
from rlg.cli.exits import report
from rlg.cli.flags import CONTEXT
from rlg.cli.help_page import Commands, StoppedError
from rlg.errors import SpecError

TRACEBACK = "--traceback"
WORDS = "[OPTIONS] [words]..."  # of commands whose words Hydra reads
_UsageError: type[Exception] = typer.BadParameter.__mro__[1]  # typer brings its own click, or not

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
        bool, typer.Option(TRACEBACK, help="Show where an error comes from; after a command too.")
    ] = False,
) -> None:
    """Reinforcement learning from components, on PyTorch and TensorFlow."""


app.command(context_settings=CONTEXT, options_metavar=WORDS)(training.train)
app.command()(sweeps.sweep)
app.command()(plotting.plot)
app.command()(runs.resume)
app.command("eval")(runs.evaluate)
app.command("list")(listing.list_)
app.command(context_settings=CONTEXT, options_metavar=WORDS)(config_view.config)
app.command(context_settings=CONTEXT, options_metavar=WORDS)(graph.graph)
app.command()(doctor.doctor)
app.command()(completion.completion)
app.command("test-component")(checking.check)


def main(words: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code says how it went."""
    given = list(sys.argv[1:] if words is None else words)
    shows_all = TRACEBACK in given or os.environ.get("HYDRA_FULL_ERROR") == "1"
    given = [word for word in given if word != TRACEBACK]
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")  # TensorFlow's greetings
    try:
        return _run(given, shows_all)
    except _UsageError as error:
        return report(_usage(error), shows_all=shows_all)
    except (KeyboardInterrupt, StoppedError, typer.Abort):
        print("rlg: interrupted", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # nobody reads any more: `rlg train --cfg job | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except Exception as error:  # noqa: BLE001 users get one line, whatever it is
        return report(error, shows_all=shows_all)


def _run(words: list[str], shows_all: bool) -> int:
    if words == ["--version"]:
        print(f"rlg {__version__}")
        return DONE
    if words[:1] == [completion.ENTRY]:
        _complete(words[1:])
        return DONE
    try:
        code = app(words or ["--help"], prog_name="rlg", standalone_mode=False, obj=shows_all)
    except SystemExit as stop:  # Hydra's own help pages
        code = stop.code
    sys.stdout.flush()
    return int(code or DONE)


def _complete(words: list[str]) -> None:
    """Answers a shell; whatever goes wrong, it must not see an error."""
    with suppress(Exception):
        commands = typer.main.get_command(app)
        if isinstance(commands, Commands):
            print("\n".join(completion.answer(words[0], words[1:], commands.flags())))


def _usage(error: Exception) -> SpecError:
    """Wrong options or arguments of a command, said as all other mistakes are."""
    text = error.format_message() if hasattr(error, "format_message") else str(error)
    context = getattr(error, "ctx", None)
    command = context.command_path if context is not None else "rlg"
    where = "" if command == "rlg" else f"{command}: "
    return SpecError(
        f"{where}{text}{'' if text.endswith(('.', '?')) else '.'} See {command} --help."
    )
