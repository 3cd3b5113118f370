"""Samplers: every number of a segment is the one that the environments showed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from rlg.execution.adders import Frames, Segments, Sequences, Steps, Windows
from rlg.execution.engines.local import LocalPool
from rlg.execution.engines.threads import ThreadPool
from rlg.execution.sampling import SteppingSampler
from rlg.execution.types import Action, Clock, Weights, joined
from rlg.graph.spaces import Dict, FloatBox
from tests.execution.parts import Noting, Numbered, numbers


def sampler(lengths=(3, 2), steps=4, adder=None, actor=None):
    made = SteppingSampler(Numbered(lengths), actor or Noting(), adder or Segments(), steps)
    made.start()
    return made


def test_a_segment_holds_what_the_environments_showed_in_order():
    made = sampler()
    first, second = made.collect(Clock()), made.collect(Clock())
    np.testing.assert_array_equal(numbers(first), [[0, 1000], [1, 1001], [2, 1100], [100, 1101]])
    np.testing.assert_array_equal(first.rewards, numbers(first))
    np.testing.assert_array_equal(first.last_states[:, 0], [101, 1200])
    np.testing.assert_array_equal(numbers(second)[0], first.last_states[:, 0])
    np.testing.assert_array_equal(first.columns["number"], [[1, 1], [2, 2], [3, 3], [4, 4]])
    assert first.steps == 8


def test_what_followed_an_end_is_the_true_last_observation_not_the_next_episode():
    segment = sampler().collect(Clock())
    # Environment 0 ends after its third step, environment 1 after its second and fourth.
    np.testing.assert_array_equal(
        segment.next_states()[..., 0], [[1, 1001], [2, 1002], [3, 1101], [101, 1102]]
    )
    np.testing.assert_array_equal(segment.final_states[:, 0], [1002, 3, 1102])
    np.testing.assert_array_equal(segment.ends, [[1, 2, 3], [1, 0, 1]])


def test_terminals_and_truncations_are_told_apart():
    segment = sampler().collect(Clock())
    np.testing.assert_array_equal(np.argwhere(segment.terminals), [[2, 0]])
    np.testing.assert_array_equal(np.argwhere(segment.truncations), [[1, 1], [3, 1]])


def test_episodes_that_ended_are_reported_once():
    made = sampler()
    assert made.collect(Clock()).lengths == [2, 3, 2]
    assert made.collect(Clock()).lengths == [3, 2, 2]


def test_segments_keep_their_numbers_when_more_is_sampled():
    made = sampler()
    first = made.collect(Clock())
    before = numbers(first).copy()
    made.collect(Clock())
    np.testing.assert_array_equal(numbers(first), before)


def test_a_recurrent_state_begins_anew_after_terminals_and_after_truncations():
    actor = Noting(FloatBox(shape=(1,)))
    made = sampler(actor=actor)
    segment = made.collect(Clock())
    np.testing.assert_array_equal(
        segment.resets, [[True, True], [False, False], [False, True], [True, False]]
    )
    # The state counts the steps of the episode before the one at hand.
    states = [np.where(c["resets"], 0.0, c["state"][:, 0]) for c in actor.calls]
    np.testing.assert_array_equal(states, [[0, 0], [1, 1], [2, 0], [0, 1]])
    np.testing.assert_array_equal(made.collect(Clock()).resets[0], [False, True])


def test_a_segment_holds_the_recurrent_states_at_its_borders_and_at_the_ends_of_episodes():
    made = sampler(actor=Noting(FloatBox(shape=(1,))))
    first, second = made.collect(Clock()), made.collect(Clock())
    np.testing.assert_array_equal(first.first_hidden, [[0], [0]])
    np.testing.assert_array_equal(first.final_hidden, [[2], [3], [2]])
    np.testing.assert_array_equal(first.last_hidden, [[1], [2]])
    np.testing.assert_array_equal(second.first_hidden, [[1], [2]])
    np.testing.assert_array_equal(second.resets[0], [False, True])
    np.testing.assert_array_equal(second.last_hidden, [[2], [2]])


def test_segments_one_after_the_other_are_the_one_that_would_have_been_sampled_at_once():
    parts = sampler(actor=Noting(FloatBox(shape=(1,))), steps=3)
    found = joined([parts.collect(Clock()) for _ in range(3)])
    expected = sampler(actor=Noting(FloatBox(shape=(1,))), steps=9).collect(Clock())
    for entry in fields(expected):
        mine, theirs = getattr(found, entry.name), getattr(expected, entry.name)
        if entry.name == "columns":
            mine, theirs = mine["number"], theirs["number"]
        np.testing.assert_array_equal(mine, theirs, entry.name)


@pytest.mark.parametrize("adder", [lambda: Windows(3), lambda: Sequences(3), Steps, Segments])
@pytest.mark.parametrize("recurrent", [False, True])
def test_a_restored_sampler_samples_what_the_first_one_would_have(adder, recurrent):
    space = FloatBox(shape=(1,)) if recurrent else None
    made = sampler(adder=adder(), actor=Noting(space))
    made.sample(Clock())
    state = made.get_state()
    expected = made.sample(Clock())
    other = SteppingSampler(Numbered((3, 2)), Noting(space), adder(), 4)
    other.set_state(state)
    found = other.sample(Clock())
    np.testing.assert_array_equal(numbers(found[0]), numbers(expected[0]))
    np.testing.assert_array_equal(found[0].columns["number"], expected[0].columns["number"])
    np.testing.assert_array_equal(found[0].first_hidden, expected[0].first_hidden)
    np.testing.assert_array_equal(found[0].resets, expected[0].resets)
    assert [batch.size for batch in found[1]] == [batch.size for batch in expected[1]]
    for mine, theirs in zip(found[1], expected[1], strict=True):
        for name in theirs.records.keys() - {"segment"}:
            np.testing.assert_array_equal(mine.records[name], theirs.records[name], name)


# -- the thread ------------------------------------------------------------------------------------
def test_the_thread_is_one_round_ahead_and_acts_by_the_weights_published_before():
    made = sampler()
    pool = ThreadPool(made)
    pool.publish(Weights(0, {}))
    versions, firsts = [], []
    for round_ in range(4):
        ((segment, _),) = pool.ready(Clock())
        versions.append(segment.version)
        firsts.append(float(numbers(segment)[0, 0]))
        pool.publish(Weights(round_ + 1, {}))
    pool.close()
    # Round 1 started before anything was learnt from round 0.
    assert versions == [0, 0, 1, 2]
    assert firsts == [0.0, 101.0, 202.0, 400.0]
    assert made.env.closed


def test_the_thread_acts_by_the_clock_of_the_round_that_it_samples():
    made = sampler()
    pool, clock = ThreadPool(made), Clock()
    for _ in range(3):
        ((segment, _),) = pool.ready(clock)
        clock = clock.after(steps=segment.steps, updates=1)
    pool.close()
    # Four steps of two environments per round; the fourth round is under way.
    assert [call["clock"].steps for call in made.actor.calls[::4]] == [0, 8, 16, 24]


def test_weights_are_loaded_once_and_not_again_where_nothing_was_learnt():
    made = sampler()
    pool = ThreadPool(made)
    pool.publish(Weights(7, {}))
    for _ in range(3):
        pool.ready(Clock())
    pool.close()
    assert made.actor.loaded == [7]


def test_a_round_under_way_is_part_of_the_threads_state():
    pool, other = ThreadPool(sampler()), ThreadPool(sampler())
    pool.ready(Clock())
    state = pool.get_state()
    expected = [numbers(pool.ready(Clock())[0][0]) for _ in range(2)]
    other.set_state(state)
    found = [numbers(other.ready(Clock())[0][0]) for _ in range(2)]
    np.testing.assert_array_equal(found, expected)
    pool.close()
    other.close()


def test_a_round_that_a_thread_was_ahead_is_not_lost_without_a_thread():
    pool = ThreadPool(sampler(adder=Windows(3)))
    pool.ready(Clock())
    state = pool.get_state()
    expected = [pool.ready(Clock())[0] for _ in range(2)]
    pool.close()
    made = SteppingSampler(Numbered((3, 2)), Noting(), Windows(3), 4)
    other = LocalPool(made, wants_weights=True)
    other.set_state(state)
    # Saved once more before anything is sampled, as by a stop between updates.
    other.set_state(other.get_state())
    found = [other.ready(Clock())[0] for _ in range(2)]
    for (segment, batches), (expected_segment, expected_batches) in zip(
        found, expected, strict=True
    ):
        np.testing.assert_array_equal(numbers(segment), numbers(expected_segment))
        np.testing.assert_array_equal(
            batches[0].records["rewards"], expected_batches[0].records["rewards"]
        )


def test_an_environment_that_fails_in_the_thread_fails_the_run():
    made = sampler()
    pool = ThreadPool(made)
    pool.ready(Clock())
    pool.get_state()  # The round under way is done.
    made.env.step = None
    pool.ready(Clock())
    with pytest.raises(TypeError):
        pool.ready(Clock())
    pool.close()


class Rewarded(Noting):
    """Remembers its last reward only, which it can't know."""

    def act(self, observations: Any, state: Any, *more: Any, **words: Any) -> Action:
        action = super().act(observations, None, *more, **words)
        return action._replace(state={"rewards": np.full(len(observations), -9.0, np.float32)})


