"""Gradients of every call: torch's against TensorFlow's, or one of them against differences."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlg.graph import Component
from rlg.testing.check.calls import APICall
from rlg.testing.check.differentiated import (
    CALL,
    GRADIENTS,
    LOSS,
    Differentiated,
    is_float,
    shifted_inputs,
    shown,
)
from rlg.testing.check.finite import FiniteDifferences
from rlg.testing.check.instance import Instance
from rlg.testing.check.lockstep import described
from rlg.testing.check.report import Error, GradientReport, MethodReport

# Gradients are sums over a batch: they may differ by this many times more than outputs.
LOOSER = 10.0


@dataclass
class GradientCheck:
    """Goes through the calls of a component whose instances have run in lockstep."""

    make: Callable[[], Component]
    instances: Sequence[Instance]
    seed: int
    sizes: tuple[int, int]
    tolerance: float

    def run(self, calls: Sequence[APICall], rows: Mapping[str, MethodReport]) -> None:
        """Fills in the rows what was found, or why there is nothing to find."""
        self._calls = list({call.label: call for call in calls}.values())
        wanted: list[int] = []
        names = self._backends()
        for number, call in enumerate(self._calls):
            row = rows[call.label]
            reason = self._reason(call, row) or (None if names else "NumPy has no gradients")
            row.gradients = GradientReport(reason or "")
            if reason is None:
                wanted.append(number)
        self._wanted = wanted
        self._losses: dict[str, dict[int, Instance | Exception]] = {}
        built = {name: self._built(name, wanted, GRADIENTS) for name in names}
        for number in wanted:
            call, row = self._calls[number], rows[self._calls[number].label]
            found = {name: self._gradients(built[name][number], number, row) for name in names}
            known = {name: one for name, one in found.items() if one is not None}
            if len(known) == len(names):
                self._compare(call, number, row, known)

    def _reason(self, call: APICall, row: MethodReport) -> str | None:
        first = self.instances[0]
        if row.outputs is None or not any(map(is_float, row.outputs.flatten().values())):
            return "no float outputs"
        if first.takes_gradients(call):
            return "part of the call"
        if first.is_on_host(call):
            return "on the host"
        if not first.parameters and not shifted_inputs(call):
            return "no float inputs"
        return None

    def _backends(self) -> list[str]:
        """torch and one of TensorFlow's modes, as far as they are there."""
        running = [instance.backend for instance in self.instances]
        modes = [name for name in running if name.startswith("tf")]
        return [name for name in running if name == "torch"] + sorted(modes)[:1]

    def _built(
        self, backend: str, numbers: list[int], kind: str
    ) -> dict[int, Instance | Exception]:
        """One instance for all calls, or where that can't be built one for each."""
        if not numbers:
            return {}
        try:
            return dict.fromkeys(numbers, self._instance(backend, numbers, kind))
        except Exception as error:  # noqa: BLE001 whatever a component raises is its fault
            if len(numbers) == 1:
                return {numbers[0]: error}
        return {number: self._built(backend, [number], kind)[number] for number in numbers}

    def loss_instance(self, backend: str, number: int) -> Instance:
        """What computes the loss of a call forward; made once for all calls."""
        if backend not in self._losses:
            self._losses[backend] = self._built(backend, self._wanted, LOSS)
        found = self._losses[backend][number]
        if isinstance(found, Exception):
            raise found
        return found

    def _instance(self, backend: str, numbers: list[int], kind: str) -> Instance:
        """The component with its gradients around it, in the state that the others are in."""
        kinds = [kind if number in numbers else CALL for number in range(len(self._calls))]
        has_variables = self.instances[0].parameters > 0
        root = Differentiated(self.make(), self._calls, kinds, has_variables)
        spaces = {
            f"{kinds[number]}_{number}.{name}": space
            for number, call in enumerate(self._calls)
            for name, space in call.tensors.items()
        }
        made = Instance(root, spaces, backend, list(root.api_methods()), self.seed)
        made.executor.set_state(self.state(made, root.subject))
        return made

    def state(self, other: Instance, subject: Component) -> dict[str, Any]:
        """The state of another root, with that of the first instance at the subject's paths."""
        around, moved = other.executor.get_state(), self.moved_state(subject)
        return {kind: {**around[kind], **moved[kind]} for kind in around}

    def moved_state(self, subject: Component) -> dict[str, Any]:
        """The state of the first instance by the paths below another root."""
        first = self.instances[0]
        old, new = str(first.component.path), str(subject.path)
        return {
            kind: {
                new + path.removeprefix(old) if _is_below(path, old) else path: value
                for path, value in values.items()
            }
            for kind, values in first.executor.get_state().items()
        }

    def _gradients(
        self, instance: Instance | Exception, number: int, row: MethodReport
    ) -> dict[str, Any] | None:
        """By name of variable, those of inputs by number of the input."""
        try:
            if isinstance(instance, Exception):
                raise instance
            assert isinstance(instance.component, Differentiated)
            instance.executor.set_state(self.state(instance, instance.component.subject))
            _, gradients = instance.executor.execute(
                f"{GRADIENTS}_{number}", *self.inputs(number).values()
            )
        except Exception as error:  # noqa: BLE001 whatever a component raises is its fault
            assert row.gradients is not None
            row.gradients.check = "none"
            row.problems.append(f"gradients: {described(error)}")
            return None
        return {str(key): np.asarray(value) for key, value in gradients.items()}

    def inputs(self, number: int) -> dict[str, Any]:
        """What a call is made with here."""
        return self._calls[number].sample(2_000 + number, *self.sizes)

    def _compare(
        self, call: APICall, number: int, row: MethodReport, found: Mapping[str, dict[str, Any]]
    ) -> None:
        names, gradients = list(found), list(found.values())
        inputs = shifted_inputs(call)
        total = len(gradients[0])
        report = GradientReport(" and ".join(names), 0, len(inputs), Error())
        row.gradients = report
        by_input = {key for n, _ in enumerate(inputs) for key in gradients[0] if _of(key, n)}
        report.variables = total - len(by_input)
        for name, one in found.items():
            wrong = [key for key, value in one.items() if not np.isfinite(value).all()]
            if wrong:
                where = shown(wrong[0], inputs)
                row.problems.append(f"{name}: the gradient by {where} is not finite")
                return
        if len(names) == 1:
            try:
                finite = FiniteDifferences(self, call, number, names[0], gradients[0])
                report.check, report.error, reason = finite.compare()
            except Exception as error:  # noqa: BLE001 whatever a component raises is its fault
                reason = f"gradients: finite differences: {described(error)}"
            row.problems += [] if reason is None else [reason]
            return
        self._compare_two(row, names, gradients, inputs)

    def _compare_two(
        self,
        row: MethodReport,
        names: Sequence[str],
        gradients: Sequence[Mapping[str, Any]],
        inputs: Sequence[str],
    ) -> None:
        assert row.gradients is not None
        one, other = gradients
        largest = max(float(np.abs(value).max()) for g in gradients for value in g.values())
        said, worst = None, 0.0
        for key, value in one.items():
            apart = float(np.abs(value - other[key]).max())
            scale = max(float(np.abs(value).max()), float(np.abs(other[key]).max()))
            error = Error(apart, apart / scale if scale else 0.0)
            assert row.gradients.error is not None
            row.gradients.error.widen(Error(apart, apart / largest if largest else 0.0))
            # Where a gradient is small beside the others, rounding in them is what remains of it.
            limit = LOOSER * self.tolerance * max(scale, 0.01 * largest, 0.01)
            if apart > limit and error.relative >= worst:
                sizes = f"{np.abs(value).max():.3g} and {np.abs(other[key]).max():.3g}"
                worst = error.relative
                said = f"gradients by {shown(key, inputs)} are not equal: largest ones {sizes}"
        if said is not None:
            row.problems.append(f"{names[0]} and {names[1]}: {said}")


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def _of(key: str, number: int) -> bool:
    return key.startswith(f"{number}/")
