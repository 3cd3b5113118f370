"""PPO and A2C: what reaches their updates, every kind of action, exact resumes, learning."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.api.agents.actor_critic import A2CAgent, PPOAgent
from rlg.api.agents.agent import BuildOptions
from rlg.api.run import resume, train
from rlg.errors import ComponentError, ExecutionError
from rlg.execution.types import Batch, Clock, Segment
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple, flatten, map_leaves
from rlg.tracking.folder import RunFolder
from rlg.tracking.metrics import read_metrics
from tests.api.runs import config, course, killed

MLP = {"type": "mlp", "units": [8]}
LSTM = {"type": "lstm", "units": 4, "network": None}
SGD = {"type": "sgd", "learning_rate": 0.1}


def ppo(
    actions: Any = None, backend: str = "torch", states: Any = None, **options: Any
) -> PPOAgent:
    settings = {"network": MLP, "n_steps": 4, "batch_size": 4, "n_epochs": 2, **options}
    made = PPOAgent(states or Box((3,)), actions or IntBox(3), **settings)
    made.build(BuildOptions(backend))
    return made


def segment(agent: Any, steps: int = 4, envs: int = 2, seed: int = 0) -> Segment:
    """Random steps, acted by the agent; truncations and terminals at known places."""
    rng = np.random.default_rng(seed)
    states = agent.observation_space.sample(rng, batch=steps * envs)
    states = map_leaves(lambda x: x.reshape(steps, envs, *x.shape[1:]), states)
    hidden = None if agent.state_space is None else agent.state_space.zeros(envs)
    resets = np.zeros((steps, envs), bool)
    resets[0] = True
    rows = []
    for t in range(steps):
        at = map_leaves(lambda x, t=t: x[t], states)
        rows.append(agent.act(at, hidden, resets[t] if hidden is not None else None, Clock()))
        hidden = rows[-1].state
    columns = map_leaves(lambda *parts: np.stack(parts), *(dict(row.columns) for row in rows))
    terminals, truncations = np.zeros((steps, envs), bool), np.zeros((steps, envs), bool)
    truncations[1, 0] = terminals[2, 1] = True
    return Segment(
        states=states,
        columns=columns,
        rewards=rng.normal(size=(steps, envs)).astype("float32"),
        terminals=terminals,
        truncations=truncations,
        last_states=map_leaves(lambda x: x[0], states),
        ends=(np.array([1, 2]), np.array([0, 1])),
        final_states=map_leaves(lambda x: x[3], states),
        first_hidden=None if hidden is None else agent.state_space.zeros(envs),
        final_hidden=hidden,
        last_hidden=hidden,
        resets=None if hidden is None else resets,
    )


def learnt(agent: Any, **options: Any) -> dict[str, Any]:
    return dict(agent.learn(Batch({"segment": segment(agent, **options)}, 8), Clock()).metrics)


# -- actions --------------------------------------------------------------------------------------
ACTIONS = {
    "discrete": IntBox(3),
    "multi-discrete": IntBox([3, 4], shape=(2,)),
    "multi-binary": BoolBox(shape=(3,)),
    "bounded": FloatBox(low=-2.0, high=2.0, shape=(2,)),
    "unbounded": FloatBox(shape=(2,)),
    "dict": Dict(move=FloatBox(low=-1.0, high=1.0, shape=(1,)), shoot=IntBox(2)),
    "tuple": Tuple(IntBox(2), FloatBox(shape=(1,))),
}


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize("kind", ACTIONS)
def test_every_kind_of_action_is_acted_and_learned(kind, backend):
    agent = ppo(ACTIONS[kind], backend, optimizer=SGD)
    states = np.float32(np.random.default_rng(0).normal(size=(64, 3)) * 3)
    assert ACTIONS[kind].contains(agent.get_actions(states))
    assert ACTIONS[kind].contains(agent.get_actions(states, explore=False))
    before = agent.get_weights()
    metrics = learnt(agent)
    assert all(np.isfinite(value) for value in metrics.values())
    assert metrics["policy_loss"] != 0.0
    assert any(np.abs(agent.get_weights()[path] - x).max() > 1e-6 for path, x in before.items())


def test_floats_are_learnt_from_as_they_were_drawn_and_reach_the_environment_inside_its_bounds():
    agent = ppo(ACTIONS["bounded"])
    states = np.float32(np.random.default_rng(0).normal(size=(200, 3)) * 5)
    action = agent.act(states, None, None, Clock())
    assert np.abs(action.env).max() <= 2.0
    assert np.abs(action.columns["actions"]).max() > 2.0
    # What is learnt from lies in the spaces that an update is built for.
    for name, space in agent.columns.items():
        assert space.contains(action.columns[name]), name


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_masked_actions_are_never_chosen(backend):
    states = Dict(seen=Box((3,)), action_mask=BoolBox(shape=(3,)))
    agent = ppo(IntBox(3), backend, states=states)
    rng = np.random.default_rng(1)
    masks = rng.random((300, 3)) < 0.5
    masks[np.arange(300), rng.integers(0, 3, 300)] = True
    seen = {"seen": np.float32(rng.normal(size=(300, 3))), "action_mask": masks}
    for explore in (True, False):
        chosen = agent.get_actions(seen, explore=explore)
        assert masks[np.arange(300), chosen].all()
    if backend != "numpy":
        assert all(np.isfinite(value) for value in learnt(agent).values())


# -- what reaches an update -----------------------------------------------------------------------
@pytest.mark.parametrize("network", [MLP, LSTM])
def test_truncated_steps_bootstrap_from_what_they_led_to_and_terminals_from_nothing(network):
    agent = ppo(network=network)
    part = segment(agent)
    last, bootstrap = agent._values_after(part)
    rows = (part.final_states[:1], *_hidden(agent, part.final_hidden, slice(0, 1)))
    expected = agent.executor.execute("value", *rows)
    np.testing.assert_allclose(bootstrap[1, 0], expected[0], rtol=1e-5)
    bootstrap[1, 0] = 0.0
    assert not bootstrap.any()
    rows = (part.last_states, *_hidden(agent, part.last_hidden, slice(None)))
    np.testing.assert_allclose(last, agent.executor.execute("value", *rows), rtol=1e-5)


def _hidden(agent: Any, hidden: Any, rows: slice) -> tuple[Any, ...]:
    if hidden is None:
        return ()
    picked = map_leaves(lambda x: x[rows], hidden)
    return picked, np.zeros(len(next(iter(flatten(picked).values()))), bool)


def test_rates_and_clip_ranges_follow_the_clock():
    agent = ppo(
        clip_range={"type": "linear", "initial": 0.2, "final": 0.0},
        optimizer={
            "type": "sgd",
            "learning_rate": {"type": "linear", "initial": 0.1, "final": 0.0},
        },
    )
    part = Batch({"segment": segment(agent)}, 8)
    metrics = agent.learn(part, Clock(25, 0, 100)).metrics
    assert metrics["clip_range"] == pytest.approx(0.15)
    assert metrics["learning_rate"] == pytest.approx(0.075)
    before = agent.get_weights()
    agent.learn(part, Clock(100, 0, 100))
    for path, value in agent.get_weights().items():
        np.testing.assert_array_equal(value, before[path])


def test_statistics_move_by_learning_and_not_by_acting_or_evaluation():
    agent = ppo(normalize_observations=True, normalize_rewards=True, num_envs=2)

    def statistics() -> Any:
        return agent.executor.get_variables("statistic")

    before = statistics()
    assert before
    agent.get_actions(np.ones((4, 3), "float32"))
    agent.get_actions(np.ones((4, 3), "float32"), explore=False)
    for path, value in statistics().items():
        np.testing.assert_array_equal(value, before[path])
    learnt(agent)
    assert any(np.any(value != before[path]) for path, value in statistics().items())


def test_actors_get_policy_and_statistics_and_nothing_else():
    agent = ppo(normalize_observations=True, normalize_rewards=True, num_envs=2)
    paths = set(agent.weights(3).arrays)
    assert {path.split("/")[1] for path in paths} == {"policy", "observations"}


ALL_KEYS = {
    "gamma": 0.9,
    "gae_lambda": 0.8,
    "ent_coef": 0.02,
    "vf_coef": 0.7,
    "normalize_observations": True,
    "normalize_rewards": True,
    "num_envs": 3,
}
PPO_KEYS = {
    "n_steps": 6,
    "n_epochs": 3,
    "batch_size": 2,
    "clip_range": 0.3,
    "clip_range_vf": 0.25,
    "target_kl": 0.01,
    "normalize_advantage": False,
}


@pytest.mark.parametrize("network", [MLP, LSTM])
@pytest.mark.parametrize(
    ("kind", "own"), [(PPOAgent, PPO_KEYS), (A2CAgent, {"normalize_advantage": True})]
)
def test_keys_that_differ_from_the_default_reach_the_root(kind, own, network):
    values = {**ALL_KEYS, **own}
    root = kind(Box((3,)), IntBox(3), network=network, **values).make_root()
    assert {name: getattr(root, name) for name in values} == values


def test_masks_that_are_no_single_array_are_refused():
    states = Dict(seen=Box((3,)), action_mask=Dict(move=BoolBox(shape=(3,))))
    with pytest.raises(ComponentError, match="'action_mask' in the observations must be one array"):
        PPOAgent(states, IntBox(3), network=MLP)


def test_updates_know_which_actions_were_masked():
    states = Dict(seen=Box((3,)), action_mask=BoolBox(shape=(3,)))
    agent = ppo(IntBox(3), states=states, optimizer=SGD, n_epochs=1, batch_size=8)
    part = segment(agent)
    # Where nothing has changed since acting, the ratio of probabilities is 1.
    metrics = agent.learn(Batch({"segment": part}, 8), Clock()).metrics
    np.testing.assert_allclose(metrics["approx_kl"], 0.0, atol=1e-6)
    assert metrics["clip_fraction"] == 0.0


# -- the paper's API ------------------------------------------------------------------------------
@pytest.mark.parametrize("network", [MLP, LSTM])
@pytest.mark.parametrize("kind", [PPOAgent, A2CAgent])
def test_steps_that_were_observed_one_by_one_make_the_same_update(kind, network):
    options = {"network": network, "n_steps": 3, "optimizer": SGD}
    rng = np.random.default_rng(0)
    states = np.float32(rng.normal(size=(5, 2, 3)))
    rewards = np.float32(rng.normal(size=(3, 2)))
    agents = [kind(Box((3,)), IntBox(3), **options) for _ in range(2)]
    for agent in agents:
        agent.build(BuildOptions("torch"))
    one, other = agents
    ends = np.zeros((3, 2), bool)
    ends[1, 0] = True
    hidden = None if one.state_space is None else one.state_space.zeros(2)
    resets = np.array([[True, True], [False, False], [True, False]])
    first, rows, after = hidden, [], []
    for t in range(3):
        actions = one.get_actions(states[t])
        one.observe(states[t], actions, rewards[t], ends[t], states[t + 1])
        one.reset(ends[t])
        rows.append(other.act(states[t], hidden, resets[t], Clock()))
        hidden = rows[-1].state
        after.append(hidden)
    part = Segment(
        states=states[:3],
        columns={name: np.stack([row.columns[name] for row in rows]) for name in rows[0].columns},
        rewards=rewards,
        terminals=ends,
        truncations=np.zeros((3, 2), bool),
        last_states=states[3],
        ends=(np.array([1]), np.array([0])),
        final_states=states[2][:1],
        first_hidden=first,
        final_hidden=None if hidden is None else map_leaves(lambda x: x[:1], after[1]),
        last_hidden=hidden,
        resets=resets if hidden is not None else None,
    )
    expected, found = other.update(part), one.update()
    assert expected.keys() == found.keys()
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6, err_msg=name)
    assert (one.timesteps, one.updates) == (6, 1)
    for path, value in other.get_weights().items():
        np.testing.assert_allclose(one.get_weights()[path], value, rtol=1e-5, atol=1e-7)


def test_an_evaluation_between_acting_and_observing_changes_nothing_and_steps_count_once():
    one, other = ppo(optimizer=SGD), ppo(optimizer=SGD)
    states = np.float32(np.random.default_rng(0).normal(size=(3, 2, 3)))
    for agent in (one, other):
        for t in range(2):
            actions = agent.get_actions(states[t])
            if agent is other:
                agent.get_actions(states[t] + 1.0, explore=False)
            agent.observe(states[t], actions, np.float32([1, 2]), [False, False], states[t + 1])
    with pytest.raises(ExecutionError, match=r"observe\(\) without get_actions\(\)"):
        other.observe(states[0], actions, np.float32([1, 2]), [False, False], states[1])
    expected, found = one.update(), other.update()
    np.testing.assert_allclose(found["policy_loss"], expected["policy_loss"], rtol=1e-6)
    np.testing.assert_allclose(found["value_loss"], expected["value_loss"], rtol=1e-6)
    with pytest.raises(ExecutionError, match="nothing was observed"):
        other.update()


def test_observing_without_acting_and_updating_without_steps_are_refused():
    agent = ppo()
    with pytest.raises(ExecutionError, match=r"observe\(\) without get_actions\(\)"):
        agent.observe(np.zeros(3, "float32"), 0, 0.0, False, np.zeros(3, "float32"))
    with pytest.raises(ExecutionError, match="nothing was observed"):
        agent.update()


# -- runs -----------------------------------------------------------------------------------------
def settings(kind: str, backend: str = "torch", **changes: Any) -> dict[str, Any]:
    """A short run with everything that has a state of its own."""
    base = config(backend, total_timesteps=512)
    base.pop("memory")
    agent: dict[str, Any] = {"type": kind, "n_steps": 16}
    if kind == "ppo":
        agent |= {"batch_size": 16, "n_epochs": 2, "clip_range": [[0.0, 0.2], [1.0, 0.1]]}
    agent |= {"normalize_observations": True, "normalize_rewards": True}
    base |= {"agent": agent, "checkpoint": {"interval": 128, "keep": None, "memory": True}}
    base["optimizer"]["learning_rate"] = {"type": "linear", "initial": 1e-3, "final": 0.0}
    return {**base, **changes}


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize("kind", ["ppo", "a2c"])
def test_a_resumed_run_equals_one_that_was_not_stopped(kind, backend, tmp_path):
    train(settings(kind, backend), tmp_path)
    expected = course(tmp_path)
    assert resume(tmp_path, checkpoint=128).resumed_at == 128
    assert course(tmp_path) == expected


@pytest.mark.parametrize("kind", ["ppo", "a2c"])
def test_a_killed_run_with_a_recurrent_network_and_a_thread_goes_on_exactly(kind, tmp_path):
    changed = settings(kind, network=LSTM, executor={"type": "threads"})
    train(changed, tmp_path / "whole")
    killed(changed, tmp_path / "killed", 256)
    resume(tmp_path / "killed")
    assert course(tmp_path / "killed") == course(tmp_path / "whole")


def test_a_run_says_nothing_of_exploration_rates_or_memories(tmp_path):
    train(settings("ppo"), tmp_path)
    names = {name for row in read_metrics(tmp_path / "metrics.jsonl") for name in row}
    assert "rollout/exploration_rate" not in names
    assert {"train/policy_loss", "train/approx_kl", "train/clip_range"} <= names
    assert RunFolder(tmp_path).status.state == "done"


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize(("kind", "steps"), [("ppo", 10_240), ("a2c", 20_480)])
def test_they_learn(kind, steps, backend, tmp_path):
    """A random policy plays 22 on average."""
    agent: dict[str, Any] = {"type": kind, "n_steps": 32 if kind == "ppo" else 5}
    if kind == "ppo":
        agent |= {"batch_size": 64, "n_epochs": 8, "gamma": 0.98, "gae_lambda": 0.8}
    run = settings(kind, backend, agent=agent, total_timesteps=steps)
    run |= {"network": {"type": "mlp", "units": [32], "activation": "tanh"}}
    run["env"]["num_envs"] = 8
    run["optimizer"] = {"type": "adam", "learning_rate": 2e-3, "epsilon": 1e-5}
    run |= {"checkpoint": {"interval": 0}, "evaluation": {"interval": 0, "episodes": 8}}
    run["backend"]["threads"] = 1 if backend == "torch" else None
    run["logger"] = {"interval": 2048, "tensorboard": False, "graph": False}
    train(run, tmp_path)
    assert read_metrics(tmp_path / "metrics.jsonl")[-1]["rollout/ep_rew_mean"] > 70.0
