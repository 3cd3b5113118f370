"""Frames kept once: stacks come back as they were, at no more than 1.2 frames a transition."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import psutil
import pytest

from rlg.errors import BuildError, ComponentError, ExecutionError, SpaceError
from rlg.execution.adders import Frames
from rlg.graph.components.memories.frames import FrameReplay
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

IMAGES = Box((2, 2, 3), "uint8")
STACKS = Dict(states=IMAGES, actions=IntBox(10**6), terminals=BoolBox(), truncations=BoolBox())
ROWS = Dict(
    frames=Box((2, 2), "uint8"),
    env_ids=IntBox(),
    positions=IntBox(),
    before=IntBox(),
    ages=IntBox(3),
)
COLUMNS = Dict(
    actions=IntBox(10**6),
    terminals=BoolBox(),
    truncations=BoolBox(),
    env_ids=IntBox(),
    positions=IntBox(),
)
RECORDS = Dict({"rows": ROWS, **COLUMNS})


def made(backend="numpy", capacity=60, num_envs=3, records=RECORDS, **options):
    spaces = {
        "records": records,
        "priorities": FloatBox(),
        "td_errors": FloatBox(),
        "keys": IntBox(),
        "beta": FloatBox(ranks=""),
    }
    return ComponentTest(FrameReplay(capacity, num_envs, **options), spaces, backend)


class Envs:
    """Environments with numbered frames; each step has an action number of its own."""

    def __init__(self, n: int, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.n, self.frame, self.step = n, 0, 0
        self.stacks = np.stack([self.reset() for _ in range(n)])
        # By action: what the memory was told.
        self.told: dict[int, tuple] = {}
        # Each environment's own, so that they may come in any order.
        self.adders = [Frames(1, 3, first_env=env) for env in range(n)]

    def image(self) -> np.ndarray:
        self.frame = self.frame % 250 + 1
        return np.full((2, 2, 1), self.frame, "uint8")

    def reset(self) -> np.ndarray:
        return np.concatenate([np.zeros((2, 2, 2), "uint8"), self.image()], -1)

    def records(self, ids=None) -> dict:
        ids = range(self.n) if ids is None else ids
        return self.sent(self.steps(ids), ids)

    def sent(self, steps, ids) -> dict:
        """What adders make of one step of some environments: as records, of single steps."""
        batches = []
        for i, env in enumerate(ids):
            step = {name: value[None, i : i + 1] for name, value in steps.items()}
            batches += self.adders[env].batches({**step, "rewards": np.zeros((1, 1), "float32")})
        rows = [batch.records["rows"] for batch in batches]
        columns = [batch.records["steps"] for batch in batches]
        return {
            "rows": {name: np.concatenate([row[name] for row in rows]) for name in ROWS},
            **{name: np.concatenate([x[name][0] for x in columns]) for name in COLUMNS},
        }

    def steps(self, ids) -> dict:
        states = self.stacks[list(ids)]
        following = np.stack([np.concatenate([s[..., 1:], self.image()], -1) for s in states])
        ends = self.rng.random((2, len(states))) < 0.15
        actions = np.arange(self.step, self.step + len(states))
        self.step += len(states)
        for i, env in enumerate(ids):
            self.told[int(actions[i])] = (states[i], following[i], ends[0, i], ends[1, i])
            self.stacks[env] = self.reset() if ends[:, i].any() else following[i]
        return {
            "states": states,
            "actions": actions,
            "terminals": ends[0],
            "truncations": ends[1],
            "next_states": following,
        }


def check(test, envs, n=400):
    sample, rows, weights = test.call("sample", n)
    for i, action in enumerate(sample["actions"]):
        state, following, terminal, truncated = envs.told[int(action)]
        np.testing.assert_array_equal(sample["states"][i], state)
        np.testing.assert_array_equal(sample["next_states"][i], following)
        assert (sample["terminals"][i], sample["truncations"][i]) == (terminal, truncated)
    assert len(weights) == n
    return set(sample["actions"].tolist()), rows


def test_stacks_come_back_as_they_were_however_often_the_memory_wraps(backend):
    test, envs = made(backend, alpha=0.0), Envs(3)
    for step in range(1, 71):
        test.call("insert", envs.records())
        if step in (1, 5, 20, 21, 33, 70):
            actions, _ = check(test, envs)
            assert len(actions) == test.call("size")
    assert test.call("size") > 60 / 1.5  # Episodes of four steps: much of it is last frames.


def test_environments_may_come_one_by_one_and_in_any_order(backend):
    test, envs = made(backend, alpha=0.0), Envs(3, seed=1)
    for step in range(80):
        ids = [[2, 0], [1], [0, 1, 2]][step % 3]
        test.call("insert", envs.records(ids))
        check(test, envs, 50)


def test_a_transition_takes_little_more_than_a_frame():
    test = made(capacity=300, num_envs=3, alpha=0.0)
    envs = Envs(3)
    for _ in range(200):
        records = envs.steps(range(3))
        records["truncations"][:] = False
        records["terminals"][:] = envs.step % 60 == 0  # Episodes of 20 steps.
        for env in range(3):
            if records["terminals"][env]:
                envs.stacks[env] = envs.reset()
            else:
                envs.stacks[env] = records["next_states"][env]
        test.call("insert", envs.sent(records, range(3)))
    assert test.read("frames").shape == (301, 2, 2)
    assert 301 / test.call("size") <= 1.2


def test_the_newest_step_is_sampled_at_once_and_with_its_priority(backend):
    test, envs = made(backend, alpha=1.0, epsilon=1e-9), Envs(3)
    test.call("insert", envs.records(), np.float32([1, 2, 5]))
    _, rows = check(test, envs, 80)
    np.testing.assert_array_equal(np.unique(rows, return_counts=True)[1], [10, 20, 50])
    test.call("update", np.unique(rows), np.float32([2, 2, 4]))
    _, rows = check(test, envs, 80)
    np.testing.assert_array_equal(np.unique(rows, return_counts=True)[1], [20, 20, 40])


def test_an_update_does_not_bring_back_what_was_overwritten():
    test, envs = made(capacity=15), Envs(3)
    for _ in range(4):
        test.call("insert", envs.records())
    old = test.call("sample", 50)[1]
    for _ in range(20):
        test.call("insert", envs.records())
        test.call("update", old, np.ones(50, "float32"))
        check(test, envs, 50)


def test_errors_of_overwritten_transitions_do_not_hit_their_successors(backend):
    test, envs = made(backend, capacity=15, alpha=1.0, epsilon=1e-9), Envs(3)
    for _ in range(4):
        test.call("insert", envs.records(), np.ones(3, "float32"))
    _, old, _ = test.call("sample", 50)
    assert test.call("update", old, np.ones(50, "float32")) == 0
    for _ in range(12):
        test.call("insert", envs.records(), np.ones(3, "float32"))
    before = test.read("tree/sums")
    assert test.call("update", old, np.full(50, 9.0, "float32")) == 50
    np.testing.assert_array_equal(test.read("tree/sums"), before)
    _, new, _ = test.call("sample", 50)
    assert test.call("update", new, np.full(50, 9.0, "float32")) == 0
    assert test.read("tree/sums")[1] > before[1]


def test_a_restored_memory_goes_on_exactly(backend):
    test, envs = made(backend), Envs(3)
    for _ in range(9):
        test.call("insert", envs.records())
    state, records = test.executor.get_state(), envs.records()
    first = test.call("insert", records), test.call("sample", 20)
    other = made("numpy")
    other.executor.set_state(state)
    second = other.call("insert", records), other.call("sample", 20)
    for name, column in first[1][0].items():
        np.testing.assert_array_equal(column, second[1][0][name])
    np.testing.assert_array_equal(first[1][1], second[1][1])


def test_what_can_not_be_done_is_refused_when_it_is_called(backend):
    test, envs = made(backend), Envs(4)
    with pytest.raises(ExecutionError, match=r"frame-replay.sample: the memory is empty"):
        test.call("sample", 3)
    with pytest.raises(ExecutionError, match=r"there are 3 environments, .* Raise num_envs"):
        test.call("insert", envs.records())
    records = envs.records([0, 1])
    for broken in (records["rows"], records):
        ids, broken["env_ids"] = broken["env_ids"], broken["env_ids"] - 1
        with pytest.raises(ExecutionError, match="there are 3 environments"):
            test.call("insert", records)
        broken["env_ids"] = ids
    many = {name: np.repeat(x[:1], 21, 0) for name, x in records["rows"].items()}
    many["positions"] = np.arange(21)
    with pytest.raises(ExecutionError, match=r"more than 20 frames of an environment in one batch"):
        test.call("insert", {**records, "rows": many})


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (STACKS, "frames of stacked images. Give a Dict of `rows` with the keys frames, env_ids"),
        (COLUMNS, "use prioritized_replay for other records"),
        (Dict(rows=ROWS, env_ids=IntBox(), positions=IntBox()), "`terminals`"),
        (Dict({"rows": Dict({**ROWS, "ages": IntBox()}), **COLUMNS}), r"ages: IntBox\(k\)"),
        (Dict({**RECORDS, "ages": IntBox()}), "keys ages"),
        (Dict({**RECORDS, "next_states": IntBox()}), "keys next_states"),
        (Dict({**RECORDS, "more": Dict(a=IntBox())}), "keys more"),
    ],
)
def test_records_without_frames_are_refused(records, message):
    with pytest.raises(SpaceError, match=message):
        made(records=records)


def test_stacks_of_another_size_are_refused():
    assert made(frame_stack=3).read("heads").shape == (3,)
    with pytest.raises(SpaceError, match=r"frame_stack is 4, but .* Give frame_stack 3"):
        made(frame_stack=4)


def test_too_few_frames_are_refused():
    with pytest.raises(ComponentError, match="stacks of 3 need 5 frames for each environment"):
        made(capacity=14, num_envs=3)


def test_the_estimate_counts_each_frame_once(monkeypatch):
    monkeypatch.setattr(psutil, "virtual_memory", lambda: SimpleNamespace(available=10**9))
    rows = Dict({**ROWS, "frames": Box((84, 84), "uint8"), "ages": IntBox(4)})
    records = Dict(rows=rows, terminals=BoolBox(), env_ids=IntBox(), positions=IntBox())
    with pytest.raises(BuildError, match=r"1,000,000 records of 7,057 bytes need 7.1 GB"):
        made(capacity=10**6, records=records)
