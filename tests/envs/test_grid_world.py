"""The grid world beyond the bank: walls, limits, maps that can't be."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.envs import make_env
from rlg.envs.builtin.grid_world import WORLDS
from rlg.errors import SpecError


def test_walls_stop_the_walker():
    env = make_env("grid_world", world=["SWG"])
    env.reset()
    step = env.step(np.array([1]))
    assert step.observations.tolist() == [0]
    assert step.rewards[0] == np.float32(-0.1)


def test_a_walker_that_goes_nowhere_is_truncated():
    env = make_env("grid_world", world="2x2", max_episode_steps=7)
    env.reset()
    steps = [env.step(np.array([3])) for _ in range(7)]
    assert [bool(step.truncations[0]) for step in steps] == [False] * 6 + [True]
    assert not any(step.terminals[0] for step in steps)


def test_a_walker_turns_walks_and_jumps():
    env = make_env("grid_world", world=["   ", " H ", "S W", "  G"], actions="turns")
    cells = [env.reset()]
    rewards = []
    # Ahead and up; right, over the hole's column; down and back: at the wall; around the wall.
    for action in ([2, 1, 0], [2, 2, 1], [2, 2, 0], [0, 1, 0], [2, 1, 1], [2, 1, 0], [2, 1, 1]):
        step = env.step(np.array([action]))
        cells.append(step.final_observations)
        rewards.append(float(step.rewards[0]))
    rows, up, right, down = 4, 0, 1, 2
    places = [(0, 2, up), (0, 1, up), (2, 1, right), (2, 1, down), (2, 0, down), (2, 0, down)]
    places += [(2, 1, down), (2, 3, down)]
    expected = [4 * (x * rows + y) + looks for x, y, looks in places]
    assert [int(cell[0]) for cell in cells] == expected
    assert rewards == pytest.approx([-0.1] * 6 + [1.0])
    assert step.terminals.tolist() == [True]
    assert int(step.observations[0]) == expected[0]
    assert env.action_space.shape == (3,)


def test_other_actions_than_moves_and_turns_are_refused():
    with pytest.raises(SpecError, match="actions must be moves or turns, got 'fly'"):
        make_env("grid_world", actions="fly")


@pytest.mark.parametrize("world", WORLDS)
def test_every_world_can_be_walked(world):
    env = make_env("grid_world", 3, world=world)
    assert len(set(env.reset().tolist())) == 1


@pytest.mark.parametrize(
    ("world", "reason"),
    [
        ("9x9", "there is no world '9x9'; use chain, long-chain"),
        (["S", "GG"], "rows are of one length"),
        (["SX"], "made of S, G, H, W and ' '"),
        (["G "], "one start S; this one 0"),
        (["SS"], "one start S; this one 2"),
    ],
)
def test_maps_that_cannot_be_are_refused(world, reason):
    with pytest.raises(SpecError, match=reason):
        make_env("grid_world", world=world)
