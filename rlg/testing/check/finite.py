"""Finite differences: the check of gradients where only one backend has them.

The loss is computed forward at two places on a line, on NumPy if the component runs there. What
`stop_gradient` held back stays as it was at the start of the line, as a constant does. Kinks
disturb long lines more than short ones, rounding the other way round: several are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rlg.graph.core.assembly.records import all_nodes
from rlg.graph.core.component.component import walk
from rlg.testing.check.calls import APICall
from rlg.testing.check.differentiated import LOSS, Differentiated, shifted_inputs, shown
from rlg.testing.check.report import Error

if TYPE_CHECKING:
    from rlg.testing.check.gradients import GradientCheck

STEPS = (0.02, 0.005, 0.00125)  # half the lengths of the lines
SMOOTH = 0.1  # how far slopes ahead and back, and noise, may be apart
TOLERANCE = 0.25  # coarse: float32 numbers, and kinks that are just not crossed
Result = tuple[str, Error | None, str | None]


class FiniteDifferences:
    """The slopes of one call's loss along one line for each variable."""

    def __init__(
        self,
        check: GradientCheck,
        call: APICall,
        number: int,
        backend: str,
        gradients: Mapping[str, NDArray[Any]],
    ) -> None:
        running = [instance.backend for instance in check.instances]
        self.check = check
        self.call = call
        self.backend = backend
        self.gradients = gradients
        self.forward = "numpy" if "numpy" in running else backend
        self.number = number
        self._inputs = list(check.inputs(number).values())
        self._held: list[Any] = []
        self._next: int | None = None

    def compare(self) -> Result:
        """What was checked, the largest relative error, and what is wrong."""
        self._instance = self.check.loss_instance(self.forward, self.number)
        root = self._instance.component
        assert isinstance(root, Differentiated)
        parts = [part.ops for part in walk(root)]
        for ops in parts:
            ops.stop_gradient = self._hold(ops, ops.stop_gradient)  # type: ignore[method-assign]
        try:
            return self._compare(root)
        finally:
            for ops in parts:
                del ops.stop_gradient

    def _compare(self, root: Differentiated) -> Result:
        start = self._loss(self._state(root))
        graphs = self._instance.executor.builder.graphs
        cut = any(getattr(node, "no_gradient", False) for g in graphs for node in all_nodes(g))
        if cut or (self._held and self.forward.startswith("tf")):
            return "not checked: parts are constant, and one backend has gradients", None, None
        error, reason = Error(), None
        for key, (path, gradient) in self._variables(root):
            found, one, slope = self._slopes(root, path, gradient, start)
            error.widen(found)
            if found.relative > TOLERANCE and reason is None:
                name = shown(key, shifted_inputs(self.call))
                reason = (
                    f"{self.backend}: the gradient by {name} is not the slope of the loss: "
                    f"{one:.4g} along a line, {slope:.4g} by finite differences on {self.forward}"
                )
        return f"{self.backend} against finite differences on {self.forward}", error, reason

    def _slopes(
        self, root: Differentiated, path: str, gradient: NDArray[Any], start: float
    ) -> tuple[Error, float, float]:
        """The worse of two random lines of one variable: error, slope by gradient, by differences.

        Shorter lines cross fewer kinks and have more noise: the best one that is not mostly noise
        counts. Where all have different slopes ahead and back, nothing can be said.
        """
        found = []
        for seed in (0, 1):
            line = np.random.default_rng(seed).normal(size=gradient.shape)
            line /= np.linalg.norm(line)
            one = float((gradient * line).sum())
            slopes = self._along(root, path, line.astype(gradient.dtype), start)
            tried = [(_apart(one, slope, noise), slope, noise) for slope, noise in slopes]
            clear = [t for t in tried if t[2] < SMOOTH * max(abs(one), abs(t[1]))]
            error, slope, _ = min(clear or tried[:1], default=(0.0, one, 0.0))
            size = max(abs(one), abs(slope), 1e-12)
            found.append((error / size, error, one, slope))
        relative, error, one, slope = max(found)
        return Error(error, relative), one, slope

    def _along(
        self, root: Differentiated, path: str, line: NDArray[Any], start: float
    ) -> list[tuple[float, float]]:
        """Slope and noise of each length at which there is a slope."""
        state, found = self._state(root), []
        middle = state["variables"][path]
        for step in STEPS:
            ends = []
            for sign in (step, -step):
                state["variables"][path] = middle + np.asarray(sign * line, line.dtype)
                ends.append(self._loss(state))
            ahead, back = (ends[0] - start) / step, (start - ends[1]) / step
            noise = 1e-6 * max(1.0, abs(start)) / step
            # Otherwise a kink, or the jump of a discrete choice.
            if abs(ahead - back) <= SMOOTH * max(abs(ahead), abs(back)) + 2 * noise:
                found.append(((ahead + back) / 2, noise))
        return found

    def _variables(self, root: Differentiated) -> Iterator[tuple[str, tuple[str, Any]]]:
        binding = self._instance.executor.builder.binding
        subject = binding.variables_of(root.subject, True)
        shifts = [root.shifts[f"{self.number}-{name}"] for name in shifted_inputs(self.call)]
        places = {
            f"{n}/{key}": info
            for n, shift in enumerate(shifts)
            for key, info in binding.variables_of(shift, True).items()
        }
        for key, info in {**subject, **places}.items():
            yield key, (info.path, self.gradients[key])

    def _state(self, root: Differentiated) -> dict[str, Any]:
        state = self.check.state(self._instance, root.subject)
        shifts = self._instance.executor.get_weights(trainable=True)
        subject = self.check.moved_state(root.subject)["variables"]
        zeros = {
            path: np.zeros_like(value) for path, value in shifts.items() if path not in subject
        }
        return {**state, "variables": {**state["variables"], **zeros}}

    def _loss(self, state: Mapping[str, Any]) -> float:
        self._instance.executor.set_state(state)
        loss = float(self._instance.executor.execute(f"{LOSS}_{self.number}", *self._inputs))
        self._next = 0
        return loss

    def _hold(self, ops: Any, stop_gradient: Any) -> Any:
        """The operation, which notes its values in the first call and repeats them afterwards."""

        def held(x: Any) -> Any:
            if self._next is None:
                self._held.append(ops.value_of(stop_gradient(x)))  # variables will move
                return self._held[-1]
            self._next += 1
            return self._held[self._next - 1]

        return held


def _apart(one: float, other: float, noise: float) -> float:
    return max(0.0, abs(one - other) - noise)
