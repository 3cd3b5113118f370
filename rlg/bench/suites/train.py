"""PPO on CartPole with rl-zoo3's values: CPU time per step beside hand-written torch and others.

Contenders take turns on one thread, a block of rollouts and updates each, with the same number of
samples trained per sample collected (20). Stable-Baselines3 and XuanCe, the other library for torch
and TensorFlow (on torch here), run in the peers' environment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from rlg.bench.measuring import Block, block_of, interleave
from rlg.bench.peers import Opponent
from rlg.bench.results import Row
from rlg.bench.running import Settings

STEPS = 32 * 8  # of one rollout
BLOCK = 4  # rollouts
TOTAL = 10_000_000  # Schedules hardly move: all blocks cost the same.
HAND = "by hand, torch"
PEERS = {"Stable-Baselines3": "sb3_ppo", "XuanCe": "xuance_ppo"}
FACTS = {"threads": 1, "replay_ratio": 20, "frame_skip": 1, "num_envs": 8}


def measure(settings: Settings) -> Iterator[Row]:
    """Our backends against both opponents."""
    mine = [f"rlg {backend}" for backend in settings.frameworks()]
    loops = {f"rlg {backend}": ours(backend) for backend in settings.frameworks()}
    loops[HAND] = by_hand()
    blocks: dict[str, Block] = {
        name: block_of(loop, units=STEPS * BLOCK) for name, loop in loops.items()
    }
    with ExitStack() as opened:
        peers = {
            name: opened.enter_context(
                Opponent(program, {"rollouts": BLOCK}, wanted=settings.peers)
            )
            for name, program in PEERS.items()
        }
        blocks |= {name: peer.block for name, peer in peers.items()}
        found = interleave(blocks, settings.rounds(7, 21))
    for name in mine:
        for other in (HAND, *peers):
            row = Row("PPO, CartPole", name, other, "step", clock="cpu", settings=FACTS)
            if other in found:
                costs: dict[str, Any] = {"costs": tuple(found[name]), "others": tuple(found[other])}
                yield replace(row, **costs, note=peers[other].described if other in peers else "")
            else:
                yield replace(row, missing=peers[other].missing)


def ours(backend: str) -> Callable[[], object]:
    """The whole loop as a run has it, without logging."""
    from rlg.api.agents.factory import ConfiguredAgents
    from rlg.api.config.validate import validate
    from rlg.execution.engines import open_engine

    linear = {"type": "linear", "final": 0.0}
    agent = {"type": "ppo", "n_steps": 32, "batch_size": 256, "n_epochs": 20}
    agent |= {"gamma": 0.98, "gae_lambda": 0.8, "clip_range": {**linear, "initial": 0.2}}
    optimizer = {"type": "adam", "learning_rate": {**linear, "initial": 1e-3}, "epsilon": 1e-5}
    config = validate(
        {
            "total_timesteps": TOTAL,
            "agent": agent,
            "env": {"name": "cartpole", "num_envs": 8},
            "network": {"type": "mlp", "units": [64, 64], "activation": "tanh"},
            "optimizer": {**optimizer, "max_grad_norm": 0.5},
            # TensorFlow takes its number from the environment: it may be loaded already.
            "backend": {"type": backend, "threads": 1 if backend == "torch" else None},
        }
    )
    loop = open_engine(ConfiguredAgents(config), config["executor"], TOTAL)
    loop.start()
    return lambda: _repeat(lambda: loop.iterate(lambda: False))


def by_hand() -> Callable[[], object]:
    """Plain torch on the same environments."""
    from rlg.bench.handwritten_ppo import HandwrittenPPO
    from rlg.envs import make_env

    env = make_env("cartpole", num_envs=8)
    ppo = HandwrittenPPO(env, observations=4, actions=2, total_timesteps=TOTAL)
    return lambda: _repeat(ppo.iterate)


def _repeat(iterate: Callable[[], object]) -> None:
    for _ in range(BLOCK):
        iterate()
