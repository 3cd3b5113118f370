"""The whole check of one component."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rlg.errors import BackendError, SpecError
from rlg.graph import Component
from rlg.graph.core.component.component import walk
from rlg.testing.check.calls import APICall, Calls, calls_of
from rlg.testing.check.gradients import GradientCheck
from rlg.testing.check.instance import Instance
from rlg.testing.check.lockstep import Lockstep, described
from rlg.testing.check.report import BackendReport, MethodReport, Report
from rlg.testing.check.restoring import restoring_problem
from rlg.testing.check.timing import milliseconds
from rlg.testing.goldens.golden import Golden

BACKENDS = ("numpy", "torch", "tf", "tf-graph")


def check_component(
    golden: Golden,
    backends: Sequence[str] = BACKENDS,
    *,
    statics: Mapping[str, Any] | None = None,
    seed: int = 0,
    batch: int = 5,
    time: int = 4,
    tolerance: float = 1e-5,
    brief: bool = False,
) -> Report:
    """Builds it alone on each backend, calls everything, and says what is not as it should be.

    A brief check measures no times, and calls no variants (flags turned, absent arguments).
    """
    started = clock.perf_counter()
    component, given = golden.make(), dict(statics or {})
    report = Report(golden.name, golden.spec, golden.spaces, seed, batch, tolerance)
    wanted = _runnable(component, backends, report)
    calls = calls_of(component, golden.spaces, golden.calls, given, batch)
    report.left_out = calls.left_out
    if not calls.calls:
        name, reason = next(iter(calls.left_out.items()), ("it", "it has no API method"))
        raise SpecError(f"{golden.name}: nothing can be called. {name}: {reason}.")
    spaces = {**golden.spaces, **given} if not calls.left_out else _used(golden, calls, given)
    subject = Subject(golden, spaces, calls.apis if calls.left_out else None, seed, (batch, time))
    steps = Lockstep(
        _build_all(subject, wanted, report),
        calls.calls if brief else [*calls.calls, *calls.variants],
        tolerance,
    )
    for size in dict.fromkeys((1, batch)):
        steps.run(size, time)
    report.backends.sort(key=lambda about: list(backends).index(about.name))
    report.left_out |= steps.refused
    rows = {label: row for label, row in steps.rows.items() if label not in steps.refused}
    report.methods = list(rows.values())
    if steps.running:
        made = [call for call in steps.calls if call.label in rows]
        gradients = GradientCheck(golden.make, steps.running, seed, subject.sizes, tolerance)
        gradients.run(made, rows)
        for instance in steps.running:
            _check_restoring(subject, instance, calls.calls, report)
            if not brief:
                _time(subject, instance, made, rows)
    report.seconds = clock.perf_counter() - started
    return report


@dataclass(frozen=True)
class Subject:
    """What is built, again and again."""

    golden: Golden
    spaces: Mapping[str, Any]
    apis: list[str] | None  # None: all of them
    seed: int
    sizes: tuple[int, int]  # batch and time

    def build(self, backend: str, seed: int) -> Instance:
        return Instance(self.golden.make(), self.spaces, backend, self.apis, seed)


def _check_restoring(
    subject: Subject, instance: Instance, calls: Sequence[APICall], report: Report
) -> None:
    twin = subject.build(instance.backend, subject.seed + 1)
    problem = restoring_problem(instance, twin, calls, subject.sizes)
    about = next(one for one in report.backends if one.name == instance.backend)
    about.plans = instance.statistics.plans
    about.restored = problem is None
    about.problems += [problem] if problem else []


def _time(
    subject: Subject,
    instance: Instance,
    calls: Sequence[APICall],
    rows: Mapping[str, MethodReport],
) -> None:
    inputs = [call.sample(number, *subject.sizes) for number, call in enumerate(calls)]
    for label, spent in milliseconds(instance, calls, inputs).items():
        rows[label].milliseconds[instance.backend] = spent


def _runnable(component: Component, backends: Sequence[str], report: Report) -> list[str]:
    """The backends that all its parts are written for; the report says which are left out."""
    found = []
    for backend in backends:
        if backend not in BACKENDS:
            raise BackendError(
                f"there is no backend {backend!r}; choose from {', '.join(BACKENDS)}."
            )
        name = "tf" if backend.startswith("tf") else backend
        part = next((part for part in walk(component) if name not in part.backends), None)
        if part is None:
            found.append(backend)
            continue
        why = f"{type(part).__name__} runs on {', '.join(part.backends)} only"
        report.backends.append(BackendReport(backend, left_out=why))
    if not found:
        raise SpecError(
            f"{report.name}: it can't run on {', '.join(backends)}: "
            f"{report.backends[0].left_out}. Give other --backends."
        )
    return found


def _used(golden: Golden, calls: Calls, statics: Mapping[str, Any]) -> dict[str, Any]:
    """The spaces of what is called: others would have no taker."""
    names = {
        key
        for call in calls.calls
        for p in call.method.parameters
        for key in (p.name, f"{call.api}.{p.name}")
    }
    return {key: value for key, value in {**golden.spaces, **statics}.items() if key in names}


def _build_all(subject: Subject, backends: Sequence[str], report: Report) -> list[Instance]:
    """An instance for each backend; what no backend can build is wrong by itself."""
    instances, errors = [], []
    for backend in backends:
        about = BackendReport(backend)
        report.backends.append(about)
        try:
            made = subject.build(backend, subject.seed)
        except Exception as error:  # noqa: BLE001 on some backends only, it is a finding
            about.problems.append(f"the build raises {described(error)}")
            errors.append(error)
            continue
        instances.append(made)
        about.assembly, about.build = made.statistics.assembly, made.statistics.build
        about.components, about.variables = made.statistics.components, made.statistics.variables
        about.parameters = made.parameters
    if instances:
        return instances
    if not report.left_out:
        raise errors[0]
    name, reason = next(iter(report.left_out.items()))
    raise SpecError(f"{errors[0]} Left out was {name}: {reason}") from errors[0]
