"""Policies as a Python file and its weights, which need NumPy alone."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.backends.numpy.recording import (
    OPERATORS,
    RecordingExecutor,
    RecordingOps,
    Statement,
    Traced,
    traced_in,
    variables_by_id,
)
from rlg.backends.numpy.sources import Sources
from rlg.graph.spaces import Box

Function = Callable[[Any, Mapping[str, Any]], dict[str, Any]]
UNARY = ("-", "~")

MODULE = '''\
"""{title}

It needs this file, {weights} beside it, and NumPy:

    policy = Policy()
    outputs = policy({call})  # arrays with a leading axis for the batch

outputs is a dict: {outputs}.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
{imports}
INPUTS = {inputs}
STATE = {state}


class Policy:
    """Greedy actions for batches of observations."""

    def __init__(self, weights=None):
        file = Path(weights or Path(__file__).with_suffix(".npz"))
        with np.load(file, allow_pickle=False) as arrays:
            self.weights = {{name: arrays[name] for name in arrays.files}}

    def initial_state(self, batch):
        """Zeros, for the first step of a recurrent policy."""
        return {{name: np.zeros((batch, *INPUTS[name][1]), INPUTS[name][0]) for name in STATE}}

    def __call__(self, *arrays, **named):
        given = {{**dict(zip(INPUTS, arrays)), **named}}
        if given.keys() != INPUTS.keys() or len(arrays) > len(INPUTS):
            raise TypeError(f"the policy takes {{', '.join(INPUTS)}}; got {{', '.join(given)}}.")
        checked = {{name: _checked(name, given[name]) for name in INPUTS}}
        return _policy(self.weights, **checked)


def _checked(name, array):
    dtype, shape = INPUTS[name]
    array = np.asarray(array)
    if array.shape[1:] != shape:
        raise ValueError(f"{{name}}: expected [batch, *{{shape}}], got shape {{array.shape}}.")
    return array.astype(dtype, casting="same_kind", copy=False)


{definitions}def _policy(weights, {arguments}):
{body}
    return {{{results}}}
'''


def record(
    executor: RecordingExecutor, function: Function, inputs: Mapping[str, Box]
) -> dict[str, Traced]:
    """Runs the function on traced values; the executor's trace then holds its statements."""
    trace = executor.trace
    return function(RecordingOps(), {name: trace.input(name, box) for name, box in inputs.items()})


def write_module(
    executor: RecordingExecutor,
    function: Function,
    inputs: Mapping[str, Box],
    state: Sequence[str],
    path: Path,
    title: str,
) -> None:
    """Writes `path`, a .py file, and its weights beside it, a .npz file."""
    outputs = record(executor, function, inputs)
    writer = _Writer(variables_by_id(executor))
    needed = _needed(executor.trace.statements, outputs)
    body = [writer.line(statement) for statement in needed]
    results = ", ".join(f"{name!r}: {writer.text(value)}" for name, value in outputs.items())
    sources = writer.sources
    text = MODULE.format(
        title=title,
        weights=path.with_suffix(".npz").name,
        call=", ".join(f"{name}=..." for name in inputs),
        outputs=", ".join(outputs),
        imports="".join(f"import {name}\n" for name in sorted(sources.imports)),
        inputs=_table({name: (box.dtype, box.shape) for name, box in inputs.items()}),
        state=tuple(state),
        definitions="".join(f"{text}\n\n\n" for text in sources.definitions.values()),
        arguments=", ".join(inputs),
        body="\n".join(body),
        results=results,
    )
    path.write_text(text)
    np.savez(path.with_suffix(".npz"), allow_pickle=False, **writer.arrays)


def _needed(statements: Sequence[Statement], outputs: Mapping[str, Traced]) -> list[Statement]:
    """Without what nobody uses, such as the constants of exploration."""
    wanted = {value.name for value in traced_in(outputs)}
    found = []
    for statement in reversed(statements):
        if wanted & set(statement.targets):
            found.append(statement)
            wanted |= {v.name for v in traced_in((statement.arguments, statement.words))}
    return found[::-1]


def load_module(path: Path) -> Callable[..., dict[str, NDArray[Any]]]:
    """The function in a file that `write_module` wrote."""
    policy = runpy.run_path(str(path))["Policy"](path.with_suffix(".npz"))
    call: Callable[..., dict[str, NDArray[Any]]] = policy
    return call


class _Writer:
    """Statements as lines of Python."""

    def __init__(self, variables: Mapping[int, tuple[str, NDArray[Any]]]) -> None:
        self.sources = Sources()
        self.arrays: dict[str, NDArray[Any]] = {}
        self._variables = variables

    def line(self, statement: Statement) -> str:
        """One assignment, with the graph function that it belongs to."""
        name, given = statement.function, statement.arguments
        if name == "[]":
            value = f"{self.text(given[0])}[{self._index(given[1])}]"
        elif name == "shape":
            value = f"{self.text(given[0])}.shape[{given[1]}]"
        elif name in UNARY and len(given) == 1:
            value = f"{name}{self.text(given[0])}"
        elif name in OPERATORS.values():
            value = f"{self.text(given[0])} {name} {self.text(given[1])}"
        else:
            words = [f"{key}={self.text(value)}" for key, value in statement.words.items()]
            arguments = [*map(self.text, given), *words]
            value = f"{self.sources.operation(name)}({', '.join(arguments)})"
        targets = ", ".join(statement.targets) + ("," if statement.is_list else "")
        return f"{f'    {targets} = {value}':<60}  # {statement.where}"

    def text(self, value: Any) -> str:
        """An argument as an expression."""
        if isinstance(value, Traced):
            return value.name
        if isinstance(value, (np.ndarray, np.generic)):
            return self._array(value)
        if isinstance(value, (tuple, list)):
            inner = ", ".join(map(self.text, value))
            return f"({inner},)" if len(value) == 1 else f"({inner})"
        if isinstance(value, float) and not np.isfinite(value):
            return f"float({str(value)!r})"
        return repr(value)

    def _array(self, value: Any) -> str:
        known = self._variables.get(id(value))
        if known is not None:
            name, value = known
        elif np.ndim(value) == 0 and np.isfinite(value):
            return f"np.{value.dtype.name}({value.item()!r})".replace("np.bool(", "np.bool_(")
        else:
            name = next((n for n, a in self.arrays.items() if _same(n, a, value)), "")
            name = name or f"constant_{len(self.arrays)}"
        self.arrays[name] = np.asarray(value)
        return f"weights[{name!r}]"

    def _index(self, index: Any) -> str:
        parts = index if isinstance(index, tuple) else (index,)
        return ", ".join(map(self._part, parts))

    def _part(self, part: Any) -> str:
        if part is Ellipsis:
            return "..."
        if isinstance(part, slice):
            ends = ["" if end is None else self.text(end) for end in (part.start, part.stop)]
            step = "" if part.step is None else f":{self.text(part.step)}"
            return f"{ends[0]}:{ends[1]}{step}"
        return self.text(part)


def _same(name: str, array: NDArray[Any], value: Any) -> bool:
    alike = array.dtype == value.dtype and array.shape == value.shape
    return name.startswith("constant_") and alike and array.tobytes() == value.tobytes()


def _table(entries: Mapping[str, Any]) -> str:
    lines = "".join(f"    {json.dumps(name)}: {entry!r},\n" for name, entry in entries.items())
    return f"{{\n{lines}}}"
