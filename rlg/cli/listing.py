"""`rlg list`: what there is to choose from."""

from __future__ import annotations

import json
import shutil
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rlg.errors import SpecError
from rlg.spelling import suggestion

if TYPE_CHECKING:
    from rlg.api.inspection.catalogue import Entry, Section

ConfigDir = Annotated[Path | None, typer.Option(help="Your own YAML files, shown as well.")]
AsJSON = Annotated[bool, typer.Option("--json", help="For programs.")]
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
    as_json: AsJSON = False,
) -> int:
    """Show what can be chosen: rlg list memory."""
    check_folder(config_dir)
    added = _load(plugin or [])
    what = _as_choice(what, config_dir)
    if what is not None and "=" in what:
        group, _, option = what.partition("=")
        _print_file(group, option, config_dir, as_json)
        return 0
    found = _overview(config_dir) if what is None else find(what, config_dir, added)
    if as_json:
        print(json.dumps([asdict(section) for section in found], indent=2))
        return 0
    print("\n".join(_brief(found) if what is None else _full(found, detailed=what)))
    return 0


def check_folder(folder: Path | None) -> None:
    """Refuses a `--config-dir` that isn't there."""
    if folder is not None and not folder.is_dir():
        raise SpecError(f"--config-dir {folder}: there is no such folder. Give one of YAML files.")


def find(what: str, folder: Path | None = None, added: Sequence[str] = ()) -> list[Section]:
    """The sections that a word asks for: a topic, a group with its family, a family, a name."""
    from rlg.api.config.groups import groups
    from rlg.api.inspection import catalogue

    known, families = groups(folder), catalogue.families()
    if what == "groups":
        return [catalogue.group_section(group, folder) for group in known]
    if what == "components":
        return catalogue.family_sections()
    group = what if what in known else _singular(what)
    family = catalogue.FAMILIES.get(group, f"{group}s" if f"{group}s" in families else group)
    if what in families and what != "plugins":
        family = what
    found = [catalogue.group_section(group, folder)] if group in known else []
    if group == "env":
        found += catalogue.environment_sections(added)
    elif group == "agent":
        found.append(catalogue.agent_section())
    elif group == "backend":
        found.append(catalogue.backend_section())
    elif family in families:
        found += catalogue.family_sections([family])
    if what == catalogue.PLUGINS:
        found += [s for s in catalogue.environment_sections(added) if s.title == "of plugins"]
        return found or [catalogue.Section("plugins", "--plugin MODULE", ())]
    return found or _named(what, known, families)


def _named(what: str, known: dict[str, list[str]], families: dict[str, list[str]]) -> list[Section]:
    """One component in full, or an error with what was meant."""
    from rlg.api.inspection import catalogue

    for family, members in families.items():
        if what in members:
            return [catalogue.Section(family, f"type: {what}", (catalogue.component_entry(what),))]
    names = [name for members in families.values() for name in members]
    options = [option for found in known.values() for option in found]
    hint = suggestion(what, [*WORDS, *known, *families, *names, *options])
    raise SpecError(
        f"{what}: there is nothing to list under this word.{hint} Words: {', '.join(WORDS)}, a "
        f"group ({', '.join(known)}), a family ({', '.join(families)}), a component's name."
    )


def _as_choice(what: str | None, folder: Path | None) -> str | None:
    """A word that is nothing but one group's option, as the choice of it: pong is env=pong."""
    from rlg.api.config.groups import groups
    from rlg.api.inspection import catalogue

    known = groups(folder)
    owners = [group for group, options in known.items() if what in options]
    names = [*WORDS, *known, *(n for f, m in catalogue.families().items() for n in (f, *m))]
    return f"{owners[0]}={what}" if len(owners) == 1 and what not in names else what


def _singular(word: str) -> str:
    from rlg.api.inspection.catalogue import FAMILIES

    if word in ("environments", "envs", "environment"):
        return "env"
    by_family = {family: group for group, family in FAMILIES.items()}
    return by_family.get(word, word.removesuffix("s")) if word != "algorithms" else word


