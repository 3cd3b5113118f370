"""A policy that remembers learns the recall task; one that does not can't."""

from __future__ import annotations

from typing import Any

import pytest

from rlg.api.run import train
from tests.api.runs import config

RECURRENT: dict[str, Any] = {"sequence_length": 10, "burn_in": 2, "stored_state": True}
LSTM = {"type": "lstm", "units": 16, "network": {"type": "mlp", "units": [16]}}


def reward(folder: Any, network: dict[str, Any], agent: dict[str, Any]) -> float:
    settings = config(
        total_timesteps=3_000,
        network=network,
        memory={"type": "prioritized_replay", "buffer_size": 4_000},
        optimizer={"type": "adam", "learning_rate": 3e-3},
        evaluation={"interval": 3_000, "episodes": 60},
        checkpoint={"interval": 0},
    )
    settings["backend"]["threads"] = 1
    settings["env"] = {"name": "recall", "num_envs": 8, "num_cues": 4, "delay": 2}
    settings["agent"] |= {"train_freq": 16, "gradient_steps": 2, **agent}
    settings["agent"] |= {"exploration_fraction": 0.5, "target_update_interval": 100}
    outcome = train(settings, folder)
    assert outcome.evaluation is not None
    return float(outcome.evaluation.mean_reward)


def test_stored_states_and_burn_in_learn_to_recall(tmp_path):
    assert reward(tmp_path / "run", LSTM, RECURRENT) > 0.9


def test_a_feed_forward_network_can_only_guess(tmp_path):
    found = reward(tmp_path / "run", {"type": "mlp", "units": [16]}, {})
    assert found == pytest.approx(0.25, abs=0.15)
