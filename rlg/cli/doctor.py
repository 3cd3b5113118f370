"""`rlg doctor`: whether this machine can run everything, and what to do where it can't."""

from __future__ import annotations

from dataclasses import asdict
from itertools import chain
from typing import TYPE_CHECKING, Annotated

import typer

from rlg.api.phases import DONE, FAILED
from rlg.cli.flags import AsJson
from rlg.cli.output import print_json

if TYPE_CHECKING:
    from rlg.testing.machine.health import Check


def doctor(
    quick: Annotated[
        bool, typer.Option("--quick", help="Look only: no framework computes, no server starts.")
    ] = False,
    as_json: AsJson = False,
) -> int:
    """Check versions, devices, threads, memory and frameworks.

    Real computations run in processes of their own (torch, TensorFlow, numba, Ray, Atari): about a
    quarter of a minute. The exit code is 1 if something that every install needs is broken.
    """
    from rlg.testing.machine import health

    probes = [] if quick else list(health.PROBED)
    checks = chain(health.quick_checks(), health.probe_checks(probes))
    found = [_shown(check, as_json) for check in checks]  # each as soon as it is known
    failures = [check.name for check in found if check.is_failure]
    if as_json:
        print_json({"ok": not failures, "checks": [asdict(check) for check in found]})
    elif failures:
        print(f"\nBroken: {', '.join(failures)}. What to do stands beside each.")
    else:
        print("\nEverything that is needed works.")
    return FAILED if failures else DONE


def _shown(check: Check, as_json: bool) -> Check:
    if not as_json:
        advice = f"  -> {check.advice}" if check.advice else ""
        print(f"{check.state:8} {check.name:22} {check.line}{advice}", flush=True)
    return check
