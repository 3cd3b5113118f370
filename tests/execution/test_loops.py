"""Loops: how many updates are made when, what a stop leaves over, and what a resume makes of it."""

from __future__ import annotations

from dataclasses import replace as changed

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlg.execution.adders import Segments, Sequences, Steps
from rlg.execution.cadence import Cadence
from rlg.execution.engines.local import LocalPool
from rlg.execution.loops.batches import BatchLoop
from rlg.execution.loops.replay import ReplayLoop
from rlg.execution.sampling import SteppingSampler
from rlg.execution.trainers import BatchTrainer, FusedTrainer
from rlg.execution.types import Clock
from tests.execution.parts import Counting, Noting, Numbered


def never() -> bool:
    return False


def replay(cadence, envs=2, steps=1, adder=Steps, weights=False, horizon=100):
    sampler = SteppingSampler(Numbered((5,) * envs), Noting(), adder(), steps)
    pool = LocalPool(sampler, wants_weights=weights)
    return ReplayLoop(pool, FusedTrainer(Counting()), cadence, Clock(horizon=horizon))


def started(*args, **kwargs):
    loop = replay(*args, **kwargs)
    loop.start()
    return loop


# -- cadence --------------------------------------------------------------------------------------
def test_a_small_train_freq_with_many_environments_is_not_rounded_away():
    loop = started(Cadence(8, 4, 1), envs=8)
    counts = []
    for _ in range(4):
        before = loop.clock.updates
        loop.iterate(never)
        counts.append(loop.clock.updates - before)
    assert counts == [1, 2, 2, 2]


@given(st.integers(0, 40), st.integers(1, 20), st.integers(1, 5), st.integers(1, 9))
def test_updates_follow_whole_rounds_of_train_freq(starts, train_freq, gradient_steps, stride):
    cadence, clock = Cadence(starts, train_freq, gradient_steps), Clock()
    for _ in range(30):
        clock = clock.after(steps=stride)
        clock = clock.after(updates=cadence.due(clock))
    rounds = len(range(starts, clock.steps + 1, train_freq))
    assert clock.updates == rounds * gradient_steps


def test_nothing_is_due_before_the_start_and_again_after_a_restart():
    cadence = Cadence(10, 5, 2)
    assert [cadence.due(Clock(steps)) for steps in (9, 10, 14, 15)] == [0, 2, 2, 4]
    again = cadence.restarted(Clock(100, 40), 7)
    assert [again.due(Clock(steps, 40)) for steps in (106, 107, 112)] == [0, 2, 4]


def test_schedules_end_with_their_horizon_and_not_with_the_run():
    assert [Clock(steps, 0, 20).progress for steps in (0, 5, 20, 30)] == [0.0, 0.25, 1.0, 1.0]


# -- replay ---------------------------------------------------------------------------------------
def test_figures_keep_their_signs_and_are_means_over_the_updates():
    loop = started(Cadence(2, 2, 2))
    assert loop.iterate(never).train == {"train/loss": -0.5, "train/number": 1.5}
    assert loop.iterate(never).train == {"train/loss": -0.5, "train/number": 3.5}


def test_the_clock_is_the_loops_and_updates_see_it():
    loop = started(Cadence(4, 2, 2))
    for _ in range(3):
        loop.iterate(never)
    clocks = [(clock.steps, clock.updates, clock.horizon) for clock in loop.learner.clocks]
    assert clocks == [(4, 0, 100), (4, 1, 100), (6, 2, 100), (6, 3, 100)]


def test_a_stop_is_asked_for_between_updates_and_the_rest_comes_first_later():
    loop = started(Cadence(2, 2, 5))
    asked = []

    def stop() -> bool:
        asked.append(loop.clock.updates)
        return len(asked) == 2

    iteration = loop.iterate(stop)
    assert not iteration.is_complete
    assert (loop.clock.steps, loop.clock.updates, asked) == (2, 2, [1, 2])
    iteration = loop.iterate(never)
    assert iteration.is_complete
    assert (loop.clock.steps, loop.clock.updates) == (2, 5)
    loop.iterate(never)
    assert (loop.clock.steps, loop.clock.updates) == (4, 10)


def test_a_stop_during_the_last_update_leaves_nothing_over():
    loop = started(Cadence(2, 2, 1))
    assert loop.iterate(lambda: True).is_complete


