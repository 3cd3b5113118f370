"""Suites on Pong: tiny blocks run, stages add up, the model is arithmetic."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rlg.bench.measuring import block_of
from rlg.bench.peers import Opponent
from rlg.bench.results import Row
from rlg.bench.running import Settings
from rlg.bench.suites import apex, clusters, impala, impala_cluster, pong, train, worker
from rlg.bench.suites.devices import SERVE


def test_a_workers_task_and_its_ceiling_run():
    batches = worker.task(2, 6)()
    # Windows of three steps wait for the Q-values of the state behind them.
    assert sum(batch.size for batch in batches) == 2 * (6 - 3)
    assert batches[0].priorities is not None
    pong.bare_worker(2, 3)()


def test_a_worker_has_rows_for_the_ceiling_and_for_rllib(monkeypatch, tmp_path):
    monkeypatch.setenv("RLG_PEERS", str(tmp_path))
    monkeypatch.setattr(worker, "TASKS", ((2, 4),))
    units = []

    def noted(function, **options):
        units.append(options["units"])
        return block_of(function, **options)

    monkeypatch.setattr(worker, "block_of", noted)
    ceiling, rllib = worker.measure(Settings(pairs=1))
    assert units == [8, 8]  # steps of all environments
    assert ceiling.is_ceiling
    assert (len(ceiling.costs), len(ceiling.others)) == (1, 1)
    assert ceiling.settings == {"threads": 1, "frame_skip": 4}
    assert rllib.missing == "no .venv-peers: make bench-peers, then bench=all"


def test_stages_are_all_measured(monkeypatch):
    for name, value in {"NUM_ENVS": 2, "TASK": 8, "STEPS": 16, "STARTS": 16, "BATCH": 4}.items():
        monkeypatch.setattr(apex, name, value)
    found = apex.measure_stages(rounds=2)
    assert list(found) == list(apex.STAGES)
    assert all(len(costs) == 2 for costs in found.values())
    assert all(cost.wall > 0 for name in apex.STAGES[:-1] for cost in found[name])


def test_the_ceiling_of_learning_makes_as_many_updates(monkeypatch):
    from rlg.bench import handwritten_torch

    updates = []
    monkeypatch.setattr(handwritten_torch.DQN, "update", lambda self, n: updates.append(n))
    monkeypatch.setattr(apex, "NUM_ENVS", 3)
    apex.bare(16)()
    assert updates == [32] * (3 * 16 // 8)
    updates.clear()
    apex.bare(20, batch=512, train_freq=30)()
    assert updates == [512] * 2


def test_the_quick_form_says_that_ray_is_left_out():
    (row,) = apex.on_ray(Settings())
    assert row.missing == "left out: --full measures it"
    assert row.settings["replay_ratio"] == 512 / 400


def test_the_targets_of_impala_by_hand_are_those_of_v_trace():
    import torch

    from rlg.bench.handwritten_impala import vtrace

    columns = ([1.0, 2.0], [1.0, 2.0, 4.0], [1.0, 0.5], [0.5, 0.5])
    found = vtrace(*(torch.tensor(column)[:, None] for column in columns))
    # deltas: 1 + 0.5 * 2 - 1 = 1, and 0.5 * (2 + 0.5 * 4 - 2) = 1
    assert found[:, 0].tolist() == [1 + (1 + 0.5 * 1 * 1), 2 + 1]


def test_impala_by_hand_makes_an_update_of_each_batch(monkeypatch):
    from rlg.bench.handwritten_impala import IMPALA

    sizes = []
    update = IMPALA.update

    def noted(self, rollouts):
        sizes.append(sum(rollout.actions.size for rollout in rollouts))
        return update(self, rollouts)

    monkeypatch.setattr(IMPALA, "update", noted)
    monkeypatch.setattr(impala, "N_STEPS", 5)
    monkeypatch.setattr(impala, "BATCH", 80)
    impala.bare(160)()
    assert sizes == [80, 80]


def test_impala_is_measured_beside_its_ceiling(monkeypatch):
    monkeypatch.setattr(impala, "BATCH", 160)
    monkeypatch.setattr(impala, "BLOCK", 160)
    row, ray = impala.measure(Settings(pairs=1, backends=("torch",)))
    assert row.key == ("local engine", "rlg torch", "raw environment + IMPALA by hand")
    assert row.is_ceiling
    assert row.clock == "cpu"
    assert (len(row.costs), len(row.others)) == (1, 1)
    assert ray.missing == "left out: --full measures it"


def test_networks_by_hand_are_those_of_impala():
    import tensorflow as tf

    from rlg.bench.handwritten_convolutions import Network

    # Convolutions, the dense layer, logits and value.
    sizes = {"small": 4_112 + 8_224 + 663_808 + 1_799}
    sizes["large"] = 592 + 4 * 2_320 + 4_640 + 9 * 9_248 + 991_488 + 1_799
    sizes["mlp"] = 9 * 64 + 65 * 64 + 65 * 7
    for kind, size in sizes.items():
        shape = [8] if kind == "mlp" else [84, 84, 4]
        with tf.Graph().as_default():
            tf.compat.v1.set_random_seed(0)  # needed where an earlier test wanted determinism
            network = Network(kind, shape, 6)
            logits, values = network.heads(
                tf.zeros((2, 3, *shape), tf.uint8 if shape[1:] else tf.float32)
            )
            assert sum(v.shape.num_elements() for v in network.variables) == size, kind
        assert (logits.shape, values.shape) == ([2, 3, 6], [2, 3])


def test_targets_by_hand_in_tensorflow_are_those_of_v_trace():
    import tensorflow as tf

    from rlg.bench.handwritten_cluster import vtrace

    columns = ([1.0, 2.0], [1.0, 2.0, 4.0], [1.0, 0.5], [0.5, 0.5])
    found = vtrace(*(tf.constant(column)[:, None] for column in columns))
    assert found[:, 0].numpy().tolist() == [1 + (1 + 0.5 * 1 * 1), 2 + 1]


def test_the_quick_form_leaves_the_cluster_out():
    found = list(impala_cluster.measure(Settings(backends=("tf",))))
    assert {row.missing for row in found} == {"left out: --full measures it"}
    ours = [row.case for row in found if row.ours == "rlg tf-graph" and "Server" in row.opponent]
    cases = ["CartPole, MLP", "Pong, small network", "Pong, large network"]
    cases += ["Doom, small network", "Doom, large network"]
    assert ours == [f"{c}, {n}" for c in cases for n in ("1 actor", "2 actors", "4 actors")]
    facts = {row.case.partition(",")[0]: row.settings["batch_size"] for row in found[:12]}
    assert facts == {"CartPole": 640, "Pong": 320}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("who", [clusters.OURS, *clusters.ACTING])
def test_contenders_on_a_cluster_measure_updates_of_as_many_steps(who):
    words = {"who": who, "case": "cartpole", "actors": 2}
    with Opponent(impala_cluster.PROGRAM, words, command=SERVE) as contender:
        for count in ("1", "2"):
            cost = contender.block(count)
            assert 0.0 < cost.cpu < 0.1
        assert [sample["steps"] for sample in contender.samples] == [12 * 640] * 2


def test_the_model_is_bound_by_the_slowest_part():
    stages = dict.fromkeys(apex.STAGES, 0.0)
    stages |= {"environment": 0.4e-3, "act": 0.6e-3, "learn": 0.2e-3, "sample": 0.05e-3}
    rows = list(apex.modelled(stages))
    assert all(isinstance(row, Row) and row.is_model for row in rows)
    assert [row.case for row in rows][-1] == "256 workers"
    seconds = [row.median("costs") for row in rows]
    assert seconds == pytest.approx([1e-3, 0.25e-3, 0.2e-3, 0.2e-3, 0.2e-3])
    assert rows[1].note == "4,000 steps/s, bound by workers; workers alone 4,000 steps/s"
    assert rows[2].note == "5,000 steps/s, bound by the learner; workers alone 16,000 steps/s"


def test_training_is_measured_beside_all_opponents(monkeypatch, tmp_path):
    monkeypatch.setenv("RLG_PEERS", str(tmp_path))
    monkeypatch.setattr(train, "ours", lambda case, backend: lambda: None)
    by_hand = {train.HAND: lambda: lambda: None}
    monkeypatch.setattr(train, "PPO", replace(train.PPO, by_hand=by_hand))
    rows = list(train.measure(Settings(pairs=1, backends=("torch",))))
    assert [(row.case, row.ours, row.opponent) for row in rows] == [
        ("PPO, CartPole", "rlg torch", "by hand, torch"),
        ("PPO, CartPole", "rlg torch", "Stable-Baselines3"),
        ("PPO, CartPole", "rlg torch", "XuanCe"),
        ("SAC, Pendulum", "rlg torch", "Stable-Baselines3"),
    ]
    assert (len(rows[0].costs), len(rows[0].others)) == (1, 1)
    assert all("make bench-peers" in row.missing for row in rows[1:])
    assert [row.settings["replay_ratio"] for row in rows] == [20, 20, 20, 256]


def test_a_block_of_sac_has_an_update_for_each_step(monkeypatch):
    from rlg.api.agents.sac import SACAgent

    updates = []
    learn = SACAgent.learn_due

    def noted(self, due, clock):
        found = learn(self, due, clock)
        updates.append(found.updates)
        return found

    monkeypatch.setattr(SACAgent, "learn_due", noted)
    agent = {"type": "sac", "batch_size": 4, "learning_starts": 10}
    small = {**train.SAC.config, "agent": agent, "network": {"type": "mlp", "units": [8]}}
    run = train.ours(replace(train.SAC, config=small, steps=20), "torch")
    run()
    assert sum(updates) == 20 - 10 + 1
    run()
    assert sum(updates) == 40 - 10 + 1
