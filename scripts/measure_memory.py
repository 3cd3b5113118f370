"""Peak memory of a run with a 2 GB replay memory: while it trains, saves and resumes.

Each run is a process of its own; what is measured is the largest resident set that the kernel saw.

    python scripts/measure_memory.py [--gigabytes 2] [--backend torch]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

RECORD = 2 * 84 * 84 * 4  # bytes of the two observations of a record
RUN = """
import json, sys
from rlg.api.run import resume, train
settings, folder, changes = map(json.loads, sys.argv[1:])
resume(folder, changes=changes) if changes else train(settings, folder)
"""


def peak_of(config: dict[str, object], folder: Path, changes: dict[str, object]) -> float:
    """Megabytes of the process that trains, or resumes with these changes."""
    words = [json.dumps(part) for part in (config, str(folder), changes)]
    command = [sys.executable, "-c", RUN, *words]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise SystemExit(f"the run failed with {child.returncode}")
    return usage.ru_maxrss / 1000


def main() -> None:
    """Prints the peaks and their ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gigabytes", type=float, default=2.0)
    parser.add_argument("--backend", default="torch")
    options = parser.parse_args()
    records = int(options.gigabytes * 1e9 / RECORD)
    config: dict[str, object] = {
        "seed": 0,
        "total_timesteps": records + 1024,
        "agent": {"type": "dqn", "learning_starts": records + 512, "train_freq": 256},
        "env": {"name": "pong", "num_envs": 16},
        "network": {"type": "nature_cnn", "features_dim": 32},
        "memory": {"type": "replay", "buffer_size": records},
        "optimizer": {"type": "adam"},
        "backend": {"type": options.backend},
        "logger": {"interval": 0, "tensorboard": False, "graph": False},
        "evaluation": {"interval": 0},
    }
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        without = {**config, "checkpoint": {"interval": 0, "memory": False}}
        plain = peak_of(without, folder / "without", {})
        print(f"{records:,} records, {options.gigabytes:g} GB; {options.backend}", flush=True)
        print(f"trains, no memory in its checkpoint: {plain:8,.0f} MB", flush=True)
        saved = {**config, "checkpoint": {"interval": 0, "memory": True}}
        peak = peak_of(saved, folder / "saved", {})
        print(f"trains and saves its memory:         {peak:8,.0f} MB  {peak / plain:.2f} times")
        again = {"total_timesteps": records + 2048}
        peak = peak_of(saved, folder / "saved", again)
        print(f"resumes, trains and saves again:     {peak:8,.0f} MB  {peak / plain:.2f} times")


if __name__ == "__main__":
    main()
