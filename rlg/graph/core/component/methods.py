"""The marks that turn plain methods into API methods and graph functions, and what they say.

A decorator only adds a mark and returns the function; the assembler and the builder do the rest.
What a method takes and gives is read from its signature once per function: tensors, static
arguments (`Static[int]`, `Static[bool]`), batch sizes (`Size`), optional arguments (`= None`),
and the number of outputs from the return annotation.
"""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, Union, get_args, get_origin, overload

from rlg.errors import AssemblyError, ComponentError

if TYPE_CHECKING:
    from rlg.graph.core.component.component import Component

T = TypeVar("T")
F = TypeVar("F", bound=Callable[..., Any])

# An argument whose value is known when a plan is made: each value has a plan of its own.
Static = Annotated[T, "static"]
# A static int that is the leading axis of what comes out: `sample(n: Size)`.
Size = Annotated[int, "size"]

TENSOR, STATIC, SIZE = "tensor", "static", "size"
_MARK = "__rlg_mark__"
_REQUIRED = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Mark:
    """What the decorators on one function said."""

    is_api: bool = False
    is_graph_fn: bool = False
    is_host: bool = False
    split: bool = False
    fold_time: bool = False
    outputs: Callable[[Any], int] | int | None = None
    spaces: Callable[..., Any] | None = None
    keeps_time: bool = False
    bounds: Callable[[Any], Any] | None = None
    lengths: Callable[..., Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a method."""

    name: str
    kind: str
    default: Any
    by_keyword: bool = False

    @property
    def is_required(self) -> bool:
        return self.default is _REQUIRED

    @property
    def is_optional_tensor(self) -> bool:
        return self.kind == TENSOR and self.default is None


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """A marked function with its arguments, of a class or registered on an instance."""

    name: str
    function: Callable[..., Any]
    mark: Mark
    parameters: tuple[Parameter, ...]
    annotated_outputs: int | None

    @classmethod
    def of(cls, name: str, function: Callable[..., Any], mark: Mark) -> Method:
        """Reads the signature; the first argument is the component."""
        return cls(name, function, mark, _parameters(function), _count_outputs(function))

    def bind(self, where: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name with defaults filled in, or an error that shows the signature."""
        names = [p.name for p in self.parameters]
        if len(args) > len(names):
            self._refuse(where, f"got {len(args)} arguments")
        bound = dict(zip(names, args, strict=False))
        for name, value in kwargs.items():
            if name not in names:
                self._refuse(where, f"has no argument `{name}`")
            if name in bound:
                self._refuse(where, f"got `{name}` twice")
            bound[name] = value
        for parameter in self.parameters:
            if parameter.name not in bound:
                if parameter.is_required:
                    self._refuse(where, f"misses the argument `{parameter.name}`")
                bound[parameter.name] = parameter.default
        return {name: bound[name] for name in names}

    def _refuse(self, where: str, what: str) -> None:
        raise AssemblyError(f"{where}: the call {what}. Call it as {self.signature()}.")

    def signature(self) -> str:
        """`insert(records, priorities=None)`."""
        words = (p.name if p.is_required else f"{p.name}={p.default!r}" for p in self.parameters)
        return f"{self.name}({', '.join(words)})"

    def takes_tensors_only(self, count: int) -> bool:
        """Whether the first `count` arguments are required tensors."""
        return all(p.kind == TENSOR and p.is_required for p in self.parameters[:count])

    def output_count(self, component: Component) -> int:
        """How many values a graph function returns: `outputs=` if given, else its annotation."""
        given = self.mark.outputs
        if given is not None:
            return given if isinstance(given, int) else int(given(component))
        if self.annotated_outputs is None:
            raise ComponentError(
                f"{component.path_or_name}.{self.name}: can't tell how many values it returns. "
                "Annotate the return (`-> Tensor`, `-> tuple[Tensor, Tensor]`, `-> None`), or give "
                "`outputs=lambda self: ...` where configuration decides."
            )
        return self.annotated_outputs


@overload
def api(function: F, /) -> F: ...
@overload
def api(*, split: bool = False, fold_time: bool = False) -> Callable[[F], F]: ...
def api(function: F | None = None, /, *, split: bool = False, fold_time: bool = False) -> Any:
    """Marks an API method: composition only, the sole way data enters and leaves a component.

    One whose name begins with an underscore is the body of a region of its own component: nobody
    else calls it, and a root does not offer it.
    """
    return _decorate(function, is_api=True, split=split, fold_time=fold_time)


@overload
def graph_fn(function: F, /) -> F: ...
@overload
def graph_fn(
    *,
    split: bool = False,
    fold_time: bool = False,
    outputs: Callable[[Any], int] | int | None = None,
    spaces: Callable[..., Any] | None = None,
    keeps_time: bool = False,
    bounds: Callable[[Any], Any] | None = None,
    lengths: Callable[..., Mapping[str, Any]] | None = None,
) -> Callable[[F], F]: ...
def graph_fn(
    function: F | None = None,
    /,
    *,
    split: bool = False,
    fold_time: bool = False,
    outputs: Callable[[Any], int] | int | None = None,
    spaces: Callable[..., Any] | None = None,
    keeps_time: bool = False,
    bounds: Callable[[Any], Any] | None = None,
    lengths: Callable[..., Mapping[str, Any]] | None = None,
) -> Any:
    """Marks a graph function: numerical code against `self.ops`, written once for all backends.

    `split` calls it once per leaf of nested inputs, `fold_time` merges batch and time around it.
    `spaces(self, **input_spaces)` declares the output spaces instead of a dry run; with
    `keeps_time` the time in them is as long as that of the inputs. `lengths(self, **input_spaces)`
    tells the sizes of ranks that no input has, for random draws behind it: a number, a rank of the
    inputs, ("product", a, b), or ("quotient", a, b), which is 1 or more. `bounds(self)` names
    spaces whose bounds hold for the outputs (None for an output without), which no dry run can
    see: what comes out of a memory lies within the bounds of what went in.
    """
    return _decorate(
        function,
        is_graph_fn=True,
        split=split,
        fold_time=fold_time,
        outputs=outputs,
        spaces=spaces,
        keeps_time=keeps_time,
        bounds=bounds,
        lengths=lengths,
    )


def host_fn(
    *, spaces: Callable[..., Any], outputs: Callable[[Any], int] | int | None = None
) -> Callable[[F], F]:
    """Marks Python on numpy values (environments, queues, cv2); it declares its output spaces.

    The arrays that it returns are handed over: it must not write into them later.
    """
    decorate: Callable[[F], F] = _decorate(
        None, is_graph_fn=True, is_host=True, spaces=spaces, outputs=outputs
    )
    return decorate


def mark_of(function: Any) -> Mark | None:
    """The mark on a function, if it has one."""
    mark = getattr(function, _MARK, None)
    return mark if isinstance(mark, Mark) else None


def _decorate(function: Any, **words: Any) -> Any:
    def decorate(fn: F) -> F:
        said = {
            key: value for key, value in words.items() if value is not False and value is not None
        }
        setattr(fn, _MARK, replace(mark_of(fn) or Mark(), **said))
        return fn

    return decorate if function is None else decorate(function)


def _parameters(function: Callable[..., Any]) -> tuple[Parameter, ...]:
    found = []
    for parameter in list(inspect.signature(function).parameters.values())[1:]:
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise ComponentError(
                f"{function.__qualname__}: *args and **kwargs have no spaces. Name every argument; "
                "pass a Dict or Tuple where their number varies."
            )
        by_keyword = parameter.kind == parameter.KEYWORD_ONLY
        kind = _kind(parameter.annotation)
        found.append(Parameter(parameter.name, kind, parameter.default, by_keyword))
    return tuple(found)


def _kind(annotation: Any) -> str:
    if isinstance(annotation, str):
        word = annotation.split("[")[0].rsplit(".", 1)[-1].strip()
        return {"Static": STATIC, "Size": SIZE}.get(word, TENSOR)
    if get_origin(annotation) is Annotated:
        return {"static": STATIC, "size": SIZE}.get(get_args(annotation)[1], TENSOR)
    if get_origin(annotation) in (Union, types.UnionType):
        kinds = {_kind(part) for part in get_args(annotation)} - {TENSOR}
        return kinds.pop() if kinds else TENSOR
    return TENSOR


def _count_outputs(function: Callable[..., Any]) -> int | None:
    annotation = inspect.signature(function).return_annotation
    if isinstance(annotation, str):
        return _count_in_text(annotation, function)
    return _count_in_type(annotation)


def _count_in_text(text: str, function: Callable[..., Any]) -> int | None:
    node = ast.parse(text, mode="eval").body
    if isinstance(node, ast.Constant) and node.value is None:
        return 0
    if isinstance(node, ast.Name) and node.id in ("tuple", "Tuple"):
        return None
    if (
        isinstance(node, ast.Subscript)
        and ast.unparse(node.value).split(".")[-1].lower() == "tuple"
    ):
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        open_ended = any(isinstance(p, ast.Constant) and p.value is ... for p in parts)
        return None if open_ended else len(parts)
    if isinstance(node, ast.Name) and node.id in getattr(function, "__globals__", {}):
        return _count_in_type(function.__globals__[node.id])
    return 1


def _count_in_type(annotation: Any) -> int | None:
    if annotation is inspect.Signature.empty:
        return None
    if annotation is None:
        return 0
    if get_origin(annotation) is tuple:
        parts = get_args(annotation)
        return None if ... in parts else len(parts)
    return None if annotation is tuple else 1
