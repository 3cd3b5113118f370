"""DQfD does, update by update, what its paper says; its demonstrations stay, and runs resume."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlg
from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.dqfd import DQfDAgent
from rlg.api.agents.dqn import DQNAgent
from rlg.api.config.validate import validate
from rlg.api.inspection.estimate import report_on
from rlg.api.run import resume, train
from rlg.envs import make_env
from rlg.errors import ComponentError, ExecutionError, SpecError
from rlg.execution.cadence import Cadence
from rlg.execution.demonstrations import Recorder
from rlg.execution.types import Clock, SavedBatches
from rlg.graph.spaces import Box, Dict, IntBox
from tests.api.dqfd_oracle import DemonstrationLearner, DemonstrationMemory, records_of
from tests.api.runs import config, course
from tests.api.test_dqn_oracle import BATCH, GAMMA, ROOM, TOTAL, experience, part, variables

N_STEP, DEMONSTRATED, FIRST = 3, 7, 5
PRIORITIES = {"alpha": 0.7, "beta": 0.4, "epsilon": 0.01, "demonstration_epsilon": 0.6}
PARTS = {"n_step_weight": 0.7, "margin_weight": 1.5, "l2": 0.02, "margin": 0.3}


def demonstrations(path: Path, steps: dict[str, Any]) -> str:
    """A file of the steps [T, 1, ...] of one environment."""
    np.savez(path, **{name: x[:, 0] for name, x in steps.items()})
    return str(path)


def make(backend: str, path: str | None, **options: Any) -> DQfDAgent:
    made = DQfDAgent(
        Box((3,)),
        IntBox(3),
        network={"type": "mlp", "units": [8]},
        memory={"type": "demonstration_replay", "buffer_size": ROOM, **PRIORITIES},
        gamma=GAMMA,
        total_timesteps=TOTAL,
        n_step=N_STEP,
        batch_size=BATCH,
        demonstrations=path,
        **options,
    )
    made.build(BuildOptions(backend, seed=3))
    return made


def leaves(agent: DQfDAgent) -> Any:
    sums = variables(agent, "memory")["tree/sums"]
    return sums[len(sums) // 2 :]


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_every_update_is_that_of_the_paper(backend, tmp_path):
    theirs = experience(DEMONSTRATED, 1, seed=9)
    agent = make(
        backend,
        demonstrations(tmp_path / "d.npz", theirs),
        **PARTS,
        huber_delta=0.5,
        pretrain_updates=FIRST,
        train_freq=4,
        gradient_steps=2,
        target_update_interval=4,
        optimizer={"type": "adam", "learning_rate": 0.01},
    )
    assert agent.stored == DEMONSTRATED
    learner = DemonstrationLearner(
        variables(agent, "policy"),
        double=True,
        huber_delta=0.5,
        tau=1.0,
        weights=(PARTS["n_step_weight"], PARTS["margin_weight"], PARTS["l2"]),
        margin=PARTS["margin"],
    )
    alpha, own = PRIORITIES["alpha"], PRIORITIES["epsilon"]
    replay = DemonstrationMemory(ROOM, alpha, own, PRIORITIES["demonstration_epsilon"])
    # Behind the last demonstration an episode ends: its windows are whole.
    theirs["truncations"][-1] |= ~theirs["terminals"][-1]
    padded = {name: np.concatenate([x, x[-2:]]) for name, x in theirs.items()}
    for record in records_of(padded, N_STEP, GAMMA):
        replay.demonstrate(record)
    assert replay.kept == DEMONSTRATED
    for number in range(FIRST):
        compare_update(agent, learner, replay)
        # Every 2 updates, as 4 steps would be, and at the end.
        if number % 2 == 1 or number == FIRST - 1:
            learner.sync()
        compare_networks(agent, learner)
    steps, seen, inserted = experience(24, 2), 0, 0
    for size in (5, 1, 7, 2, 9):
        agent.observe(**part(steps, seen, seen + size))
        before, seen = 2 * seen, seen + size
        found = records_of(part(steps, 0, seen), N_STEP, GAMMA)
        for record in found[inserted:]:
            replay.insert(record)
        inserted = len(found)
        compare_update(agent, learner, replay)
        if 2 * seen // 4 > before // 4:
            learner.sync()
        compare_networks(agent, learner)
    assert inserted > ROOM - DEMONSTRATED  # The ring has wrapped.
    assert learner.updates == FIRST + 5


def compare_update(
    agent: DQfDAgent, learner: DemonstrationLearner, replay: DemonstrationMemory
) -> None:
    """One update on both sides; the agent's draws are known by the TD errors that it reports."""
    records = [replay.records[row] for row in sorted(replay.records)]
    errors = learner.td_errors(records).detach().numpy()
    beta = 0.4 + 0.6 * agent.timesteps / TOTAL
    notes = agent.update()
    rows = [int(np.argmin(np.abs(errors - error))) for error in notes["td_error"]]
    np.testing.assert_allclose(notes["td_error"], errors[rows], atol=1e-5)
    is_theirs = np.array(rows) < replay.kept
    weights = replay.weights(rows, beta)
    replay.update(rows, errors[rows])
    expected = learner.learn([records[row] for row in rows], is_theirs, weights, 0.01)
    for name, value in expected.items():
        assert notes[name] == pytest.approx(value, rel=1e-4, abs=1e-6), name
    assert notes["demonstrations"] == pytest.approx(is_theirs.mean())
    np.testing.assert_allclose(leaves(agent)[: len(records)], replay.leaves(), rtol=1e-4)


