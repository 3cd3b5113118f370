"""IMPALA on a TensorFlow cluster: `executor=tf_cluster` beside IMPALA by hand on Server + Session.

A learner with 1, 2 and 4 actors, networks, environments, rollouts and batches the same on both
sides; by CPU time of all processes. By hand there are also rollouts outside of the graph, a call of
the session for each step, and the copies of the weights that the RLgraph paper found needless.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

from rlg.bench.measuring import Block, Cost, interleave
from rlg.bench.peers import Opponent
from rlg.bench.results import Row
from rlg.bench.running import Settings
from rlg.bench.suites.clusters import ACTORS, CASES, COPYING, HAND, N_STEPS, OURS, OUTSIDE
from rlg.bench.suites.devices import SERVE

PROGRAM = "rlg.bench.suites.clusters"
COUNTS = (1, 2, ACTORS)
VARIED = ("cartpole", "pong")  # cases with rollouts of other kinds too, with one actor
PAIRS = ((OURS, OUTSIDE), (HAND, OUTSIDE), (HAND, COPYING))


def measure(settings: Settings) -> Iterator[Row]:
    """All cases; in the quick form none."""
    for name in CASES:
        yield from _measured(name, settings) if settings.full else rows(name)


def rows(name: str) -> list[Row]:
    """The rows of one case; nothing is measured yet."""
    case, pairs = CASES[name], [(OURS, HAND, count) for count in COUNTS]
    pairs += [(*pair, 1) for pair in PAIRS if name in VARIED]
    facts = {
        "threads": 1,
        "num_envs": case.num_envs,
        "batch_size": case.batch_rollouts * N_STEPS * case.num_envs,
        "replay_ratio": 1,
    }
    found = [
        Row(titled(name, count), ours, other, "step", clock="cpu", settings=facts)
        for ours, other, count in pairs
    ]
    return [replace(row, missing="left out: --full measures it") for row in found]


def titled(name: str, count: int) -> str:
    """Of a row."""
    return f"{CASES[name].title}, {count} actor{'s' if count > 1 else ''}"


def _measured(name: str, settings: Settings) -> Iterator[Row]:
    """Each contender is started once, with all of its actors; those that are too many rest."""
    others = (OUTSIDE, COPYING) if name in VARIED else ()
    with ExitStack() as opened:
        blocks: dict[tuple[str, str], Block] = {}
        contenders = {}
        for who, most in [(OURS, ACTORS), (HAND, ACTORS), *((other, 1) for other in others)]:
            words = {"who": who, "case": name, "actors": most}
            contender = opened.enter_context(Opponent(PROGRAM, words, command=SERVE))
            contenders[who] = contender
            for count in COUNTS:
                if count <= most:
                    blocks[who, titled(name, count)] = partial(contender.block, str(count))
        found = interleaved(blocks, settings.rounds(1, 5))
        for row in rows(name):
            keys = [(who, row.case) for who in (row.ours, row.opponent)]
            lost = [contenders[who].missing for who, case in keys if (who, case) not in found]
            if lost:
                yield replace(row, missing=lost[0])
            else:
                mine, theirs = (tuple(found[key]) for key in keys)
                yield replace(row, costs=mine, others=theirs, missing="")


def interleaved(
    blocks: dict[tuple[str, str], Block], rounds: int
) -> dict[tuple[str, str], Sequence[Cost]]:
    """Contenders with as many actors take turns, and not all blocks of the case."""
    found: dict[tuple[str, str], Sequence[Cost]] = {}
    for case in dict.fromkeys(case for _, case in blocks):
        mine = {who: block for (who, other), block in blocks.items() if other == case}
        found |= {(who, case): costs for who, costs in interleave(mine, rounds).items()}
    return found
