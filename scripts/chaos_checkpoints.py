"""Kills a run with SIGKILL while it writes checkpoints, again and again, and resumes it each time.

    python scripts/chaos_checkpoints.py --kills 50 --backend torch --seed 0

Every resume must find a checkpoint that is no older than the newest one before the kill; after the
last one the run ends by itself and must equal a run that nobody killed, bit by bit.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import rlg
from rlg.api.run import resume, train
from rlg.tracking.checkpoints.store import CheckpointStore

OVERRIDES = (
    "agent.learning_starts=64",
    "agent.train_freq=32",
    "agent.gradient_steps=2",
    "env.num_envs=4",
    "network.units=[64,64]",
    "memory.buffer_size=20000",
    "logger.tensorboard=false",
    "logger.graph=false",
    "logger.interval=256",
    "evaluation.interval=512",
    "evaluation.episodes=2",
    "evaluation.max_steps=50",
    "checkpoint.interval=64",
    "checkpoint.keep=2",
)
PATIENCE = 600.0  # seconds until a run writes its next checkpoint
SPREAD = 0.03  # seconds after the beginning of a write in which the kill falls


def main() -> int:
    """The exit code says whether every resume and the end were right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--backend", default="torch", choices=("torch", "tf"))
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    import_module("torch" if options.backend == "torch" else "tensorflow")  # once for all lives
    rng = random.Random(options.seed)
    deterministic = ["backend.deterministic=true"] if options.backend == "tf" else []
    words = [*OVERRIDES, f"backend={options.backend}", *deterministic]
    config = rlg.compose(*words, total_timesteps=10**9, schedule_timesteps=20_000)
    with TemporaryDirectory() as folder:
        run, began = Path(folder, "run"), time.monotonic()
        writing = 0
        for number in range(options.kills):
            writing += _life(config, run, rng)
            newest = CheckpointStore(run / "checkpoints", read_only=True).load().step
            print(f"kill {number + 1}: resumable at step {newest}", flush=True)
        total = newest + 256
        _wait(_child(lambda: resume(run, changes={"total_timesteps": total})))
        straight = {**config, "total_timesteps": total}
        _wait(_child(lambda: train(straight, Path(folder, "straight"))))
        same = _digests(run) == _digests(Path(folder, "straight"))
        verdict = "equal to" if same else "DIFFERENT from"
        print(f"{options.kills} kills on {options.backend}, {writing} of them inside of a write;")
        print(f"{options.kills} resumes; at step {total} {verdict} a run without kills;")
        print(f"{time.monotonic() - began:.0f} s")
    return 0 if same else 1


def _life(config: dict[str, Any], run: Path, rng: random.Random) -> bool:
    """Starts or resumes the run, kills it, and says whether it was writing then."""
    store = run / "checkpoints"
    before = CheckpointStore(store, read_only=True).latest() if store.exists() else None
    go_on = before is not None
    child = _child(lambda: resume(run) if go_on else train(config, run))
    # At least one checkpoint of the first life, then any write of a later one.
    left, deadline = rng.randint(1 if go_on else 2, 4), time.monotonic() + PATIENCE
    seen: set[str] = set()
    while len(seen) < left:
        if os.waitpid(child, os.WNOHANG) != (0, 0):
            raise SystemExit(f"the run ended by itself; it was resumable at step {before}")
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            raise SystemExit("the run writes no checkpoint")
        seen |= set(_asides(store, child))
        time.sleep(0.0005)
    time.sleep(rng.uniform(0.0, SPREAD))
    os.kill(child, signal.SIGSTOP)  # so that what is looked at is what the kill meets
    inside = bool(_asides(store, child))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    after = CheckpointStore(store, read_only=True).latest()
    if after is None or (before is not None and after < before):
        raise SystemExit(f"after the kill the newest checkpoint is {after}, before it was {before}")
    return inside


def _asides(store: Path, child: int) -> list[str]:
    """What the child is writing, replacing or removing now."""
    names = [path.name for path in store.iterdir()] if store.exists() else []
    return [name for name in names if name.startswith(".") and name.endswith(f"-{child}")]


def _child(work: Any) -> int:
    """A process that does it; its output is dropped."""
    child = os.fork()
    if child:
        return child
    code = 1
    try:
        with Path(os.devnull).open("w") as nowhere:
            os.dup2(nowhere.fileno(), 1)
            work()
            code = 0
    except BaseException:  # noqa: BLE001 - whatever it is, the parent must not go on in two
        traceback.print_exc()
    finally:
        os._exit(code)


def _wait(child: int) -> None:
    _, status = os.waitpid(child, 0)
    if status:
        raise SystemExit(f"a run that nobody killed ended with {os.waitstatus_to_exitcode(status)}")


def _digests(run: Path) -> dict[str, str]:
    return dict(CheckpointStore(run / "checkpoints", read_only=True).load().digests)


if __name__ == "__main__":
    sys.exit(main())
