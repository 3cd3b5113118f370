"""What a check found, for tables and for machines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from rlg.graph.spaces import Space


@dataclass
class Error:
    """The largest difference between backends: as it is, and relative to the largest number."""

    absolute: float = 0.0
    relative: float = 0.0

    def widen(self, other: Error) -> None:
        self.absolute = max(self.absolute, other.absolute)
        self.relative = max(self.relative, other.relative)


@dataclass
class GradientReport:
    """Gradients by the trainable variables and the float inputs of a call."""

    check: str  # "torch and tf", "torch against finite differences on numpy", or why there is none
    variables: int = 0
    inputs: int = 0
    error: Error | None = None


@dataclass
class MethodReport:
    """One API method in one variant."""

    name: str
    inputs: Mapping[str, Space]
    outputs: Space | None = None
    milliseconds: dict[str, float] = field(default_factory=dict)
    compared: list[str] = field(default_factory=list)  # backends
    error: Error | None = None
    gradients: GradientReport | None = None
    problems: list[str] = field(default_factory=list)

    @property
    def verdict(self) -> str:
        return "failed" if self.problems else "ok"


@dataclass
class BackendReport:
    """What the build on a backend was, seconds by phase."""

    name: str
    assembly: float = 0.0
    build: float = 0.0
    plans: float = 0.0
    components: int = 0
    variables: int = 0
    parameters: int = 0
    restored: bool | None = None  # None: not tried
    left_out: str | None = None
    problems: list[str] = field(default_factory=list)


@dataclass
class Report:
    """A whole check."""

    name: str
    spec: Mapping[str, Any]
    spaces: Mapping[str, Any]
    seed: int
    batch: int
    tolerance: float
    backends: list[BackendReport] = field(default_factory=list)
    methods: list[MethodReport] = field(default_factory=list)
    left_out: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0

    @property
    def problems(self) -> list[str]:
        """Everything that is wrong, with where it is."""
        found = [f"{one.name}: {text}" for one in self.backends for text in one.problems]
        return found + [f"{one.name}: {text}" for one in self.methods for text in one.problems]

    @property
    def passed(self) -> bool:
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; spaces are in the form that specs have."""
        methods = [
            {
                **asdict(one),
                "inputs": {name: space.to_spec() for name, space in one.inputs.items()},
                "outputs": None if one.outputs is None else one.outputs.to_spec(),
                "verdict": one.verdict,
            }
            for one in self.methods
        ]
        return {
            "component": self.name,
            "passed": self.passed,
            "problems": self.problems,
            "spec": dict(self.spec),
            "spaces": {
                name: value.to_spec() if isinstance(value, Space) else value
                for name, value in self.spaces.items()
            },
            "seed": self.seed,
            "batch": self.batch,
            "tolerance": self.tolerance,
            "methods": methods,
            "left_out": self.left_out,
            "backends": [asdict(one) for one in self.backends],
            "seconds": self.seconds,
        }
