"""Rollouts for a learner that nobody waits for: in turn, and with a sampler thread."""

from __future__ import annotations

import threading
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from rlg.execution.adders import Segments
from rlg.execution.cadence import Cadence
from rlg.execution.engines.local import LocalPool
from rlg.execution.engines.threads import RolloutThread
from rlg.execution.loops import actor_learner
from rlg.execution.loops.actor_learner import ActorLearnerLoop
from rlg.execution.sampling import SteppingSampler
from rlg.execution.trainers import QueueTrainer
from rlg.execution.types import Batch, Clock, LearnResult, Weights
from tests.execution.parts import Counting, Noting, Numbered, numbers
from tests.patience import PATIENCE


class Learning(Counting):
    """Learns from two rollouts of three steps; keeps what it saw."""

    batch_rollouts, queue = 2, 3

    def task_steps(self, num_envs: int) -> int:
        return 3

    def learn(self, batch: Batch | None, clock: Clock) -> LearnResult:
        assert batch is not None
        self.batches.append(batch)
        return super().learn(batch, clock)

    @property
    def seen(self) -> list[Any]:
        return [numbers(batch.records["segment"]) for batch in self.batches]


def sampler(env: Any = None) -> SteppingSampler:
    return SteppingSampler(env or Numbered((5, 50)), Noting(), Segments(), 3)


def never() -> bool:
    return False


def in_turn(*, wants_weights: bool = False) -> Any:
    trainer = QueueTrainer(Learning())  # type: ignore[arg-type]
    pool = LocalPool(sampler(), wants_weights=wants_weights)
    loop = ActorLearnerLoop(pool, trainer, Cadence(0, 1, 1), Clock(horizon=100))
    loop.start()
    return loop


def threaded(env: Any = None) -> Any:
    trainer = QueueTrainer(Learning())  # type: ignore[arg-type]
    pool = RolloutThread(sampler(env), trainer)
    loop = ActorLearnerLoop(pool, trainer, Cadence(0, 1, 1), Clock(horizon=100))
    loop.start()
    return loop


def settled(pool: Any) -> None:
    """Waits until the thread has nothing more to do."""
    deadline = time.monotonic() + PATIENCE
    while not all(task.done() for task in pool._tasks):
        assert time.monotonic() < deadline
        time.sleep(0.001)


# -- in turn --------------------------------------------------------------------------------------
def test_an_update_learns_from_rollouts_side_by_side_in_the_order_of_arrival():
    loop = in_turn()
    iteration = loop.iterate(never)
    assert loop.clock == Clock(12, 1, 100)
    assert iteration.is_complete
    assert loop.learner.clocks == [Clock(12, 0, 100)]
    (seen,) = loop.learner.seen
    # Two environments, first three steps and next three: side by side, not behind each other.
    np.testing.assert_array_equal(
        seen, [[0, 1000, 3, 1003], [1, 1001, 4, 1004], [2, 1002, 100, 1005]]
    )
    loop.iterate(never)
    assert loop.learner.seen[1][0].tolist() == [101, 1006, 104, 1009]


def test_in_turn_rollouts_are_of_the_newest_weights():
    for wants_weights in (False, True):
        loop = in_turn(wants_weights=wants_weights)
        found = [loop.iterate(never).train for _ in range(3)]
        assert [figures["train/policy_lag"] for figures in found] == [0.0, 0.0, 0.0]
        assert [figures["train/queue"] for figures in found] == [0.0, 0.0, 0.0]
        versions = [batch.records["segment"].version for batch in loop.learner.batches]
        assert versions == [0, 1, 2]


