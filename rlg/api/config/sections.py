"""The sections that describe a run rather than a component, with their defaults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from rlg.api.config.signatures import (
    TYPE,
    Argument,
    Arguments,
    arguments_of,
    blaming,
    checked,
    mapping,
)
from rlg.backends.executor import GraphExecutor
from rlg.backends.replicas import AUTO
from rlg.errors import SpecError
from rlg.execution.engines import ENGINES
from rlg.execution.engines.settings import LocalSettings
from rlg.graph.limits import NonNegativeInt, PositiveFloat, PositiveInt
from rlg.spelling import unknown


@dataclass(frozen=True, slots=True)
class Logger:
    """Lines of metrics: environment steps between them (0: never), TensorBoard as well or not.

    `graph`: pictures of the component graph at the start. On request, for TensorBoard: what
    components name, and histograms (steps between them).
    """

    interval: NonNegativeInt = 2_500
    tensorboard: bool = True
    graph: bool = True
    summaries: bool = False
    histograms: NonNegativeInt = 0


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Episodes without exploration: environment steps between them (0: never), how many.

    Episodes that have not ended after `max_steps` steps count with what they returned so far. A run
    whose mean reward reaches `stop_at` is done.
    """

    interval: NonNegativeInt = 10_000
    episodes: PositiveInt = 20
    max_steps: PositiveInt | None = 27_000
    stop_at: float | None = None


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Environment steps between them (0: at the end only), how many are kept, with replay data?

    `best` keeps the model of the best evaluation beside them.
    """

    interval: NonNegativeInt = 25_000
    keep: PositiveInt | None = 2
    memory: bool = True
    best: bool = True


@dataclass(frozen=True, slots=True)
class Expected:
    """What the run reaches, and with how much: what `--as-test` asks for.

    Steps and minutes are upper bounds. `seeds` are those that it was seen with; without them the
    figure is another's, that `source` names.
    """

    mean_reward: float | None = None
    total_timesteps: PositiveInt | None = None
    minutes: PositiveFloat | None = None
    seeds: Sequence[NonNegativeInt] = ()
    source: str | None = None


SECTIONS: dict[str, type] = {
    "executor": LocalSettings,
    "logger": Logger,
    "evaluation": Evaluation,
    "checkpoint": Checkpoint,
    "expected": Expected,
}


def check_section(name: str, given: Any) -> dict[str, Any]:
    """The section, converted and complete."""
    arguments = arguments_of(section_class(name, given))
    first = next(iter(arguments))
    section = mapping(given, name, f"{name}.{first}={arguments[first].default}")
    return checked(section, arguments, name, name)


def section_class(name: str, given: Any) -> type:
    """What has the section's keys; engines have settings of their own."""
    if name != "executor":
        return SECTIONS[name]
    engine = given.get("type", "local") if isinstance(given, Mapping) else "local"
    if not isinstance(engine, str) or engine not in ENGINES:
        raise SpecError(f"executor.type: {unknown('engine', engine, ENGINES)}")
    return ENGINES[engine].settings


# -- backends --------------------------------------------------------------------------------------
# What single backends take besides: their classes could only be read after a framework was loaded,
# and a mistyped number should not take seconds to be refused. TensorFlow's mode is in the type.
_TF: Arguments = {"deterministic": Argument(bool, False)}
EXECUTORS: dict[str, Arguments] = {
    "torch": {"compile": Argument(bool, False)},
    "tf": _TF,
    "tf-graph": _TF,
}


def check_backend(section: Mapping[str, Any]) -> dict[str, Any]:
    """The section, converted and complete; loads nothing."""
    if section and "type" not in section:
        raise SpecError(
            f"backend.type: missing, but the other keys depend on it. Write backend.type=... "
            f"with one of: {', '.join(EXECUTORS)}."
        )
    name = section.get("type", "torch")
    if name == "numpy":
        raise SpecError(
            "backend.type: numpy computes forward only, it can't train. "
            "Write backend=torch or backend=tf."
        )
    if not isinstance(name, str) or name not in EXECUTORS:
        raise SpecError(f"backend.type: {unknown('backend', name, EXECUTORS)}")
    arguments = {**TYPE, **backend_arguments(name)}
    found = checked({"type": name, **section}, arguments, "backend", f"backend {name}")
    _check_places(found["replicas"], found["replica_devices"])
    return found


def _check_places(replicas: int, devices: Sequence[str] | None) -> None:
    if devices and devices != AUTO and replicas not in (1, len(devices)):
        raise SpecError(
            f"backend.replicas: there is one for each of backend.replica_devices, which names "
            f"{len(devices)}, got {replicas}. Leave backend.replicas out."
        )


def replica_count(backend: Mapping[str, Any]) -> int:
    """How many replicas a section asks for, as far as it says so itself."""
    devices = backend.get("replica_devices")
    named = 0 if devices is None or devices == AUTO else len(devices)
    return named or int(backend.get("replicas", 1))


def backend_arguments(name: str) -> Arguments:
    """The keys of a backend's executor."""
    common = arguments_of(GraphExecutor, without=("seed", "role"))
    return {**common, "threads": Argument(PositiveInt | None, None), **EXECUTORS[name]}


def check_devices(section: Mapping[str, Any]) -> None:
    """Loads the framework, and refuses places that this machine doesn't have."""
    name = section["type"]
    try:
        devices = import_module(f"rlg.backends.{name.removesuffix('-graph')}.devices")
    except ImportError as error:
        raise SpecError(
            f"backend.type: {name} can't be loaded: {error}. See rlg doctor."
        ) from error
    places = {"device": section["device"]}
    for path, place in (section["devices"] or {}).items():
        parts = place if isinstance(place, Mapping) else {"": place}
        places |= {f"devices.{path}{'.' if key else ''}{key}": v for key, v in parts.items()}
    named = section["replica_devices"]
    if not isinstance(named, str):
        places |= {f"replica_devices[{index}]": v for index, v in enumerate(named or ())}
    for key, device in places.items():
        if not isinstance(device, str | None):
            raise SpecError(
                f"backend.{key}: expected the name of a device, such as cpu, got {device!r}."
            )
        with blaming(f"backend.{key}"):
            devices.check("cpu" if device is None else device, devices.possible())
