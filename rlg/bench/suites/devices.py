"""Replicas and ranks (figure 8 of the RLgraph paper) beside the frameworks' own data parallelism.

One update of a double dueling DQN on a given batch: with one replica, with two in one process, and
with two processes, beside torch's DistributedDataParallel and TensorFlow's MirroredStrategy with
the same network and batch. Every replica, process and device has one thread. `--full` also trains
with one replica and with two: reward against time.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

from rlg.backends.threads import ONE_THREAD
from rlg.bench.measuring import Cost, interleave
from rlg.bench.peers import Opponent
from rlg.bench.results import Row
from rlg.bench.running import Settings
from rlg.bench.suites.updates import CONTENDERS
from rlg.errors import ExecutionError
from rlg.tracking.metrics import read_metrics

NETWORKS = {"cnn": "Nature CNN", "mlp": "MLP of 64, 64"}
BATCH = 512
UPDATES = {"cnn": 1, "mlp": 100}  # of one block
SERVE = (sys.executable, "-m", "rlg.bench.opponents.serve")
PROGRAM = "rlg.bench.suites.updates"
FACTS = {"threads": 1, "batch_size": BATCH}
DDP, MIRRORED = "DistributedDataParallel", "MirroredStrategy"
# Ours, and what it is compared with.
PAIRS = (
    ("rlg torch, 1 replica", "by hand, torch"),
    ("rlg torch, 2 replicas", "rlg torch, 1 replica"),
    ("rlg torch, 2 replicas", DDP),
    ("rlg torch, 2 ranks", "rlg torch, 1 replica"),
    ("rlg torch, 2 ranks", DDP),
    (DDP, "by hand, torch"),
    ("rlg tf, 2 replicas", "rlg tf, 1 replica"),
    ("rlg tf, 2 replicas", MIRRORED),
)
# What a contender tells of its updates.
PARTS = {
    "cut": ("splitting", "rlg torch, 2 replicas"),
    "average": ("averaging", "rlg torch, 2 replicas"),
    "allreduce": ("allreduce, with waiting for the other", "rlg torch, 2 ranks"),
}
STEPS, POINTS = 40_000, 6  # of a run, and of its reward that are told
REWARD, SECONDS = "rollout/ep_rew_mean", "time/time_elapsed"
TRAINING = (
    "agent=ppo",
    "env=cartpole",
    f"total_timesteps={STEPS}",
    "evaluation.interval=0",
    "checkpoint.interval=0",
    "logger.tensorboard=false",
    "logger.graph=false",
    "logger.interval=2000",
)


def measure(settings: Settings) -> Iterator[Row]:
    """Updates of both networks, the shares of what replicas do besides, and learning."""
    if not settings.frameworks():
        return
    for kind in settings.choose(("cnn",), tuple(NETWORKS)):
        yield from updates(kind, settings)
    yield from learning(settings)


def wanted(settings: Settings) -> list[tuple[str, str]]:
    """The pairs whose frameworks take part."""
    is_tf = [ours.startswith("rlg tf") for ours, _ in PAIRS]
    names = settings.frameworks()
    return [
        pair for pair, tf in zip(PAIRS, is_tf, strict=True) if ("tf" if tf else "torch") in names
    ]


def updates(kind: str, settings: Settings) -> Iterator[Row]:
    """One network, all contenders in turn."""
    pairs, case = wanted(settings), f"{NETWORKS[kind]}: update"
    names = [name for name in CONTENDERS if any(name in pair for pair in pairs)]
    with ExitStack() as opened:
        words = {"kind": kind, "batch": BATCH, "updates": UPDATES[kind]}
        contenders = {
            name: opened.enter_context(Opponent(PROGRAM, {"who": name, **words}, command=SERVE))
            for name in names
        }
        blocks = {name: contender.block for name, contender in contenders.items()}
        found = interleave(blocks, settings.rounds(3, 11))
        for ours, other in pairs:
            row = Row(case, ours, other, "update", settings=FACTS)
            missing = [contenders[name].missing for name in (ours, other) if name not in found]
            if missing:
                yield replace(row, missing=missing[0])
            else:
                yield replace(row, costs=tuple(found[ours]), others=tuple(found[other]))
        for part, (word, who) in PARTS.items():
            if who in found:
                yield share(f"{NETWORKS[kind]}: {word}", who, part, contenders[who].samples)


def share(case: str, who: str, part: str, samples: Sequence[Mapping[str, Any]]) -> Row:
    """Seconds of an update that go into a part of it; the first block warmed up."""
    kept = samples[1:]
    costs = tuple(Cost(s.get(part, 0.0) / s["steps"], s.get(part, 0.0) / s["steps"]) for s in kept)
    of_all = median(sample.get(part, 0.0) / sample["wall"] for sample in kept)
    note = f"{100 * of_all:.1f} % of the update"
    return Row(case, who, "", "update", costs, kind="figure", settings=FACTS, note=note)


# -- reward against time ---------------------------------------------------------------------------
def learning(settings: Settings) -> Iterator[Row]:
    """PPO on CartPole with one replica and with two, by the same seed."""
    case = "PPO, CartPole: a run"
    for name in settings.frameworks():
        ours, other = (f"rlg {name}, {k} replica{'s' if k > 1 else ''}" for k in (2, 1))
        facts = {**FACTS, "batch_size": 256, "steps": STEPS}
        row = Row(case, ours, other, "run", settings=facts)
        if not settings.full:
            yield replace(row, missing="left out: --full measures it")
            continue
        costs, notes = {}, {}
        for replicas in (2, 1):
            costs[replicas], notes[replicas] = trained(name, replicas)
        note = f"2 replicas: {notes[2]}; 1: {notes[1]}"
        yield replace(row, costs=(costs[2],), others=(costs[1],), note=note)


def trained(backend: str, replicas: int) -> tuple[Cost, str]:
    """What a run costs, and how its reward grew with the seconds."""
    with TemporaryDirectory(prefix="rlg-bench-") as folder:
        command = [sys.executable, "-m", "rlg", "train", f"backend={backend}", *TRAINING]
        command += [f"backend.replicas={replicas}", f"hydra.run.dir={folder}/run"]
        started, used = time.perf_counter(), _of_children()
        run = subprocess.run(
            command, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=False
        )
        if run.returncode:
            raise ExecutionError(f"the run failed: {run.stderr.strip().splitlines()[-1:]}")
        cost = Cost(time.perf_counter() - started, _of_children() - used)
        return cost, course(read_metrics(Path(folder) / "run" / "metrics.jsonl"))


def _of_children() -> float:
    times = os.times()
    return times.children_user + times.children_system


def course(rows: Sequence[Mapping[str, Any]]) -> str:
    """The mean reward of episodes at some moments: `at 3 s 45`."""
    known = [row for row in rows if REWARD in row and SECONDS in row]
    picked = [known[n * (len(known) - 1) // (POINTS - 1)] for n in range(POINTS)] if known else []
    texts = [f"{row[SECONDS]:.0f} s {row[REWARD]:.0f}" for row in picked]
    return "reward after " + ", ".join(dict.fromkeys(texts))
