"""Ape-X on a real Ray cluster: what arrives, what dies and comes back, what is left behind."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest

from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.api.run import resume, train
from rlg.errors import ExecutionError, SpecError
from rlg.execution.cadence import Cadence
from rlg.execution.engines import open_engine
from rlg.execution.engines.ray.cluster import Cluster
from rlg.execution.evaluation import evaluate
from rlg.execution.types import Clock
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.metrics import read_metrics
from tests.api.runs import config
from tests.execution.parts import child, plugin
from tests.patience import PATIENCE

SETTINGS = {"address": None, "object_store_gb": 0.2}
APEX = {
    "type": "apex",
    "batch_size": 16,
    "learning_starts": 64,
    "train_freq": 8,
    "gradient_steps": 2,
    "target_update_interval": 64,
    "n_step": 3,
}
RAY = {"type": "ray", "num_workers": 2, "num_shards": 2, "task_steps": 8, "pack": 4}


def settings(executor: Any = None, **changes: Any) -> dict[str, Any]:
    memory = {"type": "prioritized_replay", "buffer_size": 600}
    return config() | {"agent": APEX, "memory": memory, "executor": executor or RAY} | changes


def test_a_cluster_that_is_not_there_is_a_mistake_in_the_configuration():
    with pytest.raises(SpecError, match=r"executor.address: no Ray cluster can be reached at '127"):
        Cluster({**SETTINGS, "address": "127.0.0.1:1"}, 1)


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """One for all tests: runs join it, and end only what they have started."""
    made = Cluster(SETTINGS, num_cpus=16)
    yield made
    made.close()


def opened(checked: dict[str, Any]) -> Any:
    checked = validate(checked)
    loop: Any = open_engine(ConfiguredAgents(checked), checked["executor"], 2048)
    loop.start()
    return loop


@pytest.fixture(scope="module")
def loop(cluster: Cluster) -> Iterator[Any]:
    made = opened(settings())
    yield made
    made.close()


def until(loop: Any, reached: Any, seconds: float = PATIENCE) -> None:
    """Rounds until something is so."""
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, (loop.clock, loop.statistics())
        loop.iterate(lambda: False)


def on_actor(loop: Any, actor: Any, function: Any) -> Any:
    return loop.pool.cluster.ray.get(actor.__ray_call__.remote(function))


def pid_of(loop: Any, actor: Any) -> int:
    return int(on_actor(loop, actor, lambda self: os.getpid()))


def test_samplers_run_ahead_of_the_learner_by_the_slack_and_no_further():
    cadence = Cadence(100, 4, 2)  # half an update per step
    # Before the first update the memory may be filled, and the slack is what is under way.
    assert cadence.may_sample(Clock(0, 0), 140, 40)
    assert not cadence.may_sample(Clock(0, 0), 141, 40)
    # Ten updates pay for 20 steps.
    assert cadence.may_sample(Clock(150, 10), 10, 40)
    assert not cadence.may_sample(Clock(150, 10), 11, 40)


def test_workers_and_shards_feed_the_learner_in_the_ratio_of_the_cadence(loop):
    until(loop, lambda: loop.clock.updates >= 60)
    clock = loop.clock
    # Never ahead of what is due; behind by what may be under way, two tasks of each worker, and as
    # much again for shards that start later than workers.
    assert clock.updates <= ((clock.steps - 64) // 8 + 1) * 2
    assert clock.steps <= 64 + clock.updates * 8 / 2 + 2 * (2 * 2 * 32)
    figures = loop.statistics()
    assert figures["ray/worker_restarts"] == figures["ray/shard_restarts"] == 0
    assert 0 <= figures["ray/weights_age_mean"] <= figures["ray/weights_age_max"] <= clock.updates
    # Workers act by newer weights than the first ones, and not by ones that don't exist yet.
    versions = [on_actor(loop, worker, lambda self: self.version) for worker in loop.pool._handles]
    assert 0 < max(versions) <= clock.updates
    assert 0 <= figures["ray/learner_waiting"] <= 1
    assert figures["ray/object_store_mb"] >= 0
    workers = loop.pool.workers()
    assert sum(worker["steps"] for worker in workers.values()) == clock.steps
    assert min(worker["steps"] for worker in workers.values()) > 0
    # What lags behind are the last n steps of each environment, and what is being inserted; on a
    # busy machine that may be all that sampling is ahead of learning.
    assert clock.steps - loop.trainer.stored > 0
    until(loop, lambda: loop.clock.steps - loop.trainer.stored <= 2 * 4 * 3 + 8 * 32)
    assert loop.trainer.memory_nbytes > 600 * 2 * 4 * 4


def test_an_actor_holds_the_policy_alone_a_shard_the_memory_alone_and_neither_a_framework(loop):
    def kinds(self: Any) -> tuple[set[str], set[str], str]:
        agent = self.sampler.actor if hasattr(self, "sampler") else self.memory
        parts = {path.split("/")[1] for path in agent.executor.kinds()}
        return parts, {"torch", "tensorflow"} & set(sys.modules), type(agent.executor).__name__

    for worker in loop.pool._handles:
        assert on_actor(loop, worker, kinds) == ({"policy"}, set(), "NumpyExecutor")
    for shard in loop.trainer.shards:
        assert on_actor(loop, shard, kinds) == ({"memory"}, set(), "NumpyExecutor")


def test_two_workers_share_no_episode_and_no_random_number(loop):
    def drawn(self: Any) -> tuple[list[Any], list[float]]:
        streams = self.sampler.actor.executor.builder.binding.streams
        seeds = [self.sampler.env._episodes.seed_of(row) for row in range(4)]
        return seeds, [float(stream.uniform(())) for stream in streams.values()]

    one, two = (on_actor(loop, worker, drawn) for worker in loop.pool._handles)
    assert one[1]
    assert not {*one[0]} & {*two[0]}
    assert not {*one[1]} & {*two[1]}


def test_each_worker_explores_by_epsilons_of_its_own(loop):
    def epsilons(self: Any) -> list[float]:
        found = self.sampler.actor.epsilons_at(Clock(10**6, 0, 1), 4)
        return [float(value) for value in found]

    found = [value for worker in loop.pool._handles for value in on_actor(loop, worker, epsilons)]
    np.testing.assert_allclose(found, [0.4 ** (1 + 7 * i / 7) for i in range(8)], rtol=1e-5)


def noted(loop: Any, updates: int) -> list[Any]:
    """The samples of so many updates."""
    seen: list[Any] = []
    learn = loop.learner.learn

    def noting(sample: Any, clock: Any) -> Any:
        seen.append(sample)
        return learn(sample, clock)

    loop.learner.learn = noting
    try:
        until(loop, lambda: len(seen) >= updates)
    finally:
        del loop.learner.learn
    return seen


def test_packs_are_dealt_out_by_stride(loop):
    until(loop, lambda: loop.trainer._pack is None)
    seen = noted(loop, 8)
    for first in (0, 4):  # packs of four batches
        pack = [sample.keys % 300 for sample in seen[first : first + 4]]
        assert {rows.shape for rows in pack} == {(16,)}
        # Strata are sorted by row: together the batches are, and each of them spans the memory.
        together = np.stack(pack, 1).reshape(-1)
        assert (np.diff(together) >= 0).all()
        assert len({rows.tobytes() for rows in pack}) == 4


def test_importance_weights_are_those_of_one_memory(loop):
    trainer, known = loop.trainer, dict(loop.trainer._ranges)
    try:
        trainer._ranges = {0: (9.0, 0.5), 1: (3.0, 0.125)}
        beta = loop.learner.beta_at(loop.clock)
        assert trainer._scale(0, loop.clock) == pytest.approx(0.25**beta)
        assert trainer._scale(1, loop.clock) == 1.0
    finally:
        trainer._ranges = known
    for sample in noted(loop, 8):
        assert 0 < sample.weights.min() <= sample.weights.max() <= 1.0 + 1e-6


def test_new_priorities_reach_the_shard_that_drew_the_records(loop):
    sent: list[Any] = []
    send = loop.trainer._send_priorities

    def noting(pack: Any) -> None:
        sent.append(pack)
        send(pack)

    loop.trainer._send_priorities = noting
    try:
        until(loop, lambda: sent)
    finally:
        del loop.trainer._send_priorities
    loop.pool.cluster.get(list(loop.trainer._updates))
    pack = sent[-1]
    keys = np.concatenate([keys for keys, _ in pack.priorities])
    sizes = np.concatenate([values for _, values in pack.priorities])
    last = dict(zip(keys.tolist(), sizes.tolist(), strict=True))  # of equal keys the last one wins

    def leaves(self: Any) -> tuple[Any, Any]:
        memory, rows = self.memory._root.memory, np.arange(300)
        return memory.tree.leaves_of(rows), rows + 300 * memory._generations[rows]

    found, now = on_actor(loop, loop.trainer.shards[pack.shard], leaves)
    there = [key for key in last if now[key % 300] == key]
    assert len(there) > 10
    expected = [(last[key] + 1e-6) ** 0.6 for key in there]
    np.testing.assert_allclose([found[key % 300] for key in there], expected, rtol=1e-4)


def test_shards_share_the_buffer_and_what_they_export_is_all_of_it(loop):
    def capacity(self: Any) -> int:
        return int(self.memory._root.memory.buffer_size)

    assert [on_actor(loop, shard, capacity) for shard in loop.trainer.shards] == [300, 300]
    until(loop, lambda: loop.trainer.stored >= 400)
    batches = loop.trainer.records()["batches"]
    count = sum(len(batch["priorities"]) for batch in batches)
    held = sum(min(fill.stored, 300) for fill in loop.trainer._fills)
    assert held == count == sum(batch["size"] for batch in batches)
    assert all((batch["priorities"] >= 0).all() for batch in batches)
    assert len({float(value) for batch in batches for value in batch["priorities"]}) > 100


def test_an_evaluation_in_another_process_is_that_of_the_weights_it_was_given(loop):
    until(loop, lambda: loop.clock.updates >= 5)  # else they are the initial ones of everybody
    env = {"name": "cartpole", "num_envs": 4}
    mine = evaluate(loop.learner, env, 3, seed=9)
    weights = loop.learner.weights(loop.clock.updates)
    assert not loop.evaluator.is_busy
    loop.evaluator.start(weights, env, 3, 9)
    assert loop.evaluator.is_busy
    theirs = loop.evaluator.poll(PATIENCE)
    assert theirs.returns == mine.returns
    assert not loop.evaluator.is_busy
    # Of other weights the returns may be equal by chance.
    held = on_actor(loop, loop.evaluator.actor, lambda self: self.agent.weights(0).arrays)
    assert held.keys() == weights.arrays.keys()
    for path, value in weights.arrays.items():
        np.testing.assert_array_equal(held[path], value, err_msg=path)
    loop.evaluator.start(weights, env, 3, 9, 5)
    assert loop.evaluator.poll(PATIENCE).lengths == (5, 5, 5)


def test_a_killed_worker_comes_back_with_other_episodes_and_is_counted(loop):
    before = loop.pool.restarts
    steps = loop.clock.steps

    def keys(self: Any) -> tuple[int, list[int]]:
        streams = self.sampler.actor.executor.builder.binding.streams
        generators = [stream._generator for stream in streams.values()]
        words = [g.bit_generator.state["state"]["key"].tolist() for g in generators]
        return self.sampler.env._episodes.seed, words[0]

    first = on_actor(loop, loop.pool._handles[0], keys)
    os.kill(pid_of(loop, loop.pool._handles[0]), signal.SIGKILL)
    until(loop, lambda: loop.pool.restarts == before + 1)
    assert loop.clock.steps > steps
    assert loop.pool.workers()["worker 0"]["restarts"] == 1
    again = on_actor(loop, loop.pool._handles[0], keys)
    assert again[0] != first[0]
    assert again[1] != first[1]


def test_a_killed_shard_is_filled_again_and_learning_goes_on(loop):
    until(loop, lambda: loop.clock.updates >= 20)
    for shard in loop.trainer.shards:
        os.kill(pid_of(loop, shard), signal.SIGKILL)
    updates = loop.clock.updates
    until(loop, lambda: loop.trainer.restarts == 2 and loop.clock.updates >= updates + 40)
    assert loop.trainer.is_ready
    assert not loop.trainer.hungry


def test_nothing_listens_beyond_this_machine(loop):
    ray = loop.pool.cluster.ray
    assert {node["NodeManagerAddress"] for node in ray.nodes()} == {"127.0.0.1"}
    driver = psutil.Process()
    listening = {
        connection.laddr.ip
        for process in [driver, *driver.children(recursive=True)]
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }
    assert listening <= {"127.0.0.1", "::1", "::ffff:127.0.0.1"}


def test_late_priorities_of_a_shard_that_died_are_ignored(loop):
    shard = loop.trainer.shards[0]
    ray = loop.pool.cluster.ray
    keys, values = np.arange(3), np.ones(3, "float32")
    assert ray.get(shard.update_priorities.remote(12345, keys, values)) == 3


def test_frames_of_several_workers_lie_in_rings_of_their_own(cluster):
    network = {"type": "nature_cnn", "features_dim": 8, "convolutions": [[4, 8, 8], [4, 4, 2]]}
    memory = {"type": "frame_replay", "buffer_size": 400, "num_envs": 2, "alpha": 0.6, "beta": 0.4}
    executor = {**RAY, "num_shards": 1, "task_steps": 6, "actor_backend": "numpy"}
    env = {"name": "pong", "num_envs": 2, "num_threads": 1}
    loop = opened(settings(executor, env=env, network=network, memory=memory))
    try:

        def both_sampled() -> bool:
            return all(worker["steps"] >= 24 for worker in loop.pool.workers().values())

        until(loop, lambda: loop.clock.updates >= 8 and both_sampled())
        loop.trainer._look_at_inserts(0, wait=True)
        workers = loop.pool.workers().values()

        def rows(self: Any) -> tuple[list[int], list[int]]:
            found = self.memory.executor.get_variables(("record",))
            names = ("agent/memory/held", "agent/memory/ends")
            held, ends = (found[name].tolist() for name in names)
            return held, ends

        held, ends = on_actor(loop, loop.trainer.shards[0], rows)
        # Two environments of each worker; no process continues the rows of another.
        assert len(held) == 4
        assert min(held) >= 6
        assert len({end >> 31 for end in ends}) == 2
        assert sum(held) >= sum(worker["steps"] for worker in workers) - 4 * 6 * 2
    finally:
        loop.close()


def test_an_environment_that_fails_now_and_then_is_restarted(cluster, tmp_path, monkeypatch):
    broken = plugin(tmp_path, "fragile", "raise RuntimeError('lost')", 60, monkeypatch)
    loop = opened(settings({**RAY, "num_workers": 1, "num_shards": 1}, **broken))
    try:
        until(loop, lambda: loop.pool.restarts >= 4 and loop.clock.updates >= 10)
        actors = [*loop.trainer.shards, loop.evaluator.actor]
        processes = [psutil.Process(pid_of(loop, actor)) for actor in actors]
    finally:
        loop.close()
    # The cluster goes on, but nobody of this run does.
    _, alive = psutil.wait_procs(processes, timeout=PATIENCE)
    assert not alive


def test_an_environment_that_always_fails_ends_the_run_by_its_own_message(
    cluster, tmp_path, monkeypatch
):
    broken = plugin(tmp_path, "hopeless", "raise RuntimeError('no screen')", 1, monkeypatch)
    loop = opened(settings({**RAY, "num_workers": 1, "num_shards": 1}, **broken))
    try:
        with pytest.raises(ExecutionError, match="no screen"):
            until(loop, lambda: False)
    finally:
        loop.close()


def test_an_environment_that_hangs_is_restarted_after_the_time_out(cluster, tmp_path, monkeypatch):
    broken = plugin(tmp_path, "sleepy", "time.sleep(3600)", 60, monkeypatch)
    alone = {**RAY, "num_workers": 1, "num_shards": 1, "timeout": 6.0}
    loop = opened(settings(alone, **broken))
    try:
        until(loop, lambda: loop.pool.restarts >= 1)
    finally:
        loop.close()


def records_of(folder: Path) -> tuple[int, set[bytes]]:
    """The step of the newest checkpoint, and the states of all records in its memory."""
    checkpoint = CheckpointStore(folder / "checkpoints").load(sections=["memory"])
    memory = checkpoint.tree["memory"]
    if "batches" in memory:
        states = np.concatenate([batch["records"]["states"] for batch in memory["batches"]])
    else:
        size = int(memory["agent/memory/size"])
        states = memory["agent/memory/states"][:size]
    return checkpoint.step, {state.tobytes() for state in states}


def test_a_run_moves_between_engines_and_numbers_of_shards_with_its_memory(cluster, tmp_path):
    folder = tmp_path / "run"
    quiet = {"evaluation": {"interval": 0}, "checkpoint": {"interval": 0}, "total_timesteps": 256}
    train(settings(**quiet), folder)
    step, first = records_of(folder)
    assert step >= 256
    assert len(first) > 200
    engines = [
        {**RAY, "num_shards": 1, "num_workers": 3},
        {"type": "local"},
        {**RAY, "num_workers": 1, "num_shards": 1},
    ]
    for number, executor in enumerate(engines):
        total = step + 64  # samplers that run ahead may pass a budget
        changes = {"executor": executor, "total_timesteps": total}
        if number == 2:
            changes["evaluation"] = {"interval": 32, "episodes": 2}
        outcome = resume(folder, changes=changes)
        assert outcome.exit_code == 0
        step, now = records_of(folder)
        assert step >= total
        # The memory is larger than the run: nothing is lost on the way.
        assert first <= now
        first = now
    assert outcome.evaluation is not None
    rows = [row for row in read_metrics(folder / "metrics.jsonl") if "eval/mean_reward" in row]
    assert [row["step"] for row in rows][-1] == step


def test_ctrl_c_saves_a_run_and_leaves_no_process_behind(tmp_path):
    folder = tmp_path / "run"
    with child(settings(total_timesteps=10**7), folder, PATIENCE) as (process, family):
        assert len(family) > 4
        process.send_signal(signal.SIGINT)
        output = process.communicate(timeout=PATIENCE)[0].decode()
    assert process.returncode == 130, output
    _, alive = psutil.wait_procs(family, timeout=PATIENCE)
    assert not alive
    assert CheckpointStore(folder / "checkpoints").latest() is not None
