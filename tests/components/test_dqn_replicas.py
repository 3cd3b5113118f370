"""Replicas that share the batch of an update: the DQN family learns as it does without them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox

frameworks = pytest.mark.parametrize("backend", ["torch", "tf"])
STATES, ACTIONS = Box((3,)), IntBox(2)
STEPS = {"states": STATES, "actions": ACTIONS, "rewards": FloatBox(), "terminals": BoolBox()}
RECORDS = Dict(**STEPS, next_states=STATES)
SEQUENCES = Dict(
    states=Box((5, 3)),
    resets=BoolBox((5,)),
    actions=IntBox(2, shape=(4,)),
    rewards=Box((4,)),
    terminals=BoolBox((4,)),
    masks=FloatBox(0.0, 1.0, (4,)),
)
NUMBER = FloatBox(ranks="")
Q_POLICY = {
    "type": "q_policy",
    "network": {"type": "mlp", "units": [8]},
    "head": "dueling_head",
}
RECURRENT = {
    "type": "recurrent_q_policy",
    "network": {"type": "lstm", "units": 4, "network": {"type": "mlp", "units": [8]}},
}


def learner(backend: str, replicas: int, kind: str = "dqn", **words: Any) -> GraphExecutor:
    own = ("summaries", "device", "devices", "replica_devices", "define_by_run")
    executor_words = {name: words.pop(name) for name in own if name in words}
    is_recurrent = kind == "recurrent_dqn"
    spec = {
        "type": kind,
        "policy": RECURRENT if is_recurrent else Q_POLICY,
        "action_space": ACTIONS,
        "memory": {"type": "prioritized_replay", "buffer_size": 32},
        "optimizer": {"type": "adam", "learning_rate": 0.01, "max_grad_norm": 1.0},
        **words,
    }
    records = SEQUENCES if is_recurrent else RECORDS
    if kind == "apex_dqn":
        records = Dict(**RECORDS, discounts=FloatBox())
    spaces = {"records": records, "weights": FloatBox(), "learning_rate": NUMBER}
    executor = make_executor(backend, seed=5, replicas=replicas, **executor_words)
    executor.build(make(spec), spaces, apis=["update_from", "sync_target"])
    return executor


def course(executor: GraphExecutor, updates: int = 20) -> list[Any]:
    """What updates from batches of several sizes return, and the weights at the end."""
    space = executor.builder.spaces["records"]
    rng = np.random.default_rng(1)
    found: list[Any] = []
    for update in range(updates):
        size = (16, 7, 16, 1)[update % 4]
        weights = rng.random(size).astype("float32")
        found += executor.execute("update_from", space.sample(update, batch=size), weights)
        if update == 10:
            executor.execute("sync_target")
    executor.close()
    return found + list(executor.get_weights().values())


@cache
def alone(backend: str, kind: str) -> list[Any]:
    return course(learner(backend, 1, kind))


@pytest.mark.parametrize(
    ("backend", "kind", "replicas"),
    [
        ("torch", "dqn", 2),
        ("torch", "dqn", 3),
        ("torch", "apex_dqn", 2),
        ("torch", "recurrent_dqn", 2),
        ("tf", "dqn", 2),
        ("tf", "dqn", 3),
        ("tf", "recurrent_dqn", 2),
        ("tf-graph", "dqn", 2),
    ],
)
def test_replicas_learn_what_one_learns(backend, kind, replicas):
    shared = course(learner(backend, replicas, kind))
    for one, other in zip(alone(backend, kind), shared, strict=True):
        assert one.shape == other.shape
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)


@frameworks
def test_the_whole_update_with_a_memory_is_equal(backend):
    def trained(replicas: int) -> list[Any]:
        spec = {
            "type": "dqn",
            "policy": Q_POLICY,
            "action_space": ACTIONS,
            "memory": {"type": "prioritized_replay", "buffer_size": 32},
            "loss": {"type": "dqn_loss", "huber_delta": 0.5},
        }
        executor = make_executor(backend, seed=2, replicas=replicas)
        spaces = {"records": RECORDS, "beta": NUMBER}
        executor.build(make(spec), spaces, apis=["observe", "update"])
        executor.execute("observe", RECORDS.sample(3, batch=32))
        found = [x for _ in range(20) for x in executor.execute("update", 9, np.float32(0.5))]
        executor.close()
        return found + [
            executor.read(i.variable) for i in executor.builder.binding.variables.values()
        ]

    for one, other in zip(trained(1), trained(2), strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(("backend", "replicas"), [("torch", 2), ("torch", 3), ("tf", 2)])
def test_replicas_repeat_bit_by_bit(backend, replicas):
    first, second = (course(learner(backend, replicas)) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)


@frameworks
@pytest.mark.parametrize("kind", ["dqn", "recurrent_dqn"])
def test_only_gradients_are_replicated(backend, kind):
    plan = learner(backend, 2, kind).plan("update_from").source
    before, inside = plan.split("def replica_")[0], plan.split("def replica_")[1]
    body, after = inside.split("= replicate(")
    found = {
        word: [word in text for text in (before, body, after)]
        for word in ("dense", "optimizer.gradients", "optimizer.descend", ".priorities")
    }
    assert found == {
        "dense": [False, True, False],
        "optimizer.gradients": [False, True, False],
        "optimizer.descend": [False, False, True],
        ".priorities": [False, False, True],
    }
    alone = learner(backend, 1, kind).plan("update_from").source
    assert "replica" not in alone


@frameworks
@pytest.mark.parametrize("replicas", [1, 2])
def test_summaries_of_an_update(backend, replicas):
    executor = learner(backend, replicas, summaries=True)
    _, td_errors, _ = executor.execute("update_from", RECORDS.sample(0, batch=5))
    executor.close()
    assert sorted(executor.summaries) == ["dqn/gradient_norm", "dqn/q_values", "dqn/td_errors"]
    assert executor.summaries["dqn/q_values"].shape == (5, 2)
    np.testing.assert_array_equal(executor.summaries["dqn/td_errors"], td_errors)


class Scaled(Component):
    """Stands for an average over processes."""

    @api
    @graph_fn
    def average(self, gradients: Tensor) -> Tensor:
        return {key: gradient * 0.5 for key, gradient in gradients.items()}


@pytest.mark.parametrize("kind", ["dqn", "recurrent_dqn"])
@pytest.mark.parametrize("replicas", [1, 2])
def test_gradients_are_averaged_over_processes_behind_the_replicas(kind, replicas):
    descent = {"type": "sgd", "learning_rate": 0.1}
    plain = learner("torch", replicas, kind, optimizer=descent)
    halved = learner("torch", replicas, kind, optimizer={**descent, "average": Scaled()})
    space = plain.builder.spaces["records"]
    steps = []
    for executor in (plain, halved):
        before = executor.get_weights()
        executor.execute("update_from", space.sample(0, batch=6))
        executor.close()
        after = executor.get_weights()
        steps.append({path: after[path] - before[path] for path in before})
    assert any(np.abs(step).max() > 1e-4 for step in steps[0].values())
    for path, step in steps[0].items():
        np.testing.assert_allclose(steps[1][path], 0.5 * step, atol=1e-6)
