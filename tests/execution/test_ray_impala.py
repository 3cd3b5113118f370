"""IMPALA on a real Ray cluster: what is bounded, what dies on the way, what moves."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.api.run import resume, train
from rlg.errors import SpecError
from rlg.execution.engines.ray.cluster import Cluster
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.metrics import read_metrics
from tests.execution import test_ray_on_policy as on_policy
from tests.execution.test_ray_on_policy import RAY, never, noted, opened, pid_of
from tests.patience import PATIENCE

IMPALA = {"type": "impala", "n_steps": 8, "batch_rollouts": 2, "queue": 3}

cluster = on_policy.cluster  # a fixture


def settings(network: str = "lstm", **changes: Any) -> Any:
    return on_policy.settings(IMPALA, network, **changes)


@pytest.fixture(scope="module")
def loop(cluster: Cluster) -> Iterator[Any]:
    made = opened(settings())
    yield made
    made.close()


def updates(loop: Any, count: int) -> list[dict[str, float]]:
    """Figures of so many updates."""
    found: list[dict[str, float]] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < count:
        assert time.monotonic() < deadline
        iteration = loop.iterate(never)
        found += [iteration.train] if iteration.train else []
    return found


def test_updates_are_those_of_one_process_from_the_same_rollouts(cluster):
    checked = settings()
    made = opened(checked)
    try:
        seen = noted(made)
        updates(made, 3)
        weights = made.learner.get_weights()
    finally:
        made.close()
    alone = ConfiguredAgents(validate(checked)).make("actor", "learner")
    for number, (batch, clock) in enumerate(seen):
        part = batch.records["segment"]
        assert part.rewards.shape == (8, 6)  # two rollouts of three environments
        assert clock.updates == number
        metrics = alone.learn(batch, clock).metrics
        if part.version == clock.updates:
            assert metrics["approx_kl"] == pytest.approx(0.0, abs=1e-5)
    for path, value in alone.get_weights().items():
        np.testing.assert_array_equal(value, weights[path], err_msg=path)


def test_both_workers_roll_out_and_figures_say_how_old_their_weights_were(loop):
    found = updates(loop, 4)
    while not all(worker["steps"] for worker in loop.pool.workers().values()):
        found += updates(loop, 1)  # One may take longer to start.
    lags = [figures["train/policy_lag"] for figures in found]
    assert max(lags) > 0.0
    assert all(
        lag <= figures["train/policy_lag_max"] for lag, figures in zip(lags, found, strict=True)
    )
    assert 0.0 <= loop.statistics()["time/learner_waiting"] <= 1.0
    clock = loop.clock
    assert clock.steps == 24 * (2 * clock.updates + loop.trainer.waiting)


def test_workers_stop_where_the_queue_is_full(loop):
    """Three rollouts wait, and each worker has one more."""
    updates(loop, 1)
    deadline = time.monotonic() + PATIENCE
    while loop.trainer.waiting < 5:
        assert time.monotonic() < deadline
        for _, batches in loop.pool.ready(loop.clock):
            loop.trainer.absorb(batches)
            loop.clock = loop.clock.after(steps=24)
        assert loop.trainer.waiting + len(loop.pool._tasks) <= 5
    assert loop.pool.ready(loop.clock) == []
    assert not loop.pool._tasks
    loop.iterate(never)  # Makes room for two.
    loop.pool.ready(loop.clock, wait=False)
    assert loop.trainer.waiting + len(loop.pool._tasks) <= 5
    assert loop.pool._tasks


def test_workers_act_by_newer_weights_as_the_learner_learns(loop):
    seen = noted(loop)
    updates(loop, 12)
    versions = [batch.records["segment"].version for batch, _ in seen]
    assert versions[-1] > versions[0]
    assert versions[-1] >= loop.clock.updates - 1 - 6


def test_a_killed_worker_comes_back(loop):
    updates(loop, 2)
    before = loop.pool.restarts
    os.kill(pid_of(loop, 0), signal.SIGKILL)
    deadline = time.monotonic() + PATIENCE
    while loop.pool.restarts == before:
        assert time.monotonic() < deadline
        loop.iterate(never)
    assert loop.pool.restarts == before + 1
    updates(loop, 2)


@pytest.mark.parametrize("order", [("ray", "local"), ("threads", "ray")])
def test_checkpoints_move_between_engines(cluster, order, tmp_path):
    first, second = (RAY if kind == "ray" else {"type": kind} for kind in order)
    run = settings(executor=first, total_timesteps=480)
    run["checkpoint"] = {"interval": 0, "keep": None, "memory": True}
    train(run, tmp_path)
    outcome = resume(tmp_path, changes={"executor": second, "total_timesteps": 960})
    assert outcome.exit_code == 0
    assert outcome.steps >= 960
    saved = CheckpointStore(tmp_path / "checkpoints", read_only=True).load().tree
    clock = saved["counters"]["clock"]
    # Each step was learnt from, or waits, or was left behind by what Ray doesn't keep.
    assert clock["steps"] >= 48 * clock["updates"]
    assert 48 * clock["updates"] >= clock["steps"] - 24 * 10


def test_settings_of_replay_are_refused():
    with pytest.raises(SpecError, match=r"executor.num_shards: this agent has no replay memory"):
        opened(settings(executor={**RAY, "num_shards": 2}))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_learns_on_ray(cluster, tmp_path):
    """A random policy plays 22 on average."""
    run = settings("mlp", total_timesteps=30_720, executor={**RAY, "evaluator": True})
    run["agent"] = {"type": "impala", "n_steps": 16, "batch_rollouts": 1, "queue": 2}
    run["agent"] |= {"gamma": 0.98, "separate": True}
    run |= {"network": {"type": "mlp", "units": [32], "activation": "tanh"}}
    run["env"] = {"name": "cartpole", "num_envs": 8}
    run["optimizer"] = {"type": "adam", "learning_rate": 4e-3, "epsilon": 1e-5}
    run |= {"checkpoint": {"interval": 0}, "evaluation": {"interval": 0, "episodes": 8}}
    run["logger"] = {"interval": 2048, "tensorboard": False, "graph": False}
    train(run, tmp_path)
    rows = [r for r in read_metrics(tmp_path / "metrics.jsonl") if "rollout/ep_rew_mean" in r]
    assert rows[-1]["rollout/ep_rew_mean"] > 70.0
