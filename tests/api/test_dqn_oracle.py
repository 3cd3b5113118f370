"""DQN agents do, update by update, what a second implementation from the papers does."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlg.api.agents import observing
from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.dqn import DQNAgent
from rlg.errors import ExecutionError
from rlg.graph.spaces import Box, IntBox
from tests.api.dqn_oracle import Learner, Memory, Steps, n_step_records

ROOM = 29  # Of the memory: prime, so that rings wrap in the middle of everything.
GAMMA = 0.9
TOTAL = 120
COLUMNS = ("states", "actions", "rewards", "terminals", "next_states", "discounts")


def make(backend: str, memory: dict[str, Any], **options: Any) -> DQNAgent:
    made = DQNAgent(
        Box((3,)),
        IntBox(3),
        network=options.pop("network", {"type": "mlp", "units": [8]}),
        memory={"buffer_size": ROOM, **memory},
        gamma=GAMMA,
        total_timesteps=TOTAL,
        **options,
    )
    made.build(BuildOptions(backend, seed=3))
    return made


def experience(times: int, envs: int, seed: int = 0, ends: float = 0.25) -> Steps:
    """Random steps [T, B], in which a fourth terminate and a fourth are truncated."""
    rng = np.random.default_rng(seed)
    chance = rng.random((times, envs))
    return {
        "states": rng.normal(size=(times, envs, 3)).astype("float32"),
        "actions": rng.integers(0, 3, (times, envs)),
        "rewards": rng.normal(size=(times, envs)).astype("float32"),
        "terminals": chance < ends,
        "next_states": rng.normal(size=(times, envs, 3)).astype("float32"),
        "truncations": (chance >= ends) & (chance < 2 * ends),
    }


def variables(agent: DQNAgent, scope: str) -> dict[str, Any]:
    state: dict[str, Any] = agent.executor.get_state()["variables"]
    prefix = f"agent/{scope}/"
    return {path.removeprefix(prefix): x for path, x in state.items() if path.startswith(prefix)}


def part(steps: Steps, first: int, last: int) -> Steps:
    return {name: x[first:last] for name, x in steps.items()}


# -- what is in the memory ------------------------------------------------------------------------
@cache
def observer(backend: str, n_step: int) -> tuple[DQNAgent, dict[str, Any]]:
    """One agent for all examples, and its state before it saw anything."""
    agent = make(backend, {"type": "replay"}, n_step=n_step)
    return agent, agent.get_state()


@st.composite
def placements(draw: st.DrawFn) -> tuple[int, Steps, list[int]]:
    """Steps with ends anywhere, in chunks of any sizes."""
    n_step, envs = draw(st.sampled_from([1, 2, 3, 5])), draw(st.integers(1, 3))
    chunks = draw(st.lists(st.sampled_from([1, 2, 3, 7]), min_size=1, max_size=6))
    steps = experience(sum(chunks), envs, ends=0.0)
    kinds = np.array(draw(st.lists(st.sampled_from("..TCB"), min_size=3, max_size=40)))
    kinds = np.resize(kinds, steps["rewards"].shape)
    steps["terminals"], steps["truncations"] = (
        np.isin(kinds, ["T", "B"]),
        np.isin(kinds, ["C", "B"]),
    )
    return n_step, steps, chunks


def nasty() -> tuple[int, Steps, list[int]]:
    """Ends at the first and the last step, two in a row, of both kinds at once, out of phase."""
    steps = experience(12, 3, ends=0.0)
    for name, places in {
        "terminals": [(0, 0), (1, 0), (11, 0), (5, 1), (4, 2)],
        "truncations": [(0, 1), (4, 1), (5, 1), (11, 2), (3, 2), (2, 0)],
    }.items():
        for time, env in places:
            steps[name][time, env] = True
    return 3, steps, [1, 1, 5, 2, 3]


@settings(max_examples=25, deadline=None, derandomize=True)
@given(case=placements())
def test_the_memory_holds_what_a_loop_over_each_environment_finds(case):
    compare_memory("torch", *case)


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_the_memory_is_right_where_ends_are_in_nasty_places(backend):
    compare_memory(backend, *nasty())


def compare_memory(backend: str, n_step: int, steps: Steps, chunks: list[int]) -> None:
    agent, fresh = observer(backend, n_step)
    agent.set_state(fresh)
    first = 0
    for size in chunks:
        agent.observe(**part(steps, first, first + size))
        first += size
    found = sorted(n_step_records(steps, n_step, GAMMA), key=lambda item: item[:2])
    memory = Memory(ROOM, 0.0, 0.0)
    for _, _, record in found:
        memory.insert(record)
    assert agent.timesteps == steps["rewards"].size
    assert agent.stored == len(found)
    stored = variables(agent, "memory")
    assert stored["size"] == len(memory.records)
    for name in COLUMNS if n_step > 1 else COLUMNS[:-1]:
        for row, record in memory.records.items():
            np.testing.assert_allclose(stored[name][row], record[name], rtol=1e-5, err_msg=name)


# -- what is learned ------------------------------------------------------------------------------
PLAIN = {
    "double": False,
    "dueling": False,
    "huber_delta": None,
    "optimizer": {"learning_rate": 0.01},
}
RAINBOW = {
    "double": True,
    "dueling": True,
    "huber_delta": 0.5,
    "tau": 0.3,
    "n_step": 3,
    "optimizer": {"learning_rate": {"type": "linear", "initial": 0.02, "final": 0.0}},
}
PRIORITIES = {"type": "prioritized_replay", "alpha": 0.7, "beta": 0.4, "epsilon": 0.01}
BATCH, INTERVAL = 6, 14


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize(
    ("options", "memory"),
    [(PLAIN, {"type": "replay"}), (RAINBOW, PRIORITIES)],
    ids=["plain", "rainbow"],
)
def test_every_update_is_that_of_the_papers(backend, options, memory):
    options = {**options, "optimizer": {"type": "adam", **options["optimizer"]}}
    agent = make(backend, memory, **options, batch_size=BATCH, target_update_interval=INTERVAL)
    learner = Learner(
        variables(agent, "policy"),
        double=agent.double,
        huber_delta=agent.huber_delta,
        tau=agent.tau,
    )
    replay = Memory(ROOM, memory.get("alpha", 0.0), memory.get("epsilon", 0.0))
    steps = experience(TOTAL // 2, 2)
    seen = inserted = synced = 0
    for number, size in enumerate([5, 1, 3, 1, 1, 7, 2, 9, 1, 4]):
        agent.observe(**part(steps, seen, seen + size))
        seen += size
        found = sorted(
            n_step_records(part(steps, 0, seen), agent.n_step, GAMMA), key=lambda x: x[:2]
        )
        for _, _, record in found[inserted:]:
            replay.insert(record)
        inserted = len(found)
        for _ in range(1 + number % 2):
            compare_update(agent, learner, replay, synced)
            synced = 2 * seen // INTERVAL
    assert learner.updates == agent.updates == 15
    assert agent.timesteps == 2 * seen


def compare_update(agent: DQNAgent, learner: Learner, replay: Memory, synced: int) -> None:
    """One update on both sides; the agent's draws are known by the TD errors that it reports."""
    progress = agent.timesteps / TOTAL
    records = [replay.records[row] for row in sorted(replay.records)]
    errors = learner.td_errors(records).detach().numpy()
    notes = agent.update()
    rows = [int(np.argmin(np.abs(errors - error))) for error in notes["td_error"]]
    np.testing.assert_allclose(notes["td_error"], errors[rows], atol=1e-5)
    weights, rate = np.ones(BATCH), 0.01
    if "beta" in notes:
        beta, rate = 0.4 + progress * 0.6, 0.02 * (1.0 - progress)
        assert (notes["beta"], notes["learning_rate"]) == pytest.approx((beta, rate))
        # One draw from each part of the total.
        edges = np.concatenate([[0.0], np.cumsum(replay.leaves())])
        parts = edges[-1] * np.arange(BATCH + 1) / BATCH
        for i, row in enumerate(rows):
            assert edges[row] <= parts[i + 1] + 1e-6
            assert edges[row + 1] >= parts[i] - 1e-6
        weights = replay.weights(rows, beta)
        replay.update(rows, errors[rows])
        sums = variables(agent, "memory")["tree/sums"]
        leaves = replay.leaves()
        np.testing.assert_allclose(sums[len(sums) // 2 :][: len(leaves)], leaves, rtol=1e-5)
    loss = learner.update([records[row] for row in rows], weights, rate)
    assert notes["loss"] == pytest.approx(loss, rel=1e-5)
    if agent.timesteps // INTERVAL > synced:
        learner.sync()
    for scope, net in {"policy": learner.online, "target_policy": learner.target}.items():
        for path, value in variables(agent, scope).items():
            np.testing.assert_allclose(value, net[path].detach().numpy(), atol=1e-5, err_msg=path)


# -- when ------------------------------------------------------------------------------------------
def counters(agent: DQNAgent) -> tuple[Any, ...]:
    return agent.timesteps, agent.stored, agent.updates, agent.epsilon, agent.is_ready


def test_schedules_and_target_follow_environment_steps_also_after_a_resume():
    options = {
        "batch_size": 4,
        "learning_starts": 10,
        "target_update_interval": 9,
        "exploration_initial_eps": 1.0,
        "exploration_final_eps": 0.1,
        "exploration_fraction": 0.25,
    }
    agent, other = (make("torch", {"type": "replay"}, n_step=3, **options) for _ in range(2))
    steps = experience(24, 2)
    synced = []
    for first in range(0, 24, 2):
        if first == 10:  # In the middle of windows.
            state = agent.get_state()
            agent.observe(**part(steps, 0, 3))
            agent.update()
            other.set_state(state)
            agent = other
        agent.observe(**part(steps, first, first + 2))
        seen = 2 * first + 4
        # A fourth of 120 steps to the last epsilon; windows wait for two steps of two environments.
        ready = seen - 4 >= 10
        assert counters(agent)[:2] == (seen, max(0, seen - 4))
        assert agent.epsilon == pytest.approx(1.0 - 0.9 * min(1.0, seen / 30))
        assert agent.is_ready == ready
        if ready:
            before = variables(agent, "target_policy")
            agent.update()
            after = variables(agent, "target_policy")
            if any(not np.array_equal(after[path], before[path]) for path in after):
                synced.append(seen)
    assert agent.updates == 9
    # The first update is at step 16; then 18, 27, 36 and 45 lie behind.
    assert synced == [16, 20, 28, 36, 48]


def test_environments_of_different_names_have_windows_of_their_own():
    agent, _ = observer("torch", 3)
    agent.set_state(observer("torch", 3)[1])
    steps = experience(6, 2, ends=0.0)
    for time in range(6):
        for env, name in enumerate(("left", "right")):
            if time == 4:
                agent.set_state(agent.get_state())
            agent.observe(
                **{key: x[time : time + 1, env : env + 1] for key, x in steps.items()}, env_id=name
            )
    found = sorted(n_step_records(steps, 3, GAMMA), key=lambda item: item[:2])
    stored = variables(agent, "memory")
    assert stored["size"] == len(found) == 8
    expected = [record["rewards"] for _, _, record in found]
    np.testing.assert_allclose(stored["rewards"][:8], expected, rtol=1e-5)


def test_of_too_many_names_the_one_that_was_not_heard_of_longest_is_forgotten(monkeypatch):
    monkeypatch.setattr(observing, "MOST_NAMED_ENVS", 2)
    agent = make("torch", {"type": "replay"}, n_step=3)
    steps = experience(1, 1, ends=0.0)
    stored = []
    for name in ("left", "right", "left", "new", "left", "right", "right"):
        agent.observe(**steps, env_id=name)
        stored.append(counters(agent)[1])
    # A window is three steps: "right" was forgotten for "new", and begins again.
    assert stored == [0, 0, 0, 0, 1, 1, 1]


def test_frames_of_environments_with_names_are_refused():
    memory = {"type": "frame_replay", "buffer_size": 64}
    agent = DQNAgent(
        Box((4, 4, 2)), IntBox(3), network={"type": "mlp", "units": [4]}, memory=memory
    )
    stack = np.zeros((4, 4, 2), "float32")
    with pytest.raises(ExecutionError, match=r"env_id='left'.*frames of all environments"):
        agent.observe(stack, 0, 0.0, False, stack, env_id="left")


def test_frames_with_an_alpha_of_0_are_plain_replay():
    memory = {"type": "frame_replay", "buffer_size": 64, "num_envs": 2, "alpha": 0.0}
    network = {"type": "stack", "layers": [{"type": "flatten"}, {"type": "dense", "units": 4}]}
    agent = DQNAgent(Box((4, 4, 2)), IntBox(3), network=network, memory=memory, batch_size=4)
    agent.build(BuildOptions("torch"))
    steps = experience(9, 2, ends=0.1)
    frames = np.random.default_rng(1).random((10, 2, 4, 4, 2)).astype("float32")
    agent.observe(**{**steps, "states": frames[:-1], "next_states": frames[1:]})
    assert agent.update().keys() == {"loss", "td_error"}
    leaves = variables(agent, "memory")["tree/sums"][64:]
    assert (leaves.sum(), leaves.max()) == (18.0, 1.0)


def test_a_sequence_knows_the_value_of_an_end_that_a_time_limit_met_too():
    network = {"type": "lstm", "units": 4, "network": None}
    agent = DQNAgent(
        Box((3,)), IntBox(3), network=network, memory={"type": "replay"}, sequence_length=4
    )
    ends = np.array([[False], [True], [False], [False]])
    steps = {**experience(4, 1), "terminals": ends, "truncations": ends}
    (batch,) = agent.make_adder().batches(steps)
    assert batch.size == 4
    np.testing.assert_array_equal(batch.records["masks"], [[1, 1, 1, 1]])
    cut = {**experience(4, 1), "terminals": ends & False, "truncations": ends}
    (batch,) = agent.make_adder().batches(cut)
    np.testing.assert_array_equal(batch.records["masks"], [[1, 0, 1, 1]])
    # Behind the last step the state that it led to is kept: its value is known.
    last = {**cut, "truncations": ends[[0, 2, 3, 1]]}
    (batch,) = agent.make_adder().batches(last)
    np.testing.assert_array_equal(batch.records["masks"], [[1, 1, 1, 1]])
    np.testing.assert_array_equal(batch.records["states"][0, -1], last["next_states"][-1, 0])
