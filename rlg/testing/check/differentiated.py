"""A component around the one that is checked, which returns gradients of what its calls return.

It is a component like any other, so gradients take the way that they take in training: through the
build, the plan and the operations of the backend. Inputs are moved by trainable zeros, whose
gradients are not zero where gradients reach the inputs.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from rlg.graph import Component, Tensor, Variable, api, graph_fn
from rlg.graph.spaces import Box, Space, path_name
from rlg.testing.check.calls import APICall

ROOT = "check"
CALL, LOSS, GRADIENTS = "call", "loss", "gradients"


class Shift(Component):
    """Adds trainable zeros to every float leaf; what passes through stays as it is."""

    def create_variables(self, *, inputs: Space) -> None:
        self._shifts: dict[str, Variable] = {
            path_name(path): self.variable(
                path_name(path) or "value", box.shape, dtype=box.dtype, trainable=True
            )
            for path, box in inputs.flatten().items()
            if is_float(box)
        }

    def _same(self, inputs: Space) -> Space:
        return inputs

    @api
    @graph_fn(spaces=_same, keeps_time=True)
    def call(self, inputs: Tensor) -> Tensor:
        return self._shifted(inputs, ())

    def _shifted(self, value: Any, path: tuple[str | int, ...]) -> Any:
        if isinstance(value, Mapping):
            return {key: self._shifted(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, tuple):
            return tuple(self._shifted(item, (*path, n)) for n, item in enumerate(value))
        shift = self._shifts.get(path_name(path))
        # Not the plain sum: what normalizes over the batch would not notice it.
        return value if shift is None else value + shift * (1.0 + value * value)


class Differentiated(Component):
    """An API method for each call, `gradients_0`, `loss_1`, `call_2`: whichever kind is wanted.

    The calls that are only made (`call`) are there to be built: parts of the component may get
    their inputs, and so their variables, from them alone.
    """

    def __init__(
        self,
        subject: Component,
        calls: Sequence[APICall],
        kinds: Sequence[str],
        has_variables: bool = True,
    ) -> None:
        self.scope = ROOT
        self.subject = subject
        self.has_variables = has_variables
        self.shifts = {
            f"{number}-{name}": Shift()
            for number, call in enumerate(calls)
            for name in shifted_inputs(call)
            if kinds[number] != CALL
        }
        ways = {CALL: self._outputs_of, LOSS: self._loss_of, GRADIENTS: self._gradients_of}
        for number, (call, kind) in enumerate(zip(calls, kinds, strict=True)):
            function = _with_arguments(call, ways[kind](number, call))
            self.register_api(f"{kind}_{number}", function)

    def _outputs_of(self, number: int, call: APICall) -> Callable[..., Any]:
        def outputs(self: Differentiated, **tensors: Any) -> Any:
            given = {
                name: self.shifts[key].call(value) if (key := f"{number}-{name}") in self.shifts
                else value
                for name, value in tensors.items()
            }  # fmt: skip
            return getattr(self.subject, call.api)(**given, **call.statics)

        return outputs

    def _loss_of(self, number: int, call: APICall) -> Callable[..., Any]:
        outputs_of = self._outputs_of(number, call)

        def loss(self: Differentiated, **tensors: Any) -> Any:
            return self.score(outputs_of(self, **tensors))

        return loss

    def _gradients_of(self, number: int, call: APICall) -> Callable[..., Any]:
        loss_of = self._loss_of(number, call)

        def gradients(self: Differentiated, **tensors: Any) -> Any:
            loss = loss_of(self, **tensors)
            shifts = [self.shifts[f"{number}-{name}"].variables() for name in shifted_inputs(call)]
            weights = self.subject.variables() if self.has_variables else None
            return loss, self.differentiate(loss, weights, tuple(shifts) or None)

        return gradients

    @graph_fn
    def score(self, outputs: Tensor) -> Tensor:
        """One number that every float output moves: sums of x / (1 + |x|), tame where x is big."""
        ops = self.ops
        floats = [leaf for leaf in leaves(outputs) if ops.dtype_of(leaf).startswith("float")]
        return sum(ops.cast(ops.sum(x / (1.0 + ops.abs(x))), "float32") for x in floats)

    @graph_fn
    def differentiate(
        self, loss: Tensor, weights: Tensor | None = None, shifts: Tensor | None = None
    ) -> Tensor:
        """d loss / d variable, and by the shift of each input."""
        places = {
            f"{number}/{key}": variable
            for number, variables in enumerate(shifts or ())
            for key, variable in variables.items()
        }
        return self.ops.gradients(loss, {**(weights or {}), **places})


def shifted_inputs(call: APICall) -> list[str]:
    """The arguments that gradients can flow to."""
    return [
        name
        for name, space in call.tensors.items()
        if any(is_float(box) for box in space.flatten().values())
    ]


def shown(key: str, inputs: Sequence[str]) -> str:
    """A key of the gradients as its user knows it."""
    head, _, rest = key.partition("/")
    if head.isdigit() and int(head) < len(inputs):
        return f"input `{inputs[int(head)]}{'' if rest == 'value' else f'/{rest}'}`"
    return f"`{key}`"


def is_float(box: Box) -> bool:
    return box.kind == "float"


def leaves(tree: Any) -> Iterator[Any]:
    """All tensors in nested outputs."""
    if isinstance(tree, Mapping):
        for item in tree.values():
            yield from leaves(item)
    elif isinstance(tree, tuple):
        for item in tree:
            yield from leaves(item)
    else:
        yield tree


def _with_arguments(call: APICall, function: Callable[..., Any]) -> Callable[..., Any]:
    """The function with the call's tensors for arguments: the build reads signatures."""
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [inspect.Parameter(name, kind) for name in ("self", *call.tensors)]
    function.__signature__ = inspect.Signature(names)  # type: ignore[attr-defined]
    return function
