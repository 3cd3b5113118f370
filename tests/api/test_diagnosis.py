"""A number that is not finite ends a run with one line: where it is, and where it comes from."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from rlg.api.agents.dqn import DQNAgent
from rlg.api.run import train
from rlg.errors import EnvironmentFailure, ExecutionError
from rlg.execution.finite import check_segment
from rlg.execution.types import Segment
from tests.api.runs import config

# A layer that is well for 40 updates; its count is a variable of the graph.
LAYER = """
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.registry import register


class Cracking(Component):
    def create_variables(self, *, inputs):
        self.calls = self.variable("calls")

    @api
    @graph_fn
    def call(self, inputs: Tensor) -> Tensor:
        self.ops.assign_add(self.calls, 1.0)
        return inputs * self.ops.sqrt(400.0 - self.calls)


register("cracking", Cracking)
"""
STACK = {
    "type": "stack",
    "layers": [{"type": "dense", "units": 8}, "cracking", {"type": "dense", "units": 8}],
}


def broken(tmp_path, error=ExecutionError, **changes):
    """The line with which a run ends."""
    with pytest.raises(error) as raised:
        train(config(**changes), tmp_path / "run")
    line = str(raised.value)
    assert "\n" not in line
    return line


@pytest.fixture(scope="module")
def cracking(tmp_path_factory):
    folder = tmp_path_factory.mktemp("plugins")
    (folder / "rlg_cracking.py").write_text(LAYER)
    sys.path.insert(0, str(folder))
    yield {"network": STACK, "plugins": ["rlg_cracking"]}
    sys.path.remove(str(folder))


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_a_loss_that_is_nan_names_the_first_component_and_the_batch(tmp_path, cracking, backend):
    line = broken(tmp_path, backend=backend, **cracking)
    assert line.startswith("train/loss is nan at step ")
    assert (
        "agent/policy/network/cracking-1 is the first component whose output is not finite." in line
    )
    file = tmp_path / "run/nan_batch.npz"
    assert f"The batch is in {file}." in line
    with np.load(file) as batch:
        assert {"states", "actions", "rewards", "terminals", "next_states"} <= set(batch.files)
        assert batch["states"].shape == (32, 4)


def test_on_policy_batches_are_those_that_failed(tmp_path, cracking):
    agent = {"type": "ppo", "n_steps": 32, "batch_size": 32, "n_epochs": 4}
    line = broken(tmp_path, agent=agent, executor={"type": "threads"}, **cracking)
    assert "is the first component whose output is not finite." in line
    assert "/cracking-1 is" in line
    with np.load(tmp_path / "run/nan_batch.npz") as batch:
        assert batch["states"].shape == (32, 4, 4)
        assert np.isfinite(batch["rewards"]).all()


def test_gradients_that_are_not_finite_are_named_and_saved(tmp_path, cracking):
    line = broken(tmp_path, agent={"type": "a3c", "n_steps": 16}, **cracking)
    assert line.startswith("train/policy_loss is nan at step ")
    assert ": the gradient of head/outputs-all/output/bias is not finite. The batch is in" in line
    with np.load(tmp_path / "run/nan_batch.npz") as batch:
        assert np.isnan(batch["head/outputs-all/output/bias"]).all()


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_weights_that_grew_too_large_are_named(tmp_path, backend):
    optimizer = {"type": "sgd", "learning_rate": 1e30}
    line = broken(tmp_path, backend=backend, optimizer=optimizer)
    assert "is not finite" in line or "are not finite" in line
    assert "agent/" in line
    assert "the weights grew too large." in line
    assert (tmp_path / "run/nan_batch.npz").exists()


def test_a_rate_that_is_large_after_a_checkpoint_is_compared_with_that_checkpoint(tmp_path):
    rate = {"type": "piecewise", "points": [[0.0, 1e-3], [0.5, 1e-3], [0.51, 1e30]]}
    optimizer = {"type": "sgd", "learning_rate": rate}
    line = broken(tmp_path, optimizer=optimizer)
    assert "every output with the weights of step 1024 is: the weights grew too large." in line


ENV = """
import gymnasium
import numpy as np
from gymnasium import spaces


class Leaking(gymnasium.Env):
    observation_space = spaces.Dict(
        {"pixels": spaces.Box(0, 255, (2,), np.uint8), "speed": spaces.Box(-1.0, 1.0, (3,))}
    )
    action_space = spaces.Discrete(2)
    made = 0

    def __init__(self):  # The first one is asked for its spaces alone.
        self.index, Leaking.made = Leaking.made, Leaking.made + 1

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.steps = 0
        return self.seen(), {}

    def step(self, action):
        self.steps += 1
        reward = WHAT if self.steps == 40 and self.index == 2 and "reward" in WHERE else 1.0
        return self.seen(), reward, self.steps == 60, False, {}

    def seen(self):
        speed = np.zeros(3, np.float32)
        if self.index == 2 and self.steps == 40 and "observation" in WHERE:
            speed[1] = WHAT
        if self.index == 2 and self.steps == 37 and "middle" in WHERE:
            speed[1] = WHAT
        if self.index == 2 and self.steps == 60 and "end" in WHERE:
            speed[1] = WHAT
        return {"pixels": np.zeros(2, np.uint8), "speed": speed}


gymnasium.register("Leaking-v0", Leaking)
"""
PLACES = {
    "observation": "the next observation speed of environment 1 is inf at step 160.",
    "middle": "the observation speed of environment 1 is inf at step 148.",
    "reward": "the reward of environment 1 is inf at step 156.",
    "end": "the last observation speed of environment 1 is inf at step 236.",
}


@pytest.mark.parametrize("where", PLACES)
@pytest.mark.parametrize("engine", ["local", "threads"])
def test_environments_that_return_infinity_are_named(tmp_path, monkeypatch, where, engine):
    monkeypatch.syspath_prepend(str(tmp_path))
    name = f"rlg_leaking_{where}_{engine}"
    text = ENV.replace("WHAT", "np.inf").replace("WHERE", repr(where)).replace("Leaking", name)
    (tmp_path / f"{name}.py").write_text(text)
    line = broken(
        tmp_path,
        EnvironmentFailure,
        plugins=[name],
        env=f"{name}-v0",
        executor={"type": engine},
        evaluation={"interval": 0},
    )
    assert PLACES[where] in line
    assert line.startswith(f"{name}-v0: ")


def test_large_numbers_are_numbers():
    nothing = np.zeros((2, 1), np.bool_)
    segment = Segment(
        states=np.full((2, 1, 3), 3e38, np.float32),
        columns={},
        rewards=np.full((2, 1), -3e38, np.float32),
        terminals=nothing,
        truncations=nothing,
        last_states=np.full((1, 3), 3e38, np.float32),
        ends=(np.zeros(0, np.int64), np.zeros(0, np.int64)),
        final_states=np.zeros((0, 3), np.float32),
    )
    check_segment(segment, "env", 0)


def test_weights_that_are_not_finite_are_never_saved(tmp_path, monkeypatch):
    learn_due = DQNAgent.learn_due

    def spoil(self, due, clock):
        result = learn_due(self, due, clock)
        weights = self.get_weights()
        path = next(path for path in weights if path.endswith("dense-0/kernel"))
        self.set_weights({**weights, path: np.full_like(weights[path], np.inf)})
        return type(result)({"loss": 1.0}, updates=result.updates)

    monkeypatch.setattr(DQNAgent, "learn_due", spoil)
    line = broken(tmp_path)
    assert line.startswith("agent/policy/network/dense-0/kernel is not finite at step 512")
    assert not list((tmp_path / "run/checkpoints").glob("step-*"))
