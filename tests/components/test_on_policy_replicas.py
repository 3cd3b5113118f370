"""Replicas that share the batch of an actor-critic: it learns as it does without them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.graph.registry import make
from rlg.testing.goldens.golden import Golden
from rlg.testing.goldens.on_policy import ON_POLICY

GOLDENS = {golden.name: golden for golden in ON_POLICY}
ARGUMENTS = ("batch", "last_values", "last_states", "hidden")
NAMES = [name for name in GOLDENS if name not in ("minibatches", "return_scaling")]
# Seven environments and three steps: neither the batch nor its last minibatches divide.
SIZES = {"batch": 7, "time": 3}
# What the goldens leave out: masked actions, and minibatches that parts of do not divide.
ODD = {"ppo": {"batch_size": 5}, "ppo-within": {"batch_size": 5, "target_kl": 0.001}}
ODD["pqn"] = {"batch_size": 5}


def learner(
    name: str, backend: str, replicas: int, apis: tuple[str, ...] = ("update",)
) -> GraphExecutor:
    golden: Golden = GOLDENS[name]
    executor = make_executor(backend, seed=3, replicas=replicas)
    spec = {**golden.spec, **ODD.get(name, {})}
    executor.build(make(spec), golden.spaces, apis=list(apis))
    return executor


def inputs(name: str, seed: int) -> tuple[list[Any], dict[str, Any]]:
    spaces = GOLDENS[name].spaces
    values = [spaces[key].sample(seed, **SIZES) for key in ARGUMENTS if key in spaces]
    words: dict[str, Any] = {}
    if seed == 1 and "update.masks" in spaces:
        # At least one action is allowed.
        words["masks"] = _allowed(spaces["update.masks"].sample(0, **SIZES))
    return values, words


def _allowed(masks: Any) -> Any:
    if isinstance(masks, dict):
        return {key: _allowed(value) for key, value in masks.items()}
    masks[..., 0] = True
    return masks


def course(executor: GraphExecutor, name: str) -> list[Any]:
    """What updates return, also from masked actions, and all variables at the end."""
    found: list[Any] = []
    for seed in range(3):
        values, words = inputs(name, seed)
        metrics = executor.execute("update", *values, **words)
        found += [metrics[key] for key in sorted(metrics)]
    executor.close()
    variables = executor.builder.binding.variables.values()
    return found + [executor.read(info.variable) for info in variables]


@cache
def alone(name: str, backend: str) -> list[Any]:
    return course(learner(name, backend, 1), name)


@pytest.mark.parametrize(
    ("name", "backend", "replicas"),
    [
        *((name, "torch", 2) for name in NAMES),
        *(
            (name, "tf", 2)
            for name in ("ppo", "ppo-within", "recurrent_ppo", "a2c", "pqn", "impala")
        ),
        ("ppo", "torch", 3),
        ("ppo", "tf", 3),
        ("ppo", "tf-graph", 2),
        ("recurrent_ppo", "torch", 8),
    ],
)
def test_replicas_learn_what_one_learns(name, backend, replicas):
    shared = course(learner(name, backend, replicas), name)
    for one, other in zip(alone(name, backend), shared, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_allclose(other, one, rtol=1e-5, atol=1e-5)


def test_a_target_for_the_divergence_ends_learning_at_the_same_minibatch():
    steps = []
    for replicas in (1, 2):
        executor = learner("ppo-within", "torch", replicas)
        values, _ = inputs("ppo-within", 0)
        steps.append(float(executor.execute("update", *values)["n_updates"]))
        executor.close()
    assert steps[0] == steps[1]
    assert 0 <= steps[0] < 2 * (21 // 5)


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize("name", ["ppo", "a2c", "recurrent_ppo", "pqn", "impala"])
def test_advantages_and_steps_stay_outside_of_the_replicas(name, backend):
    plan = learner(name, backend, 2).plan("update").source
    before, inside = plan.split("def replica_")
    body, after = inside.split("= replicate(")
    found = {
        word: [word in text for text in (before + after, body)]
        for word in ("optimizer.descend", ".gradients", "policy/network", "learner.normalize")
    }
    assert found == {
        "optimizer.descend": [True, False],
        ".gradients": [False, True],
        "policy/network": [False, True],
        "learner.normalize": [name not in ("pqn", "impala"), False],
    }
    assert "replica" not in learner(name, backend, 1).plan("update").source


def test_gradients_for_a_step_elsewhere_are_those_of_one_replica():
    found = []
    for replicas in (1, 2):
        executor = learner("a3c", "torch", replicas, ("gradients",))
        values, _ = inputs("a3c", 0)
        gradients, metrics = executor.execute("gradients", *values)
        executor.close()
        found.append({**gradients, **metrics})
    assert found[0].keys() == found[1].keys()
    for key, value in found[0].items():
        np.testing.assert_allclose(found[1][key], value, rtol=1e-5, atol=1e-6, err_msg=key)
