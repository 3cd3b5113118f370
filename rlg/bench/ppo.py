"""PPO on CartPole with rl-zoo3's values: CPU time per step beside hand-written torch and SB3.

    python -m rlg.bench.ppo [rounds]

All contenders run in one process on one thread, a block of rollouts and updates each in turn, with
the same number of samples trained per sample collected (20). Stable-Baselines3 takes part if it is
installed: pip install stable-baselines3.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

STEPS = 32 * 8  # of one rollout
BLOCK = 8  # rollouts
TOTAL = 10_000_000  # Schedules hardly move: all blocks cost the same.


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
            "backend": {"type": backend, "threads": 1},
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


def sb3() -> Callable[[], object]:
    """Stable-Baselines3 on its own vector of gymnasium environments."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.env_util import make_vec_env

    model = PPO(
        "MlpPolicy",
        make_vec_env("CartPole-v1", n_envs=8),
        n_steps=32,
        batch_size=256,
        n_epochs=20,
        gamma=0.98,
        gae_lambda=0.8,
        learning_rate=1e-3,
        clip_range=0.2,
        device="cpu",
    )
    model.learn(STEPS)
    return lambda: model.learn(STEPS * BLOCK, reset_num_timesteps=False)


def _repeat(iterate: Callable[[], object]) -> None:
    for _ in range(BLOCK):
        iterate()


def main(rounds: int = 15) -> None:
    """Prints the median of each contender, and ours against the others."""
    import torch

    torch.set_num_threads(1)
    contenders: dict[str, Callable[[], object]] = {
        "by hand (torch)": by_hand(),
        "rlg (torch)": ours("torch"),
        "rlg (tf)": ours("tf"),
    }
    try:
        contenders["SB3 (torch)"] = sb3()
    except ImportError:
        print("Stable-Baselines3 is not installed: pip install stable-baselines3")
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for round_ in range(rounds + 1):
        for name, run in contenders.items():
            started = time.process_time()
            run()
            if round_:  # The first one warms up.
                seconds[name].append((time.process_time() - started) / (STEPS * BLOCK))
    for name, values in seconds.items():
        line = f"{name:16} {1e6 * statistics.median(values):7.1f} us of CPU per step"
        for other in ("by hand (torch)", "SB3 (torch)"):
            if other != name and other in seconds:
                ratios = [a / b for a, b in zip(seconds[other], values, strict=True)]
                low, middle, high = statistics.quantiles(ratios, n=4)
                line += f"   {middle:.2f}x [{low:.2f}, {high:.2f}] {other}"
        print(line)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
