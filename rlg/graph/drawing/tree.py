"""The components as a tree of text."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sized
from typing import TYPE_CHECKING

from rlg.graph.drawing.picture import Held, Picture, Scope

if TYPE_CHECKING:
    from rlg.graph.core.build.builder import Builder


def text_tree(builder: Builder, api: str | None = None, depth: int | None = None) -> str:
    """The components as a tree, with their API methods, variables and devices, and totals below.

    Args:
        api: leaves out what this API method of a root doesn't use.
        depth: levels of scopes that are unfolded; all by default.
    """
    picture, lines = Picture(builder, api), list[str]()
    # What stands before a scope's line and before the lines of what it holds, and its level.
    bars: dict[int, tuple[str, str, int]] = {}
    for scope in (*picture.scopes, *picture.shared):
        if scope.parent and id(scope) not in bars:
            continue  # in a folded scope
        own, below, level = bars.pop(id(scope), ("", "", 0))
        is_folded = depth is not None and level >= depth and bool(scope.children)
        for child in () if is_folded else scope.children:
            ends = ("└─ ", "   ") if child is scope.children[-1] else ("├─ ", "│  ")
            bars[id(child)] = (below + ends[0], below + ends[1], level + 1)
        lines.append(own + "  ".join(_words(scope, picture.default, is_folded)))
        bar = "│" if scope.children and not is_folded else " "
        for held in scope.variables if scope.shares is None else ():
            place = "" if held.device == picture.default else f"  on {held.device}"
            size = f"{held.space.flat_dim:,} {'trainable' if held.trainable else 'state'}"
            lines.append(f"{below}{bar}  · {held}  {size}{place}")
    variables = list(_held((*picture.scopes, *picture.shared)))
    parts, calls = _count(picture.scopes, "component"), _count(picture.arrows, "API call")
    lines += ["", f"{parts}, {calls}"]
    numbers = f"{_trainable(variables):,} trainable parameters"
    lines.append(f"{_count(variables, 'variable')}, {numbers}")
    return "\n".join([*lines, ""])


def _words(scope: Scope, default: str, is_folded: bool) -> Iterator[str]:
    yield f"{scope.name}: {scope.kind}"
    offered = [name for name in scope.methods if not name.startswith("_")]
    if offered:
        yield ", ".join(offered)
    if scope.places and scope.places != [default]:
        yield f"on {', '.join(scope.places)}"
    if scope.shares:
        yield f"variables in {scope.shares.path}"
    if is_folded:
        inside = list(scope)[1:]
        numbers = f", {_trainable(_held(inside)):,} trainable parameters"
        yield f"[{len(inside)} inside{'' if numbers.startswith(', 0 ') else numbers}]"


def _count(things: Sized, word: str) -> str:
    return f"{len(things)} {word}{'' if len(things) == 1 else 's'}"


def _held(scopes: Iterable[Scope]) -> Iterator[Held]:
    """Variables, those in shared scopes only there."""
    return (held for scope in scopes if scope.shares is None for held in scope.variables)


def _trainable(variables: Iterable[Held]) -> int:
    return sum(held.space.flat_dim for held in variables if held.trainable)
