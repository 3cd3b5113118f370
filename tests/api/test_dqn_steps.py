"""What DQN agents make of the steps that they observe: windows, frames, sequences, memory."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.dqn import DQNAgent
from rlg.errors import ComponentError, ExecutionError
from rlg.execution.types import Clock
from rlg.graph.spaces import Box, IntBox

MLP = {"type": "mlp", "units": [8]}
LSTM = {"type": "lstm", "units": 8, "network": None}


def agent(backend="torch", network=MLP, memory=None, shape=(1,), **options):
    memory = memory or {"type": "replay", "buffer_size": 64}
    made = DQNAgent(Box(shape), IntBox(2), network=network, memory=memory, **options)
    made.build(BuildOptions(backend))
    return made


def stored(made, name, n):
    return made.executor.get_state()["variables"][f"agent/memory/{name}"][:n]


def numbered(first, steps, envs=2):
    """States 10 * t + e; rewards t + 1."""
    times = np.arange(first, first + steps)[:, None]
    states = (10.0 * times + np.arange(envs)).astype("float32")[..., None]
    return {
        "states": states,
        "actions": np.zeros((steps, envs), "int64"),
        "rewards": np.broadcast_to(times + 1.0, (steps, envs)).astype("float32"),
        "terminals": np.zeros((steps, envs), bool),
        "next_states": states + 10.0,
        "truncations": np.zeros((steps, envs), bool),
    }


@pytest.mark.parametrize("parts", [[5], [1, 1, 1, 1, 1], [2, 3], [4, 1]])
def test_windows_are_the_same_however_the_steps_are_handed_over(parts):
    made = agent(n_step=3, gamma=0.5)
    whole, first = numbered(0, 5), 0
    whole["terminals"][1, 0] = True
    whole["truncations"][2, 1] = True
    for steps in parts:
        made.observe(**{name: x[first : first + steps] for name, x in whole.items()})
        first += steps
    assert made.timesteps == 10
    assert made.stored == 6
    # Starts at steps 0, 1, 2 of environments 0 and 1; env 0 ends after step 1, env 1 after step 2.
    np.testing.assert_allclose(stored(made, "states", 6)[:, 0], [0, 1, 10, 11, 20, 21])
    np.testing.assert_allclose(stored(made, "rewards", 6), [2, 2.75, 2, 3.5, 6.25, 3])
    np.testing.assert_allclose(stored(made, "discounts", 6), [0.25, 0.125, 0.5, 0.25, 0.125, 0.5])
    np.testing.assert_array_equal(stored(made, "terminals", 6), [1, 0, 1, 0, 0, 0])
    np.testing.assert_allclose(stored(made, "next_states", 6)[:, 0], [20, 31, 20, 31, 50, 31])


def test_single_transitions_make_windows_too():
    made = agent(n_step=2, gamma=0.5)
    for t in range(3):
        made.observe(np.float32([t]), 1, float(t), False, np.float32([t + 1]))
    np.testing.assert_allclose(stored(made, "rewards", 2), [0.5, 2.0])
    assert (made.timesteps, made.stored) == (3, 2)


def test_other_environments_than_before_are_refused():
    made = agent(n_step=2)
    made.observe(**numbered(0, 2, envs=2))
    with pytest.raises(ExecutionError, match="steps of 3 environments follow steps of 2"):
        made.observe(**numbered(2, 2, envs=3))


def test_sequences_know_where_episodes_begin_and_which_next_states_are_lost():
    made = agent(network=LSTM, sequence_length=3)
    steps = numbered(0, 6)
    steps["terminals"][0, 0] = True  # Environment 0 begins again at step 1,
    steps["truncations"][3, 1] = True  # environment 1 at step 4, with its last state lost,
    steps["truncations"][2, 0] = True  # environment 0 at step 3, where a sequence begins.
    for first in (0, 2, 4):
        made.observe(**{name: x[first : first + 2] for name, x in steps.items()})
    assert made.stored == 12
    states = stored(made, "states", 4)[..., 0]
    expected = [[0, 10, 20, 30], [1, 11, 21, 31], [30, 40, 50, 60], [31, 41, 51, 61]]
    np.testing.assert_array_equal(states, expected)
    resets = stored(made, "resets", 4).astype(int)
    np.testing.assert_array_equal(resets, [[1, 1, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 1, 0, 0]])
    masks = stored(made, "masks", 4)
    np.testing.assert_array_equal(masks, [[1, 1, 1], [1, 1, 1], [1, 1, 1], [0, 1, 1]])


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_what_is_remembered_belongs_to_one_episode_of_one_environment(backend):
    made = agent(backend, network=LSTM)
    first = np.float32([[1.0], [2.0]])
    made.get_actions(first, explore=False)
    hidden = made._recurrent[False]
    fresh = {key: np.array(value) for key, value in hidden.before_step(2)[0].items()}
    made.get_actions(first, explore=False)
    assert np.abs(hidden.before_step(2)[0]["h"] - fresh["h"]).min() > 1e-4
    made.reset([True, False], explore=False)
    made.get_actions(first, explore=True)  # Of other environments.
    made.get_actions(first, explore=False)
    np.testing.assert_allclose(hidden.before_step(2)[0]["h"][0], fresh["h"][0], rtol=1e-5)
    assert np.abs(hidden.before_step(2)[0]["h"][1] - fresh["h"][1]).min() > 1e-4


def recalled(made):
    """The share of episodes in which the agent names what it saw two steps before."""
    cues = np.float32([[1.0], [-1.0]])
    made.reset(explore=False)
    for states in (cues, np.zeros_like(cues)):
        made.get_actions(states, explore=False)
    return np.mean(made.get_actions(np.zeros_like(cues), explore=False) == [1, 0])


def play(made, rounds, rng):
    """Episodes of three steps: a cue, nothing, and the question for 1 or 0."""
    for _ in range(rounds):
        cue = rng.choice([-1.0, 1.0], 8).astype("float32")
        states = np.zeros((3, 8, 1), "float32")
        states[0, :, 0] = cue
        actions = rng.integers(0, 2, (3, 8))
        rewards = np.zeros((3, 8), "float32")
        rewards[2] = (actions[2] == (cue > 0)) * 1.0
        ends = np.zeros((3, 8), bool)
        ends[2] = True
        made.observe(states, actions, rewards, ends, np.roll(states, -1, 0))


def test_a_network_that_remembers_learns_what_others_can_not():
    options = {
        "batch_size": 32,
        "optimizer": {"type": "adam", "learning_rate": 0.02},
        "memory": {"type": "replay", "buffer_size": 3000},
        "target_update_interval": 1,
    }
    made = agent(network={**LSTM, "units": 16}, sequence_length=3, **options)
    play(made, 40, np.random.default_rng(0))
    for _ in range(150):
        made.update()
    assert recalled(made) == 1.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"network": LSTM, "memory": "frame_replay"}, "the network is recurrent, but frame_replay"),
        ({"network": LSTM, "n_step": 2}, "sequences of single steps. Give n_step 1"),
        ({"n_step": 0}, "n_step must be at least 1, got 0"),
        ({"sequence_length": 0}, "sequence_length must be at least 1, got 0"),
    ],
)
def test_parts_that_do_not_fit_are_refused_at_once(options, message):
    with pytest.raises(ComponentError, match=message):
        DQNAgent(Box((1,)), IntBox(2), **{"network": MLP, **options})


@pytest.mark.parametrize(
    ("observations", "frame_stack"), [(Box((4,)), None), (Box((8, 8, 3)), 1), (Box((8, 8, 3)), 4)]
)
def test_what_is_no_stack_of_frames_is_not_kept_as_one(observations, frame_stack):
    memory = {"type": "frame_replay", "buffer_size": 64, "frame_stack": frame_stack}
    made = DQNAgent(observations, IntBox(2), network=MLP, memory=memory)
    message = rf"frames of stacked images .* frame_stack is {frame_stack}, but .* Use another"
    with pytest.raises(ComponentError, match=message):
        made.build(BuildOptions("numpy"))


def test_rates_follow_schedules_over_the_run():
    made = agent(
        memory={"type": "prioritized_replay", "buffer_size": 64, "beta": 0.4},
        optimizer={"type": "sgd", "learning_rate": [[0.0, 0.1], [0.5, 0.2]]},
        exploration={"type": "polynomial", "initial": 1.0, "final": 0.0, "power": 2.0},
        total_timesteps=16,
    )
    made.observe(**numbered(0, 2))
    assert made.epsilon == pytest.approx(0.75**2)
    notes = made.update()
    assert notes["learning_rate"] == pytest.approx(0.15)
    assert notes["beta"] == pytest.approx(0.4 + 0.25 * 0.6)
    made.observe(**numbered(2, 6))
    notes = made.update()
    assert (notes["learning_rate"], notes["beta"]) == pytest.approx((0.2, 1.0))
    assert made.epsilon == 0.0


def test_actions_of_the_papers_api_explore_by_what_was_observed():
    made = agent(exploration_initial_eps=1.0, exploration_final_eps=0.0, total_timesteps=40)
    state = np.zeros((64, 1), "float32")
    greedy = made.get_actions(state, explore=False)[0]
    assert (made.get_actions(state) != greedy).any()
    made.observe(**numbered(0, 2))  # The tenth part of the run.
    assert (made.get_actions(state) == greedy).all()


def test_a_restored_agent_continues_its_random_numbers_its_clock_and_its_windows():
    one, other = (agent(n_step=2, batch_size=4, total_timesteps=100) for _ in range(2))
    one.observe(**numbered(0, 4))
    one.update()
    other.set_state(one.get_state())
    assert (other.timesteps, other.updates, other.stored) == (8, 1, 6)
    for made in (one, other):
        made.observe(**numbered(4, 1))
    assert other.stored == 8
    np.testing.assert_array_equal(stored(other, "rewards", 8), stored(one, "rewards", 8))
    # Both draw the same records.
    assert one.update()["loss"] == other.update()["loss"]


def test_an_agent_that_is_restored_without_its_memory_has_nothing_stored():
    one, other = agent(), agent()
    one.observe(**numbered(0, 4))
    other.set_state(one.get_state(memory=False))
    assert (other.stored, other.timesteps) == (0, 8)


def test_the_target_is_synced_once_per_whole_interval_also_by_a_restored_agent():
    made = agent(target_update_interval=5, batch_size=4, optimizer={"type": "sgd"})
    made.observe(**numbered(0, 4))

    def is_synced_at(learner, steps):
        learner.learn(None, Clock(steps))
        values = learner.get_model()
        return all(
            np.array_equal(x, values[path.replace("/policy/", "/target_policy/", 1)])
            for path, x in values.items()
            if path.startswith("agent/policy/")
        )

    assert [is_synced_at(made, steps) for steps in (4, 6, 9, 10, 14)] == [0, 1, 0, 1, 0]
    other = agent(target_update_interval=5, batch_size=4, optimizer={"type": "sgd"})
    other.set_state(made.get_state())
    assert [is_synced_at(other, steps) for steps in (14, 15)] == [0, 1]


def test_exploration_runs_over_the_clocks_horizon():
    made = agent(exploration_initial_eps=1.0, exploration_final_eps=0.0, total_timesteps=1000)
    assert made.epsilon_at(Clock(5, 0, 100)) == pytest.approx(0.5)
