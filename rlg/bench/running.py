"""Runs suites one after the other and watches the machine meanwhile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import TypeVar

from rlg.bench import machine
from rlg.bench.results import Report, Row, Suite
from rlg.bench.suites import SUITES, load_suite
from rlg.errors import SpecError

BACKENDS = ("numpy", "torch", "tf")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """How thoroughly suites measure."""

    full: bool = False
    pairs: int | None = None  # rounds of each comparison; None: the suite's own number
    block: float = 0.02  # seconds of one block
    backends: tuple[str, ...] = BACKENDS
    peers: bool = False  # whether opponents of the peers' environment take part

    def choose(self, quick: T, full: T) -> T:
        """The value for this form."""
        return full if self.full else quick

    def rounds(self, quick: int, full: int) -> int:
        """Rounds, unless the user has said how many."""
        return self.pairs or self.choose(quick, full)

    def frameworks(self) -> list[str]:
        """torch and tf, as far as they are wanted."""
        return [name for name in self.backends if name != "numpy"]


def run_suites(
    names: Sequence[str], settings: Settings, say: Callable[[str], None] = lambda _: None
) -> Report:
    """Measures; a suite that fails is a row that says why, and the others go on."""
    date = datetime.now().isoformat(timespec="seconds")
    suites: list[Suite] = []
    with machine.single_threads():
        for name in names:
            say(f"{name}: {SUITES[name].title}")
            suites.append(_run(name, settings, is_first=not suites))
    return Report(
        date,
        machine.describe(),
        machine.versions(),
        {"threads": 1, **asdict(settings)},
        tuple(suites),
    )


def _run(name: str, settings: Settings, *, is_first: bool) -> Suite:
    with machine.watched() as loads:
        try:
            rows = list(load_suite(name)(settings))
        except SpecError:
            raise
        except Exception as error:  # noqa: BLE001 hours of other suites must not be lost
            why = f"failed: {type(error).__name__}: {' '.join(str(error).split())}"
            rows = [Row(name, "rlg", "", "", kind="figure", missing=why)]
    warnings = machine.load_warnings(loads[0], machine.cores(), is_first=is_first)
    return Suite(name, SUITES[name].title, tuple(rows), loads[0], tuple(warnings))
