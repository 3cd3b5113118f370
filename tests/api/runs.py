"""Small runs for tests: configurations, and runs that are killed on the way."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np

from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.metrics import read_metrics
from tests.patience import PATIENCE


def cartpole_demonstrations(path: Path) -> str:
    """A file of two episodes of CartPole, for DQfD."""
    return demonstrations(path, 4)


def demonstrations(path: Path, features: int) -> str:
    """A file of two episodes with two actions and vectors to see, for DQfD."""
    states = np.linspace(-0.04, 0.04, 20 * features, dtype=np.float32).reshape(20, features)
    ends = np.arange(20) % 10 == 9
    np.savez(
        path,
        states=states,
        actions=np.arange(20) % 2,
        rewards=np.ones(20, np.float32),
        terminals=ends,
        next_states=np.roll(states, -1, 0),
    )
    return str(path)


def config(backend: str = "torch", env: str = "cartpole", **changes: Any) -> dict[str, Any]:
    """A complete configuration of a short DQN run."""
    is_atari = env in ("pong", "qbert", "tetris")
    network: dict[str, Any] = {"type": "nature_cnn", "features_dim": 32}
    return {
        "seed": 5,
        "total_timesteps": 192 if is_atari else 2048,
        "agent": {
            "type": "dqn",
            "batch_size": 8 if is_atari else 32,
            "learning_starts": 64,
            "train_freq": 32,
            "gradient_steps": 2 if is_atari else 8,
            "target_update_interval": 64,
        },
        "env": {"name": env, "num_envs": 4},
        "network": network if is_atari else {"type": "mlp", "units": [32]},
        "memory": {"type": "replay", "buffer_size": 300},
        "optimizer": {"type": "adam", "learning_rate": 1e-3},
        "backend": {"type": backend, **({"deterministic": True} if backend == "tf" else {})},
        "executor": {"type": "local"},
        "logger": {"interval": 32 if is_atari else 128, "tensorboard": False},
        "evaluation": {"interval": 0 if is_atari else 512, "episodes": 4},
        "checkpoint": {"interval": 64 if is_atari else 512, "keep": None, "memory": True},
        **changes,
    }


# Its own thread kills it: a process beside it could come too late on a busy machine.
KILLED = """
import json, os, signal, sys, threading, time
from rlg.api.run import train

def kill():
    while not os.path.exists(sys.argv[3]):
        time.sleep(0.005)
    os.kill(os.getpid(), signal.SIGKILL)

threading.Thread(target=kill, daemon=True).start()
train(json.loads(sys.argv[1]), sys.argv[2])
"""


def killed(settings: dict[str, Any], folder: Path, at: int) -> None:
    """Trains in a process of its own that gets a SIGKILL once step `at` is saved."""
    target = folder / "checkpoints" / f"step-{at:09d}"
    command = [sys.executable, "-c", KILLED, json.dumps(settings), str(folder), str(target)]
    done = subprocess.run(command, capture_output=True, timeout=PATIENCE, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()[-2000:]


def course(folder: Path) -> tuple[int, dict[str, str], list[dict[str, Any]]]:
    """The last checkpoint's step and digests, and all metrics without wall-clock figures."""
    checkpoint = CheckpointStore(folder / "checkpoints", read_only=True).load()
    rows = read_metrics(folder / "metrics.jsonl")
    timeless = [{k: v for k, v in row.items() if not k.startswith("time/")} for row in rows]
    return checkpoint.step, checkpoint.digests, timeless
