"""Every agent with three environments, nested observations, all kinds of actions, a recurrent
network and forbidden actions, or a refusal.
"""

from __future__ import annotations

import numpy as np
import pytest

from rlg.api.composing import compose
from rlg.api.composing.command_line import CommandLine
from rlg.api.config.groups import groups
from rlg.api.config.validate import validate
from rlg.api.run import train
from rlg.errors import RLGError
from tests.api import masked
from tests.api.anything import ACTIONS, anything
from tests.api.runs import cartpole_demonstrations

AGENTS = groups()["agent"]
FLOATS = ("td3", "ddpg")  # agents for continuous actions alone
OBEYING = ("a2c", "a3c", "impala", "ppo")
CHOOSING = ("apex", "dqn", "pqn", "qr_dqn", "rainbow")  # obey masks too, by their Q-values
SMALL = {
    "learning_starts": 24,
    "train_freq": 12,
    "gradient_steps": 1,
    "batch_size": 4,
    "n_steps": 4,
    "n_epochs": 1,
    "sequence_length": 5,
    "batch_rollouts": 1,
}


def composed(agent, *words):
    """A short run of an agent on three environments."""
    env = "pendulum" if agent in FLOATS else "cartpole"
    asked = [f"agent={agent}", f"env={env}", "tuned=null", "executor=local", "env.num_envs=3"]
    config = compose.composed(CommandLine([*asked, "total_timesteps=60", *words]))
    config["agent"] |= {key: value for key, value in SMALL.items() if key in config["agent"]}
    if config["agent"].get("burn_in"):
        config["agent"]["burn_in"] = 1
    if config["network"]["type"] == "mlp":
        config["network"]["units"] = [8]
    elif config["network"]["type"] == "lstm":
        config["network"] |= {"network": {"type": "mlp", "units": [8]}, "units": 8}
    config["memory"]["buffer_size"] = 60
    config["logger"]["tensorboard"] = False
    config["evaluation"]["interval"] = config["checkpoint"]["interval"] = 0
    return validate(config)


def refusal(agent, *words):
    with pytest.raises(RLGError) as caught:
        composed(agent, *words)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize("agent", AGENTS)
def test_an_agent_learns_from_three_environments_and_is_drawn(agent, tmp_path):
    words = []
    if agent == "dqfd":
        file = cartpole_demonstrations(tmp_path / "d.npz")
        words = [f"agent.demonstrations={file}", "agent.pretrain_updates=2"]
    outcome = train(composed(agent, *words), tmp_path / "run")
    assert outcome.steps == 60
    assert outcome.updates > 0 or agent == "random"
    assert "agent/" in (tmp_path / "run/graph.html").read_text()


def nested_demonstrations(path):
    """A file of two episodes of nested observations, for DQfD."""
    leaves = {
        "place": np.linspace(-1, 1, 40, dtype=np.float32).reshape(20, 2),
        "cards/0": np.arange(20) % 3,
        "cards/1": np.stack([np.arange(20) % 2, np.arange(20) % 4], 1),
    }
    seen = {f"{what}/{key}": x for what in ("states", "next_states") for key, x in leaves.items()}
    ends = np.arange(20) % 10 == 9
    rest = {"actions": np.arange(20) % 3, "rewards": np.ones(20, np.float32), "terminals": ends}
    np.savez(path, **seen, **rest)
    return path


CASES = [(agent, None) for agent in AGENTS] + [(agent, "lstm") for agent in (*OBEYING, "dqn")]


@pytest.mark.parametrize(("agent", "network"), CASES)
def test_an_agent_learns_from_nested_observations_with_categories(agent, network, tmp_path):
    words = [f"env={anything('nested', 'bounded' if agent in FLOATS else 'choice')}"]
    if network is not None:
        words.append(f"network={network}")
    if agent == "dqfd":
        file = nested_demonstrations(tmp_path / "d.npz")
        words += [f"agent.demonstrations={file}", "agent.pretrain_updates=2"]
    outcome = train(composed(agent, *words), tmp_path / "run")
    assert (outcome.steps, outcome.updates > 0) == (60, agent != "random")


