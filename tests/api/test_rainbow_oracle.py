"""Rainbow does, update by update, what a second implementation from the papers does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from rlg.api.agents.dqn import DQNAgent
from rlg.graph.core.component.randomness import Stream
from tests.api.dqn_oracle import Memory, n_step_records
from tests.api.rainbow_oracle import LAYERS, Noise, RainbowLearner
from tests.api.test_dqn_oracle import BATCH, GAMMA, ROOM, TOTAL, experience, part, variables
from tests.api.test_dqn_oracle import make as make_dqn

ATOMS = {"n_atoms": 11, "v_min": -1.0, "v_max": 1.5}  # narrow: returns reach both ends
PRIORITIES = {"type": "prioritized_replay", "alpha": 0.7, "beta": 0.4, "epsilon": 0.01}
INTERVAL = 14


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[Any]]:
    """All normal draws, by the path of the component that made them."""
    normal, found = Stream.normal, {}

    def recorded(stream: Stream, shape: Any) -> Any:
        numbers = normal(stream, shape)
        found.setdefault(stream.path, []).append(numbers.copy())
        return numbers

    monkeypatch.setattr(Stream, "normal", recorded)
    return found


def noise_of(draws: dict[str, list[Any]], scope: str, number: int) -> Noise:
    """That of a network's n-th pass: each layer draws for its inputs and for its outputs."""
    found = {}
    for layer in LAYERS:
        (path,) = [path for path in draws if path.startswith(f"agent/{scope}/{layer}/")]
        found[layer] = tuple(draws[path][2 * number : 2 * number + 2])
    return found


def make(backend: str, double: bool) -> DQNAgent:
    return make_dqn(
        backend,
        PRIORITIES,
        n_step=3,
        double=double,
        noisy=True,
        distributional="categorical",
        batch_size=BATCH,
        target_update_interval=INTERVAL,
        optimizer={"type": "adam", "learning_rate": 0.01},
        network={"type": "mlp", "units": [8], "noisy": True},
        **ATOMS,
    )


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize("double", [True, False])
def test_every_update_is_that_of_the_papers(double, backend, draws):
    agent = make(backend, double)
    learner = RainbowLearner(variables(agent, "policy"), *ATOMS.values(), double=double)
    replay = Memory(ROOM, PRIORITIES["alpha"], PRIORITIES["epsilon"])
    steps = experience(TOTAL // 2, 2)
    seen = inserted = 0
    for size in (5, 1, 3, 7, 9, 4):
        agent.observe(**part(steps, seen, seen + size))
        before, seen = 2 * seen, seen + size
        windows = n_step_records(part(steps, 0, seen), 3, GAMMA)
        found = [record for *_, record in sorted(windows, key=lambda one: one[:2])]
        for record in found[inserted:]:
            replay.insert(record)
        inserted = len(found)
        compare_update(agent, learner, replay, draws)
        if 2 * seen // INTERVAL > before // INTERVAL:
            learner.sync()
        for scope, net in {"policy": learner.online, "target_policy": learner.target}.items():
            for path, value in variables(agent, scope).items():
                expected = net[path].detach().numpy()
                np.testing.assert_allclose(value, expected, atol=1e-5, err_msg=f"{scope}/{path}")
    assert inserted > ROOM


def compare_update(agent: DQNAgent, learner: RainbowLearner, replay: Memory, draws: Any) -> None:
    """One update on both sides; the agent's draws are known by the TD errors that it reports."""
    draws.clear()
    notes = agent.update()
    # Three passes, each with noise of its own, which all items share; two if nobody else chooses.
    passes = {path: len(found) // 2 for path, found in draws.items()}
    assert sorted(passes.values()) == ([1, 1, 1, 2, 2, 2] if agent.double else [1] * 6)
    noises = noise_of(draws, "policy", 0), noise_of(draws, "target_policy", 0)
    chooser = noise_of(draws, "policy", 1) if agent.double else None
    records = [replay.records[row] for row in sorted(replay.records)]
    items, errors, divergences = learner.compare(records, *noises, chooser)
    rows = [int(np.argmin(np.abs(errors - error))) for error in notes["td_error"]]
    np.testing.assert_allclose(notes["td_error"], errors[rows], atol=1e-5)
    beta = 0.4 + 0.6 * agent.timesteps / TOTAL
    weights = replay.weights(rows, beta)
    replay.update(rows, divergences[rows])
    leaves = variables(agent, "memory")["tree/sums"]
    leaves = leaves[len(leaves) // 2 :][: len(records)]
    np.testing.assert_allclose(leaves, replay.leaves(), rtol=1e-3)
    loss = learner.learn(items[torch.tensor(rows)], weights, 0.01)
    assert notes["loss"] == pytest.approx(loss, rel=1e-4)
