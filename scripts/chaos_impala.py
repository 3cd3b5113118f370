"""Kills processes of IMPALA runs at random moments, and says how they took it.

    python scripts/chaos_impala.py --executor tf_cluster --kills 20 --learners 20 --seed 0

One run loses an actor (on Ray a worker) `--kills` times: it must go on learning after each, be
stopped by Ctrl-C, leave no process behind and be resumable. `--learners` others lose their learner,
which with threads is the whole run: no process may be left, and each must resume from its last
checkpoint.
"""

from __future__ import annotations

import argparse
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil
from chaos_ray import family, latest, memory_of, of_role, wait_for_updates

OVERRIDES = (
    "agent=impala",
    "env=cartpole",
    "env.num_envs=4",
    "logger.interval=200",
    "logger.tensorboard=false",
    "logger.graph=false",
    "evaluation.interval=0",
    "evaluation.episodes=2",
    "checkpoint.interval=2000",
    "total_timesteps=100000000",
)
# The overrides that choose an engine, and the metric that counts its restarts.
ENGINES = {
    "tf_cluster": (("executor=tf_cluster", "executor.num_actors=2"), "cluster/actor_restarts"),
    "ray": (("executor=ray", "executor.num_workers=2"), "ray/worker_restarts"),
    "threads": (("executor=threads",), ""),
}
STARTING = 240.0  # seconds until the first metrics
GONE = 20.0  # seconds until nobody may be left...
GONE_KILLED = {"ray": 90.0}  # ...after a kill -9: two of Ray's own agents take a minute


@contextmanager
def started(engine: str, run: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run that has begun to learn; nothing is left of it in the end."""
    words = [*OVERRIDES, *ENGINES[engine][0], f"hydra.run.dir={run}"]
    command = [sys.executable, "-m", "rlg", "train", *words]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as child:
        try:
            deadline = time.monotonic() + STARTING
            while not latest(run / "metrics.jsonl"):
                if child.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("FAILED: the run did not start")
                time.sleep(0.2)
            yield child
        finally:
            child.kill()


def left(processes: list[psutil.Process], seconds: float = GONE) -> int:
    return len(psutil.wait_procs(processes, timeout=seconds)[1])


def resumes(run: Path) -> int:
    """The step at which a run that went on from its checkpoint ended."""
    saved = sorted((run / "checkpoints").glob("step-*"))
    step = int(saved[-1].name.removeprefix("step-")) + 500
    command = [sys.executable, "-m", "rlg", "resume", str(run), f"total_timesteps={step}"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return step


def actors_of(engine: str, process: psutil.Process) -> list[psutil.Process]:
    return of_role(process, "SegmentWorker") if engine == "ray" else family(process)


def lose_actors(
    engine: str, run: Path, child: subprocess.Popen[bytes], kills: int, rng: random.Random
) -> None:
    process = psutil.Process(child.pid)
    metrics = run / "metrics.jsonl"
    updates = wait_for_updates(metrics, 20, child)
    before = memory_of([process])
    for number in range(kills):
        time.sleep(rng.uniform(0.0, 3.0))
        while not (actors := actors_of(engine, process)):
            time.sleep(0.2)
        rng.choice(actors).send_signal(signal.SIGKILL)
        # What waits in the queue is from before: more than that must come.
        updates = wait_for_updates(metrics, updates + 20, child)
        if number % 5 == 4:
            print(f"{number + 1} actors killed: {updates:g} updates", flush=True)
    row, everyone = latest(metrics), family(process)
    after = memory_of([process])
    child.send_signal(signal.SIGINT)
    code, alive = child.wait(60), left(everyone)
    print(
        f"Ctrl-C: ended with {code}, restarts {row[ENGINES[engine][1]]:g}, learner "
        f"{before:.0f} to {after:.0f} MB, processes left {alive}; resumed to {resumes(run)}",
        flush=True,
    )
    if code != 130 or alive:
        raise SystemExit("FAILED")


def lose_learner(engine: str, run: Path, child: subprocess.Popen[bytes], rng: random.Random) -> str:
    process = psutil.Process(child.pid)
    wait_for_updates(run / "metrics.jsonl", 50, child)
    time.sleep(rng.uniform(0.0, 2.0))
    everyone = family(process)
    child.kill()
    child.wait()
    alive = left(everyone, GONE_KILLED.get(engine, GONE))
    if alive:
        raise SystemExit(f"FAILED: {alive} processes left")
    return f"{len(everyone)} processes ended with their learner; resumed to {resumes(run)}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--executor", choices=sorted(ENGINES), default="tf_cluster")
    parser.add_argument("--kills", type=int, default=20, help="of actors, in one run")
    parser.add_argument("--learners", type=int, default=20, help="runs whose learner is killed")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # Shells let what they start in the background ignore Ctrl-C, and so would the runs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = random.Random(options.seed)
    with TemporaryDirectory() as folder:
        if options.kills and options.executor != "threads":
            run = Path(folder) / "actors"
            with started(options.executor, run) as child:
                lose_actors(options.executor, run, child, options.kills, rng)
        for number in range(options.learners):
            run = Path(folder) / str(number)
            with started(options.executor, run) as child:
                said = lose_learner(options.executor, run, child, rng)
            print(f"{number + 1}/{options.learners} {said}", flush=True)


if __name__ == "__main__":
    main()
