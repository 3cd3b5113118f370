"""Whole training loops with rl-zoo3's values: CPU time per step beside others'.

PPO on CartPole stands beside hand-written torch, Stable-Baselines3 and XuanCe, the other library
for torch and TensorFlow (on torch here); SAC on Pendulum beside Stable-Baselines3. Contenders take
turns on one thread, a block of steps with their updates each, and train as many samples per sample
collected. Other libraries run in the peers' environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from rlg.bench.measuring import Block, Cost, block_of, interleave
from rlg.bench.peers import Opponent
from rlg.bench.results import Row
from rlg.bench.running import Settings

TOTAL = 10_000_000  # Schedules hardly move: all blocks cost the same.
ROLLOUT = 32 * 8  # steps of PPO between two updates
LINEAR = {"type": "linear", "final": 0.0}
HAND = "by hand, torch"
SB3 = "Stable-Baselines3"


@dataclass(frozen=True)
class Case:
    """What is trained, and beside whom."""

    title: str
    config: Mapping[str, Any]  # rlg's, without budget and backend
    steps: int  # of a block
    peers: Mapping[str, tuple[str, dict[str, int]]]  # name -> program and its settings
    facts: Mapping[str, Any]
    by_hand: Mapping[str, Callable[[], Callable[[], object]]] = field(default_factory=dict)


def ppo_by_hand() -> Callable[[], object]:
    """Plain torch on the same environments."""
    from rlg.bench.handwritten_ppo import HandwrittenPPO
    from rlg.envs import make_env

    env = make_env("cartpole", num_envs=8)
    ppo = HandwrittenPPO(env, observations=4, actions=2, total_timesteps=TOTAL)

    def run() -> None:
        for _ in range(PPO.steps // ROLLOUT):
            ppo.iterate()

    return run


PPO = Case(
    "PPO, CartPole",
    {
        "agent": {
            "type": "ppo",
            "n_steps": 32,
            "batch_size": 256,
            "n_epochs": 20,
            "gamma": 0.98,
            "gae_lambda": 0.8,
            "clip_range": {**LINEAR, "initial": 0.2},
        },
        "env": {"name": "cartpole", "num_envs": 8},
        "network": {"type": "mlp", "units": [64, 64], "activation": "tanh"},
        "optimizer": {
            "type": "adam",
            "learning_rate": {**LINEAR, "initial": 1e-3},
            "epsilon": 1e-5,
            "max_grad_norm": 0.5,
        },
    },
    steps=4 * ROLLOUT,
    peers={SB3: ("sb3_ppo", {"rollouts": 4}), "XuanCe": ("xuance_ppo", {"rollouts": 4})},
    facts={"threads": 1, "replay_ratio": 20, "frame_skip": 1, "num_envs": 8},
    by_hand={HAND: ppo_by_hand},
)

SAC = Case(
    "SAC, Pendulum",
    {
        "agent": {"type": "sac", "batch_size": 256, "learning_starts": 100},
        "env": {"name": "pendulum"},
        "network": {"type": "mlp", "units": [256, 256]},
        "memory": {"type": "replay", "buffer_size": 100_000},
        "optimizer": {"type": "adam", "learning_rate": 1e-3},
    },
    steps=200,
    peers={SB3: ("sb3_sac", {"steps": 200})},
    facts={"threads": 1, "replay_ratio": 256, "frame_skip": 1, "num_envs": 1},
)


def measure(settings: Settings) -> Iterator[Row]:
    """Our backends against the opponents of each case."""
    for case in (PPO, SAC):
        yield from _measure(case, settings)


def _measure(case: Case, settings: Settings) -> Iterator[Row]:
    with ExitStack() as opened:
        peers = {
            name: opened.enter_context(Opponent(*program, wanted=settings.peers))
            for name, program in case.peers.items()
        }
        found: dict[str, list[Cost]] = {}
        if case.by_hand or not all(peer.missing for peer in peers.values()):
            loops = {f"rlg {backend}": ours(case, backend) for backend in settings.frameworks()}
            loops |= {name: make() for name, make in case.by_hand.items()}
            blocks: dict[str, Block] = {
                name: block_of(loop, units=case.steps) for name, loop in loops.items()
            }
            blocks |= {name: peer.block for name, peer in peers.items()}
            found = interleave(blocks, settings.rounds(7, 21))
    for backend in settings.frameworks():
        for other in (*case.by_hand, *peers):
            mine = f"rlg {backend}"
            row = Row(case.title, mine, other, "step", clock="cpu", settings=dict(case.facts))
            if other in found:
                costs: dict[str, Any] = {"costs": tuple(found[mine]), "others": tuple(found[other])}
                yield replace(row, **costs, note=peers[other].described if other in peers else "")
            else:
                yield replace(row, missing=peers[other].missing)


def ours(case: Case, backend: str) -> Callable[[], object]:
    """The whole loop as a run has it, without logging."""
    from rlg.api.agents.factory import ConfiguredAgents
    from rlg.api.config.validate import validate
    from rlg.execution.engines import open_engine

    # TensorFlow takes its number from the environment: it may be loaded already.
    kind = {"type": backend, "threads": 1 if backend == "torch" else None}
    config = validate({**case.config, "total_timesteps": TOTAL, "backend": kind})
    loop = open_engine(ConfiguredAgents(config), config["executor"], TOTAL)
    loop.start()

    def run() -> None:
        end = loop.clock.steps + case.steps
        while loop.clock.steps < end:
            loop.iterate(lambda: False)

    return run
