"""A stop in the middle of sampling: what was sampled is kept, and the rest comes first later."""

from __future__ import annotations

import time
from dataclasses import fields

import numpy as np
import pytest

from rlg.errors import EnvironmentFailure
from rlg.execution.adders import Segments, Steps
from rlg.execution.cadence import Cadence
from rlg.execution.engines.local import LocalPool
from rlg.execution.engines.threads import ThreadPool
from rlg.execution.loops.batches import BatchLoop
from rlg.execution.loops.replay import ReplayLoop
from rlg.execution.sampling import SteppingSampler
from rlg.execution.trainers import BatchTrainer, FusedTrainer
from rlg.execution.types import Clock, Weights, segment_to_tree
from rlg.graph.spaces import FloatBox
from tests.execution.parts import Counting, Noting, Numbered, numbers


def sampler(steps=9, recurrent=True):
    space = FloatBox(shape=(1,)) if recurrent else None
    return SteppingSampler(Numbered((3, 2)), Noting(space), Segments(), steps)


def after(count):
    """Stops when it is asked for the n-th time."""
    asked = []

    def stop():
        asked.append(True)
        return len(asked) == count

    return stop


def assert_equal(found, expected):
    for entry in fields(expected):
        mine, theirs = getattr(found, entry.name), getattr(expected, entry.name)
        if entry.name == "columns":
            mine, theirs = mine["number"], theirs["number"]
        np.testing.assert_array_equal(mine, theirs, entry.name)


class Leaking(Numbered):
    """Its sixth step earns environment 1 no number."""

    def step(self, actions):
        self.taken = getattr(self, "taken", 0) + 1
        step = super().step(actions)
        if self.taken == 6:
            step.rewards[1] = np.nan
        return step


@pytest.mark.parametrize("count", [None, 1, 4])
def test_what_is_not_finite_is_named_by_its_step_also_behind_a_stop(count):
    made = SteppingSampler(Leaking((30, 20)), Noting(None), Segments(), 9)
    made.start()
    if count is not None:
        assert made.sample(Clock(steps=100), after(count)) is None
    line = "numbered: the reward of environment 1 is nan at step 110"
    with pytest.raises(EnvironmentFailure, match=line):
        made.sample(Clock(steps=100))


@pytest.mark.parametrize("recurrent", [True, False])
@pytest.mark.parametrize("count", [1, 4, 8])
def test_a_task_that_was_stopped_and_restored_ends_as_if_it_had_not_been(recurrent, count):
    whole = sampler(recurrent=recurrent)
    whole.start()
    expected = [whole.collect(Clock()) for _ in range(2)]
    made, other = sampler(recurrent=recurrent), sampler(recurrent=recurrent)
    made.start()
    assert made.sample(Clock(), after(count)) is None
    assert len(made.actor.calls) == count
    other.set_state(made.get_state())
    for pool in (made, other):
        for segment in expected:
            assert_equal(pool.sample(Clock())[0], segment)


def test_a_task_can_be_stopped_more_than_once():
    whole, made = sampler(), sampler()
    whole.start()
    made.start()
    assert [made.collect(Clock(), after(2)) for _ in range(4)] == [None] * 4
    assert_equal(made.collect(Clock()), whole.collect(Clock()))


def test_a_task_is_not_asked_to_stop_when_it_is_complete():
    made = sampler(steps=3)
    made.start()
    assert made.sample(Clock(), after(3)) is not None


def loop_of(kind, steps=5):
    adder = Segments() if kind is BatchLoop else Steps()
    made = SteppingSampler(Numbered((5, 5)), Noting(), adder, steps)
    trainer = (BatchTrainer if kind is BatchLoop else FusedTrainer)(Counting())
    pool = LocalPool(made, wants_weights=False)
    loop = kind(pool, trainer, Cadence(0, 10, 1), Clock(horizon=100))
    loop.start()
    return loop


@pytest.mark.parametrize("kind", [BatchLoop, ReplayLoop])
def test_a_stopped_round_counts_and_learns_nothing_before_it_is_complete(kind):
    loop = loop_of(kind)
    iteration = loop.iterate(after(2))
    assert not iteration.is_complete
    assert (loop.clock.steps, loop.clock.updates, iteration.lengths) == (0, 0, [])
    iteration = loop.iterate(lambda: False)
    assert iteration.is_complete
    assert (loop.clock.steps, iteration.lengths) == (10, [5, 5])
    assert loop.clock.updates == (1 if kind is BatchLoop else 2)
    assert len(loop.pool.sampler.actor.calls) == 5


# -- the thread -----------------------------------------------------------------------------------
def rounds(pool, count, first=0):
    """Segments of so many rounds; after round n weights n + 1 are published."""
    found = []
    for number in range(first, first + count):
        ((segment, _),) = pool.ready(Clock())
        pool.publish(Weights(number + 1, {}))
        found.append(segment)
    return found


def threaded(weights=0):
    pool = ThreadPool(sampler())
    pool.publish(Weights(weights, {}))
    return pool


def test_a_task_of_a_thread_that_was_stopped_ends_with_the_weights_that_it_began_with():
    whole, pool, other = threaded(), threaded(), threaded(weights=2)
    whole.start()
    expected = rounds(whole, 5)
    whole.close()
    pool.start()
    found = rounds(pool, 1)
    ((segment, _),) = pool.ready(Clock(), after(4))  # The task behind it is the one that stops.
    pool.publish(Weights(2, {}))
    assert pool.ready(Clock()) == []
    state = pool.get_state()
    assert state["acting"]["version"] == 1
    other.set_state(state)
    for kept in (pool, other):
        for mine, theirs in zip([*found, segment, *rounds(kept, 3, 2)], expected, strict=True):
            assert_equal(mine, theirs)
        kept.close()


def test_a_task_that_is_stopped_while_the_learner_learns_is_part_of_the_state():
    whole, pool, other = threaded(), threaded(), threaded(weights=1)
    whole.start()
    expected = rounds(whole, 3)
    whole.close()
    pool.start()
    ((segment, _),) = pool.ready(Clock(), after(9))
    pool.publish(Weights(1, {}))
    state = pool.get_state()
    pool.close()
    assert len(state["ahead"]["rewards"]) == 1
    other.set_state(state)
    for mine, theirs in zip([segment, *rounds(other, 2, 1)], expected, strict=True):
        assert_equal(mine, theirs)
    other.close()


def test_a_thread_that_is_closed_does_not_sample_to_the_end_of_its_task():
    """As after an error of the learner."""
    whole = sampler(steps=5000)
    whole.start()
    pool = ThreadPool(sampler(steps=5000))
    pool.set_state({**whole.get_state(), "ahead": segment_to_tree(whole.collect(Clock()))})
    step, calls = pool.sampler.env.step, []

    def slow(actions):
        time.sleep(0.01)
        calls.append(actions)
        return step(actions)

    pool.sampler.env.step = slow
    pool.ready(Clock())  # The next task begins.
    pool.close()
    assert len(calls) < 1000
    assert pool.sampler.env.closed


def test_half_a_task_without_a_thread_goes_on_with_one_and_the_learners_weights():
    made = sampler()
    made.start()
    made.collect(Clock(), after(2))
    pool = ThreadPool(sampler())
    pool.set_state(made.get_state())
    pool.publish(Weights(5, {}))
    ((segment, _),) = pool.ready(Clock())
    assert numbers(segment).shape == (9, 2)
    assert pool.sampler.actor.loaded == [5]
    pool.close()
