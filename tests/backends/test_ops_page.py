"""docs/ops.md lists every operation as it is: `python -m tests.backends.test_ops_page` writes it
anew.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

from rlg.graph.core.component import ops
from tests.backends.runners import OPS

PAGE = Path(__file__).parents[2] / "docs" / "ops.md"
HEAD = """# Operations

Graph functions are written against `self.ops`, once for NumPy, PyTorch and TensorFlow. Names and
meanings are numpy's wherever numpy has the operation. Python's operators (`+`, `*`, `<=`) work
between tensors of equal dtypes, and so do slices. What holds for all operations:

- Tensors are passed by position: backends keep their own names for them.
- Operands have equal dtypes. Nothing is promoted silently: `ops.cast` converts.
- Sums are over floats and int64; indices are int64; `axis` is static.
- Images are NHWC, kernels HWIO.
- State changes happen in program order, also between graph functions.
- Never decide by a tensor in Python (`if x > 0`): use `ops.where` and `ops.cond`. Sizes of batches
  are unknown while TensorFlow traces: use `ops.batch_size(x)`, not `x.shape[0]`.
- Random numbers come from one stream for each component path, equal on every backend.

`Tensor` is an array or tensor of the backend that runs, `Variable` what `self.variable(...)`
returns (usable as a tensor), `Size` an int or what `batch_size` returns, `Axis` an int, a tuple of
ints or None for all axes.
"""
# What numpy's users know by the name alone, in a line.
LINES = {
    "abs": "|x|.",
    "all": "Whether all are true, over an axis or all of them.",
    "any": "Whether one is true, over an axis or all of them.",
    "assign": "Overwrites a variable; a number fills it.",
    "assign_add": "Adds to a variable.",
    "atanh": "The inverse of tanh.",
    "broadcast_to": "Repeats along axes of size 1 and new leading axes.",
    "clip": "Limits to [low, high].",
    "concat": "Joins tensors along an axis they have.",
    "constant": "A tensor of a Python value or an array.",
    "cumsum": "Running sums along an axis.",
    "digamma": "The derivative of lgamma.",
    "elu": "x above zero, e^x - 1 below.",
    "exp": "e^x.",
    "expand_dims": "Adds an axis of size 1.",
    "flip": "Reverses an axis.",
    "floor": "Rounds down.",
    "full": "A tensor of one number.",
    "isfinite": "Whether numbers are neither NaN nor infinite.",
    "lgamma": "The logarithm of the absolute gamma function.",
    "log": "The natural logarithm.",
    "log1p": "log(1 + x), exact near 0.",
    "log_softmax": "The logarithm of softmax, without overflow.",
    "logical_and": "Both, element by element.",
    "logical_not": "The opposite, element by element.",
    "logical_or": "One or both, element by element.",
    "logsumexp": "log(sum(exp(x))), without overflow.",
    "matmul": "The matrix product.",
    "max_pool2d": "The largest number of each window of NHWC images.",
    "maximum": "The larger of two, element by element.",
    "mean": "The mean over an axis or all of them.",
    "min": "The smallest over an axis or all of them.",
    "minimum": "The smaller of two, element by element.",
    "one_hot": "A vector of zeros with a one at each index.",
    "ones_like": "Ones of the same shape and dtype.",
    "power": "x^y.",
    "relu": "x above zero, else 0.",
    "reshape": "Another shape of the same numbers; one size may be -1.",
    "sigmoid": "1 / (1 + e^-x).",
    "sign": "-1, 0 or 1.",
    "silu": "x sigmoid(x).",
    "softmax": "e^x over its sum, without overflow.",
    "softplus": "log(1 + e^x), without overflow.",
    "sqrt": "The square root.",
    "square": "x^2.",
    "squeeze": "Drops an axis of size 1.",
    "stack": "Joins tensors along a new axis.",
    "stop_gradient": "The same numbers, constant for gradients.",
    "sum": "The sum over an axis or all of them.",
    "tanh": "The hyperbolic tangent.",
    "transpose": "Reorders axes.",
    "where": "x where the condition is true, else y.",
    "zeros": "A tensor of zeros.",
    "zeros_like": "Zeros of the same shape and dtype.",
}


def sections() -> list[tuple[str, list[ast.FunctionDef]]]:
    """The headings between the operations, with what is below each."""
    source = inspect.getsource(ops)
    [protocol] = [
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == "Ops"
    ]
    heads = [
        (number, match.group(1))
        for number, line in enumerate(source.splitlines(), 1)
        if (match := re.match(r"    # -- (.+?) -+$", line))
    ]
    found: list[tuple[str, list[ast.FunctionDef]]] = [(title, []) for _, title in heads]
    for node in protocol.body:
        if isinstance(node, ast.FunctionDef):
            [*_, last] = [i for i, (number, _) in enumerate(heads) if number < node.lineno]
            found[last][1].append(node)
    return found


def signature(node: ast.FunctionDef) -> str:
    arguments = ast.unparse(node.args).removeprefix("self").removeprefix(", ")
    returns = "" if node.returns is None else f" -> {ast.unparse(node.returns)}"
    return f"{node.name}({arguments}){returns}"


def line(node: ast.FunctionDef) -> str:
    doc = ast.get_docstring(node)
    return LINES[node.name] if doc is None else re.sub(r"\s+", " ", doc)


def page() -> str:
    words = [HEAD]
    for title, nodes in sections():
        rows = [
            f"| `{signature(node).replace('|', chr(92) + '|')}` | {line(node)} |" for node in nodes
        ]
        heading = title[0].upper() + title[1:]
        words += [f"## {heading}\n", "| operation | what it does |", "|---|---|", *rows, ""]
    return "\n".join(words)


def test_the_page_lists_every_operation_with_its_signature():
    assert PAGE.read_text(encoding="utf-8") == page()


def test_every_operation_is_explained_once():
    nodes = [node for _, found in sections() for node in found]
    silent = {node.name for node in nodes if ast.get_docstring(node) is None}
    assert silent == LINES.keys()
    assert len({node.name for node in nodes}) == len(nodes)


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_every_backend_has_every_operation(backend):
    names = {node.name for _, found in sections() for node in found}
    assert {name for name in names if not callable(getattr(OPS[backend], name, None))} == set()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
