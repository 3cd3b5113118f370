"""All backends make the same calls, one at a time: outputs, spaces and variables are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.graph.spaces import flatten
from rlg.testing.check.calls import APICall
from rlg.testing.check.differences import difference, misfit
from rlg.testing.check.instance import Instance
from rlg.testing.check.report import Error, MethodReport

_LONGEST = 300  # characters
NEEDS_GRADIENTS = "it learns, and NumPy computes forward only: add torch or tf to the backends"


class Lockstep:
    """Instances of one component on their way through the same calls."""

    def __init__(
        self, instances: Sequence[Instance], calls: Sequence[APICall], tolerance: float
    ) -> None:
        self.running = list(instances)
        self.calls = calls
        self.tolerance = tolerance
        self.rows = {call.label: MethodReport(call.label, call.tensors) for call in calls}
        self.refused: dict[str, str] = {}
        # Results with what they held when they were returned.
        self._kept: list[tuple[MethodReport, str, NDArray[Any], bytes]] = []

    def run(self, batch: int, time: int) -> None:
        """All calls from the first state; who raises an error is out from there on."""
        for instance in self.running:
            instance.reset()
        self._kept.clear()
        for number, call in enumerate(self.calls):
            self._step(call, call.sample(number, batch, time))
        for row, backend, array, content in self._kept:
            if array.tobytes() != content:
                _note(row, backend, "a result changes with later calls: return a copy")

    def _step(self, call: APICall, inputs: Mapping[str, Any]) -> None:
        row, results = self.rows[call.label], dict[str, Any]()
        behind: list[Instance] = []
        for instance in list(self.running):
            try:
                if not instance.can_make(call):
                    behind.append(instance)
                    continue
                results[instance.backend] = instance.call(call, inputs)
                for leaf in flatten(results[instance.backend]).values():
                    array = np.asarray(leaf)
                    self._kept.append((row, instance.backend, array, array.tobytes()))
            except Exception as error:  # noqa: BLE001 whatever a component raises is its fault
                _note(row, instance.backend, f"raises {described(error)}")
                self.running.remove(instance)
        ahead = [instance for instance in self.running if instance.backend in results]
        if ahead:
            self._check_spaces(call, row, ahead[0], results)
            self._compare(row, ahead, results)
        for instance in behind:
            if ahead:  # NumPy continues from where the others are
                instance.executor.set_state(ahead[0].executor.get_state())
            else:
                self.refused[call.label] = NEEDS_GRADIENTS

    def _check_spaces(
        self, call: APICall, row: MethodReport, first: Instance, results: Mapping[str, Any]
    ) -> None:
        for backend, outputs in results.items():
            if outputs is None:
                continue
            if row.outputs is None:
                row.outputs = first.output_space(call)
            if reason := misfit(row.outputs, outputs):
                _note(row, backend, f"the output is outside of its space: {reason}")

    def _compare(
        self, row: MethodReport, ahead: Sequence[Instance], results: Mapping[str, Any]
    ) -> None:
        reference, *others = ahead
        row.compared = [instance.backend for instance in ahead] if others else row.compared
        if not others:
            return
        row.error = row.error or Error()
        variables = reference.variables()
        for other in others:
            pair = f"{reference.backend} and {other.backend}"
            expected, got = results[reference.backend], results[other.backend]
            error, reason = difference(expected, got, self.tolerance)
            row.error.widen(error)
            if reason is not None:
                _note(row, pair, f"outputs are not equal: {reason}")
            error, reason = difference(variables, other.variables(), self.tolerance)
            row.error.widen(error)
            if reason is not None:
                _note(row, pair, f"variables are not equal afterwards: {reason}")
                other.executor.set_state(reference.executor.get_state())  # said once is enough


def described(error: BaseException) -> str:
    """An exception in one line, which frameworks may have written a page about."""
    text = " ".join(str(error).split())
    text = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
    return f"{type(error).__name__}: {text}".rstrip(".: ")


def _note(row: MethodReport, where: str, text: str) -> None:
    """Keeps the first problem of a kind in a row: another batch may say the same again."""
    said = f"{where}: {text}"
    kind = said.partition(": ")[0], text.partition(":")[0]
    known = {(p.partition(": ")[0], p.partition(": ")[2].partition(":")[0]) for p in row.problems}
    if kind not in known:
        row.problems.append(said)