def test_a_restored_loop_makes_the_updates_that_a_stop_left_over():
    loop = started(Cadence(2, 2, 5))
    loop.iterate(lambda: True)
    other = replay(Cadence(2, 2, 5))
    other.set_state(loop.get_state())
    other.iterate(never)
    assert (other.clock.steps, other.clock.updates, len(other.learner.clocks)) == (2, 5, 4)


def test_updates_that_wait_for_the_first_sequence_are_made_when_it_is_there():
    loop = started(Cadence(2, 2, 1), adder=lambda: Sequences(3))
    updates = []
    for _ in range(4):
        loop.iterate(never)
        updates.append(loop.clock.updates)
    assert updates == [0, 0, 3, 4]


def test_schedules_keep_their_horizon_at_a_resume_unless_another_is_given():
    loop = started(Cadence(2, 2, 1), horizon=100)
    loop.iterate(never)
    state = loop.get_state()
    kept, changed = replay(Cadence(2, 2, 1), horizon=900), replay(Cadence(2, 2, 1), horizon=900)
    kept.set_state(state)
    changed.set_state(state, 500)
    assert (kept.clock.horizon, kept.clock.steps) == (100, 2)
    assert (changed.clock.horizon, changed.clock.steps) == (500, 2)


def test_without_its_memory_a_loop_waits_and_makes_nothing_up():
    loop = started(Cadence(4, 2, 1))
    for _ in range(5):
        loop.iterate(never)
    other = replay(Cadence(4, 2, 1))
    other.set_state(loop.get_state(memory=False))
    made = []
    for _ in range(3):
        before = other.clock.updates
        other.iterate(never)
        made.append(other.clock.updates - before)
    assert made == [0, 1, 1]


def test_another_ratio_at_a_resume_holds_from_there_on():
    loop = started(Cadence(2, 2, 8))
    for _ in range(3):
        loop.iterate(never)
    other = replay(Cadence(2, 4, 1))
    other.set_state(loop.get_state())
    updates = []
    for _ in range(4):
        other.iterate(never)
        updates.append(other.clock.updates - 24)
    assert updates == [1, 1, 2, 2]


@pytest.mark.parametrize("weights", [True, False])
def test_weights_are_published_after_learning_where_somebody_wants_them(weights):
    loop = started(Cadence(4, 2, 3), weights=weights)
    for _ in range(3):
        loop.iterate(never)
    assert loop.pool.sampler.actor.loaded == ([0, 3, 6] if weights else [])


def test_episodes_that_ended_reach_whoever_runs_the_loop():
    loop = started(Cadence(2, 2, 1), envs=2, steps=6)
    iteration = loop.iterate(never)
    assert (iteration.returns, iteration.lengths) == ([5.0, 5.0], [5, 5])


def test_figures_of_a_round_that_a_stop_cut_in_two_are_means_over_all_of_it():
    loop = started(Cadence(2, 2, 4))
    loop.iterate(lambda: True)
    other = replay(Cadence(2, 2, 4))
    other.set_state(loop.get_state())
    # The first learner saw update 1, the second one calls its own 1, 2 and 3.
    assert other.iterate(never).train["train/number"] == (1 + 1 + 2 + 3) / 4


class InCalls(Counting):
    """A learner that makes three updates in one call, if as many are due."""

    def learn_due(self, due, clock):
        result = self.learn(None, clock)
        return changed(result, updates=3 if due >= 3 else 1)


def test_a_call_of_several_updates_counts_as_often_also_where_a_stop_cut_the_round():
    loop = replay(Cadence(2, 2, 4))
    loop.trainer.learner = InCalls()
    loop.start()
    # Calls 1 and 2, of three updates and of one.
    assert loop.iterate(never).train["train/number"] == (3 * 1 + 2) / 4
    assert loop.clock.updates == 4
    assert loop.iterate(lambda: True).is_complete is False
    assert loop.clock.updates == 7
    other = replay(Cadence(2, 2, 4))
    other.set_state(loop.get_state())
    # Call 3 of the first learner with three updates, and the second one's first, with one.
    assert other.iterate(never).train["train/number"] == (3 * 3 + 1) / 4


