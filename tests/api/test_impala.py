"""The IMPALA agent: what reaches its updates, exact resumes in one process, threads, learning."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from rlg.api.agents.actor_critic import ActorCriticAgent
from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.agents.impala import IMPALAAgent
from rlg.api.config.validate import validate
from rlg.api.run import resume, train
from rlg.errors import ComponentError, RLGError
from rlg.execution.engines import open_engine
from rlg.execution.types import Batch, Clock, Segment
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple, map_leaves
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.metrics import read_metrics
from tests.api.runs import config, course, killed
from tests.api.test_actor_critic import segment
from tests.api.test_stopped_sampling import interrupt

MLP = {"type": "mlp", "units": [8]}
LSTM = {"type": "lstm", "units": 4, "network": MLP}
SGD = {"type": "sgd", "learning_rate": 0.1}


def impala(
    actions: Any = None, backend: str = "torch", states: Any = None, **options: Any
) -> IMPALAAgent:
    settings = {"network": MLP, "n_steps": 4, **options}
    made = IMPALAAgent(states or Box((3,)), actions or IntBox(3), **settings)
    made.build(BuildOptions(backend))
    return made


def learnt(agent: Any, part: Any = None) -> dict[str, Any]:
    part = segment(agent) if part is None else part
    return dict(agent.learn(Batch({"segment": part}, 8), Clock()).metrics)


ACTIONS = {
    "discrete": IntBox(3),
    "multi-discrete": IntBox([3, 4], shape=(2,)),
    "multi-binary": BoolBox(shape=(3,)),
    "bounded": FloatBox(low=-2.0, high=2.0, shape=(2,)),
    "dict": Dict(move=FloatBox(low=-1.0, high=1.0, shape=(1,)), shoot=IntBox(2)),
    "tuple": Tuple(IntBox(2), FloatBox(shape=(1,))),
}


@pytest.mark.parametrize("network", [MLP, LSTM])
@pytest.mark.parametrize("kind", ACTIONS)
def test_every_kind_of_action_is_acted_and_learned(kind, network):
    agent = impala(ACTIONS[kind], network=network, optimizer=SGD)
    states = np.float32(np.random.default_rng(0).normal(size=(64, 3)) * 3)
    assert ACTIONS[kind].contains(agent.get_actions(states))
    assert ACTIONS[kind].contains(agent.get_actions(states, explore=False))
    before = agent.get_weights()
    part = segment(agent)
    if agent.state_space is not None:  # It was acted as if all rewards were zero.
        part = replace(part, rewards=np.zeros_like(part.rewards))
    metrics = learnt(agent, part)
    assert all(np.isfinite(value) for value in metrics.values())
    assert metrics["approx_kl"] == pytest.approx(0.0, abs=1e-5)
    assert any(np.abs(agent.get_weights()[path] - x).max() > 1e-6 for path, x in before.items())


@pytest.mark.parametrize("network", [MLP, LSTM])
def test_truncated_steps_bootstrap_from_what_they_led_to_and_terminals_from_nothing(network):
    agent = impala(network=network)
    part = segment(agent)
    bootstrap = agent._values_of_truncated(part)
    rows = [part.final_states[:1]]
    if part.final_hidden is not None:
        rows += [map_leaves(lambda x: x[:1], part.final_hidden), np.zeros(1, bool)]
    expected = agent.executor.execute("value", *rows)
    np.testing.assert_allclose(bootstrap[1, 0], expected[0], rtol=1e-5)
    assert bootstrap[1, 0] != 0.0
    bootstrap[1, 0] = 0.0
    assert not bootstrap.any()


def test_updates_know_which_actions_were_masked():
    states = Dict(seen=Box((3,)), action_mask=BoolBox(shape=(3,)))
    agent = impala(states=states)
    assert learnt(agent)["approx_kl"] == pytest.approx(0.0, abs=1e-6)


def test_what_acting_is_learnt_from_has_no_values():
    agent = impala()
    assert list(agent.columns) == ["actions", "log_probs"]
    assert set(agent.act(np.zeros((2, 3), "float32"), None, None, Clock()).columns) == {
        "actions",
        "log_probs",
    }


KEYS = {
    "gamma": 0.9,
    "ent_coef": 0.02,
    "vf_coef": 0.7,
    "reward_clip": None,
    "rho_bar": 2.0,
    "c_bar": 0.9,
    "pg_rho_bar": 1.5,
    "clip_range": 0.3,
    "n_epochs": 2,
    "normalize_advantage": True,
}


@pytest.mark.parametrize("network", [MLP, LSTM])
def test_keys_that_differ_from_the_default_reach_the_root(network):
    root = IMPALAAgent(Box((3,)), IntBox(3), network=network, **KEYS).make_root()
    assert {name: getattr(root, name) for name in KEYS} == KEYS


def test_recurrent_networks_see_the_action_and_reward_before_unless_they_are_told_not_to():
    both, alone = impala(network=LSTM), impala(network=LSTM, previous_inputs=False)
    assert set(both.state_space.keys()) == {"policy", "actions", "rewards"}
    assert set(alone.state_space.keys()) == {"c", "h"}
    shape = {
        agent.get_weights()["agent/policy/network/layer/kernel"].shape[0] for agent in (both, alone)
    }
    assert shape == {8 + 3 + 1 + 4, 8 + 4}  # features, three choices, a reward, and what it says


@pytest.mark.parametrize("network", ["lstm", {"type": "gru", "units": 4, "network": None}])
def test_recurrent_networks_without_features_of_their_own_take_states_as_they_are(network):
    agent = impala(network=network)
    assert all(np.isfinite(value) for value in learnt(agent).values())


def test_a_queue_that_holds_no_whole_batch_is_refused():
    with pytest.raises(ComponentError, match=r"queue=3 is less than batch_rollouts=4"):
        IMPALAAgent(Box((3,)), IntBox(3), network=MLP, queue=3)


def test_steps_that_were_observed_one_by_one_make_the_same_update():
    """Also with the rewards that a recurrent policy sees."""
    one, other = (impala(network=LSTM, optimizer=SGD, n_steps=3) for _ in range(2))
    rng = np.random.default_rng(0)
    states = np.float32(rng.normal(size=(4, 2, 3)))
    rewards, ends = np.float32(rng.normal(size=(3, 2))), np.zeros((3, 2), bool)
    ends[1, 0] = True
    hidden, resets = other.state_space.zeros(2), np.ones((3, 2), bool)
    resets[1:] = ends[:2]
    first, rows = hidden, []
    for t in range(3):
        actions = one.get_actions(states[t])
        one.observe(states[t], actions, rewards[t], ends[t], states[t + 1])
        one.reset(ends[t])
        rows.append(other.act(states[t], hidden, resets[t], Clock()))
        np.testing.assert_array_equal(rows[-1].env, actions)
        hidden = {**rows[-1].state, "rewards": rewards[t]}
    found = one.update()
    expected = other.update(
        Segment(
            states=states[:3],
            columns={n: np.stack([row.columns[n] for row in rows]) for n in rows[0].columns},
            rewards=rewards,
            terminals=ends,
            truncations=np.zeros((3, 2), bool),
            last_states=states[3],
            ends=(np.array([1]), np.array([0])),
            final_states=states[2][:1],
            first_hidden=first,
            final_hidden=map_leaves(lambda x: x[:1], hidden),
            last_hidden=hidden,
            resets=resets,
        )
    )
    for name, value in expected.items():
        np.testing.assert_allclose(found[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


# -- runs -----------------------------------------------------------------------------------------
def settings(backend: str = "torch", **changes: Any) -> dict[str, Any]:
    base = config(backend, total_timesteps=512)
    base.pop("memory")
    base["agent"] = {"type": "impala", "n_steps": 8, "batch_rollouts": 2, "queue": 3}
    base["checkpoint"] = {"interval": 128, "keep": None, "memory": True}
    base["optimizer"]["learning_rate"] = {"type": "linear", "initial": 1e-3, "final": 0.0}
    return {**base, **changes}


def test_a_killed_recurrent_run_goes_on_exactly(tmp_path):
    changed = settings(network=LSTM)
    train(changed, tmp_path / "whole")
    killed(changed, tmp_path / "killed", 256)
    resume(tmp_path / "killed")
    assert course(tmp_path / "killed") == course(tmp_path / "whole")


def test_a_run_that_was_stopped_between_and_inside_of_rollouts_goes_on_exactly(
    tmp_path, monkeypatch
):
    changed = settings(network=LSTM)
    train(changed, tmp_path / "whole")
    interrupt(monkeypatch, ActorCriticAgent, at=[12, 51])
    stopped = train(changed, tmp_path / "stopped")
    assert (stopped.exit_code, stopped.steps) == (130, 32)  # one rollout, and half of the next
    again = resume(tmp_path / "stopped")
    assert again.exit_code == 130
    monkeypatch.undo()
    assert resume(tmp_path / "stopped").exit_code == 0
    assert course(tmp_path / "stopped") == course(tmp_path / "whole")


@pytest.mark.parametrize("network", [MLP, LSTM])
def test_one_process_is_on_policy_and_says_so(network, tmp_path):
    """The learner sees what the actor saw: actions and rewards before, states, resets."""
    env = {"name": "cartpole", "num_envs": 4, "max_episode_steps": 12}
    train(settings(network=network, env=env), tmp_path)
    rows = [row for row in read_metrics(tmp_path / "metrics.jsonl") if "train/loss" in row]
    assert [row["train/policy_lag"] for row in rows] == [0.0] * len(rows)
    assert [row["train/n_updates"] for row in rows] == [2, 4, 6, 8]
    assert all(abs(row["train/approx_kl"]) < 1e-5 for row in rows)
    assert all(0.0 < row["time/learner_waiting"] < 1.0 for row in rows)


@pytest.mark.parametrize("order", [("threads", "local"), ("local", "threads")])
def test_checkpoints_move_between_engines(order, tmp_path):
    first, second = ({"type": kind} for kind in order)
    train(settings(network=LSTM, executor=first, total_timesteps=256), tmp_path)
    outcome = resume(tmp_path, changes={"executor": second, "total_timesteps": 512})
    assert outcome.exit_code == 0
    assert outcome.steps >= 512
    saved = CheckpointStore(tmp_path / "checkpoints", read_only=True).load()
    clock, waiting = saved.tree["counters"]["clock"], saved.tree["rollouts"]
    assert clock["steps"] == 64 * clock["updates"] + 32 * len(waiting)  # Nothing got lost.


def test_a_thread_answers_a_stop_at_once_and_goes_on_without_losing_steps(tmp_path, monkeypatch):
    changed = settings(executor={"type": "threads"})
    calls = interrupt(monkeypatch, ActorCriticAgent, at=[30])
    assert train(changed, tmp_path).exit_code == 130
    assert len(calls) < 100  # of 128 in all; a queue's worth may be on the way
    monkeypatch.undo()
    outcome = resume(tmp_path)
    assert outcome.exit_code == 0
    assert 512 <= outcome.steps <= 512 + 4 * 32  # The last round may bring several rollouts.
    assert "resumed with all steps, but which weights act goes by speed" in (
        tmp_path / "run.log"
    ).read_text(encoding="utf-8")


def test_an_update_of_a_thread_is_that_of_one_process_from_the_same_rollouts():
    checked = validate(settings(network=LSTM, executor={"type": "threads"}))
    factory = ConfiguredAgents(checked)
    loop: Any = open_engine(factory, checked["executor"], 512)
    loop.start()
    try:
        seen: list[Any] = []
        learn = loop.learner.learn

        def noting(batch: Any, clock: Any) -> Any:
            seen.append((batch, clock))
            return learn(batch, clock)

        loop.learner.learn = noting
        while loop.clock.updates < 3:
            loop.iterate(lambda: False)
        weights = loop.learner.get_weights()
    finally:
        loop.close()
    alone = factory.make("actor", "learner")
    for batch, clock in seen:
        assert batch.records["segment"].rewards.shape == (8, 8)
        alone.learn(batch, clock)
    for path, value in alone.get_weights().items():
        np.testing.assert_array_equal(value, weights[path], err_msg=path)


def test_an_engine_without_its_loop_says_who_has_it():
    with pytest.raises(RLGError, match="replay_x"):
        validate(settings(executor={"type": "replay_x"}))


@pytest.mark.parametrize(
    ("backend", "executor", "clip"),
    [("torch", "local", None), ("tf", "local", None), ("torch", "threads", 0.2)],
)
def test_it_learns(backend, executor, clip, tmp_path):
    """A random policy plays 22 on average."""
    agent = {"type": "impala", "n_steps": 16, "batch_rollouts": 1, "queue": 2, "gamma": 0.98}
    agent |= {"separate": True, "clip_range": clip}
    run = settings(backend, agent=agent, total_timesteps=20_480, executor={"type": executor})
    run |= {"network": {"type": "mlp", "units": [32], "activation": "tanh"}}
    run["env"]["num_envs"] = 8
    run["optimizer"] = {"type": "adam", "learning_rate": 4e-3, "epsilon": 1e-5}
    run |= {"checkpoint": {"interval": 0}, "evaluation": {"interval": 0, "episodes": 8}}
    run["backend"]["threads"] = 1 if backend == "torch" else None
    run["logger"] = {"interval": 2048, "tensorboard": False, "graph": False}
    train(run, tmp_path)
    assert read_metrics(tmp_path / "metrics.jsonl")[-1]["rollout/ep_rew_mean"] > 70.0
