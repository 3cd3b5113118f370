"""Runs suites in several processes, one after the other, and joins what they found.

A process measures all suites once. The next one has another memory layout, other hash seeds and
another minute of the machine's day: what differs between them belongs to the spread.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from datetime import datetime
from typing import TypeVar

from rlg.backends.threads import ONE_THREAD
from rlg.bench import machine
from rlg.bench.results import Load, Report, Row, Suite, joined
from rlg.bench.suites import SUITES, load_suite

BACKENDS = ("numpy", "torch", "tf")
QUICK, FULL = 4, 5  # processes
COMMAND = (sys.executable, "-m", "rlg.bench.process")
PATIENCE = 20.0  # seconds in which a process may end by itself after a signal
T = TypeVar("T")
Say = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Settings:
    """How thoroughly suites measure."""

    full: bool = False
    pairs: int | None = None  # rounds of each comparison; None: the suite's own number
    block: float = 0.02  # seconds of one block
    backends: tuple[str, ...] = BACKENDS
    peers: bool = False  # whether opponents of the peers' environment take part
    processes: int | None = None  # that measure all of it; None: as many as the form has

    def choose(self, quick: T, full: T) -> T:
        """The value for this form."""
        return full if self.full else quick

    def rounds(self, quick: int, full: int) -> int:
        """Rounds of one process: they share what the suite, or the user, wants in all."""
        wanted, share = self.pairs or self.choose(quick, full), self.passes
        return (wanted + share - 1) // share

    @property
    def passes(self) -> int:
        """The number of processes."""
        return self.processes or self.choose(QUICK, FULL)

    def frameworks(self) -> list[str]:
        """torch and tf, as far as they are wanted."""
        return [name for name in self.backends if name != "numpy"]


def run_suites(
    names: Sequence[str], settings: Settings, say: Say = lambda _: None
) -> Generator[Report, None, None]:
    """Measures; yields what there is whenever a process is through with a suite, so that whoever is
    interrupted has something. A suite that fails is a row that says why, and the others go on.
    """
    date = datetime.now().isoformat(timespec="seconds")
    facts = machine.describe(), machine.versions()
    options = {"threads": 1, **asdict(settings), "processes": settings.passes}
    found: dict[str, list[Suite]] = {}
    for number in range(1, settings.passes + 1):
        say(f"process {number} of {settings.passes}")
        for suite in in_process(names, settings, say):
            found.setdefault(suite.name, []).append(suite)
            suites = (_whole(found[name], is_first=name == names[0]) for name in found)
            is_through = suite.name == names[-1]
            yield Report(date, *facts, options, tuple(suites), number if is_through else number - 1)


def _whole(passes: Sequence[Suite], *, is_first: bool) -> Suite:
    suite = joined(passes)
    warnings = machine.load_warnings(suite.load, machine.cores(), is_first=is_first)
    return replace(suite, warnings=tuple(warnings))


def in_process(names: Sequence[str], settings: Settings, say: Say) -> Iterator[Suite]:
    """Suites as another process measures them; one that kills it is left out of the next."""
    left = list(names)
    while left:
        with _started(left, settings) as process:
            assert process.stdout is not None
            say(_title(left[0]))
            for line in process.stdout:
                yield Suite.from_json(json.loads(line))
                del left[0]
                if left:
                    say(_title(left[0]))
        if left:
            code = process.returncode
            how = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            row = _failure(name := left.pop(0), f"its process ended ({how})")
            yield Suite(name, SUITES[name].title, (row,), Load(0.0, 0.0))


def _title(name: str) -> str:
    return f"  {name}: {SUITES[name].title}"


@contextmanager
def _started(names: Sequence[str], settings: Settings) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, **ONE_THREAD}
    environment.pop("PYTHONHASHSEED", None)  # chance has a part in where things lie
    words = json.dumps([list(names), asdict(settings)])
    process = subprocess.Popen(
        [*COMMAND, words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        env=environment,
        process_group=0,
    )
    try:
        yield process
    except BaseException:  # no signal reaches it otherwise: it is a process group of its own
        process.terminate()
        raise
    finally:
        _end(process)


def _end(process: subprocess.Popen[str]) -> None:
    """It ends by itself, also if it was told to, and takes its own opponents along."""
    assert process.stdout is not None
    process.stdout.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def measure(name: str, settings: Settings) -> Suite:
    """One suite, in this process."""
    with machine.watched() as loads:
        try:
            rows = list(load_suite(name)(settings))
        except Exception as error:  # noqa: BLE001 hours of other suites must not be lost
            rows = [_failure(name, f"{type(error).__name__}: {' '.join(str(error).split())}")]
    return Suite(name, SUITES[name].title, tuple(rows), loads[0])


def _failure(name: str, why: str) -> Row:
    return Row(name, "rlg", "", "", kind="figure", missing=f"failed: {why}")
