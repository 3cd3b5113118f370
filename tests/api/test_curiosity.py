"""PPO with curiosity: what transitions earn is part of the rewards, and runs resume."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.api.agents.actor_critic import PPOAgent
from rlg.api.agents.agent import BuildOptions
from rlg.api.run import resume, train
from rlg.errors import ComponentError
from rlg.graph.spaces import Box, IntBox
from tests.api.runs import course
from tests.api.test_actor_critic import settings

MLP = {"type": "mlp", "units": [8]}


def learnt(backend: str, curiosity: float, n_epochs: int = 1) -> tuple[PPOAgent, dict[str, float]]:
    """One update from one step, whose reward is the value that was expected of it; its figures."""
    agent = PPOAgent(
        Box((3,)),
        IntBox(2),
        network=MLP,
        n_steps=1,
        batch_size=1,
        n_epochs=n_epochs,
        gamma=0.0,
        normalize_advantage=False,
        curiosity=curiosity,
    )
    agent.build(BuildOptions(backend, seed=1))
    states = np.float32([[1.0, -2.0, 0.5]])
    actions = agent.get_actions(states)
    assert agent._latest is not None
    agent.observe(states, actions, agent._latest.columns["values"], [False], -states)
    return agent, agent.update()


def figures(backend: str, curiosity: float) -> dict[str, float]:
    return learnt(backend, curiosity)[1]


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_what_is_not_foreseen_is_added_to_rewards(backend):
    without, found = figures(backend, 0.0), figures(backend, 2.0)
    assert without["value_loss"] == pytest.approx(0.0, abs=1e-12)
    assert "curiosity_reward" not in without
    assert found["curiosity_reward"] > 0.01
    assert found["value_loss"] == pytest.approx(found["curiosity_reward"] ** 2, rel=1e-5)
    # Twice the weight, twice the reward.
    twice = figures(backend, 4.0)
    assert twice["curiosity_reward"] == pytest.approx(2 * found["curiosity_reward"], rel=1e-5)


def test_it_learns_as_often_as_the_policy_does():
    model = learnt("torch", 1.0, n_epochs=3)[0].get_model()
    steps = {path: int(x) for path, x in model.items() if path.endswith("optimizer/step")}
    assert steps == {"agent/optimizer/step": 3, "agent/curiosity/optimizer/step": 3}


def test_a_run_resumes_exactly_and_logs_what_it_earned(tmp_path):
    changed = settings("ppo")
    changed["agent"]["curiosity"] = 0.1
    train(changed, tmp_path)
    expected = course(tmp_path)
    assert resume(tmp_path, checkpoint=128).resumed_at == 128
    assert course(tmp_path) == expected
    rows = [row for row in expected[2] if "train/loss" in row]
    assert rows[-1]["train/curiosity_reward"] > 0.0
    assert rows[-1]["train/curiosity_loss"] > 0.0


def test_recurrent_networks_and_several_choices_are_refused():
    lstm = {"type": "lstm", "units": 4}
    with pytest.raises(ComponentError, match="takes no recurrent network"):
        PPOAgent(Box((3,)), IntBox(2), network=lstm, curiosity=0.1)
    with pytest.raises(ComponentError, match="one choice or floats"):
        PPOAgent(Box((3,)), IntBox(2, shape=(2,)), network=MLP, curiosity=0.1)
