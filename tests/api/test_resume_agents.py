"""Every agent of `conf/agent/`, in one process and on both frameworks, resumes exactly."""

from __future__ import annotations

from typing import Any

import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from rlg.api.config.groups import groups
from rlg.api.config.validate import validate
from rlg.api.run import resume, train
from tests.api.runs import cartpole_demonstrations, course

# Agents, and some with another network or other actions than theirs by default.
CASES: dict[str, list[str]] = {
    **{name: [] for name in groups()["agent"]},
    "a3c, recurrent": ["network=lstm"],
    "impala, recurrent": ["network=lstm"],
    "ppo, recurrent": ["network=lstm", "agent.normalize_observations=true"],
    "sac, choices": ["env=cartpole"],
}
ENVS = {"sac": "pendulum", "td3": "pendulum", "ddpg": "pendulum", "r2d2": "recall"}
# Small enough for a second, with checkpoints in the middle of segments, windows and sequences.
SIZES: dict[str, Any] = {
    "batch_size": 8,
    "learning_starts": 32,
    "train_freq": 8,
    "gradient_steps": 2,
    "target_update_interval": 48,
    "sequence_length": 7,
    "n_steps": 10,
    "n_epochs": 2,
    "pretrain_updates": 5,
    "exploration_fraction": 0.8,
}


def composed(agent: str, backend: str, *more: str) -> dict[str, Any]:
    env = ENVS.get(agent, "cartpole")
    words = [f"agent={agent}", f"env={env}", f"backend={backend}", "executor=local", *more]
    with initialize_config_module("rlg.conf", version_base="1.3"):
        found: Any = OmegaConf.to_container(compose("train", overrides=words), resolve=True)
    found["agent"] |= {key: value for key, value in SIZES.items() if key in found["agent"]}
    if found["agent"].get("burn_in"):
        found["agent"]["burn_in"] = 2
    found["network"]["units"] = 8 if found["network"]["type"] == "lstm" else [8]
    found["optimizer"]["learning_rate"] = {"type": "linear", "initial": 1e-3, "final": 0.0}
    found["env"]["num_envs"] = 2
    # The process has its number of threads already; TensorFlow's can't change.
    found["backend"] |= {"threads": None}
    found["backend"] |= {"deterministic": True} if backend == "tf" else {}
    found["total_timesteps"] = 160
    found["checkpoint"] |= {"interval": 64, "keep": None}
    found["evaluation"] |= {"interval": 64, "episodes": 1, "max_steps": 30}
    found["logger"] |= {"interval": 32, "tensorboard": False, "graph": False}
    return found


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize("case", CASES)
def test_a_resumed_run_of_any_agent_equals_one_that_was_not_stopped(case, backend, tmp_path):
    agent = case.partition(",")[0]
    settings = composed(agent, backend, *CASES[case])
    if "demonstrations" in settings["agent"]:
        file = cartpole_demonstrations(tmp_path / "demonstrations.npz")
        settings["agent"]["demonstrations"] = file
    outcome = train(validate(settings), tmp_path / "run")
    assert outcome.updates > 5 or agent == "random"
    expected = course(tmp_path / "run")
    saved = [int(path.name[5:]) for path in (tmp_path / "run" / "checkpoints").glob("step-*")]
    assert resume(tmp_path / "run", checkpoint=min(saved)).resumed_at == min(saved) < outcome.steps
    assert course(tmp_path / "run") == expected
