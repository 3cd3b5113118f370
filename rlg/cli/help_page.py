"""The help page of `rlg`: its commands by what they are for."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

# Parts and their commands in order; a command that is not named here stands in the last part.
PARTS: dict[str, tuple[str, ...]] = {
    "Experiments": ("train", "sweep", "resume", "eval", "plot", "play", "compare", "report"),
    "Components": ("test-component", "graph"),
    "What there is": ("list", "config", "doctor", "completion"),
    "More": (),
}


class StoppedError(Exception):
    """Ctrl-C where there was nothing to save."""


class Commands(TyperGroup):
    """Prints commands in parts; typer's own panels would need rich."""

    def invoke(self, ctx: Any) -> Any:
        """Runs a command; typer would make an exit code of Ctrl-C without a word."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt as stop:
            raise StoppedError from stop

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        lines = {
            name: _line(command.get_short_help_str(1000), formatter.width - 20)
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

    def flags(self) -> dict[str, list[str]]:
        """The commands with their options."""
        return {
            name: [o for p in command.params for o in p.opts if o.startswith("-")]
            for name, command in self.commands.items()
            if not command.hidden
        }


def _line(text: str, width: int) -> str:
    """The example is left out where it doesn't fit."""
    return text if len(text) <= width else f"{text.partition(': ')[0].rstrip('.')}."
