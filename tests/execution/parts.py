"""Environments that number their transitions or break, actors that say what they were asked, and
runs in processes of their own.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import psutil
import yaml

from rlg.envs.vector import Step, VectorEnv
from rlg.execution.types import Action, Batch, Clock, LearnResult, Segment, Weights
from rlg.graph.spaces import FloatBox, IntBox
from tests.patience import PATIENCE


class Numbered(VectorEnv):
    """Environment e shows 1000 * e + 100 * episode + step; rewards are the number before a step.

    Episodes of environment e end after `lengths[e]` steps: terminals, or truncations where `e` is
    odd. Nothing is random.
    """

    kind: ClassVar[str] = "numbered"

    def __init__(self, lengths: tuple[int, ...]) -> None:
        super().__init__("numbered", len(lengths), 0, {}, FloatBox(shape=(1,)), IntBox(2))
        self.lengths = np.array(lengths)
        self.closed = False

    def _show(self, episodes: Any, steps: Any) -> Any:
        numbers = 1000.0 * np.arange(self.num_envs) + 100.0 * episodes + steps
        return numbers.astype(np.float32)[:, None]

    def reset(self) -> Any:
        self._at = np.zeros((2, self.num_envs), np.int64)  # episode, step
        return self._show(*self._at)

    def step(self, actions: Any) -> Step:
        rewards = self._show(*self._at)[:, 0]
        self._at[1] += 1
        final = self._show(*self._at)
        ended = self._at[1] >= self.lengths
        lengths = self._at[1][ended]
        self._at[0][ended] += 1
        self._at[1][ended] = 0
        odd = np.arange(self.num_envs) % 2 == 1
        return Step(
            self._show(*self._at),
            rewards,
            ended & ~odd,
            ended & odd,
            final,
            lengths.astype(np.float64),
            lengths,
            np.flatnonzero(ended),
        )

    def snapshot(self) -> dict[str, Any]:
        return {"at": self._at.copy()}

    def restore(self, snapshot: Any) -> Any:
        self._at = np.array(snapshot["at"])
        return self._show(*self._at)

    def close(self) -> None:
        self.closed = True


class Noting:
    """An actor that returns its own step number, and notes how it was called."""

    columns: ClassVar[dict[str, Any]] = {"actions": IntBox(2), "number": FloatBox()}

    def __init__(self, state_space: Any = None) -> None:
        self.state_space = state_space
        self.calls: list[dict[str, Any]] = []
        self.loaded: list[int] = []

    def act(
        self, observations: Any, state: Any, resets: Any, clock: Clock, *, explore: bool = True
    ) -> Action:
        self.calls.append({"state": state, "resets": resets, "clock": clock, "explore": explore})
        count = len(observations)
        number = np.full(count, len(self.calls), np.float32)
        after = None if state is None else np.where(resets[:, None], 0.0, state) + 1.0
        return Action(
            np.zeros(count, np.int64), {"actions": np.ones(count), "number": number}, after
        )

    def load_weights(self, weights: Weights) -> None:
        self.loaded.append(weights.version)

    def get_streams(self) -> dict[str, Any]:
        return {"calls": len(self.calls)}

    def set_streams(self, streams: Any) -> None:
        self.calls = [{}] * streams["calls"]


class Counting:
    """A learner that counts its updates and keeps the clock of each."""

    def __init__(self) -> None:
        self.stored = 0
        self.batches: list[Batch] = []
        self.clocks: list[Clock] = []

    def insert(self, batch: Batch) -> None:
        self.batches.append(batch)
        self.stored += batch.size

    def learn(self, batch: Batch | None, clock: Clock) -> LearnResult:
        self.clocks.append(clock)
        return LearnResult({"loss": np.float32([-2.0, 1.0]), "number": float(len(self.clocks))})

    def learn_due(self, due: int, clock: Clock) -> LearnResult:
        return self.learn(None, clock)

    def weights(self, version: int) -> Weights:
        return Weights(version, {})

    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        kept = {"memory": {"stored": self.stored}} if memory else {}
        return {"model": {"updates": len(self.clocks)}, **kept}

    def set_state(self, state: Any) -> None:
        self.stored = state["memory"]["stored"] if "memory" in state else 0


def numbers(segment: Segment) -> Any:
    """What the environments showed, without the last axis."""
    return segment.states[..., 0]


BROKEN = """
import os, sys, time
import gymnasium
from rlg.envs import register_env

class Broken(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,))
    action_space = gymnasium.spaces.Discrete(2)
    steps = 0
    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        return self.observation_space.sample() * 0, {}
    def step(self, action):
        Broken.steps += 1
        if Broken.steps > LIMIT:
            ACTION
        return self.observation_space.sample() * 0, 1.0, self.steps % 5 == 0, False, {}

register_env("NAME", Broken)
"""


def plugin(folder: Path, name: str, action: str, limit: int, monkeypatch: Any) -> dict[str, Any]:
    """An environment that works for some steps in each process, and then does something else."""
    text = BROKEN.replace("ACTION", action).replace("LIMIT", str(limit)).replace("NAME", name)
    (folder / f"{name}_plugin.py").write_text(text)
    monkeypatch.syspath_prepend(str(folder))
    env = {"name": name, "num_envs": 2}
    return {"env": env, "plugins": [f"{name}_plugin"]}


RUN = (
    "import sys, yaml; from rlg.api.run import train; "
    "sys.exit(train(yaml.safe_load(open(sys.argv[1])), sys.argv[2]).exit_code)"
)


@contextmanager
def child(
    settings: dict[str, Any], folder: Path, patience: float = PATIENCE
) -> Iterator[tuple[subprocess.Popen[bytes], list[psutil.Process]]]:
    """A run in a process of its own that has saved itself once, and the processes it started."""
    path = folder.with_suffix(".yaml")
    path.write_text(yaml.safe_dump(settings))
    command = [sys.executable, "-c", RUN, str(path), str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            deadline = time.monotonic() + patience
            while not [*folder.glob("checkpoints/step-*")]:
                assert process.poll() is None, process.stdout and process.stdout.read()[-2000:]
                assert time.monotonic() < deadline, "no checkpoint yet"
                time.sleep(0.1)
            yield process, psutil.Process(process.pid).children(recursive=True)
        finally:
            process.kill()