VALUED = "it takes discrete actions, one choice or several among equally many, but the environment"
BOUNDED = "it takes floats with finite bounds"
REFUSED = {
    "sac": dict.fromkeys(("choices", "different", "unbounded", "nested"), BOUNDED),
    **dict.fromkeys(FLOATS, dict.fromkeys({*ACTIONS} - {"bounded"}, BOUNDED)),
    "random": {"unbounded": "uniform draws need both bounds. Bound it in the environment."},
}
# Everybody else that does not learn a policy estimates the values of choices.
ELSE = dict.fromkeys(("different", "bounded", "unbounded", "nested"), VALUED)


@pytest.mark.parametrize("agent", sorted({*AGENTS} - {*OBEYING}))
def test_actions_that_an_agent_can_not_take_are_refused_with_the_reason(agent):
    for kind, reason in REFUSED.get(agent, ELSE).items():
        name = anything("numbers", kind)
        text = refusal(agent, f"env={name}")
        assert reason in text
        assert text.startswith("agent=")
        assert f" with env={name}: agent " in text


@pytest.mark.parametrize("agent", [*OBEYING, "dqn", "r2d2"])
def test_an_agent_learns_with_a_recurrent_network(agent, tmp_path):
    outcome = train(composed(agent, "network=lstm"), tmp_path)
    assert (outcome.steps, outcome.updates > 0) == (60, True)


WITHOUT_MEMORY = {
    "apex": "windows of steps and no sequences, so it has no recurrent networks. Use agent=r2d2",
    "ddpg": "it replays single steps, so it has no recurrent networks. Use another network",
    "dqfd": "it learns plain Q-values from single steps. Use a network that is not recurrent",
    "pqn": "it learns from shuffled single steps, so it has no recurrent networks. Use agent=ppo",
    "qr_dqn": "recurrent networks learn plain Q-values. Set distributional to null",
    "rainbow": "recurrent networks learn plain Q-values. Set distributional to null",
    "random": "agent random has no network. It has no parts: leave it out",
    "sac": "it replays single steps, so it has no recurrent networks. Use another network",
    "td3": "it replays single steps, so it has no recurrent networks. Use another network",
}


@pytest.mark.parametrize("agent", WITHOUT_MEMORY)
def test_recurrent_networks_are_refused_with_the_reason(agent):
    words = [] if agent in ("apex", "pqn", "random") else ["agent.n_step=1"]
    assert WITHOUT_MEMORY[agent] in refusal(agent, "network=lstm", *words)


def test_each_agent_is_said_to_take_recurrent_networks_or_to_refuse_them():
    assert {*OBEYING, "dqn", "r2d2", *WITHOUT_MEMORY} == set(AGENTS)


@pytest.mark.parametrize(
    ("agent", "network"),
    [
        *((agent, network) for agent in OBEYING for network in ("mlp", "lstm")),
        *((agent, "mlp") for agent in CHOOSING),
        *((agent, "lstm") for agent in ("dqn", "r2d2")),
    ],
)
def test_actions_that_the_observations_forbid_are_never_taken(agent, network, tmp_path):
    masked.register()  # it raises on a forbidden action
    words = ("env=plain/Masked-v0", f"network={network}")
    assert train(composed(agent, *words), tmp_path).steps == 60


def test_agents_that_would_disobey_masks_refuse_them():
    masked.register()
    for agent in set(AGENTS) - {*OBEYING, *CHOOSING, "dqfd", "r2d2", *FLOATS}:
        words = [] if agent == "random" else ["network=mlp"]
        text = refusal(agent, "env=plain/Masked-v0", *words)
        assert "have an 'action_mask', but it would choose forbidden actions" in text
        assert "dqn, rainbow, qr_dqn, r2d2, dqfd, apex, pqn, ppo, a2c, a3c or impala" in text