def test_a_round_of_pretraining_has_100_updates_also_where_calls_make_several():
    loop = replay(Cadence(2, 2, 4, base=250, pretraining=250))
    loop.trainer.learner = InCalls()
    loop.trainer.learner.stored = 1
    loop.start()
    found = []
    for _ in range(3):
        loop.iterate(never)
        found.append((loop.clock.steps, loop.clock.updates))
    assert found == [(0, 102), (0, 204), (0, 250)]


def test_another_ratio_before_the_first_update_waits_for_it_as_long_as_before():
    loop = started(Cadence(10, 2, 1))
    loop.iterate(never)
    other = replay(Cadence(10, 4, 1))
    other.set_state(loop.get_state())
    updates = []
    for _ in range(6):
        other.iterate(never)
        updates.append((other.clock.steps, other.clock.updates))
    assert updates == [(4, 0), (6, 0), (8, 0), (10, 1), (12, 1), (14, 2)]


@pytest.mark.parametrize(
    ("before", "after", "updates"),
    [
        (10, 14, [14, 16]),  # later
        (10, 6, [6, 8, 10, 12, 14, 16]),  # earlier
        (10, 2, [4, 6, 8, 10, 12, 14, 16]),  # earlier than now: at once, with nothing to make up
        (2, 12, [12, 14, 16]),  # learning had begun, and pauses
    ],
)
def test_another_start_of_learning_at_a_resume_holds(before, after, updates):
    loop = started(Cadence(before, 2, 1))
    for _ in range(2):
        loop.iterate(never)
    other = replay(Cadence(after, 2, 1))
    other.set_state(loop.get_state())
    while other.clock.steps < 16:
        other.iterate(never)
    assert [clock.steps for clock in other.learner.clocks] == updates


def test_another_start_of_learning_that_is_past_changes_nothing():
    loop = started(Cadence(2, 2, 5))
    loop.iterate(lambda: True)
    other = replay(Cadence(1, 2, 5))
    other.set_state(loop.get_state())
    other.iterate(never)
    # The updates that a stop left over are still made.
    assert (other.clock.steps, other.clock.updates) == (2, 5)


def test_a_restored_loop_publishes_its_weights_before_anything_is_sampled():
    loop = started(Cadence(2, 2, 1), weights=True)
    loop.iterate(never)
    other = replay(Cadence(2, 2, 1), weights=True)
    other.set_state(loop.get_state())
    assert other.pool.sampler.actor.loaded == [1]


def test_a_loop_that_is_closed_closes_its_environments():
    loop = started(Cadence(2, 2, 1))
    loop.close()
    assert loop.pool.sampler.env.closed


# -- batches --------------------------------------------------------------------------------------
def batches():
    sampler = SteppingSampler(Numbered((5, 5)), Noting(), Segments(), 3)
    pool = LocalPool(sampler, wants_weights=True)
    return BatchLoop(pool, BatchTrainer(Counting()), Cadence(0, 1, 1), Clock(horizon=100))


def test_batches_are_learnt_from_once_each_and_after_they_were_counted():
    loop = batches()
    loop.start()
    iteration = loop.iterate(never)
    loop.iterate(never)
    assert [(clock.steps, clock.updates) for clock in loop.learner.clocks] == [(6, 0), (12, 1)]
    assert iteration.train == {"train/loss": -0.5, "train/number": 1.0}
    assert loop.pool.sampler.actor.loaded == [0, 1, 2]
    assert (loop.clock.steps, loop.clock.updates) == (12, 2)
    # Nothing is left that could be learnt from again.
    assert not loop.trainer.is_ready


def test_episodes_that_ended_inside_of_batches_are_reported_with_them():
    loop = batches()
    loop.start()
    assert loop.iterate(never).lengths == []
    iteration = loop.iterate(never)
    assert (iteration.returns, iteration.lengths) == ([5.0, 5.0], [5, 5])


def test_restored_batches_keep_counters_and_horizon_and_act_by_the_learners_weights():
    loop = batches()
    loop.start()
    loop.iterate(never)
    state = loop.get_state()
    kept, changed = batches(), batches()
    kept.clock = Clock(horizon=900)
    kept.set_state(state)
    changed.set_state(state, 500)
    assert kept.clock == Clock(6, 1, 100)
    assert changed.clock == Clock(6, 1, 500)
    assert kept.pool.sampler.actor.loaded == [1]
    kept.close()
    assert kept.pool.sampler.env.closed