def test_states_hold_the_rewards_of_the_step_before_where_they_have_a_place_for_them():
    """At the start of a segment, at its end, and where episodes ended."""
    actor = Rewarded(Dict(rewards=FloatBox()))
    made = SteppingSampler(Numbered((2, 9)), actor, Segments(), 3)
    made.start()
    first, second = made.collect(Clock()), made.collect(Clock())
    assert first is not None
    assert second is not None
    np.testing.assert_array_equal(first.first_hidden["rewards"], [0.0, 0.0])
    np.testing.assert_array_equal(first.final_hidden["rewards"], [1.0])
    np.testing.assert_array_equal(first.last_hidden["rewards"], [100.0, 1002.0])
    np.testing.assert_array_equal(second.first_hidden["rewards"], [100.0, 1002.0])


class Stacked(Numbered):
    """Shows stacks of two frames of one pixel: -1 and the number, which is the newest."""

    def __init__(self, lengths: tuple[int, ...]) -> None:
        super().__init__(lengths)
        self.observation_space = FloatBox(shape=(1, 2))

    def _show(self, episodes: Any, steps: Any) -> Any:
        newest = super()._show(episodes, steps)[:, :, None]
        return np.concatenate([np.full_like(newest, -1), newest], -1)

    def step(self, actions: Any) -> Any:
        step = super().step(actions)
        return step._replace(rewards=step.rewards[:, -1])


