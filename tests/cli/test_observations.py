"""Environments whose observations are no plain vectors train without being asked how."""

from __future__ import annotations

import pytest

from tests.cli.conftest import TINY

PLUGIN = '''
import gymnasium
import numpy as np
from gymnasium import spaces


class Rooms(gymnasium.Env):
    """A Dict of a category, a vector and a Tuple."""

    def __init__(self):
        inner = spaces.Tuple([spaces.Discrete(2, start=1), spaces.MultiBinary(3)])
        self.observation_space = spaces.Dict(
            {"room": spaces.Discrete(3), "place": spaces.Box(-1.0, 1.0, (2,)), "more": inner}
        )
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.observation_space.seed(seed)
        self.steps = 0
        return self.observation_space.sample(), {}

    def step(self, action):
        self.steps += 1
        return self.observation_space.sample(), 1.0, self.steps > 5, False, {}


gymnasium.register("Rooms-v0", entry_point=Rooms)
'''


@pytest.mark.parametrize(
    ("name", "backend"),
    [
        ("FrozenLake-v1", "torch"),
        ("CliffWalking-v1", "torch"),
        ("Taxi-v4", "torch"),
        ("Blackjack-v1", "tf"),
        ("grid_world", "tf"),
    ],
)
def test_discrete_observations_train_without_being_asked(rlg, name, backend):
    words = [f"env={name}", "env.max_episode_steps=20", f"backend={backend}"]
    done = rlg("train", *TINY, *words, "backend.threads=null")
    assert done.code == 0, done.err
    assert "done: 640 steps, 36 updates" in done.out


def test_nested_observations_train_without_being_asked(rlg, folder):
    (folder / "rooms_plugin.py").write_text(PLUGIN)
    done = rlg("train", *TINY, "env=Rooms-v0", "plugins=[rooms_plugin]")
    assert done.code == 0, done.err
    assert "done: 640 steps, 36 updates" in done.out


def test_one_hot_is_a_network_of_as_many_inputs_as_there_are_categories(rlg):
    text = rlg("graph", "env=FrozenLake-v1", "network.units=[5]", "--text").out
    assert "kernel f32[16,5]" in text
