"""`rlg list`: what there is to choose from."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlg.api.config.groups import groups, option_file, read_option
from rlg.cli.flags import AsJson, ConfigDir
from rlg.cli.output import print_json, print_wrapped
from rlg.errors import SpecError
from rlg.spelling import suggestion, unknown

if TYPE_CHECKING:
    from rlg.api.inspection.catalogue import Section

WORDS = ("groups", "components", "environments", "agents", "backends", "executors", "experiments")


def list_(
    what: Annotated[
        str | None,
        typer.Argument(help="A group, a family, a name, group=option; the overview if left out."),
    ] = None,
    config_dir: ConfigDir = None,
    plugin: Annotated[
        list[str] | None, typer.Option(help="A module of yours, as in plugins=[...].")
    ] = None,
    as_json: AsJson = False,
) -> int:
    """Show what can be chosen: rlg list memory."""
    from rlg.api.inspection import catalogue

    added = _load(plugin or [])
    known = groups(config_dir)
    found = [] if what and "=" in what else catalogue.find(what, config_dir, added)
    if what and not found:
        # A word that is nothing but one group's option is the choice of it: pong is env=pong.
        owners = [group for group, options in known.items() if what in options]
        choice = f"{owners[0]}={what}" if len(owners) == 1 else what
        _print_file(choice, config_dir, known, as_json)
    elif as_json:
        print_json([asdict(section) for section in found])
    elif what is None:
        _print_overview(found)
    else:
        _print(found, detailed=what)
    return 0


def _load(plugins: Sequence[str]) -> list[str]:
    """Imports the user's modules; returns the ids that they added to gymnasium's."""
    if not plugins:
        return []
    import gymnasium

    from rlg.api.config.plugins import load_plugins
    from rlg.envs import env_names

    env_names()  # registers the Atari games, which are no plugin's
    before = set(gymnasium.registry)
    load_plugins(plugins)
    return [name for name in gymnasium.registry if name not in before]


def _print_file(
    choice: str, folder: Path | None, known: Mapping[str, list[str]], as_json: bool
) -> None:
    """The file behind `group=option`."""
    from rlg.api.composing.errors import option_line

    group, equals, option = choice.partition("=")
    if not equals:
        raise SpecError(_unknown(choice, known))
    if group not in known:
        raise SpecError(unknown("group", group, known))
    if option not in known[group]:
        raise SpecError(option_line(group, option, known[group]))
    if as_json:
        print_json(read_option(group, option, folder))
    else:
        print(option_file(group, option, folder).read_text(encoding="utf-8"), end="")


def _unknown(what: str, known: Mapping[str, list[str]]) -> str:
    from rlg.api.inspection.catalogue import families

    members, options = families(), [option for found in known.values() for option in found]
    names = [name for found in members.values() for name in found]
    hint = suggestion(what, [*WORDS, *known, *members, *names, *options])
    return (
        f"{what}: there is nothing to list under this word.{hint} Words: {', '.join(WORDS)}, a "
        f"group ({', '.join(known)}), a family ({', '.join(members)}), a component's name."
    )


# -- as text ---------------------------------------------------------------------------------------
def _print_overview(sections: Sequence[Section]) -> None:
    """One line for each section: its names."""

    def rows(*, of_components: bool) -> list[tuple[str, str]]:
        found = [s for s in sections if (s.use == "type: NAME") == of_components]
        return [(s.title, ", ".join(entry.name for entry in s.entries)) for s in found]

    print("Groups, chosen as group=option (rlg list GROUP says more):\n")
    print_wrapped(rows(of_components=False))
    print("\nComponents by family, chosen by `type:` (rlg list FAMILY, rlg list NAME):\n")
    print_wrapped(rows(of_components=True))
    env = "Environments: env=... takes short names, Atari games and ids of gymnasium"
    print(f"\n{env} (rlg list env).")


def _print(sections: Sequence[Section], detailed: str) -> None:
    for number, section in enumerate(sections):
        print(f"{chr(10) if number else ''}{section.title} ({section.use}):")
        if any(entry.line or entry.arguments for entry in section.entries):
            print_wrapped(_rows(section, detailed))
        else:
            print_wrapped([(", ".join(entry.name for entry in section.entries) or "none",)])


def _rows(section: Section, detailed: str) -> Iterator[tuple[str, str]]:
    """Each entry with its arguments below it: in one row, or one by one if it was asked for."""
    for entry in section.entries:
        is_users = entry.source and not entry.source.startswith("conf/")
        yield entry.name, f"{entry.line} [{entry.source}]" if is_users else entry.line
        if len(section.entries) == 1 and entry.name == detailed:
            for name, facts in entry.arguments.items():
                default = f"default {_word(facts['default'])}" if "default" in facts else "needed"
                yield f"  {name}", f"{facts['type']}; {default}"
        elif entry.arguments:
            words = [
                f"{name}={_word(facts['default']) if 'default' in facts else '...'}"
                for name, facts in entry.arguments.items()
            ]
            yield "", ", ".join(words)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str)
