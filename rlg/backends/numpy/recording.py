"""Records what a plan computes as a list of NumPy operations, to be written down as source.

Graph functions run on `Traced` values: each stands for an array of any batch size, and carries
what it is for two sizes. Axes in which these differ are the batch's: their sizes are read at run
time, all others are numbers. What no input goes into is computed once, and kept as a constant.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from rlg.backends.numpy.executor import NumpyExecutor
from rlg.backends.numpy.ops import NumpyOps
from rlg.errors import ExportError
from rlg.graph.spaces import Box

BATCHES = (2, 3)

# Operations that are recorded as they are; others are made of these, or can't be.
RECORDED = """
    zeros full zeros_like ones_like arange reshape transpose expand_dims squeeze broadcast_to
    concat stack split flip fold_time unfold_time flatten cast abs sign exp log log1p sqrt
    square power tanh atanh floor round lgamma digamma minimum maximum clip isfinite equal
    logical_and logical_or logical_not sigmoid relu elu leaky_relu gelu silu softplus where any
    all argmax cumsum argsort sum mean max min logsumexp softmax log_softmax matmul conv2d
    max_pool2d addmm addmm_wide take_rows pick one_hot value_of stop_gradient
""".split()
REFUSED = """
    assign assign_add assign_all scatter_rows priority_raise priority_set priority_find
    priority_draw require gradients global_norm scale_all adam random_uniform random_normal
    random_rows cond host scan
""".split()
OPERATORS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
    "matmul": "@",
    "and": "&",
    "or": "|",
    "xor": "^",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "eq": "==",
    "ne": "!=",
}


@dataclass(frozen=True, slots=True)
class Statement:
    """`targets = function(arguments)`: an operation, an operator such as "+", "[]" or "shape"."""

    targets: tuple[str, ...]
    function: str
    arguments: tuple[Any, ...]
    words: Mapping[str, Any]
    where: str
    is_list: bool = False  # the function returns a list, also of one


@dataclass(eq=False, slots=True)
class Trace:
    """The statements so far."""

    statements: list[Statement] = field(default_factory=list)
    where: str = ""  # the graph function that runs

    def note(
        self, name: str, function: Callable[..., Any], args: Sequence[Any], words: Mapping[str, Any]
    ) -> Any:
        """Computes for both batch sizes, and writes down one statement."""
        with np.errstate(all="ignore"):  # Zeros have no logarithm, and need none.
            found = [
                function(*_at(tuple(args), size), **_at(dict(words), size))
                for size in range(len(BATCHES))
            ]
        several = isinstance(found[0], (list, tuple))
        pairs = list(zip(*found, strict=True)) if several else [tuple(found)]
        first = sum(len(statement.targets) for statement in self.statements)
        results = [Traced(self, f"t{first + i}", pair) for i, pair in enumerate(pairs)]
        targets = tuple(result.name for result in results)
        self.statements.append(
            Statement(targets, name, tuple(args), dict(words), self.where, several)
        )
        return results if several else results[0]

    def input(self, name: str, box: Box) -> Traced:
        """An argument of the function that is recorded."""
        return Traced(self, name, tuple(box.zeros(size) for size in BATCHES))


class Traced:
    """A value that depends on the inputs."""

    __array_ufunc__ = None  # `array + traced` is for __radd__, not for NumPy
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, trace: Trace, name: str, values: tuple[Any, ...]) -> None:
        self.trace = trace
        self.name = name
        self.values = values

    @property
    def sizes(self) -> tuple[int | None, ...]:
        """The shape; None where the batch decides."""
        first, second = (np.shape(value) for value in self.values)
        return tuple(n if n == m else None for n, m in zip(first, second, strict=True))

    def __getitem__(self, index: Any) -> Any:
        return self.trace.note("[]", operator.getitem, (self, index), {})

    def __neg__(self) -> Any:
        return self.trace.note("-", operator.neg, (self,), {})

    def __invert__(self) -> Any:
        return self.trace.note("~", operator.invert, (self,), {})

    def __bool__(self) -> NoReturn:
        self._refuse("decides by a tensor's value in Python. Use ops.where")

    def __iter__(self) -> NoReturn:
        self._refuse("iterates over a tensor. Use ops.split, or an index")

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        self._refuse(f"uses `.{name}` of a tensor. Use an operation of self.ops")

    def _refuse(self, what: str) -> NoReturn:
        raise ExportError(f"{self.trace.where}: it {what}, then it can be exported to numpy.")


def _operator(name: str, symbol: str) -> None:
    function = getattr(operator, f"{name}_" if name in ("and", "or") else name)

    def forward(self: Traced, other: Any) -> Any:
        return self.trace.note(symbol, function, (self, other), {})

    def backward(self: Traced, other: Any) -> Any:
        return self.trace.note(symbol, function, (other, self), {})

    setattr(Traced, f"__{name}__", forward)
    if name not in ("lt", "le", "gt", "ge", "eq", "ne"):  # Python mirrors these itself.
        setattr(Traced, f"__r{name}__", backward)


for _name, _symbol in OPERATORS.items():
    _operator(_name, _symbol)


class RecordingOps(NumpyOps):
    """NumPy's operations, which note what they do to traced values."""

    @staticmethod
    def shape_of(x: Any) -> tuple[int | None, ...]:
        return x.sizes if isinstance(x, Traced) else np.shape(x)

    @staticmethod
    def dtype_of(x: Any) -> str:
        return NumpyOps.dtype_of(x.values[0] if isinstance(x, Traced) else x)

    @staticmethod
    def axis_size(x: Any, axis: int) -> Any:
        if not isinstance(x, Traced):
            return x.shape[axis]
        known = x.sizes[axis]
        if known is not None:
            return known
        return x.trace.note("shape", lambda x, axis: np.int64(x.shape[axis]), (x, axis), {})

    @staticmethod
    def batch_size(x: Any) -> Any:
        return RecordingOps.axis_size(x, 0)


