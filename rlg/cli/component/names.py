"""What the first word of `rlg test-component` names: a YAML file of a group, or a component.

Kinds of components are the folders that they live in, in the singular: memory, loss, network...
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from rlg.api.config.groups import groups
from rlg.errors import SpecError
from rlg.graph import registry
from rlg.spelling import nearest, suggestion

ANY_KIND = "component"


@dataclass(frozen=True, slots=True)
class Named:
    """A group's option, to be composed, or else a registry name."""

    kind: str
    name: str
    is_file: bool

    @property
    def word(self) -> str:
        return f"{self.kind}={self.name}"


def find(word: str, folder: Path | None) -> Named:
    """`memory=prioritized`, `component=dense` or `dense`: a file first, then the registry."""
    kind, equals, name = word.partition("=")
    if not equals:
        return _by_name(word, folder)
    if kind == ANY_KIND:
        return _by_name(name, folder)
    known = kinds(folder)
    if kind not in known:
        meant = nearest(kind, known)
        hint = f" Did you mean {meant}={name}?" if meant else ""
        raise SpecError(
            f"{word}: there are no components of the kind {kind!r}.{hint} "
            f"Kinds: {', '.join(known)}; or component={name}."
        )
    found = _of_kind(kind, name, folder)
    if len(found) == 1:
        return found[0]
    if found:
        names = ", ".join(f"{kind}={one.name}" for one in found)
        raise SpecError(f"{word}: several components may be meant. Write one of {names}.")
    options = _options(kind, folder)
    meant = nearest(name, [*options, *_short_names(kind)])
    hint = f" Did you mean {kind}={meant}?" if meant else ""
    raise SpecError(
        f"{word}: there is no such component.{hint} Of the kind {kind}: {', '.join(options)}."
    )


def kinds(folder: Path | None) -> list[str]:
    """Folders of components, and groups that only the user's folder has."""
    own = set(groups(folder)) - set(groups())
    return sorted({kind_of(name) for name in registry.COMPONENTS} | own)


def kind_of(name: str) -> str:
    """The kind of a component of the library."""
    folder = registry.COMPONENTS[name].partition(".")[0]
    for plural, singular in (("sses", "ss"), ("ies", "y"), ("s", "")):
        if folder.endswith(plural):
            return folder.removesuffix(plural) + singular
    return folder


def _by_name(name: str, folder: Path | None) -> Named:
    if name in registry.names():
        return Named(ANY_KIND, name, is_file=False)
    found = [one for kind in kinds(folder) for one in _of_kind(kind, name, folder)]
    if len(found) == 1:
        return found[0]
    if found:
        raise SpecError(
            f"{name}: several components may be meant. Write {' or '.join(o.word for o in found)}."
        )
    hint = suggestion(name, registry.names())
    raise SpecError(
        f"{name or 'component='}: there is no such component.{hint} If it is yours, name the "
        f"module that registers it: plugins=[my_package]. Known: {', '.join(registry.names())}."
    )


def _of_kind(kind: str, name: str, folder: Path | None) -> list[Named]:
    """The file; else the component of this name, with the kind behind it, or beginning with it."""
    if name in groups(folder).get(kind, []):
        return [Named(kind, name, is_file=True)]
    own = _components(kind)
    plugins = set(registry.names()) - set(registry.COMPONENTS)
    for exact in (name, f"{name}_{kind}"):
        if exact in own or exact in plugins:
            return [Named(kind, exact, is_file=False)]
    return [Named(kind, one, is_file=False) for one in own if one.startswith(f"{name}_")]


def _components(kind: str) -> list[str]:
    return sorted(name for name in registry.COMPONENTS if kind_of(name) == kind)


def _short_names(kind: str) -> list[str]:
    return [name.removesuffix(f"_{kind}") for name in _components(kind)]


def _options(kind: str, folder: Path | None) -> list[str]:
    found: Iterable[str] = {*groups(folder).get(kind, []), *_components(kind)}
    return sorted(found)
