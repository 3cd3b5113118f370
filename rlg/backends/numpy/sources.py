"""The source of NumPy's operations, one by one, for modules that do without rlg."""

from __future__ import annotations

import ast
import builtins
import inspect
import sys
from textwrap import dedent
from typing import Any

import numpy as np

from rlg.backends.numpy.ops import NumpyOps

OPS = "NumpyOps"
PREFIX = "op_"  # Operations are named like builtins: sum, max, any.


class Sources:
    """Collects the definitions that operations need, each once, with what they need in turn."""

    def __init__(self) -> None:
        self.definitions: dict[str, str] = {}
        self.imports: set[str] = set()

    def operation(self, name: str) -> str:
        """The text that calls an operation: NumPy's own function, or one that is defined here."""
        function = getattr(NumpyOps, name)
        short = getattr(function, "__name__", "")
        if getattr(np, short, None) is function:
            return f"np.{short}"
        module = sys.modules[function.__module__]
        if module.__name__ != NumpyOps.__module__:
            return self._member(module, short)
        definition: Any = ast.parse(dedent(inspect.getsource(function))).body[0]
        definition.name = f"{PREFIX}{name}"
        return self._define(definition.name, definition, module)

    def _member(self, module: Any, name: str) -> str:
        """A function or a constant of a module."""
        for node in ast.parse(inspect.getsource(module)).body:
            targets = [
                target.id for target in getattr(node, "targets", []) if hasattr(target, "id")
            ]
            if getattr(node, "name", None) == name or name in targets:
                return self._define(name, node, module)
        raise LookupError(f"{module.__name__} has no {name}.")

    def _define(self, name: str, node: Any, module: Any) -> str:
        if name not in self.definitions:
            self.definitions[name] = ""  # in its place before what it needs comes to ask for it
            plain = ast.fix_missing_locations(_Plain(self, module).visit(node))
            del self.definitions[name]
            self.definitions[name] = ast.unparse(plain)
        return name

    def named(self, name: str, module: Any) -> str:
        """What a global name of a module is called here."""
        if name == "np" or (hasattr(builtins, name) and not hasattr(module, name)):
            return name
        value = getattr(module, name)
        if inspect.ismodule(value):
            self.imports.add(value.__name__)
            return name
        home = getattr(value, "__module__", "") or ""
        if home.startswith("numpy.lib"):
            return (
                f"np.{home.removeprefix('numpy.').removesuffix('_impl').replace('._', '.')}.{name}"
            )
        if isinstance(value, type) and issubclass(value, Exception):
            return "ValueError"
        return self._member(module, name)


class _Plain(ast.NodeTransformer):
    """Takes annotations and decorators away, and names of rlg."""

    def __init__(self, sources: Sources, module: Any) -> None:
        self._sources = sources
        self._module = module
        self._local: set[str] = set()

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.decorator_list, node.returns = [], None
        arguments = [*node.args.args, *node.args.kwonlyargs]
        for argument in arguments:
            argument.annotation = None
        stored = (n for n in ast.walk(node) if isinstance(n, ast.Name))
        self._local |= {n.id for n in stored if isinstance(n.ctx, ast.Store)}
        self._local |= {argument.arg for argument in arguments}
        node.body = [self.visit(statement) for statement in node.body]
        node.args.defaults = [self.visit(default) for default in node.args.defaults]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.Assign:
        assert node.value is not None
        return ast.Assign([node.target], self.visit(node.value))

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id not in self._local:
            if node.value.id == OPS:
                return ast.parse(self._sources.operation(node.attr), mode="eval").body
            owner = getattr(self._module, node.value.id, None)
            if inspect.ismodule(owner) and owner.__name__.startswith("rlg."):
                return ast.Name(self._sources._member(owner, node.attr), ast.Load())
        self.generic_visit(node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if isinstance(node.ctx, ast.Load) and node.id not in self._local:
            return ast.parse(self._sources.named(node.id, self._module), mode="eval").body
        return node
