"""Source text of a plan: lines, temporaries, and the globals that names are bound to."""

from __future__ import annotations

import keyword
import re
from collections.abc import Mapping
from math import isfinite
from typing import Any

from rlg.graph.core.assembly.records import Node, Record, Tree


class SourceWriter:
    """Keeps names unique and lines indented."""

    def __init__(self, name: str) -> None:
        self.name = identifier(name)
        self.globals: dict[str, Any] = {}
        self.inputs: list[tuple[str, int, str]] = []
        self._lines: list[str] = []
        self._depth = 1
        self._names: dict[int, str] = {}
        self._globals_by_id: dict[Any, str] = {}
        self._temporaries = 0

    def _bind(self, tree: Tree, text: str) -> None:
        if isinstance(tree, Record):
            self._names[id(tree)] = text
        elif isinstance(tree, Mapping):
            for key, value in tree.items():
                self._bind(value, f"{text}[{key!r}]")
        elif isinstance(tree, tuple):
            for index, value in enumerate(tree):
                self._bind(value, f"{text}[{index}]")

    def _name_outputs(self, node: Node, outputs: Tree, text: str) -> None:
        records = iter(node.outputs)

        def name(tree: Tree, text: str) -> None:
            if tree is None:
                return
            if isinstance(tree, Mapping):
                for key, value in tree.items():
                    name(value, f"{text}[{key!r}]")
            elif isinstance(tree, tuple):
                for index, value in enumerate(tree):
                    name(value, f"{text}[{index}]")
            else:
                self._names[id(next(records))] = text

        name(outputs, text)

    def _expression(self, tree: Tree) -> str:
        if isinstance(tree, Record):
            return self._names[id(tree)]
        if isinstance(tree, Mapping):
            return "{" + ", ".join(f"{k!r}: {self._expression(v)}" for k, v in tree.items()) + "}"
        if isinstance(tree, tuple):
            return f"({''.join(self._expression(value) + ', ' for value in tree)})"
        if (
            tree is None
            or isinstance(tree, (bool, int, str))
            or (type(tree) is float and isfinite(tree))
        ):
            return repr(tree)
        return self._global("constant", tree)

    def _selected(self, tree: Tree, path: tuple[str | int, ...]) -> str:
        """The expression of one leaf of a tree: literals are taken apart here, not at run time."""
        rest = list(path)
        while rest and isinstance(tree, (Mapping, tuple)):
            tree = tree[rest.pop(0)]  # type: ignore[index]
        return self._expression(tree) + "".join(f"[{key!r}]" for key in rest)

    def _ops(self, component: Any) -> str:
        short = f"ops_{identifier((component.path or '').rsplit('/', 1)[-1])}"
        return self._global(short, component.ops, ("ops", component.path))

    def _global(self, name: str, value: Any, key: Any = None) -> str:
        key = ("object", id(value)) if key is None else key
        known = self._globals_by_id.get(key)
        if known is not None:
            return known
        unique, number = name, 1
        while (
            unique in self.globals
            or unique == self.name
            or unique in self._reserved()
            or keyword.iskeyword(unique)
            or re.fullmatch(r"t\d+", unique)
        ):
            number += 1
            unique = f"{name}_{number}"
        self.globals[unique] = value
        self._globals_by_id[key] = unique
        return unique

    def _reserved(self) -> set[str]:
        return {name for name, _, _ in self.inputs} | {"carry", "x", "draws"}

    def _temporary(self) -> str:
        self._temporaries += 1
        name = f"t{self._temporaries - 1}"
        return self._temporary() if name in self._reserved() else name

    def _line(self, text: str, comment: str | None = None) -> None:
        line = f"{'    ' * self._depth}{text}"
        self._lines.append(f"{line:<60}  # {comment}" if comment else line)


def identifier(text: str) -> str:
    """A Python name from a scope."""
    name = re.sub(r"\W", "_", text)
    return f"_{name}" if not name or name[0].isdigit() else name


def source_of(tree: Any) -> str:
    """The expression of a nested dict or tuple whose leaves are expressions."""
    if isinstance(tree, Mapping):
        return "{" + ", ".join(f"{key!r}: {source_of(value)}" for key, value in tree.items()) + "}"
    if isinstance(tree, tuple):
        return f"({''.join(source_of(value) + ', ' for value in tree)})"
    return str(tree)
