"""Gradients inside of the graph: by which weights they are, and what the learner makes of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.errors import RLGError
from rlg.graph.components.algorithms.a3c import A3C
from rlg.graph.components.algorithms.fused_a3c import FusedA3C
from rlg.graph.spaces import BoolBox, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest
from tests.execution.parts import Numbered

SEEN = Dict(states=FloatBox(shape=(1,)))
POLICY = {"type": "actor_critic", "network": {"type": "mlp", "units": [4], "activation": "tanh"}}
SGD = {"type": "sgd", "learning_rate": 1e-3}
WEIGHTS = 4 + 4 + (4 * 2 + 2) + (4 + 1)  # network, head, values
FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])


def fused(backend: str, weights: int = WEIGHTS) -> ComponentTest:
    # Environments 1 and 3 are cut, after 3 and 2 steps; 0 and 2 end by themselves.
    env = Numbered((5, 3, 2, 2))
    root = FusedA3C(
        POLICY,
        env.action_space,
        SGD,
        gamma=0.9,
        max_grad_norm=None,
        seen=SEEN,
        n_steps=4,
        num_envs=4,
        queue=3,
        weights=weights,
    )
    root.stepper.attach(env)
    apis = ["rollout", "learn", "publish", "published", "waiting", "close", "value"]
    spaces = {"carry": root.carry_space, "actors": IntBox(), "number": IntBox(ranks="")}
    spaces |= {"learn.count": 2, "states": SEEN["states"]}
    return ComponentTest(root, spaces, backend, apis=apis)


def weights_of(test: ComponentTest) -> dict[str, Any]:
    return dict(test.executor.get_variables(scope=f"{test.component.path}/policy"))


def rolled_out(test: ComponentTest, count: int, actor: int = 0) -> None:
    carry = {"seen": test.component.stepper.start()}
    for _ in range(count):
        carry = test.call("rollout", carry, np.array([actor]))


@FRAMEWORKS
def test_gradients_are_applied_one_by_one_whatever_weights_the_learner_has_by_then(backend):
    alone, together = fused(backend), fused(backend)
    start = weights_of(alone)
    for test in (alone, together):
        rolled_out(test, 2)
    for path, value in weights_of(alone).items():
        np.testing.assert_array_equal(value, start[path], err_msg=path)
    alone.call("learn", 1)
    between = weights_of(alone)
    alone.call("learn", 1)
    together.call("learn", 2)
    one, mean = weights_of(alone), weights_of(together)
    for path, value in start.items():
        # Two steps by single gradients of the same weights go twice as far as one by their mean.
        np.testing.assert_allclose(
            one[path] - value, 2 * (mean[path] - value), rtol=1e-3, atol=1e-5, err_msg=path
        )
    assert any((one[path] != between[path]).any() for path in start)


@FRAMEWORKS
def test_an_update_says_whose_gradients_it_took_and_what_was_played(backend):
    test = fused(backend)
    test.call("publish", np.int64(3))
    rolled_out(test, 2, actor=1)
    assert int(test.call("waiting")) == 2
    metrics, notes, waiting = test.call("learn", 1)
    assert int(waiting) == 1
    assert notes["versions"].tolist() == [3]
    assert notes["actors"].tolist() == [1]
    assert notes["lengths"].tolist() == [2, 2, 3, 2, 2]
    assert notes["returns"].tolist() == [2.0, 2.0, 3.0, 2.0, 2.0]
    assert int(test.call("published")) == 4
    assert set(metrics) == {
        *("loss", "policy_loss", "value_loss", "entropy", "explained_variance", "gradient_norm")
    }
    assert metrics["loss"] == pytest.approx(
        float(metrics["policy_loss"] + 0.5 * metrics["value_loss"]), rel=1e-5
    )
    assert 0.0 < metrics["entropy"] <= np.log(2.0) + 1e-6
    # The second ones are still by version 3.
    assert test.call("learn", 1)[1]["versions"].tolist() == [3]


@FRAMEWORKS
def test_gradients_are_those_of_a3c_on_the_same_steps(backend):
    """Environments are numbered, so that what was seen is known; actions are read of the steps."""
    test = fused(backend)
    env = test.component.stepper._env
    given, step = [], env.step

    def noting(actions: Any) -> Any:
        given.append(np.array(actions))
        return step(actions)

    env.step = noting
    start = weights_of(test)
    rolled_out(test, 1)
    test.call("learn", 1)
    # Rows are steps, columns environments.
    states = np.array(
        [
            [0, 1000, 2000, 3000],
            [1, 1001, 2001, 3001],
            [2, 1002, 2100, 3100],
            [3, 1100, 2101, 3101],
        ],
        np.float32,
    )[..., None]
    ends = np.zeros((2, 4, 4), np.bool_)
    ends[0, [1, 3], 2] = True
    ends[1, [2, 1, 3], [1, 3, 3]] = True
    after = np.array([[4], [1101], [2200], [3200]], np.float32)
    cut = np.array([[1003], [3002], [3102]], np.float32)
    other = ComponentTest(
        A3C(POLICY, IntBox(2), SGD, gamma=0.9, max_grad_norm=None),
        {
            "states": SEEN["states"],
            "batch": Dict(
                states=SEEN["states"],
                actions=IntBox(2),
                **dict.fromkeys(("log_probs", "values", "rewards"), FloatBox()),
                **dict.fromkeys(("terminals", "truncations"), BoolBox()),
                bootstrap_values=FloatBox(),
            ).with_ranks("TB"),
            "last_values": FloatBox(),
        },
        backend,
        apis=["gradients", "value"],
    )
    path = other.component.path
    other.executor.set_variables(
        {k.replace(f"{test.component.path}/", f"{path}/"): v for k, v in start.items()},
        scope=f"{path}/policy",
    )
    bootstrap = np.zeros((4, 4), np.float32)
    bootstrap[[2, 1, 3], [1, 3, 3]] = other.call("value", cut)
    batch = {
        "states": states,
        "actions": np.array(given),
        "log_probs": np.zeros((4, 4), np.float32),
        "values": other.call("value", states.reshape(16, 1)).reshape(4, 4),
        "rewards": states[..., 0],
        "terminals": ends[0],
        "truncations": ends[1],
        "bootstrap_values": bootstrap,
    }
    gradients, _ = other.call("gradients", batch, other.call("value", after))
    assert len(gradients) == 6
    moved = weights_of(test)
    for name, gradient in gradients.items():
        at = f"{test.component.path}/policy/{name}"
        expected = start[at] - 1e-3 * gradient
        np.testing.assert_allclose(moved[at], expected, rtol=1e-4, atol=1e-4, err_msg=name)
        assert np.abs(gradient).sum() > 0, name


def test_gradients_are_by_the_copy_whatever_becomes_of_the_weights_meanwhile():
    found = []
    for is_disturbed in (False, True):
        test = fused("torch")
        env, start = test.component.stepper._env, weights_of(test)
        policy, step = f"{test.component.path}/policy", env.step

        def disturbing(
            actions: Any, test: Any = test, policy: str = policy, step: Any = step
        ) -> Any:
            others = {path: 1e3 * value for path, value in weights_of(test).items()}
            test.executor.set_variables(others, scope=policy)
            return step(actions)

        if is_disturbed:
            env.step = disturbing
        rolled_out(test, 1)
        kept = all(np.array_equal(value, start[path]) for path, value in weights_of(test).items())
        assert kept is not is_disturbed
        test.executor.set_variables(start, scope=policy)
        test.call("learn", 1)
        found.append(weights_of(test))
    for path, value in found[0].items():
        np.testing.assert_array_equal(found[1][path], value, err_msg=path)


def test_another_number_of_weights_is_an_error_of_the_build():
    with pytest.raises(RLGError):
        fused("torch", WEIGHTS - 1)