def compare_networks(agent: DQfDAgent, learner: DemonstrationLearner) -> None:
    for scope, net in {"policy": learner.online, "target_policy": learner.target}.items():
        for path, value in variables(agent, scope).items():
            np.testing.assert_allclose(
                value, net[path].detach().numpy(), atol=1e-5, err_msg=f"{scope}/{path}"
            )


def test_torch_and_tensorflow_agree_over_100_updates(tmp_path):
    path = demonstrations(tmp_path / "d.npz", experience(DEMONSTRATED, 1, seed=9))
    found = []
    for backend in ("torch", "tf"):
        agent = make(backend, path, target_update_interval=16)
        for number in range(100):
            if number % 10 == 0:
                agent.observe(**experience(4, 2, seed=number))
            notes = agent.update()
        found.append((agent.get_model(), notes))
    (one, notes), (other, others) = found
    for path, value in one.items():
        np.testing.assert_allclose(value, other[path], atol=1e-4, err_msg=path)
    assert notes["loss"] == pytest.approx(others["loss"], abs=1e-4)
    assert notes["demonstrations"] == others["demonstrations"]


def test_demonstrations_are_never_overwritten_and_own_records_go_round(tmp_path):
    theirs = experience(DEMONSTRATED, 1, seed=9)
    agent = make("torch", demonstrations(tmp_path / "d.npz", theirs))
    before = variables(agent, "memory")["states"][:DEMONSTRATED].copy()
    np.testing.assert_array_equal(before, theirs["states"][:, 0])
    own = experience(60, 1, ends=0.0)
    agent.observe(**own)
    memory = variables(agent, "memory")
    assert (memory["kept"], memory["size"], agent.stored) == (7, ROOM, 7 + 58)
    np.testing.assert_array_equal(memory["states"][:DEMONSTRATED], before)
    # 58 windows of three steps in a ring of 22 rows: the newest 22, of which 58 % 22 wrapped last.
    expected = np.roll(own["states"][36:58, 0], 58 % 22, 0)
    np.testing.assert_array_equal(memory["states"][DEMONSTRATED:], expected)
    # Other memories get own records alone, oldest first.
    (batch,) = agent.export()
    np.testing.assert_array_equal(batch.records["states"], own["states"][36:58, 0])
    assert batch.size == 22


