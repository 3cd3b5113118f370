"""What there is to choose from: options, components, environments, with their arguments.

Everything comes from the files and signatures themselves, so nothing can be forgotten here. No
framework is imported: components are plain Python until they are built.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rlg.api.agents.factory import AGENTS, agent_class
from rlg.api.config.components import component_arguments
from rlg.api.config.groups import groups, option_file
from rlg.api.config.sections import EXECUTORS, backend_arguments
from rlg.api.config.signatures import MISSING, Arguments, describe, plain
from rlg.api.config.validate import agent_arguments
from rlg.envs import env_names
from rlg.envs.registry import SHORT_NAMES
from rlg.graph import registry

PLUGINS = "plugins"
ENVIRONMENTS = ("env", "envs", "environment", "environments")


@dataclass(frozen=True, slots=True)
class Entry:
    """One thing that can be chosen."""

    name: str
    line: str = ""
    arguments: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Section:
    """Things of one kind, and how one of them is chosen."""

    title: str
    use: str
    entries: tuple[Entry, ...]


def find(what: str | None, folder: Path | None, added: Iterable[str] = ()) -> list[Section]:
    """The sections that a word asks for: a topic, a group with its family, a family, a name.

    All groups and families without one. `added` are the ids of plugins' environments.
    """
    known, members = groups(folder), families()
    if what is None:
        return [*find("groups", folder), *family_sections(members)]
    if what == "groups":
        return [group_section(group, folder) for group in known]
    if what == "components":
        return family_sections(members)
    group = "env" if what in ENVIRONMENTS else what if what in known else singular(what)
    found = [group_section(group, folder)] if group in known else []
    if group == "env":
        found += environment_sections(added)
    elif group in ("agent", "backend"):
        found.append(agent_section() if group == "agent" else backend_section())
    else:
        found += family_sections(f for f in members if what == f or group == singular(f))
    if what == PLUGINS:
        found += [s for s in environment_sections(added) if s.title == "of plugins"]
        return found or [Section("plugins", "--plugin MODULE", ())]
    owners = [family for family, names in members.items() if what in names]
    if found or not owners:
        return found
    return [Section(owners[0], f"type: {what}", (component_entry(what),))]


def singular(word: str) -> str:
    """The kind of component that a folder holds: memories, losses, networks."""
    for plural, ending in (("sses", "ss"), ("ies", "y"), ("s", "")):
        if word.endswith(plural):
            return word.removesuffix(plural) + ending
    return word


def group_section(group: str, folder: Path | None = None) -> Section:
    """The options of a group, packaged and of the user's folder, with what their files say."""
    entries = []
    for option in groups(folder)[group]:
        file = option_file(group, option, folder)
        is_users = folder is not None and isinstance(file, Path) and file.is_relative_to(folder)
        source = str(file) if is_users else f"conf/{group}/{option}.yaml"
        entries.append(Entry(option, headline(file.read_text(encoding="utf-8")), source=source))
    return Section(group, f"{group}=NAME", tuple(entries))


def headline(text: str) -> str:
    """The first sentence of the comment that a YAML file begins with."""
    lines = []
    for line in text.splitlines():
        if not line.startswith("#"):
            break
        if not line.startswith("# @package"):
            lines.append(line.lstrip("# ").strip())
    return first_sentence(" ".join(lines))


def first_sentence(text: str) -> str:
    """Up to a period that ends it; periods of abbreviations and numbers don't."""
    words = text.split()
    for index, word in enumerate(words[:-1]):
        ends = word.endswith(".") and word not in ("al.", "e.g.", "i.e.", "vs.")
        if ends and not words[index + 1][0].islower():
            return " ".join(words[: index + 1])
    return " ".join(words)


def family_sections(names: Iterable[str]) -> list[Section]:
    """Registered components of some families."""
    known = families()
    return [
        Section(family, "type: NAME", tuple(component_entry(name) for name in known[family]))
        for family in names
    ]


def families() -> dict[str, list[str]]:
    """Names of components by family: the folder of the library that they lie in."""
    found: dict[str, list[str]] = {}
    for name in registry.names():
        path = registry.COMPONENTS.get(name)
        found.setdefault(PLUGINS if path is None else path.partition(".")[0], []).append(name)
    return dict(sorted(found.items(), key=lambda item: (item[0] == PLUGINS, item[0])))


def component_entry(name: str) -> Entry:
    """A component with its constructor's arguments."""
    cls = registry.component_class(name)
    source = None if name in registry.COMPONENTS else cls.__module__
    return Entry(name, _line_of(cls), shown(component_arguments(name)), source)


def agent_section() -> Section:
    """The agents, with the keys of the section `agent`."""
    entries = [
        Entry(name, _line_of(agent_class(name)), shown(agent_arguments(name))) for name in AGENTS
    ]
    return Section("agents", "agent.type=NAME", tuple(entries))


def backend_section() -> Section:
    """The backends, with the keys of the section `backend`."""
    lines = {
        "torch": "PyTorch, define-by-run or compiled.",
        "tf": "TensorFlow, one tf.function per API method.",
        "tf-graph": "TensorFlow with one graph and a session.",
    }
    entries = [Entry(n, lines.get(n, ""), shown(backend_arguments(n))) for n in EXECUTORS]
    entries.append(Entry("numpy", "Forward only, the reference: for component tests."))
    return Section("backends", "backend.type=NAME", tuple(entries))


def environment_sections(added: Iterable[str] = ()) -> list[Section]:
    """Short names, Atari games, and ids that plugins have `added` to gymnasium's."""
    short = tuple(Entry(name, env_id) for name, env_id in SHORT_NAMES.items())
    games = tuple(Entry(name) for name in env_names() if name not in SHORT_NAMES)
    ids = Entry("any id", "of gymnasium's registry: env=CartPole-v1, env=ALE/Pong-v5")
    own = Section("of plugins", "env.name=ID", tuple(Entry(name) for name in sorted(added)))
    return [
        Section("short names", "env=NAME", short),
        Section("Atari games", "env=NAME", games),
        *([own] if own.entries else []),
        Section("gymnasium", "env=ID", (ids,)),
    ]


def shown(arguments: Arguments) -> dict[str, dict[str, Any]]:
    """Arguments in plain values: their type in words, and the default unless they are needed."""
    found: dict[str, dict[str, Any]] = {}
    for name, argument in arguments.items():
        found[name] = {"type": describe(argument.annotation, limits=True)}
        if argument.default is not MISSING:
            found[name]["default"] = plain(argument.default)
    return found


def _line_of(cls: type) -> str:
    return first_sentence((cls.__doc__ or "").partition("\n\n")[0])
