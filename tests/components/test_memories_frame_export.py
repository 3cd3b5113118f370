"""Frames that are kept once move between memories, and from workers of Ape-X to shards."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.apex import ApexAgent
from rlg.execution.adders import Frames
from rlg.execution.types import Clock
from rlg.graph.components.memories.frames import FrameReplay
from rlg.graph.spaces import Box, FloatBox, IntBox
from rlg.testing import ComponentTest
from tests.components.test_memories_frame_windows import (
    GAMMA,
    Game,
    Worker,
    run,
    step_spaces,
    store,
    wrong,
)


def larger(n_step):
    spaces = {
        "records": Frames(n_step, 4).stored(step_spaces(4)),
        "priorities": FloatBox(),
        "beta": FloatBox(ranks=""),
    }
    apis = ["insert", "sample", "size"]
    return ComponentTest(FrameReplay(3 * 500, 3, alpha=1.0), spaces, apis=apis)


@pytest.mark.parametrize("n_step", [1, 3])
@pytest.mark.parametrize("chunk", [14, 256])
def test_all_records_move_to_a_memory_of_another_size(n_step, chunk):
    test, moved = store(4, n_step, 3 * 60, 3), larger(n_step)
    game = Game(2, 4, n_step)
    run(test, [Worker(game, 2, 0), Worker(game, 1, 2)], 60, 0.1, 0.2, lambda round_: None)
    memory = test.executor.builder.roots[0].memory
    count = 0
    for records, errors in memory.export(chunk):
        assert len(records["actions"]) == len(errors) > 0
        assert len(records["rows"]["frames"]) <= max(chunk, 15)
        moved.call("insert", records, errors + np.float32(1e-6))
        count += 1
    assert count > 3
    assert moved.call("size") == test.call("size") > 50
    found, there = wrong(moved, game, 2000)
    assert (found, there) == (0, wrong(test, game, 2000)[1])


def test_td_errors_move_along():
    one, other = (larger(1) for _ in range(2))
    game = Game(0, 4, 1)
    (batch,) = Worker(game, 3, 0).play(6, 0.0)
    columns = {k: v.reshape(-1) for k, v in batch.records["steps"].items() if k != "truncations"}
    one.call("insert", {"rows": batch.records["rows"], **columns}, np.arange(1, 19) * 0.5)
    for records, errors in one.executor.builder.roots[0].export():
        other.call("insert", records, errors)
    for test in (one, other):
        sums = test.read("tree/sums")
        np.testing.assert_allclose(
            np.sort(sums[len(sums) // 2 :])[-18:], np.arange(1, 19) * 0.5, rtol=1e-5
        )


def agent(num_envs):
    network = {"type": "stack", "layers": [{"type": "flatten"}, {"type": "dense", "units": 4}]}
    memory = {"type": "frame_replay", "buffer_size": 60 * num_envs, "num_envs": num_envs}
    made = ApexAgent(
        Box((1, 2, 4), "int32"), IntBox(3), network=network, memory=memory, n_step=3, gamma=GAMMA
    )
    made.build(BuildOptions("numpy"), ("preparer", "memory"))
    return made


def test_shards_keep_what_workers_of_ape_x_prepare():
    game = Game(4, 4, 3)
    workers = [Worker(game, 2, 0, prioritized=True) for _ in range(2)]
    actor, shard, small = agent(2), agent(4), agent(1)
    for round_ in range(40):
        for batch in workers[round_ % 2].play(3, 0.1):
            prepared = actor.prepare(batch)
            frames = prepared.records["rows"]["frames"]
            assert (frames.shape[1:], frames.flags.c_contiguous) == ((1, 2), True)
            assert len(prepared.priorities) == prepared.size == batch.size
            shard.insert(prepared, first_env=2 * (round_ % 2))
    held = shard.executor.get_variables("record")["agent/memory/held"]
    assert (held >= 60).all()
    # Into a smaller memory too, of fewer environments: its ring keeps what it can.
    for batch in shard.export():
        small.insert(batch)
    for memory in (shard, small):
        found = SimpleNamespace(
            call=lambda _, n, memory=memory: (memory.sample(n, Clock()).records, None, None)
        )
        assert wrong(found, game, 500)[0] == 0


def present(test, game):
    found, numbers = wrong(test, game, 300)
    assert found == 0
    assert test.call("size") == len(numbers)
    return numbers


def test_records_that_are_dropped_harm_no_others():
    test, game = store(1, 3, 40, 1), Game(0, 1, 3)
    worker = Worker(game, 1, 0)
    (first,) = worker.play(6, 0.0)
    test.call("observe", first.records)
    assert present(test, game) == {0, 1, 2, 3}
    list(worker.play(2, 1.0))  # Two ends, one after the other, get lost.
    (later,) = worker.play(3, 0.0)
    assert later.records["steps"]["positions"].ravel().tolist() == [6, 8, 10, 11, 12]
    test.call("observe", later.records)
    assert present(test, game) == {0, 1, 2, 3, 8}


def test_records_whose_frames_the_same_batch_overwrites_are_dropped():
    test, game = store(1, 3, 7, 1), Game(0, 1, 3)
    worker = Worker(game, 1, 0)
    for times, expected in ((4, {0, 1}), (6, {4, 5, 6, 7})):
        (batch,) = worker.play(times, 0.0)
        test.call("observe", batch.records)
        assert present(test, game) == expected