def test_a_model_without_its_memory_finds_the_demonstrations_again(tmp_path):
    path = demonstrations(tmp_path / "d.npz", experience(DEMONSTRATED, 1, seed=9))
    agent, other = make("torch", path), make("torch", path)
    agent.observe(**experience(8, 1))
    other.set_state(agent.get_state(memory=False))
    assert (other.stored, variables(other, "memory")["size"]) == (7, 7)
    batches = SavedBatches(lambda: iter(list(agent.export())))
    other.set_state({**agent.get_state(memory=False), "memory": batches})
    assert (other.stored, variables(other, "memory")["size"]) == (13, 13)
    other.set_state(agent.get_state())
    assert other.stored == 13


def test_updates_before_the_first_step_are_due_first_and_not_made_up_for_later():
    cadence = Cadence(100, 4, 2, base=10, pretraining=10)
    clocks = [Clock(), Clock(updates=4), Clock(updates=10), Clock(steps=100, updates=10)]
    assert [cadence.due(clock) for clock in clocks] == [10, 6, 0, 2]


# -- runs -----------------------------------------------------------------------------------------
def settings(folder: Path, **changes: Any) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    steps = experience(60, 1, seed=1, ends=0.05)
    for name in ("states", "next_states"):
        steps[name] = rng.normal(size=(60, 1, 4)).astype("float32")
    steps["actions"] %= 2
    memory = {"type": "demonstration_replay", "buffer_size": 300}
    made = config(total_timesteps=384, memory=memory, evaluation={"interval": 0}, **changes)
    named = {"demonstrations": demonstrations(folder / "d.npz", steps), "pretrain_updates": 250}
    made["agent"] = {**made["agent"], "type": "dqfd", "learning_starts": 1, **named}
    return made


@pytest.mark.parametrize("executor", ["local", "threads"])
def test_a_run_resumes_exactly_also_from_the_middle_of_its_pretraining(
    executor, tmp_path, monkeypatch
):
    changed = settings(tmp_path, executor={"type": executor})
    whole = train(changed, tmp_path / "whole")
    # 96 updates follow the first: 8 of each 32 steps, at once.
    assert (whole.steps, whole.updates) == (384, 250 + 8 * 12)
    assert report_on(validate(changed)).values()["updates"] == 250 + 8 * 12
    learn_due = DQNAgent.learn_due

    def interrupting(self, due, clock):
        if clock.updates in (128, 298):
            signal.raise_signal(signal.SIGINT)
        return learn_due(self, due, clock)

    monkeypatch.setattr(DQNAgent, "learn_due", interrupting)
    # Eight updates are one call.
    stopped = train(changed, tmp_path / "stopped")
    assert (stopped.exit_code, stopped.steps, stopped.updates) == (130, 0, 136)
    again = resume(tmp_path / "stopped")
    assert (again.exit_code, again.updates) == (130, 306)
    assert resume(tmp_path / "stopped").exit_code == 0
    assert course(tmp_path / "stopped") == course(tmp_path / "whole")


# -- what is refused ------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"memory": {"type": "prioritized_replay"}}, "would overwrite demonstrations"),
        ({"memory": {"type": "frame_replay"}}, "would overwrite demonstrations"),
        ({"network": {"type": "lstm", "units": 4}}, "from single steps"),
        ({"distributional": "quantile"}, "plain Q-values"),
        ({"margin": -1.0}, "margin must be at least 0"),
    ],
)
def test_what_does_not_fit_is_refused(options, message):
    words = {"network": {"type": "mlp", "units": [8]}, **options}
    with pytest.raises(ComponentError, match=message):
        DQfDAgent(Box((3,)), IntBox(3), **words)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"states": np.zeros((7, 2), "float32")},
            r"states is of shape \(7, 2\), but 7 .* \(7, 3\)",
        ),
        ({"actions": np.full(7, 3)}, "actions go from 3 to 3, but the environment's .* 0 to 2"),
        ({"rewards": None}, "no array 'rewards'"),
        ({"terminals": np.zeros(6, bool)}, "terminals is of shape"),
    ],
)
def test_files_of_another_environment_are_refused(changes, message, tmp_path):
    steps = {name: x[:, 0] for name, x in experience(7, 1).items()} | changes
    np.savez(tmp_path / "d.npz", **{k: x for k, x in steps.items() if x is not None})
    with pytest.raises(SpecError, match=message):
        make("torch", str(tmp_path / "d.npz"))


