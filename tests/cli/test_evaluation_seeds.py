"""`rlg eval` plays episodes that nobody has trained on."""

from __future__ import annotations

from tests.cli.conftest import TINY

PLUGIN = """
from pathlib import Path
import gymnasium
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

class Noting(CartPoleEnv):
    def reset(self, *, seed=None, options=None):
        with Path("seeds.txt").open("a") as file:
            print(seed, file=file)
        return super().reset(seed=seed, options=options)

gymnasium.register("Noting-v0", Noting, max_episode_steps=30)
"""


def test_an_evaluation_plays_no_episode_of_a_neighbouring_training_run(rlg, folder):
    (folder / "noting_plugin.py").write_text(PLUGIN)
    words = ["plugins=[noting_plugin]", "env.name=Noting-v0", "evaluation.interval=0"]
    played = folder / "seeds.txt"
    trained = set()
    for seed in range(4):
        run = [*TINY, *words, f"seed={seed}", f"hydra.run.dir=run{seed}"]
        assert rlg("train", *run).code == 0
        trained |= set(played.read_text().split())
        played.unlink()
    assert len(trained) > 50
    for seed in range(3):
        done = rlg("eval", f"run{seed}", "--episodes", "40", "--trust-plugins")
        assert done.code == 0, done.err
        seeds = set(played.read_text().split()) - {"None"}
        played.unlink()
        assert len(seeds) >= 40
        assert not seeds & trained
