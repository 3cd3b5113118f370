"""`rlg test-component --all`: every registered component, a line for each."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from rlg.api.phases import DONE, FAILED
from rlg.cli.component.table import print_json
from rlg.cli.component.words import registered_without_default, settings_of
from rlg.cli.exits import explain
from rlg.testing.check import check_component
from rlg.testing.goldens import GOLDENS, Golden

# Sessions trace the same plans once more: they are left to checks of single components.
DEFAULT = ("numpy", "torch", "tf")


def check_all(words: Sequence[str], backends: Sequence[str] | None, *, as_json: bool) -> int:
    """Checks all with their default arguments and spaces; returns the exit code."""
    settings = settings_of(words)
    names, started = backends or DEFAULT, time.perf_counter()
    found: list[dict[str, Any]] = []
    failed: list[str] = []
    for number, golden in enumerate(GOLDENS, start=1):
        result = _checked(golden, names, settings)
        found.append(result)
        if result["problems"]:
            failed.append(golden.name)
        if not as_json:
            _print_line(f"[{number:3}/{len(GOLDENS)}]", result)
    seconds = time.perf_counter() - started
    left_out = registered_without_default()
    if as_json:
        content = {"passed": not failed, "failed": failed, "left_out": left_out}
        print_json({**content, "seconds": seconds, "components": found})
        return FAILED if failed else DONE
    if left_out:
        print(f"left out, as they have no golden with default spaces: {', '.join(left_out)}")
    print(f"{len(found) - len(failed)} of {len(found)} ok on {', '.join(names)}, {seconds:.0f} s")
    if failed:
        print(f"failed: {', '.join(failed)}")
    return FAILED if failed else DONE


def _checked(golden: Golden, names: Sequence[str], settings: dict[str, Any]) -> dict[str, Any]:
    """The report; whatever a component raises is its own problem."""
    try:
        return check_component(golden, names, brief=True, **settings).to_dict()
    except Exception as error:  # noqa: BLE001 the others are to be checked too
        line, _ = explain(error)
        return {"component": golden.name, "passed": False, "problems": [line], "seconds": 0.0}


def _print_line(count: str, result: dict[str, Any]) -> None:
    state = "ok" if result["passed"] else "failed"
    print(f"{count} {result['component']:26} {state:6} {result['seconds']:6.2f} s", flush=True)
    for problem in result["problems"]:
        print(f"    {problem}", flush=True)