def test_of_stacks_a_segment_keeps_the_newest_frames_if_the_adder_takes_no_others():
    assert [Steps.takes_frames, Segments.takes_frames, Frames.takes_frames] == [False, False, True]
    made = SteppingSampler(Stacked((3, 2)), Noting(), Frames(1, 2), 4)
    made.start()
    segment = made.collect(Clock())
    assert segment.states.shape == (4, 2, 1, 1)
    expected = [[0, 1000], [1, 1001], [2, 1100], [100, 1101]]
    np.testing.assert_array_equal(segment.states[..., 0, 0], expected)
    np.testing.assert_array_equal(segment.final_states[..., 0], [[1002], [3], [1102]])
    np.testing.assert_array_equal(segment.last_states[..., 0], [[101], [1200]])


def test_half_a_segment_with_whole_stacks_in_a_checkpoint_loses_all_but_the_newest_frames():
    whole = SteppingSampler(Stacked((3, 2)), Noting(), Segments(), 4)
    whole.start()
    assert whole.collect(Clock(), lambda: True) is None
    other = SteppingSampler(Stacked((3, 2)), Noting(), Frames(1, 2), 4)
    other.set_state(whole.get_state())
    segment = other.collect(Clock())
    assert segment.states.shape == (4, 2, 1, 1)
    np.testing.assert_array_equal(segment.states[:2, :, 0, 0], [[0, 1000], [1, 1001]])
