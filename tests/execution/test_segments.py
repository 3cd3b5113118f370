"""Segments of several samplers as one: each environment keeps what belongs to it."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.execution.adders import Segments
from rlg.execution.sampling import SteppingSampler
from rlg.execution.types import Batch, Clock, Segment, segment_from_tree, side_by_side
from rlg.graph.spaces import FloatBox, map_leaves
from tests.api.runs import config
from tests.execution.parts import Noting, Numbered, numbers


class Part(Numbered):
    """Some environments of a larger Numbered, from number `first` on."""

    def __init__(self, lengths: tuple[int, ...], first: int) -> None:
        super().__init__(lengths)
        self.first = first

    def _show(self, episodes: Any, steps: Any) -> Any:
        return super()._show(episodes, steps) + np.float32(1000 * self.first)


LENGTHS = (3, 2, 4, 5, 2)


def sampled(env: Numbered, tasks: int = 2) -> Segment:
    """The last of some tasks of four steps: hidden states are not zeros any more."""
    sampler = SteppingSampler(env, Noting(FloatBox(shape=(1,))), Segments(), 4)
    sampler.start()
    for _ in range(tasks):
        found = sampler.collect(Clock())
    assert found is not None
    return found


def test_segments_side_by_side_are_what_one_sampler_of_all_environments_returns():
    whole = sampled(Numbered(LENGTHS))
    parts = [sampled(Part(LENGTHS[:2], 0)), sampled(Part(LENGTHS[2:4], 2))]
    joined = side_by_side([*parts, sampled(Part(LENGTHS[4:], 4))])
    for entry in fields(Segment):
        if entry.name in ("returns", "lengths"):
            continue  # Episodes are listed in another order.
        one, two = getattr(whole, entry.name), getattr(joined, entry.name)
        map_leaves(np.testing.assert_array_equal, one, two)
    assert sorted(whole.returns) == sorted(joined.returns)
    assert sorted(whole.lengths) == sorted(joined.lengths)


def test_ends_are_numbered_on_and_lead_to_their_own_last_observations():
    joined = side_by_side([sampled(Part((3, 2), 0), 1), sampled(Part((4, 3), 2), 1)])
    assert joined.ends[0].tolist() == [1, 2, 2, 3, 3]
    assert joined.ends[1].tolist() == [1, 0, 3, 1, 2]
    assert joined.final_states[:, 0].tolist() == [1002, 3, 3003, 1102, 2004]
    assert joined.final_hidden[:, 0].tolist() == [2, 3, 3, 2, 4]
    assert numbers(joined)[0].tolist() == [0, 1000, 2000, 3000]
    assert joined.rewards.shape == (4, 4)
    assert joined.steps == 16
    assert joined.returns == [2, 3, 2, 3, 4]


def test_without_recurrent_states_there_are_none():
    env = Numbered((3,))
    sampler = SteppingSampler(env, Noting(), Segments(), 2)
    sampler.start()
    segment = sampler.collect(Clock())
    assert segment is not None
    joined = side_by_side([segment, segment])
    assert joined.first_hidden is joined.last_hidden is joined.final_hidden is None
    assert joined.resets is None


def test_the_version_is_that_of_the_oldest_weights():
    old, new = sampled(Part((2,), 0)), sampled(Part((2,), 1))
    tree = {entry.name: getattr(new, entry.name) for entry in fields(Segment)}
    newer = segment_from_tree({**tree, "version": 7})
    older = segment_from_tree(
        {entry.name: getattr(old, entry.name) for entry in fields(Segment)} | {"version": 3}
    )
    assert side_by_side([newer, older]).version == 3


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize("kind", ["ppo", "a2c"])
def test_nothing_writes_into_a_segment_that_is_learnt_from(kind, backend):
    """They lie in shared memory on Ray, and can't be written."""
    agent: dict[str, Any] = {"type": kind, "n_steps": 6}
    if kind == "ppo":
        agent |= {"batch_size": 12, "n_epochs": 2, "normalize_rewards": True}
    settings = config(backend) | {"agent": agent, "network": {"type": "lstm", "units": 8}}
    settings["env"] = {"name": "cartpole", "num_envs": 2, "max_episode_steps": 4}
    del settings["memory"]
    factory = ConfiguredAgents(validate(settings))
    learner = factory.make("actor", "learner")
    sampler = SteppingSampler(factory.make_env(), learner, Segments(), 6)
    sampler.start()
    segment = sampler.collect(Clock())
    assert segment is not None
    assert segment.truncations.any()

    def locked(x: Any) -> Any:
        x = np.array(x)
        x.setflags(write=False)
        return x

    # Lists of returns and lengths are numbers, and no arrays that anybody learns from.
    tree = {
        entry.name: value
        if isinstance(value := getattr(segment, entry.name), int | list)
        else map_leaves(locked, value)
        for entry in fields(Segment)
    }
    result = learner.learn(Batch({"segment": segment_from_tree(tree)}, 12), Clock())
    assert np.isfinite(result.metrics["loss"])
    sampler.close()