def _overview(folder: Path | None) -> list[Section]:
    from rlg.api.inspection import catalogue

    return [*find("groups", folder), *catalogue.family_sections()]


def _load(plugins: Sequence[str]) -> list[str]:
    """Imports the user's modules; returns the ids that they added to gymnasium's."""
    if not plugins:
        return []
    import gymnasium

    from rlg.api.config.plugins import load_plugins

    before = set(gymnasium.registry)
    load_plugins(plugins)
    return [name for name in gymnasium.registry if name not in before]


def _print_file(group: str, option: str, folder: Path | None, as_json: bool) -> None:
    from rlg.api.composing.errors import option_line
    from rlg.api.config.groups import groups, option_file

    known = groups(folder)
    if group not in known:
        hint = suggestion(group, known)
        raise SpecError(f"{group}: there is no such group.{hint} Groups: {', '.join(known)}.")
    if option not in known[group]:
        raise SpecError(option_line(group, option, known[group]))
    text = option_file(group, option, folder).read_text(encoding="utf-8")
    if as_json:
        import yaml

        print(json.dumps(yaml.safe_load(text), indent=2))
    else:
        print(text, end="")


# -- as text ---------------------------------------------------------------------------------------
def _brief(sections: Sequence[Section]) -> list[str]:
    """One line for each section: its names."""
    groups = [section for section in sections if section.use != "type: NAME"]
    families = [section for section in sections if section.use == "type: NAME"]
    width = max(len(section.title) for section in sections) + 2
    lines = ["Groups, chosen as group=option (rlg list GROUP says more):", ""]
    lines += _names(groups, width)
    lines += ["", "Components by family, chosen by `type:` (rlg list FAMILY, rlg list NAME):", ""]
    lines += _names(families, width)
    env = "Environments: env=... takes short names, Atari games and ids of gymnasium"
    return [*lines, "", f"{env} (rlg list env)."]


def _names(sections: Sequence[Section], width: int) -> list[str]:
    lines = []
    for section in sections:
        names = ", ".join(entry.name for entry in section.entries)
        lines += _wrapped(f"  {section.title:{width}}", names)
    return lines


def _full(sections: Sequence[Section], detailed: str) -> list[str]:
    lines: list[str] = []
    for section in sections:
        lines += [*([""] if lines else []), f"{section.title} ({section.use}):"]
        plain = [entry.name for entry in section.entries if not entry.line and not entry.arguments]
        if len(plain) == len(section.entries):
            lines += _wrapped("  ", ", ".join(plain) or "none")
            continue
        width = min(24, max(len(entry.name) for entry in section.entries) + 2)
        for entry in section.entries:
            is_one = len(section.entries) == 1 and entry.name == detailed
            lines += _entry(entry, width, is_one)
    return lines


def _entry(entry: Entry, width: int, is_one: bool) -> list[str]:
    from rlg.api.inspection.catalogue import PLUGINS

    where = f" [{entry.source}]" if entry.source and not entry.source.startswith("conf/") else ""
    lines = _wrapped(f"  {entry.name + '  ':{width}}", f"{entry.line}{where}" or PLUGINS)
    if is_one:
        return lines + [_argument(name, facts) for name, facts in entry.arguments.items()]
    if entry.arguments:
        words = ", ".join(_short(name, facts) for name, facts in entry.arguments.items())
        lines += _wrapped(" " * (width + 2), words)
    return lines


def _argument(name: str, facts: Any) -> str:
    default = f"default {_word(facts['default'])}" if "default" in facts else "needed"
    return f"    {name:24}{facts['type']}; {default}"


def _short(name: str, facts: Any) -> str:
    return f"{name}={_word(facts['default'])}" if "default" in facts else f"{name}=..."


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _wrapped(head: str, text: str) -> list[str]:
    width = max(60, min(110, shutil.get_terminal_size((100, 24)).columns))
    indent = " " * len(head)
    return textwrap.wrap(
        f"{head}{text}",
        width,
        subsequent_indent=indent,
        drop_whitespace=True,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [head.rstrip()]
