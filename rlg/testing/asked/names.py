"""What the first word of `rlg test-component` names: a YAML file of a group, or a component.

Kinds of components are the folders that they live in, in the singular: memory, loss, network...
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from rlg.api.config.groups import groups
from rlg.api.inspection.catalogue import singular
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
    kind, _, name = word.rpartition("=")
    is_any, known = kind in ("", ANY_KIND), kinds(folder)
    if is_any and name in registry.names():
        return Named(ANY_KIND, name, is_file=False)
    if not is_any and kind not in known:
        meant = nearest(kind, known)
        hint = f" Did you mean {meant}={name}?" if meant else ""
        raise SpecError(
            f"{word}: there are no components of the kind {kind!r}.{hint} "
            f"Kinds: {', '.join(known)}; or component={name}."
        )
    found = [one for k in (known if is_any else [kind]) for one in _of_kind(k, name, folder)]
    if len(found) == 1:
        return found[0]
    if found:
        words = " or ".join(one.word for one in found)
        raise SpecError(f"{word}: several components may be meant. Write {words}.")
    if is_any:
        raise SpecError(
            f"{word}: there is no such component.{suggestion(name, registry.names())} If it is "
            "yours, name the module that registers it: plugins=[my_package]. "
            f"Known: {', '.join(registry.names())}."
        )
    options = sorted({*groups(folder).get(kind, []), *_components(kind)})
    meant = nearest(name, [*options, *(option.removesuffix(f"_{kind}") for option in options)])
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
    return singular(registry.COMPONENTS[name].partition(".")[0])


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
