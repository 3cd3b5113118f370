"""Evaluations: an equal share of episodes per environment, and nothing of the actor changes."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.dqn import DQNAgent
from rlg.envs import make_env
from rlg.envs.registry import register_env
from rlg.execution.evaluation import evaluate
from rlg.execution.types import Action
from rlg.graph.spaces import Dict, FloatBox
from tests.execution.parts import Noting


class Uneven(gymnasium.Env[Any, Any]):
    """Episodes last 1 or 7 steps, by their seeds; the reward is 1 per step."""

    observation_space = spaces.Box(0.0, 1.0, (1,), np.float32)
    action_space = spaces.Discrete(2)
    made = 0

    def __init__(self) -> None:
        self.length = 1 if type(self).made % 2 else 7
        type(self).made += 1
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.steps += 1
        return np.zeros(1, np.float32), 1.0, False, self.steps >= self.length, {}


register_env("uneven", Uneven)


def test_short_episodes_do_not_count_more_often_than_long_ones():
    result = evaluate(Noting(), {"name": "uneven", "num_envs": 3}, 40, seed=0)
    assert len(result.returns) == 40
    assert sorted(set(result.returns)) == [1.0, 7.0]
    assert result.returns.count(1.0) == result.returns.count(7.0) == 20


def test_actors_are_asked_without_exploration_and_reset_after_time_limits():
    actor = Noting(FloatBox(shape=(1,)))
    evaluate(actor, {"name": "uneven"}, 2, seed=0)
    assert not any(call["explore"] for call in actor.calls)
    resets = np.array([call["resets"] for call in actor.calls])
    assert resets[0].all()
    short = int(np.argmax(resets[1]))
    assert resets[:, short].all()
    assert not resets[1:, 1 - short].any()


class Ending(Uneven):
    """Episodes end by themselves, after 3 steps."""

    def step(self, action):
        self.steps += 1
        return np.zeros(1, np.float32), 1.0, self.steps >= 3, False, {}


register_env("ending", Ending)


def test_actors_are_reset_after_episodes_that_ended_by_themselves():
    actor = Noting(FloatBox(shape=(1,)))
    evaluate(actor, {"name": "ending"}, 40, seed=0)
    resets = [bool(call["resets"].all()) for call in actor.calls]
    assert resets == [True, False, False, True, False, False]


def test_episodes_that_are_watched_are_played_one_after_the_other():
    seen = []
    result = evaluate(
        Noting(), {"name": "ending"}, 2, seed=0, watch=lambda env, x: seen.append(env.num_envs)
    )
    assert result.lengths == (3, 3)
    assert seen == [1] * 6


class Endless(Uneven):
    """Half of the environments never end; the others after 7 steps."""

    def step(self, action):
        self.steps += 1
        return np.zeros(1, np.float32), 1.0, self.length == 7 and self.steps >= 7, False, {}


register_env("endless", Endless)


def test_episodes_are_those_of_the_seed():
    def first(seed):
        seen = []
        env = {"name": "cartpole", "num_envs": 1}
        evaluate(Noting(), env, 1, seed, watch=lambda _, x: seen.append(x[0].tolist()))
        return seen[0]

    assert first(3) == first(3)
    assert len({tuple(first(seed)) for seed in range(4)}) == 4


def test_episodes_that_do_not_end_count_with_what_they_returned_so_far():
    result = evaluate(Noting(), {"name": "endless"}, 4, seed=0, max_steps=10)
    assert sorted(result.returns) == [7.0, 7.0, 10.0, 10.0]
    assert sorted(result.lengths) == [7, 7, 10, 10]
    assert result.cut == 2
    assert result.cut_note.startswith("2 of 4 episodes were cut off after 10 steps")


def test_every_environment_plays_its_share_where_episodes_do_not_end():
    actor = Noting(FloatBox(shape=(1,)))
    result = evaluate(actor, {"name": "endless"}, 40, seed=0, max_steps=10)
    assert (result.returns.count(7.0), result.returns.count(10.0)) == (20, 20)
    assert result.cut == 20
    # The others are done after 14 steps; then those that were cut begin again.
    assert len(actor.calls) == 24
    assert [bool(call["resets"].all()) for call in actor.calls].index(True, 1) == 14


def test_episodes_that_end_with_the_last_step_are_not_cut():
    result = evaluate(Noting(), {"name": "uneven"}, 4, seed=0, max_steps=7)
    assert (sorted(result.returns), result.cut) == ([1.0, 1.0, 7.0, 7.0], 0)


def test_a_cut_episode_that_ends_later_is_not_counted_twice():
    result = evaluate(Noting(), {"name": "uneven"}, 40, seed=0, max_steps=3)
    assert (result.returns.count(1.0), result.returns.count(3.0), result.cut) == (20, 20, 20)


def test_returns_so_far_are_those_of_the_environment_and_not_clipped():
    env = {"name": "cartpole", "num_envs": 8}
    result = evaluate(Noting(), env, 8, seed=0, max_steps=5)
    assert (result.returns, result.cut) == ((5.0,) * 8, 8)


def test_an_evaluation_changes_neither_streams_nor_variables():
    with make_env("cartpole", num_envs=1) as env:
        agent = DQNAgent(env.observation_space, env.action_space, network="mlp")
    agent.build(BuildOptions("numpy"), ["actor"])
    before = agent.get_state()
    evaluate(agent, {"name": "cartpole"}, 2, seed=1)
    after = agent.get_state()
    assert after["streams"] == before["streams"]
    for path, value in before["model"].items():
        np.testing.assert_array_equal(after["model"][path], value)


class Rewarded(Noting):
    """Remembers rewards only, which it can't know."""

    def act(self, observations: Any, state: Any, *more: Any, **words: Any) -> Action:
        self.calls.append({"rewards": state["rewards"].tolist()})
        actions = np.zeros(len(observations), np.int64)
        return Action(actions, {}, {"rewards": np.full(len(observations), 9.0, np.float32)})


def test_actors_that_want_to_know_get_the_rewards_of_the_step_before():
    actor = Rewarded(Dict(rewards=FloatBox()))
    evaluate(actor, {"name": "cartpole", "max_episode_steps": 3}, 1, seed=0)
    assert [call["rewards"] for call in actor.calls] == [[0.0], [1.0], [1.0]]