def test_a_stop_between_two_rollouts_loses_neither_steps_nor_updates():
    whole = in_turn()
    for _ in range(3):
        whole.iterate(never)
    loop = in_turn()
    loop.iterate(never)
    stops = iter([False, False, False, True, True])  # in the middle of the second rollout
    iteration = loop.iterate(lambda: next(stops))
    assert not iteration.is_complete
    assert iteration.train == {}
    assert loop.clock == Clock(18, 1, 100)
    state = loop.get_state()
    assert len(state["rollouts"]) == 1
    resumed = in_turn()
    resumed.set_state(state)
    resumed.learner.batches = loop.learner.batches
    resumed.iterate(never)
    assert resumed.clock == Clock(24, 2, 100)
    resumed.iterate(never)
    for found, expected in zip(resumed.learner.seen, whole.learner.seen, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_rollouts_of_another_length_are_left_behind_at_a_resume():
    loop = in_turn()
    loop.sample(type(loop.iterate(never))(), never)
    state = loop.get_state()
    assert len(state["rollouts"]) == 1
    other = in_turn()
    other.learner.task_steps = lambda num_envs: 4
    other.set_state(state)
    assert other.trainer.waiting == 0
    other.learner.task_steps = lambda num_envs: 3
    other.set_state(state)
    assert other.trainer.waiting == 1


def test_the_share_of_time_that_a_learner_waits_is_told_and_begins_anew(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(actor_learner, "time", SimpleNamespace(perf_counter=lambda: now[0]))
    loop = in_turn()

    def slow(function: Any, seconds: float) -> Any:
        def call(*args: Any) -> Any:
            now[0] += seconds
            return function(*args)

        return call

    loop.pool.sampler.collect = slow(loop.pool.sampler.collect, 0.1)  # two in an update
    loop.learner.learn = slow(loop.learner.learn, 0.6)
    loop.iterate(never)
    assert loop.statistics()["time/learner_waiting"] == pytest.approx(0.25)
    now[0] += 0.8
    loop.iterate(never)
    assert loop.statistics()["time/learner_waiting"] == pytest.approx(0.125)


# -- a thread -------------------------------------------------------------------------------------
def test_a_thread_stops_where_the_queue_is_full_and_the_learner_takes_the_oldest():
    loop = threaded()
    try:
        loop.pool._send(Clock())
        settled(loop.pool)
        assert len(loop.pool._tasks) == 4  # the queue, and the one that the thread is at
        iteration = loop.iterate(never)
        assert loop.clock == Clock(24, 1, 100)
        assert iteration.train["train/queue"] == 2.0
        settled(loop.pool)
        assert len(loop.pool._tasks) == 0  # nothing more before the learner has taken some
        loop.iterate(never)
        settled(loop.pool)
        assert loop.trainer.waiting + len(loop.pool._tasks) <= 4
        seen = np.concatenate(
            [part.reshape(3, 2, 2)[:, :, 1].T.ravel() for part in loop.learner.seen]
        )
        assert seen.tolist() == list(range(1000, 1012))
    finally:
        loop.close()


def test_rollouts_begin_with_the_newest_weights_and_say_how_old_they_are():
    loop = threaded()
    try:
        loop.pool._send(Clock())  # Four rollouts by version 0.
        settled(loop.pool)
        found = [loop.iterate(never).train]
        loop.pool._send(loop.clock)  # Room for two more, by version 1.
        settled(loop.pool)
        found += [loop.iterate(never).train for _ in range(2)]
        assert [figures["train/policy_lag"] for figures in found] == [0.0, 1.0, 1.0]
        versions = [batch.records["segment"].version for batch in loop.learner.batches]
        assert versions == [0, 0, 1]
        # Loaded at the start of a rollout, and only once.
        assert loop.pool.sampler.actor.loaded == sorted(set(loop.pool.sampler.actor.loaded))
    finally:
        loop.close()


def test_a_learner_that_has_enough_does_not_wait():
    gate = threading.Event()

    class Slow(Numbered):
        def step(self, actions: Any) -> Any:
            if self._at[1].max() >= 12:
                gate.wait(PATIENCE)
            return super().step(actions)

    loop = threaded(Slow((50, 50)))
    try:
        deadline = time.monotonic() + PATIENCE
        while loop.clock.updates < 2:
            assert time.monotonic() < deadline
            loop.iterate(never)
        begun = time.monotonic()
        iteration = loop.iterate(never)  # Nothing comes: half a second, and nothing is learnt.
        assert time.monotonic() - begun > 0.3
        assert iteration.is_complete
        assert iteration.train == {}
        assert loop.clock == Clock(24, 2, 100)
    finally:
        gate.set()
        loop.close()


def test_a_threads_state_loses_no_steps_and_fits_one_process():
    loop = threaded()
    try:
        loop.pool._send(loop.clock)
        settled(loop.pool)
        loop.iterate(never)
        loop.pool._send(loop.clock)  # Two that are not handed over.
        settled(loop.pool)
        state = loop.get_state()
        assert len(state["sampled"]) == 2
        learnt = 2 * len(loop.learner.batches)
    finally:
        loop.close()
    known = len(state["rollouts"]) + len(state["sampled"])
    half = 0 if state["ahead"] is None else len(state["ahead"]["rewards"])
    at = state["environments"]["at"]
    assert 3 * (learnt + known) + half == at[1, 1]  # the steps of the second environment
    assert loop.clock.steps == 6 * (learnt + len(state["rollouts"]))
    for resumed in (in_turn(), threaded()):
        try:
            resumed.set_state(state)
            resumed.learner.batches = list(loop.learner.batches)
            deadline = time.monotonic() + PATIENCE
            while len(resumed.learner.batches) < 5:
                assert time.monotonic() < deadline
                resumed.iterate(never)
            seen = np.concatenate(
                [part.reshape(3, 2, 2)[:, :, 1].T.ravel() for part in resumed.learner.seen[:5]]
            )
            assert seen.tolist() == list(range(1000, 1030))
        finally:
            resumed.close()


def test_a_thread_goes_on_after_a_checkpoint():
    loop = threaded()
    try:
        for _ in range(4):
            loop.iterate(never)
            loop.get_state()
        deadline = time.monotonic() + PATIENCE
        while loop.clock.updates < 6:
            assert time.monotonic() < deadline
            loop.iterate(never)
        seen = np.concatenate(
            [part.reshape(3, 2, 2)[:, :, 1].T.ravel() for part in loop.learner.seen]
        )
        assert seen[:36].tolist() == list(range(1000, 1036))
    finally:
        loop.close()


def test_an_environment_that_fails_in_the_thread_fails_the_run():
    class Failing(Numbered):
        def step(self, actions: Any) -> Any:
            raise RuntimeError("the pole broke")

    loop = threaded(Failing((5, 5)))
    try:
        with pytest.raises(RuntimeError, match="the pole broke"):
            loop.iterate(never)
    finally:
        loop.close()


def test_a_thread_that_is_closed_leaves_its_environments_closed():
    loop = threaded()
    env = loop.pool.sampler.env
    loop.iterate(never)
    loop.close()
    assert env.closed
    assert not any(thread.name.startswith("sampler") for thread in threading.enumerate())


def test_weights_are_published_after_each_update():
    loop = threaded()
    try:
        published: list[int] = []
        loop.pool.publish = lambda weights: published.append(weights.version)
        while loop.clock.updates < 2:
            loop.iterate(never)
        assert published == [1, 2]
        assert isinstance(loop.trainer.weights(3), Weights)
    finally:
        loop.close()
