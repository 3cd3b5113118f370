"""Disturbs runs on ranks at random moments, and says how they took it.

    python scripts/chaos_ranks.py --kills 20 --stops 10 --nans 5 --seed 0 [--executor horovod]

A rank is killed by SIGKILL, a run is stopped by Ctrl-C, a loss is NaN on one rank. Each run must
end by itself, with the right exit code and no process left, and resume from its checkpoint.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import psutil

from rlg.api.run import resume
from rlg.errors import RLGError
from rlg.tracking.checkpoints.store import CheckpointStore

OVERRIDES = (
    "agent=a2c",
    "env.num_envs=2",
    "executor.num_ranks=2",
    "logger.tensorboard=false",
    "logger.graph=false",
    "evaluation.interval=0",
    "evaluation.episodes=1",
    "checkpoint.interval=1000",
    "total_timesteps=100000000",
)
STARTING = 240.0  # seconds until the first checkpoint
PATIENCE = 90.0  # seconds for a disturbed run to end: afterwards it hangs

# Works until a file appears, whose content says which rank's rewards are NaN from then on.
PLUGIN = """
import os, sys
import gymnasium
from rlg.envs import register_env

class Poisoned(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample() * 0, {}

    def step(self, action):
        self.steps += 1
        path = os.environ["RLG_POISON"]
        is_mine = False
        if os.path.exists(path):
            where = open(path).read()
            is_mine = where == ("1" if "follower" in sys.argv[0] else "0")
        reward = float("nan") if is_mine else 1.0
        return self.observation_space.sample() * 0, reward, self.steps % 5 == 0, False, {}

register_env("poisoned", Poisoned)
"""


class TroubleError(Exception):
    """What a run did that it must not do."""


class Run:
    """One run in a folder."""

    def __init__(self, folder: Path, plugins: Path, executor: str, seed: int) -> None:
        self.folder = folder / "run"
        self.poison = folder / "poison"
        env = {**os.environ, "PYTHONPATH": str(plugins), "RLG_POISON": str(self.poison)}
        os.environ["RLG_POISON"] = env["RLG_POISON"]  # for the resumed run, in this process
        self.words = [*OVERRIDES, f"executor={executor}", f"seed={seed}", "env.name=poisoned"]
        self.words += ["plugins=[poisoned_plugin]", f"hydra.run.dir={self.folder}"]
        self.log = folder / "log"
        command = [sys.executable, "-m", "rlg", "train", *self.words]
        with self.log.open("w") as log:
            self.process = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        self.family: list[psutil.Process] = []

    def begin(self) -> None:
        """Waits for the first checkpoint."""
        deadline = time.monotonic() + STARTING
        while self.saved() is None:
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise TroubleError(f"did not start: {self.said()}")
            time.sleep(0.2)
        self.family = psutil.Process(self.process.pid).children(recursive=True)

    def saved(self) -> int | None:
        folder = self.folder / "checkpoints"
        return CheckpointStore(folder, read_only=True).latest() if folder.exists() else None

    def said(self) -> str:
        return self.log.read_text()[-600:]

    def ended(self, expected: int) -> None:
        """Raises if the run hangs, leaves somebody behind or says something else."""
        try:
            code = self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            raise TroubleError(f"hangs after {PATIENCE:g} s") from None
        _, alive = psutil.wait_procs(self.family, timeout=10)
        if alive:
            raise TroubleError(f"left {len(alive)} processes behind")
        if code != expected:
            raise TroubleError(f"ended with {code}, expected {expected}: {self.said()}")
        if "Traceback" in self.log.read_text():
            raise TroubleError(f"ended with a traceback: {self.said()}")

    def resumes(self) -> None:
        """Goes on in one process from what was saved."""
        self.poison.unlink(missing_ok=True)
        step = self.saved()
        if step is None:
            raise TroubleError("has no checkpoint")
        changes = {"executor": {"type": "local"}, "total_timesteps": step + 100}
        try:
            outcome = resume(self.folder, changes=changes, trust_plugins=True)
        except RLGError as error:
            raise TroubleError(f"is not resumable: {error}") from error
        if outcome.exit_code or outcome.steps < step + 100:
            raise TroubleError(f"resumed badly: {outcome}")

    def close(self) -> None:
        for process in self.family:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def disturb(run: Run, kind: str, rng: random.Random) -> str:
    """Does it at a random moment, and says what."""
    time.sleep(rng.uniform(0.0, 2.0))
    if kind == "kill":
        rank = rng.randrange(2)
        (run.family[0] if rank else run.process).kill()
        run.ended(1 if rank else -signal.SIGKILL)
        return f"rank {rank} killed"
    if kind == "stop":
        run.process.send_signal(signal.SIGINT)
        run.ended(130)
        return "Ctrl-C"
    rank = rng.choice("01")
    run.poison.write_text(rank)
    run.ended(1)
    if "nan" not in run.said():
        raise TroubleError(f"does not say why it ended: {run.said()}")
    return f"NaN on rank {rank}"


def tried(kind: str, folder: Path, executor: str, rng: random.Random) -> str:
    """What became of one run."""
    folder.mkdir()
    begun = time.monotonic()
    run = Run(folder, folder.parent, executor, int(folder.name))
    try:
        run.begin()
        what = disturb(run, kind, rng)
        seconds = time.monotonic() - begun
        step = run.saved()
        run.resumes()
    except TroubleError as trouble:
        return f"FAILED: {kind}: {trouble}"
    finally:
        run.close()
    return f"ok: {what}, ended after {seconds:.0f} s, resumed from step {step}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--stops", type=int, default=10)
    parser.add_argument("--nans", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--executor", choices=["ddp", "horovod"], default="ddp")
    options = parser.parse_args()
    # Shells let what they start in the background ignore Ctrl-C, and so would the runs.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = random.Random(options.seed)
    plan = ["kill"] * options.kills + ["stop"] * options.stops + ["nan"] * options.nans
    rng.shuffle(plan)
    troubles = 0
    with TemporaryDirectory() as name:
        plugins = Path(name)
        (plugins / "poisoned_plugin.py").write_text(PLUGIN)
        sys.path.append(name)
        for number, kind in enumerate(plan):
            outcome = tried(kind, Path(name) / str(number), options.executor, rng)
            troubles += outcome.startswith("FAILED")
            print(f"{number + 1}/{len(plan)} {outcome}", flush=True)
    print(f"{len(plan) - troubles} of {len(plan)} as expected")
    if troubles:
        raise SystemExit("FAILED")


if __name__ == "__main__":
    main()
