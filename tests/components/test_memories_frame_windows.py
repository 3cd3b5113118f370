"""Every record of a memory of frames is what was played, whatever happens to batches on the way."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlg.errors import ExecutionError, SpaceError
from rlg.execution.adders import Frames, PrioritizedWindows
from rlg.execution.types import Segment
from rlg.graph import Component, Size, api
from rlg.graph.components.memories.first_priorities import FirstPriorities
from rlg.graph.components.memories.frame_transitions import FrameTransitions
from rlg.graph.components.memories.frames import FrameReplay
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

GAMMA = 0.9
Q_VALUES = Box((3,))


def step_spaces(stack):
    """Frames of 1 x 2 numbers."""
    states = Box((1, 2, stack), "int32")
    return {
        "states": states,
        "actions": IntBox(3),
        "rewards": FloatBox(),
        "terminals": BoolBox(),
        "next_states": states,
        "truncations": BoolBox(),
    }


class Store(Component):
    """What makes records, and the memory that they go into."""

    def __init__(self, n_step, prioritized, memory):
        self.windows = FrameTransitions(n_step, GAMMA, prioritized)
        self.memory = memory

    @api
    def prepare(self, records):
        return self.windows.call(records)

    @api
    def observe(self, records):
        found = self.windows.call(records)
        if self.windows.prioritized:
            self.memory.insert(*found)
        else:
            self.memory.insert(found)

    @api
    def sample(self, n: Size):
        return self.memory.sample(n)

    @api
    def size(self):
        return self.memory.size()


def store(stack, n_step, capacity, num_envs, backend="numpy", prioritized=False):
    adder = Frames(n_step, stack, Q_VALUES if prioritized else None)
    records = adder.spaces(step_spaces(stack))["observe.records"]
    root = Store(n_step, prioritized, FrameReplay(capacity, num_envs, alpha=0.0))
    return ComponentTest(root, {"records": records}, backend)


class Game:
    """Numbers each frame and each step, and keeps all that is played."""

    def __init__(self, seed, stack, n_step):
        self.rng = np.random.default_rng(seed)
        self.stack, self.n_step = stack, n_step
        self.frame = 0
        # By number: state, reward, terminal, truncated, next state, number of the step behind it.
        self.steps = []
        self.by_frame = {}  # The number of the step from the state that has it as its newest.

    def image(self):
        self.frame += 1
        return np.full((1, 2, 1), self.frame, "int32")

    def first(self):
        empty = np.zeros((1, 2, self.stack - 1), "int32")
        return np.concatenate([empty, self.image()], -1)

    def expected(self, number):
        """Of its window: state, sum, discount, whether it is terminal, next state."""
        state, total, discount = self.steps[number][0], 0.0, 1.0
        for _ in range(self.n_step):
            _, reward, terminal, truncated, following, later = self.steps[number]
            total, discount = total + discount * reward, discount * GAMMA
            if terminal or truncated:
                break
            number = later
        return state, total, discount, terminal, following


class Worker:
    """Plays in environments of its own; what it sent lies in `sent`."""

    def __init__(self, game, num_envs, first_env, prioritized=False, by_segments=True):
        self.game, self.num_envs, self.first_env = game, num_envs, first_env
        self.q_values = Q_VALUES if prioritized else None
        self.by_segments, self.lives = by_segments, 0
        self.restart()

    def restart(self):
        options = {"first_env": self.first_env, "start": self.lives * 2**40}
        self.adder = Frames(self.game.n_step, self.game.stack, self.q_values, **options)
        self.states = np.stack([self.game.first() for _ in range(self.num_envs)])
        self.before = [None] * self.num_envs  # The last step in this episode.
        self.lives += 1
        self.sent = []

    def play(self, times, ends):
        """Batches from that many steps, of which a share ends episodes in one or the other way."""
        game, shape = self.game, (times, self.num_envs)
        chance = game.rng.random(shape)
        terminals, truncations = chance < ends, (chance >= ends) & (chance < 1.7 * ends)
        columns = {"actions": np.empty(shape, "int64")}
        if self.q_values is not None:
            columns["q_values"] = game.rng.normal(size=(*shape, 3)).astype("float32")
        rewards = game.rng.normal(size=shape).astype("float32")
        states, final = np.empty((*shape, 1, 2, game.stack), "int32"), []
        for time in range(times):
            states[time] = self.states
            for env in range(self.num_envs):
                ended = terminals[time, env], truncations[time, env]
                columns["actions"][time, env] = len(game.steps) % 3
                final += self.step(env, rewards[time, env], *ended)
        return self.batches(states, columns, rewards, terminals, truncations, final)

    def step(self, env, reward, terminal, truncated):
        game, state = self.game, self.states[env].copy()
        following = np.concatenate([state[..., 1:], game.image()], -1)
        if self.before[env] is not None:
            game.steps[self.before[env]][-1] = len(game.steps)
        self.before[env] = None if terminal or truncated else len(game.steps)
        game.by_frame[int(state[0, 0, -1])] = len(game.steps)
        game.steps.append([state, reward, terminal, truncated, following, None])
        self.states[env] = game.first() if terminal or truncated else following
        return [following] if terminal or truncated else []

    def batches(self, states, columns, rewards, terminals, truncations, final):
        ends = np.nonzero(terminals | truncations)
        final = np.stack(final) if final else states[0, :0]
        last = self.states.copy()
        segment = Segment(states, columns, rewards, terminals, truncations, last, ends, final)
        if self.by_segments:
            found = list(self.adder.add(segment))
        else:
            found = list(self.adder.batches(segment.transitions()))
        self.sent += [batch.records for batch in found]
        return found


def wrong(test, game, n):
    """How many of n sampled records are not what was played, and the numbers of their steps."""
    records, _, _ = test.call("sample", n)
    assert ("discounts" in records) == (game.n_step > 1)
    count, numbers = 0, [game.by_frame[frame] for frame in records["states"][:, 0, 0, -1].tolist()]
    for i, number in enumerate(numbers):
        state, total, discount, terminal, following = game.expected(number)
        count += not (
            np.array_equal(records["states"][i], state)
            and np.array_equal(records["next_states"][i], following)
            and np.isclose(records["rewards"][i], total, atol=1e-5)
            and (game.n_step == 1 or np.isclose(records["discounts"][i], discount))
            and records["terminals"][i] == terminal
            and records["actions"][i] == number % 3
        )
    return count, set(numbers)


def run(test, workers, rounds, ends, trouble, check):
    """Workers play in turn; a share of batches is lost, sent twice or late, or its worker dies."""
    game = workers[0].game
    for round_ in range(rounds):
        worker = workers[game.rng.integers(len(workers))]
        old = worker.sent[-4:]
        for batch in worker.play(int(game.rng.integers(1, 7)), ends):
            event = game.rng.random()
            if event >= trouble / 2:  # Else it is lost.
                test.call("observe", batch.records)
            if trouble / 2 <= event < trouble:
                test.call("observe", batch.records)
        if game.rng.random() < trouble / 2 and old:
            test.call("observe", old[game.rng.integers(len(old))])
        if game.rng.random() < trouble / 2:
            worker.restart()
            worker.sent = old
        check(round_)


@pytest.mark.parametrize("prioritized", [False, True], ids=["dqn", "apex"])
@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize("stack", [1, 4])
def test_ten_thousand_records_are_what_was_played(stack, n_step, prioritized):
    test = store(stack, n_step, 5 * 24, 5, prioritized=prioritized)
    game, seen = Game(stack, stack, n_step), set()
    workers = [Worker(game, 2, 0, prioritized), Worker(game, 3, 2, prioritized, by_segments=False)]

    def check(round_):
        if round_ >= 20 and round_ % 10 == 0:
            count, numbers = wrong(test, game, 250)
            assert count == 0
            seen.update(numbers)

    run(test, workers, 420, 0.1, 0.2, check)
    assert len(seen) > 1200  # 120 frames went round more than ten times.


@pytest.mark.parametrize("n_step", [1, 3])
def test_records_are_what_was_played_on_every_backend(n_step, backend):
    test = store(3, n_step, 2 * 20, 2, backend, prioritized=True)
    game = Game(0, 3, n_step)

    def check(round_):
        if round_ >= 10 and round_ % 10 == 0:
            assert wrong(test, game, 40)[0] == 0

    run(test, [Worker(game, 1, 0, True), Worker(game, 1, 1, True)], 60, 0.2, 0.1, check)


@settings(max_examples=25, deadline=None)
@given(
    stack=st.integers(1, 5),
    n_step=st.integers(1, 4),
    room=st.integers(0, 12),
    prioritized=st.booleans(),
    ends=st.sampled_from([0.0, 0.05, 0.3, 0.55]),
    trouble=st.sampled_from([0.0, 0.1, 0.5]),
    seed=st.integers(0, 10**6),
)
def test_none_is_wrong_in_rings_of_any_size(stack, n_step, room, prioritized, ends, trouble, seed):
    # A segment of six steps has twelve rows at most.
    test = store(stack, n_step, 2 * (stack + 2 * n_step + 12 + room), 2, prioritized=prioritized)
    game = Game(seed, stack, n_step)
    workers = [Worker(game, 1, env, prioritized, by_segments=env == 0) for env in range(2)]

    def check(round_):
        if round_ % 4 == 3 and test.call("size") > 0:
            assert wrong(test, game, 30)[0] == 0

    run(test, workers, 24, ends, trouble, check)


@pytest.mark.parametrize("prioritized", [False, True], ids=["dqn", "apex"])
@pytest.mark.parametrize("n_step", [1, 3])
def test_without_trouble_nothing_is_missing(n_step, prioritized):
    stack, length = 4, 40
    test = store(stack, n_step, 2 * length, 2, prioritized=prioritized)
    game = Game(7, stack, n_step)
    worker = Worker(game, 2, 0, prioritized)
    # Environment and row by frame; how many rows each environment has.
    places, rows = {}, np.zeros(2, "int64")

    def check(round_):
        for batch in worker.sent:
            sent = batch["rows"]
            numbers = sent["before"] + sent["positions"]
            np.maximum.at(rows, sent["env_ids"], numbers + 1)
            frames = zip(sent["frames"][:, 0, 0], sent["env_ids"], numbers, strict=True)
            places.update({int(frame): (env, row) for frame, env, row in frames})
        # Steps that still wait, newest last.
        waiting = len(worker.adder.get_state().get("tail", {"rewards": []})["rewards"])
        worker.sent.clear()
        done = len(game.steps) - 2 * waiting
        # The oldest frame of a stack is still there.
        there = {
            number
            for frame, number in game.by_frame.items()
            for env, row in [places[frame]]
            if number < done and row - (stack - 1) >= rows[env] - length
        }
        if round_ % 10 == 9:
            assert test.call("size") == len(there)
            assert wrong(test, game, 1000) == (0, there)

    run(test, [worker], 60, 0.1, 0.0, check)
    assert min(rows) > 4 * length


@pytest.mark.parametrize("n_step", [1, 3])
def test_windows_and_priorities_are_those_of_whole_states(n_step, backend):
    game, spaces = Game(3, 4, n_step), {**step_spaces(4), "q_values": Q_VALUES}
    worker = Worker(game, 3, 0, prioritized=True)
    segments = PrioritizedWindows(n_step, Q_VALUES)
    other = ComponentTest(
        FirstPriorities(n_step, GAMMA), {"records": Dict(spaces).with_ranks("TB")}, backend
    )
    test = store(4, n_step, 300, 3, backend, prioritized=True)
    add, seen = worker.adder.add, []
    worker.adder.add = lambda segment: [seen.append(segment), *add(segment)][1:]
    for times in (1, 2, 7, 1):
        batches = worker.play(times, 0.25)
        whole = list(segments.add(seen[-1]))
        assert [batch.size for batch in batches] == [batch.size for batch in whole]
        for mine, theirs in zip(batches, whole, strict=True):
            records, priorities = test.call("prepare", mine.records)
            expected, sizes = other.call("call", theirs.records)
            np.testing.assert_array_equal(priorities, sizes)
            assert len(priorities) == mine.size
            for name in ("actions", "rewards", "terminals", "discounts"):
                if name in records:
                    np.testing.assert_array_equal(records[name], expected[name], err_msg=name)
    assert ("discounts" in records) == (n_step > 1)


@pytest.mark.parametrize("prioritized", [False, True], ids=["dqn", "apex"])
def test_an_adder_that_was_saved_at_any_time_continues_exactly(prioritized):
    game = Game(5, 3, 3)
    worker = Worker(game, 2, 0, prioritized)
    for times in (1, 1, 1, 5, 2, 1):
        state = worker.adder.get_state()
        other = Frames(3, 3, worker.q_values)
        other.set_state(state)
        add = worker.adder.add
        worker.adder.add = lambda segment, add=add, other=other: [
            *add(segment),
            *other.add(segment),
        ]
        batches = worker.play(times, 0.3)
        worker.adder.add = add
        half = len(batches) // 2
        for one, two in zip(batches[:half], batches[half:], strict=True):
            assert one.size == two.size
            for part in ("rows", "steps"):
                assert one.records[part].keys() == two.records[part].keys()
                for name, value in one.records[part].items():
                    np.testing.assert_array_equal(value, two.records[part][name], err_msg=name)


def test_each_frame_is_sent_once_and_when_it_is_seen():
    adder = Frames(3, 2)
    frames = np.arange(1, 9, dtype="uint8")[:, None, None] * np.ones((1, 3, 3), "uint8")
    stacks = np.stack([np.concatenate([frames[:1] * 0, frames[:-1]]), frames], -1)[:, None]

    def steps(first, last, truncated=False):
        ends = np.zeros((last - first, 1), bool)
        return {
            "states": stacks[first:last],
            "actions": np.arange(first, last)[:, None],
            "rewards": np.ones((last - first, 1), "float32"),
            "terminals": ends,
            "truncations": ends | truncated,
            "next_states": stacks[first + 1 : last + 1],
        }

    assert list(adder.batches(steps(0, 2))) == []  # A window has three steps.
    (batch,) = adder.batches(steps(2, 3))
    rows = batch.records["rows"]
    assert rows["frames"][:, 0, 0].tolist() == [1, 2, 3, 4]
    assert (rows["frames"].dtype, rows["frames"].flags.c_contiguous) == ("uint8", True)
    assert rows["positions"].tolist() == [0, 1, 2, 3]
    assert rows["ages"].tolist() == [0, 1, 1, 1]
    assert rows["before"].tolist() == [0, 0, 0, 0]
    assert batch.size == 1
    assert batch.records["steps"]["positions"].tolist() == [[0], [1], [2]]
    # A time limit: its last frame, then the next episode's first.
    (batch,) = adder.batches(steps(3, 4, True))
    assert batch.records["rows"]["frames"][:, 0, 0].tolist() == [5]
    (batch,) = adder.batches(steps(6, 7))
    rows = batch.records["rows"]
    assert rows["frames"][:, 0, 0].tolist() == [7, 8]
    assert (rows["positions"].tolist(), rows["before"].tolist()) == ([0, 1], [5, 5])
    assert rows["ages"].tolist() == [0, 1]
    assert batch.records["steps"]["positions"].tolist() == [[2], [3], [5]]
    assert batch.records["steps"]["actions"].tolist() == [[2], [3], [6]]
    with pytest.raises(ExecutionError, match="steps of 2 environments follow steps of 1"):
        list(adder.batches({k: np.repeat(x, 2, 1) for k, x in steps(0, 1).items()}))


def test_steps_that_make_no_record_are_refused(backend):
    test = store(2, 3, 40, 1, backend)
    zeros = np.zeros((2, 1), "int64")
    steps = {"actions": zeros, "env_ids": zeros, "positions": zeros}
    steps |= {"terminals": zeros > 0, "truncations": zeros > 0, "rewards": np.float32(zeros)}
    rows = Dict(frames=Box((1, 2), "int32"), ages=IntBox(2), env_ids=IntBox(1))
    rows = Dict({**rows, "positions": IntBox(1), "before": IntBox(1)}).sample(0, 2)
    with pytest.raises(ExecutionError, match="the segment has 2 steps or fewer"):
        test.call("observe", {"rows": rows, "steps": steps})


@pytest.mark.parametrize("missing", ["rows", "positions", "q_values"])
def test_segments_without_what_records_are_made_of_are_refused(missing):
    space = Frames(3, 2, Q_VALUES).spaces(step_spaces(2))["observe.records"]
    parts = {name: part for name, part in space.items() if name != missing}
    parts["steps"] = Dict({k: v for k, v in parts["steps"].items() if k != missing})
    with pytest.raises(SpaceError, match="it takes a Dict of `rows`, and `steps` with the keys"):
        ComponentTest(FrameTransitions(3, GAMMA, True), {"records": Dict(parts)})
