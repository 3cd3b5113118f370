"""The suites by name: dotted paths, imported on use. A suite takes Settings and yields Rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING

from rlg.errors import SpecError
from rlg.spelling import unknown

if TYPE_CHECKING:
    from rlg.bench.results import Row
    from rlg.bench.running import Settings


@dataclass(frozen=True, slots=True)
class Entry:
    """Where a suite is, and what it measures."""

    path: str
    title: str
    in_default: bool = True  # whether it is measured when no suite is named


SUITES = {
    "build": Entry("rlg.bench.suites.build:measure", "assembly and build"),
    "act": Entry("rlg.bench.suites.act:measure", "greedy actions, numpy in and out"),
    "memory": Entry("rlg.bench.suites.memory:measure", "prioritized replay"),
    "train": Entry(
        "rlg.bench.suites.train:measure", "PPO on CartPole, SAC on Pendulum: steps and updates"
    ),
    "worker": Entry("rlg.bench.suites.worker:measure", "one sampler of Ape-X on Pong"),
    "apex": Entry("rlg.bench.suites.apex:measure", "Ape-X on Pong by stage, and in all"),
    # Its contenders are ten processes, each with a framework to load: about a minute.
    "devices": Entry(
        "rlg.bench.suites.devices:measure", "one update by replicas and ranks", in_default=False
    ),
    # What it is for, clusters, is in the full form only.
    "impala": Entry(
        "rlg.bench.suites.impala:measure", "IMPALA on Pong, rollouts and updates", in_default=False
    ),
}
ALL = "all"


def load_suite(name: str) -> Callable[[Settings], Iterable[Row]]:
    """The function that measures."""
    module, _, attribute = SUITES[name].path.partition(":")
    found: Callable[[Settings], Iterable[Row]] = getattr(import_module(module), attribute)
    return found


def chosen(text: str | None) -> list[str]:
    """Suites that `bench=act,memory` names, in the order of the table; None: the default ones."""
    if text is None:
        return [name for name, entry in SUITES.items() if entry.in_default]
    if text == ALL:
        return list(SUITES)
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in SUITES:
            raise SpecError(f"bench={text}: {unknown('suite', name, [*SUITES, ALL])}")
    if not names:
        raise SpecError(f"bench={text}: expected names of suites. Known: {', '.join(SUITES)}.")
    return [name for name in SUITES if name in names]
