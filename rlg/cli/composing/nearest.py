"""What somebody may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The known word closest to this one, whatever the case of letters."""
    known = {other.lower(): other for other in words}
    close = difflib.get_close_matches(word.lower(), known, n=1)
    return known[close[0]] if close else None


def nearest_path(path: str, paths: Iterable[str]) -> str | None:
    """The key that may have been meant: the same word elsewhere, a sibling, or a similar path."""
    known = list(paths)
    section, _, last = path.rpartition(".")
    siblings = {p.rpartition(".")[2]: p for p in known if p.rpartition(".")[0] == section}
    same = [p for p in known if p.rpartition(".")[2] == last]
    if same:
        return same[0]
    word = nearest(last, siblings)
    others = (p for p in known if not path.startswith(f"{p}."))
    return nearest(path, others) if word is None else siblings[word]


def leaves(config: Mapping[Any, Any], prefix: str = "") -> list[str]:
    """The dotted paths of all values in a tree."""
    found: list[str] = []
    for key, value in config.items():
        path = f"{prefix}{key}"
        found += leaves(value, f"{path}.") if isinstance(value, Mapping) else [path]
    return found