def _recorded(name: str) -> Callable[..., Any]:
    function = getattr(NumpyOps, name)

    def call(*args: Any, **words: Any) -> Any:
        traced = next(traced_in((args, words)), None)
        return (
            function(*args, **words)
            if traced is None
            else traced.trace.note(name, function, args, words)
        )

    return call


def _refused(name: str) -> Callable[..., Any]:
    def call(self: Any, *args: Any, **words: Any) -> Any:
        traced = next(traced_in((args, words)), None)
        if traced is not None:
            raise ExportError(
                f"{traced.trace.where}: it uses ops.{name}, which a policy of NumPy alone can't. "
                "Export to torch or savedmodel instead."
            )
        return getattr(super(RecordingOps, self), name)(*args, **words)

    return call


for _name in RECORDED:
    setattr(RecordingOps, _name, staticmethod(_recorded(_name)))
for _name in REFUSED:
    setattr(RecordingOps, _name, _refused(_name))


class RecordingExecutor(NumpyExecutor):
    """Builds on NumPy; its plans run on traced values too."""

    ops_class = RecordingOps

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.trace = Trace()
        self.watch = self._located

    def _located(self, label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **words: Any) -> Any:
            self.trace.where = label
            return function(*args, **words)

        return call


def _at(tree: Any, size: int) -> Any:
    """The values for one of the batch sizes."""
    if isinstance(tree, Traced):
        return tree.values[size]
    if isinstance(tree, Mapping):
        return {key: _at(value, size) for key, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        return type(tree)(_at(value, size) for value in tree)
    if isinstance(tree, slice):
        return slice(*(_at(part, size) for part in (tree.start, tree.stop, tree.step)))
    return tree


def traced_in(tree: Any) -> Iterator[Traced]:
    """The values in arguments that depend on inputs."""
    if isinstance(tree, Traced):
        yield tree
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from traced_in(value)
    elif isinstance(tree, (tuple, list)):
        for value in tree:
            yield from traced_in(value)
    elif isinstance(tree, slice):
        yield from traced_in((tree.start, tree.stop, tree.step))


def variables_by_id(executor: NumpyExecutor) -> dict[int, tuple[str, NDArray[Any]]]:
    """Paths and values of variables by identity."""
    found = executor.builder.binding.variables.values()
    return {id(info.variable): (info.path, info.variable) for info in found}
