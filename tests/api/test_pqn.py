"""The PQN agent: what reaches its updates, schedules, refusals, exact resumes, learning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.pqn import PQNAgent
from rlg.api.config.validate import validate
from rlg.api.run import resume, train
from rlg.errors import ComponentError, RLGError
from rlg.execution.types import Batch, Clock
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.tracking.metrics import read_metrics
from tests.api.runs import config, course, killed
from tests.api.test_actor_critic import learnt, segment

MLP = {"type": "mlp", "units": [8], "layer_norm": True}
SGD = {"type": "sgd", "learning_rate": 0.1}
FALLING = {"type": "sgd", "learning_rate": {"type": "linear", "initial": 0.1, "final": 0.0}}


def pqn(actions: Any = None, backend: str = "torch", **options: Any) -> PQNAgent:
    settings = {"network": MLP, "n_steps": 4, "batch_size": 4, "n_epochs": 2, **options}
    made = PQNAgent(Box((3,)), actions or IntBox(3), **settings)
    made.build(BuildOptions(backend))
    return made


# -- what reaches an update -----------------------------------------------------------------------
@pytest.mark.parametrize("actions", [IntBox(3), IntBox(3, shape=(2,))])
@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_choices_and_sub_actions_are_acted_and_learned(actions, backend):
    agent = pqn(actions, backend, optimizer=SGD)
    states = np.float32(np.random.default_rng(0).normal(size=(64, 3)))
    for explore in (True, False):
        action = agent.act(states, None, None, Clock(), explore=explore)
        assert actions.contains(action.env)
        for name, space in agent.columns.items():
            assert space.contains(action.columns[name]), name
    before = agent.get_weights()
    metrics = learnt(agent)
    assert all(np.isfinite(value) for value in metrics.values())
    assert all((agent.get_weights()[path] != x).any() for path, x in before.items())


def test_truncated_steps_bootstrap_from_what_they_led_to_and_terminals_from_nothing():
    agent = pqn(q_lambda=0.0, gamma=0.5, batch_size=8, n_epochs=1, optimizer=SGD)
    part = segment(agent)
    values = agent.executor.execute("value", part.states.reshape(8, 3)).reshape(4, 2)
    targets = part.rewards.copy()
    targets[:3] += 0.5 * values[1:]
    targets[3] += 0.5 * agent.executor.execute("value", part.last_states)
    targets[1, 0] = part.rewards[1, 0]
    targets[1, 0] += 0.5 * agent.executor.execute("value", part.final_states[:1])[0]
    targets[2, 1] = part.rewards[2, 1]
    metrics = agent.learn(Batch({"segment": part}, 8), Clock()).metrics
    found = float(metrics["td_error"] + metrics["q_values"])
    assert found == pytest.approx(float(targets.mean()), abs=1e-5)


def test_steps_that_were_observed_one_by_one_make_the_same_update():
    one, other = pqn(optimizer=SGD), pqn(optimizer=SGD)
    rng = np.random.default_rng(0)
    part = segment(other)
    states = [*part.states, part.last_states]
    for t in range(4):
        actions = one.get_actions(states[t])
        np.testing.assert_array_equal(actions, part.columns["actions"][t])
        one.get_actions(states[t] + rng.normal(), explore=False)  # evaluations change nothing
        following = states[t + 1].copy()
        following[part.ends[1][part.ends[0] == t]] = part.final_states[part.ends[0] == t]
        ends = part.terminals[t], part.truncations[t]
        one.observe(states[t], actions, part.rewards[t], ends[0], following, truncations=ends[1])
    expected, found = other.update(part), one.update()
    assert (one.timesteps, one.updates) == (8, 1)
    assert expected.keys() == found.keys()
    for path, value in other.get_weights().items():
        np.testing.assert_allclose(one.get_weights()[path], value, rtol=1e-5, atol=1e-7)


def test_actors_get_the_policy_and_nothing_else():
    paths = set(pqn().weights(3).arrays)
    assert {path.split("/")[1] for path in paths} == {"policy"}
    assert any("layer-norm" in path for path in paths)


def test_keys_that_differ_from_the_default_reach_the_root():
    values = {"n_epochs": 3, "batch_size": 2, "gamma": 0.9, "q_lambda": 0.8}
    optimizer = {"type": "adam", "learning_rate": 0.01, "max_grad_norm": 3.0}
    made = PQNAgent(Box((3,)), IntBox(3), network=MLP, optimizer=optimizer, n_steps=6, **values)
    root: Any = made.make_root()
    assert {name: getattr(root, name) for name in values} == values
    assert (root.returns.gamma, root.returns.gae_lambda) == (0.9, 0.8)
    minibatches = root.learner.minibatches
    assert (minibatches.n_epochs, minibatches.batch_size) == (3, 2)
    assert (root.optimizer.learning_rate, root.optimizer.max_grad_norm) == (0.01, 3.0)
    assert made.task_steps(5) == 6


# -- schedules ------------------------------------------------------------------------------------
def test_epsilon_and_the_rate_follow_the_clock():
    epsilons = {"exploration_initial_eps": 0.9, "exploration_final_eps": 0.1}
    agent = pqn(optimizer=FALLING, **epsilons, exploration_fraction=0.5)
    times = [Clock(steps, 0, 100) for steps in (0, 25, 50, 100)]
    assert [agent.epsilon_at(clock) for clock in times] == pytest.approx([0.9, 0.5, 0.1, 0.1])
    assert agent.rollout_metrics(times[1]) == {"exploration_rate": pytest.approx(0.5)}
    points = pqn(exploration=[[0.0, 1.0], [1.0, 0.5]])
    assert points.epsilon_at(times[2]) == pytest.approx(0.75)
    part = Batch({"segment": segment(agent)}, 8)
    assert agent.learn(part, times[1]).metrics["learning_rate"] == pytest.approx(0.075)
    before = agent.get_weights()
    agent.learn(part, times[3])
    for path, value in agent.get_weights().items():
        np.testing.assert_array_equal(value, before[path])


def test_as_many_actions_are_random_as_the_clock_says_and_none_in_evaluations():
    agent = pqn(exploration_initial_eps=1.0, exploration_final_eps=0.0, exploration_fraction=1.0)
    states = np.repeat(np.float32([[0.3, -1.0, 2.0]]), 2000, 0)
    greedy = agent.act(states, None, None, Clock(), explore=False).env
    assert len(np.unique(greedy)) == 1
    for steps, share in ((0, 1.0), (40, 0.6), (100, 0.0)):
        acted = agent.act(states, None, None, Clock(steps, 0, 100)).env
        assert np.mean(acted != greedy) == pytest.approx(share * 2 / 3, abs=0.04)


# -- refusals -------------------------------------------------------------------------------------
LSTM = {"type": "lstm", "units": 4, "network": None}
MASKED = Dict(seen=Box((3,)), action_mask=BoolBox(shape=(4,)))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"network": LSTM}, "agent pqn: it learns from shuffled single steps, so it has no recurr"),
        ({"network": {**MLP, "noisy": True}}, "agent pqn: it explores by epsilon, and noisy layer"),
        ({"action_space": FloatBox(-1.0, 1.0)}, "agent pqn: it takes discrete actions, one"),
        ({"observation_space": MASKED}, "has the shape .4,., but the actions are .* Give it the s"),
        ({"q_lambda": 1.5}, "agent pqn: q_lambda must be between 0 and 1, got 1.5"),
        ({"n_steps": 0}, "agent pqn: n_steps must be at least 1, got 0"),
        ({"batch_size": 0}, "agent pqn: batch_size must be at least 1, got 0"),
        ({"exploration_final_eps": 2.0}, "agent pqn: exploration_final_eps must be between 0 and"),
    ],
)
def test_what_does_not_fit_is_refused_in_one_line(changes, message):
    given = {"observation_space": Box((3,)), "action_space": IntBox(3), "network": MLP, **changes}
    with pytest.raises(ComponentError, match=message) as caught:
        PQNAgent(**given)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"agent": {"type": "pqn", "gae_lambda": 0.9}}, "agent.gae_lambda: there is no such key"),
        ({"executor": {"type": "tf_cluster"}}, "pqn"),
        ({"agent": {"type": "pqn", "gamma": 2.0}}, "agent.gamma: must be between 0 and 1, got 2.0"),
    ],
)
def test_wrong_configurations_are_refused(changes, message):
    with pytest.raises(RLGError, match=message):
        train(settings(**changes), "never")


def test_replicas_are_taken():
    found = validate(settings() | {"backend": {"type": "torch", "replicas": 2}})
    assert found["backend"]["replicas"] == 2


# -- runs -----------------------------------------------------------------------------------------
def settings(backend: str = "torch", **changes: Any) -> dict[str, Any]:
    """A short run with everything that has a state of its own."""
    base = config(backend, total_timesteps=512)
    base.pop("memory")
    base["agent"] = {"type": "pqn", "n_steps": 16, "batch_size": 16, "exploration_fraction": 0.5}
    base["network"] = MLP
    base["checkpoint"] = {"interval": 128, "keep": None, "memory": True}
    base["optimizer"] = {"type": "radam"}
    base["optimizer"]["learning_rate"] = {"type": "linear", "initial": 1e-3, "final": 0.0}
    return {**base, **changes}


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_a_resumed_run_equals_one_that_was_not_stopped(backend, tmp_path):
    train(settings(backend), tmp_path)
    expected = course(tmp_path)
    assert resume(tmp_path, checkpoint=128).resumed_at == 128
    assert course(tmp_path) == expected


def test_a_killed_run_with_a_thread_goes_on_exactly(tmp_path):
    changed = settings(executor={"type": "threads"})
    train(changed, tmp_path / "whole")
    killed(changed, tmp_path / "killed", 256)
    resume(tmp_path / "killed")
    assert course(tmp_path / "killed") == course(tmp_path / "whole")


def test_evaluations_change_nothing_about_a_run(tmp_path):
    found = []
    for interval in (0, 128):
        run = settings(evaluation={"interval": interval, "episodes": 2})
        train(run, tmp_path / str(interval))
        found.append(course(tmp_path / str(interval))[1]["model"])
    assert found[0] == found[1]


def test_a_run_says_how_it_explores_and_learns(tmp_path):
    train(settings(), tmp_path)
    names = {name for row in read_metrics(tmp_path / "metrics.jsonl") for name in row}
    assert "rollout/exploration_rate" in names
    figures = ("loss", "td_error", "q_values", "gradient_norm", "learning_rate")
    assert {f"train/{name}" for name in figures} <= names


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_it_learns(backend, tmp_path):
    """A random policy plays 22 on average."""
    agent = {"type": "pqn", "n_steps": 32, "batch_size": 64, "n_epochs": 4, "gamma": 0.98}
    run = settings(backend, total_timesteps=20_480)
    run["agent"] = {**agent, "exploration_fraction": 0.5}
    run["network"] = {**MLP, "units": [64]}
    run["env"]["num_envs"] = 8
    run["optimizer"] = {"type": "radam", "learning_rate": 3e-3}
    run |= {"checkpoint": {"interval": 0}, "evaluation": {"interval": 0, "episodes": 8}}
    run["backend"]["threads"] = 1 if backend == "torch" else None
    run["logger"] = {"interval": 2048, "tensorboard": False, "graph": False}
    train(run, tmp_path)
    assert read_metrics(tmp_path / "metrics.jsonl")[-1]["rollout/ep_rew_mean"] > 70.0