def test_a_file_must_be_there_be_one_and_leave_room(tmp_path):
    with pytest.raises(SpecError, match=r"no such file. `rlg eval RUN --record FILE` writes one"):
        make("torch", str(tmp_path / "none.npz"))
    (tmp_path / "text.npz").write_text("text")
    with pytest.raises(SpecError, match=r"not a .npz file"):
        make("torch", str(tmp_path / "text.npz"))
    long = demonstrations(tmp_path / "long.npz", experience(ROOM, 1))
    with pytest.raises(SpecError, match=r"has 29 steps.*buffer_size is 29"):
        make("torch", long)
    without = settings(tmp_path)
    without["agent"]["demonstrations"] = None
    with pytest.raises(SpecError, match=r"agent.demonstrations: missing"):
        train(without, tmp_path / "run")


def test_own_records_before_demonstrations_are_refused(tmp_path):
    path = demonstrations(tmp_path / "d.npz", experience(DEMONSTRATED, 1))
    agent = make("torch", None)
    agent.observe(**experience(8, 1))
    with pytest.raises(ExecutionError, match="own records are there already"):
        agent.demonstrate(path)


def test_a_file_may_have_nested_observations_and_no_truncations(tmp_path):
    space = Dict(a=Box((2,)), b=IntBox(4))
    network = {"type": "multi_input", "networks": {"a": MLP, "b": "flatten_one_hot"}}
    steps = {"actions": np.zeros(6, int), "rewards": np.ones(6), "terminals": np.zeros(6, bool)}
    for name in ("states", "next_states"):
        steps |= {f"{name}/a": np.ones((6, 2)), f"{name}/b": np.arange(6) % 4}
    np.savez(tmp_path / "d.npz", **steps)
    agent = DQfDAgent(space, IntBox(3), network=network, demonstrations=str(tmp_path / "d.npz"))
    agent.build(BuildOptions("torch"))
    memory = variables(agent, "memory")
    assert memory["states/b"][:6].tolist() == [0, 1, 2, 3, 0, 1]
    # The file's end is one of an episode: 1 + 0.99 of the last two, and a value behind them.
    assert memory["n_step_rewards"][4] == pytest.approx(1.99)
    assert not memory["n_step_terminals"][4]
    assert memory["discounts"][4] == pytest.approx(0.99**2)


MLP = {"type": "mlp", "units": [4]}


# -- learning -------------------------------------------------------------------------------------
@pytest.mark.slow
@pytest.mark.timeout(600)
def test_it_is_ahead_of_dqn_after_the_same_steps(tmp_path):
    """Four episodes of a rule that never falls, then 2,000 steps of its own."""
    recorder = Recorder(tmp_path / "d.npz")
    with make_env("cartpole", 1, seed=0) as env:
        states = env.reset()
        for _ in range(2_000):
            actions = (states @ np.array([0.1, 0.3, 1.0, 1.0]) > 0).astype(np.int64)
            step = env.step(actions)
            recorder.add(states, actions, step)
            states = step.observations
    assert recorder.save() == 2_000
    for seed in (10, 11, 12):
        words = ["env=cartpole", "total_timesteps=2000", f"seed={seed}", "evaluation.interval=2000"]
        named = f"agent.demonstrations={tmp_path / 'd.npz'}"
        ours = rlg.train("agent=dqfd", named, *words, folder=tmp_path / f"dqfd{seed}")
        theirs = rlg.train("agent=dqn", *words, folder=tmp_path / f"dqn{seed}")
        assert ours.evaluation.mean_reward >= 400.0
        assert ours.evaluation.mean_reward > theirs.evaluation.mean_reward + 100.0
