"""Kills processes of an Ape-X run on Ray at random moments, and says how the run took it.

    python scripts/chaos_ray.py --kills 20 --seed 0

Each role (worker, shard, evaluator) is killed that often by SIGKILL. The run must go on learning
after every kill, reach its end, and leave no process behind; its memory must not grow with kills.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

ROLES = ("Worker", "Shard", "Evaluator")
OVERRIDES = (
    "agent=apex",
    "env=cartpole",
    "env.num_envs=4",
    "executor.num_workers=2",
    "executor.num_shards=2",
    "executor.task_steps=16",
    "agent.learning_starts=500",
    "memory.buffer_size=20000",
    "logger.interval=200",
    "logger.tensorboard=false",
    "logger.graph=false",
    "evaluation.interval=2000",
    "evaluation.episodes=4",
    "checkpoint.interval=20000",
)
PATIENCE = 60.0  # seconds without a further update: the run hangs


def family(child: psutil.Process) -> list[psutil.Process]:
    return child.children(recursive=True)


def of_role(child: psutil.Process, role: str) -> list[psutil.Process]:
    """Ray names an actor's process after its class."""
    found = []
    for process in family(child):
        try:
            if f"ray::{role}" in " ".join(process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def latest(path: Path) -> dict[str, float]:
    """The newest line of metrics that speaks of updates."""
    lines = path.read_text().splitlines() if path.exists() else []
    rows = [json.loads(line) for line in lines[-20:] if line.endswith("}")]
    return next((row for row in reversed(rows) if "train/n_updates" in row), {})


def memory_of(processes: list[psutil.Process]) -> float:
    """Megabytes that they have for themselves."""
    total = 0
    for process in processes:
        try:
            total += process.memory_full_info().uss
        except psutil.Error:
            continue
    return total / 2**20


def wait_for_updates(metrics: Path, more_than: float, child: subprocess.Popen[bytes]) -> float:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if child.poll() is not None:
            raise SystemExit(f"FAILED: the run ended with {child.returncode}")
        updates = latest(metrics).get("train/n_updates", 0)
        if updates > more_than:
            return updates
        time.sleep(0.2)
    raise SystemExit(f"FAILED: no update for {PATIENCE:g} s; {latest(metrics)}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20, help="of each role")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    plan = [role for role in ROLES for _ in range(options.kills)]
    rng.shuffle(plan)
    with TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        command = [sys.executable, "-m", "rlg", "train", *OVERRIDES, f"hydra.run.dir={run}"]
        child = subprocess.Popen([*command, "total_timesteps=100000000"], stdout=subprocess.DEVNULL)
        process = psutil.Process(child.pid)
        metrics = run / "metrics.jsonl"
        updates = wait_for_updates(metrics, 50, child)
        before = memory_of([process, *family(process)])
        print(f"begun: {updates:g} updates, {before:.0f} MB", flush=True)
        for number, role in enumerate(plan):
            time.sleep(rng.uniform(0.0, 2.0))
            targets = of_role(process, role)
            if targets:
                rng.choice(targets).send_signal(signal.SIGKILL)
            updates = wait_for_updates(metrics, updates, child)
            if number % 10 == 9:
                print(f"{number + 1} kills: {updates:g} updates", flush=True)
        time.sleep(10.0)
        after = memory_of([process, *family(process)])
        row, everyone = latest(metrics), family(process)
        child.send_signal(signal.SIGINT)
        code = child.wait(60)
        _, alive = psutil.wait_procs(everyone, timeout=20)
        print(
            f"ended with {code}: {row['train/n_updates']:g} updates, worker restarts "
            f"{row['ray/worker_restarts']:g}, shard restarts {row['ray/shard_restarts']:g}, "
            f"memory {before:.0f} to {after:.0f} MB, processes left {len(alive)}"
        )
        if code != 130 or alive:
            raise SystemExit("FAILED")
        resumed = [sys.executable, "-m", "rlg", "resume", str(run)]
        steps = int(row["time/total_timesteps"]) + 2000
        print(
            "resumed:",
            subprocess.run([*resumed, f"total_timesteps={steps}"], check=True).returncode,
        )


if __name__ == "__main__":
    main()
