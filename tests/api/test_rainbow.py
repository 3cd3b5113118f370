"""Rainbow's switches on the DQN agent: frameworks agree, noise explores, and what is refused."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.apex import ApexAgent
from rlg.api.agents.dqn import DQNAgent
from rlg.api.composing import compose
from rlg.api.composing.command_line import CommandLine
from rlg.api.config.validate import validate
from rlg.api.run import resume, train
from rlg.errors import ComponentError
from rlg.graph.spaces import Box, IntBox
from tests.api.runs import config, course

MLP = {"type": "mlp", "units": [8], "noisy": True}
RAINBOW: dict[str, Any] = {
    "distributional": "categorical",
    "n_atoms": 11,
    "v_min": -2.0,
    "v_max": 4.0,
    "noisy": True,
    "n_step": 3,
    "exploration_initial_eps": 0.0,
    "exploration_final_eps": 0.0,
}
QUANTILES: dict[str, Any] = {"distributional": "quantile", "n_quantiles": 7}
STATES = np.random.default_rng(2).normal(size=(6, 3)).astype("float32")


def agent(backend: str, cls: type[DQNAgent] = DQNAgent, **options: Any) -> DQNAgent:
    words = {"network": MLP, "memory": {"type": "prioritized_replay", "buffer_size": 64}}
    made = cls(Box((3,)), IntBox(3), batch_size=16, **(words | options))
    made.build(BuildOptions(backend, seed=3))
    return made


def observe(made: DQNAgent) -> None:
    rng = np.random.default_rng(0)
    for _ in range(12):
        states = rng.normal(size=(2, 4, 3)).astype("float32")
        ends = rng.random(4) < 0.2
        actions, rewards = rng.integers(0, 3, 4), rng.random(4).astype("float32")
        made.observe(states[0], actions, rewards, ends, states[1])


@cache
def learned(backend: str, kind: str) -> tuple[list[Any], dict[str, Any]]:
    """Losses and weights after 100 updates with noise, priorities and windows."""
    made = agent(backend, **(RAINBOW if kind == "rainbow" else {**QUANTILES, "noisy": True}))
    observe(made)
    losses = []
    for number in range(100):
        losses.append(made.update()["loss"])
        if number % 10 == 9:
            made.executor.execute("sync_target")
    return losses, made.get_weights()


@pytest.mark.parametrize("kind", ["rainbow", "quantiles"])
def test_frameworks_take_the_same_course(kind):
    (losses, weights), (others, expected) = learned("tf", kind), learned("torch", kind)
    np.testing.assert_allclose(losses, others, rtol=1e-4, atol=1e-5)
    for path, value in expected.items():
        np.testing.assert_allclose(weights[path], value, rtol=1e-3, atol=1e-4, err_msg=path)
    assert min(losses[-5:]) < losses[0]


def test_updates_learn_the_sizes_of_noise():
    weights, before = learned("torch", "rainbow")[1], agent("torch", **RAINBOW).get_weights()
    sigmas = [path for path in weights if "/policy/" in path and "sigma" in path]
    assert len(sigmas) == 6  # One layer of the network, two streams of the head.
    assert all(np.abs(weights[path] - before[path]).max() > 1e-4 for path in sigmas)


@pytest.mark.parametrize("options", [RAINBOW, {**QUANTILES, "noisy": True}, {"noisy": True}])
def test_noise_explores_and_evaluation_has_none(options):
    quiet = {"exploration_initial_eps": 0.0, "exploration_final_eps": 0.0}
    made = agent("torch", **{**options, **quiet})
    states = np.repeat(STATES, 10, 0)
    greedy = [made.get_actions(states, explore=False) for _ in range(20)]
    assert all(np.array_equal(greedy[0], actions) for actions in greedy)
    explored = [made.get_actions(states) for _ in range(20)]
    assert not all(np.array_equal(explored[0], actions) for actions in explored)
    # One draw for the whole batch: equal states have equal actions.
    assert all((a.reshape(6, 10) == a[::10, None]).all() for a in explored)


@pytest.mark.parametrize("options", [RAINBOW, QUANTILES])
def test_an_actor_on_numpy_acts_as_one_on_torch(options):
    one, other = agent("numpy", **options), agent("torch", **options)
    for _ in range(5):
        np.testing.assert_array_equal(one.get_actions(STATES), other.get_actions(STATES))


@pytest.mark.parametrize("options", [RAINBOW, QUANTILES])
def test_ape_x_has_priorities_of_one_unit(options):
    made = agent("torch", ApexAgent, **{**options, "n_step": 1})
    observed = made.act(STATES, None, None, made.clock).columns["q_values"]
    assert observed.shape == (6, 3)
    records = {
        "states": STATES,
        "actions": np.zeros(6, np.int64),
        "rewards": np.ones(6, "float32"),
        "terminals": np.ones(6, bool),
        "next_states": STATES,
        "discounts": np.ones(6, "float32"),
    }
    _, td_errors, priorities = made.executor.execute("update_from", records)
    np.testing.assert_allclose(priorities, np.abs(td_errors))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"v_min": 3.0, "v_max": 1.0, "distributional": "categorical"}, "v_min must be below"),
        ({"network": {"type": "lstm", "units": 4}, **QUANTILES}, "learn plain Q-values"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    with pytest.raises(ComponentError, match=message):
        agent("torch", **options)


def test_configurations_are_those_of_the_papers():
    def composed(*words: str) -> dict[str, Any]:
        return validate(compose.composed(CommandLine(list(words))), loads_backend=False)

    rainbow = composed("agent=rainbow", "env=acrobot")
    assert rainbow["memory"]["type"] == "prioritized_replay"
    chosen = {k: rainbow["agent"][k] for k in ("type", "double", "dueling", "noisy", "n_step")}
    assert chosen == {"type": "dqn", "double": True, "dueling": True, "noisy": True, "n_step": 3}
    assert rainbow["agent"]["distributional"] == "categorical"
    assert rainbow["agent"]["exploration_initial_eps"] == 0.0
    # All dense layers explore, not those of the head alone.
    assert rainbow["network"] == {**composed("env=acrobot")["network"], "noisy": True}
    assert composed("agent=rainbow", "env=pong")["network"]["type"] == "nature_cnn"
    quantiles = composed("agent=qr_dqn", "env=acrobot")["agent"]
    assert (quantiles["distributional"], quantiles["double"]) == ("quantile", False)
    tuned = composed("agent=rainbow", "env=cartpole")
    assert (tuned["agent"]["v_max"], tuned["agent"]["n_step"]) == (100.0, 10)
    assert (tuned["network"]["units"], tuned["network"]["noisy"]) == ([128, 128], True)


def test_a_run_with_a_thread_resumes_exactly(tmp_path):
    changes = {
        "total_timesteps": 384,
        "memory": {"type": "prioritized_replay", "buffer_size": 300},
        "network": {"type": "mlp", "units": [16], "noisy": True},
        "executor": {"type": "threads"},
        "evaluation": {"interval": 0},
    }
    settings = config(**changes)
    settings["agent"] = {**settings["agent"], **RAINBOW}
    whole, half = tmp_path / "whole", tmp_path / "half"
    train(settings, whole)
    train({**settings, "total_timesteps": 192, "schedule_timesteps": 384}, half)
    resume(half, changes={"total_timesteps": 384})
    step, found, _ = course(half)
    assert step == course(whole)[0]
    expected = course(whole)[1]
    names = ("model", "memory", "streams", "environments")
    assert {name: found[name] for name in names} == {name: expected[name] for name in names}
