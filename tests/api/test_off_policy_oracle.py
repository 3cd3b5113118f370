"""SAC, TD3 and DDPG do, update by update, what a second implementation from the papers does."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.off_policy import OffPolicyAgent
from rlg.api.agents.sac import SACAgent
from rlg.api.agents.td3 import DDPGAgent, TD3Agent
from rlg.execution.types import Batch, Clock, Sample
from rlg.graph.core.component.randomness import Stream
from rlg.graph.spaces import Box, FloatBox, IntBox
from tests.components import sac_oracle as oracle

GAMMA, TAU, BATCH, ROOM = 0.9, 0.1, 6, 40
TORQUES = FloatBox(low=(-2.0, 0.0), high=(2.0, 0.5), shape=(2,))
KINDS: dict[str, tuple[type[OffPolicyAgent], Any, type[oracle.Learner]]] = {
    "sac": (SACAgent, TORQUES, oracle.SAC),
    "discrete": (SACAgent, IntBox(3), oracle.DiscreteSAC),
    "td3": (TD3Agent, TORQUES, oracle.TD3),
    "ddpg": (DDPGAgent, TORQUES, oracle.DDPG),
}
SCOPES = ("policy", "critics", "target_critics", "target_policy", "temperature")
RATE = {"type": "linear", "initial": 0.02, "final": 0.0}


def make(kind: str, backend: str, **options: Any) -> OffPolicyAgent:
    cls, actions, _ = KINDS[kind]
    settings = {"memory": {"type": "replay", "buffer_size": ROOM}, **options}
    agent = cls(
        Box((3,)),
        actions,
        network={"type": "mlp", "units": [8]},
        gamma=GAMMA,
        tau=TAU,
        batch_size=BATCH,
        **settings,
    )
    agent.build(BuildOptions(backend, seed=3))
    return agent


def nets(agent: OffPolicyAgent) -> dict[str, dict[str, Any]]:
    variables = agent.get_model()
    found = {
        scope: {
            path.removeprefix(f"agent/{scope}/"): x
            for path, x in variables.items()
            if path.startswith(f"agent/{scope}/")
        }
        for scope in SCOPES
    }
    return {scope: net for scope, net in found.items() if net}


def records(kind: str, count: int, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    floats = rng.uniform(-1, 1, (count, 2)).astype("float32")
    return {
        "states": rng.normal(size=(count, 3)).astype("float32"),
        "actions": rng.integers(0, 3, count) if kind == "discrete" else floats,
        "rewards": rng.normal(size=count).astype("float32"),
        "terminals": rng.random(count) < 0.3,
        "next_states": rng.normal(size=(count, 3)).astype("float32"),
    }


class Draws:
    """All random numbers that graphs draw."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.normal: list[Any] = []
        self.rows: list[Any] = []
        for kind, kept in {"normal": self.normal, "uniform64": self.rows}.items():
            monkeypatch.setattr(Stream, kind, self._recorded(getattr(Stream, kind), kept))

    @staticmethod
    def _recorded(draw: Any, kept: list[Any]) -> Any:
        def recorded(stream: Stream, shape: Any) -> Any:
            found = draw(stream, shape)
            kept.append(found.copy())
            return found

        return recorded

    def take(self) -> tuple[list[Any], list[Any]]:
        found = list(self.normal), list(self.rows)
        self.normal.clear()
        self.rows.clear()
        return found


def compare(agent: OffPolicyAgent, learner: oracle.Learner) -> None:
    for scope, net in nets(agent).items():
        for path, value in net.items():
            expected = learner.nets[scope][path].detach().numpy()
            np.testing.assert_allclose(value, expected, atol=1e-5, err_msg=f"{scope}/{path}")


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize("kind", KINDS)
def test_every_update_is_that_of_the_papers(kind, backend, monkeypatch):
    """Weighted records of windows, by a learning rate that falls."""
    agent = make(kind, backend, n_step=2, optimizer={"type": "adam", "learning_rate": RATE})
    learner = KINDS[kind][2](nets(agent), agent.n_critics, TAU)
    draws = Draws(monkeypatch)
    for number in range(6):
        batch = records(kind, BATCH, number)
        batch["discounts"] = np.float32([GAMMA, GAMMA**2] * (BATCH // 2))
        weights = np.linspace(0.2, 1.0, BATCH).astype("float32")
        clock = Clock(steps=number, updates=number, horizon=10)
        draws.take()
        result = agent.learn(Sample(batch, np.arange(BATCH), weights, 1.0, 1.0), clock)
        rate = 0.02 * (1.0 - number / 10)
        expected = learner.update(batch, draws.take()[0], weights, rate)
        assert result.metrics["learning_rate"] == pytest.approx(rate)
        np.testing.assert_allclose(result.priorities, expected.pop("priorities"), atol=1e-5)
        for name, value in expected.items():
            assert result.metrics[name] == pytest.approx(value, rel=1e-5, abs=1e-5), name
        compare(agent, learner)
    assert expected["actor_loss"] != 0.0


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize("kind", KINDS)
def test_several_updates_from_the_memory_are_one_call(kind, backend, monkeypatch):
    agent = make(kind, backend, num_envs=3, optimizer={"type": "adam", "learning_rate": 0.01})
    learner = KINDS[kind][2](nets(agent), agent.n_critics, TAU)
    stored = {**records(kind, 25), "discounts": np.full(25, GAMMA)}
    agent.insert(Batch({k: x for k, x in stored.items() if k != "discounts"}, 25))
    draws = Draws(monkeypatch)
    calls: list[str] = []
    execute = agent.executor.execute
    monkeypatch.setattr(
        agent.executor,
        "execute",
        lambda name, *a, **k: (calls.append(name), execute(name, *a, **k))[1],
    )
    for due, made in ((1, 1), (3, 3), (2, 1), (4, 3)):
        draws.take()
        result = agent.learn_due(due, Clock())
        assert result.updates == made
        normal, (places,) = draws.take()
        rows = np.floor(places * 25).astype(int).reshape(made, BATCH)
        found = []
        for i in range(made):
            batch = {name: x[rows[i]] for name, x in stored.items()}
            noises = [x.reshape(made, BATCH, 2)[i] for x in normal]
            found.append(learner.update(batch, noises, np.ones(BATCH), 0.01))
        for name in ("critic_loss", "actor_loss"):
            mean = np.mean([one[name] for one in found])
            assert result.metrics[name] == pytest.approx(mean, rel=1e-5, abs=1e-5)
        compare(agent, learner)
    assert calls == ["update"] * 4


@pytest.mark.parametrize("kind", KINDS)
def test_torch_and_tensorflow_agree_over_100_updates(kind):
    weights = []
    for backend in ("torch", "tf"):
        agent = make(kind, backend, num_envs=4, learning_starts=1)
        agent.insert(Batch(records(kind, 40), 40))
        clock = Clock(horizon=100)
        for _ in range(25):
            result = agent.learn_due(4, clock)
            clock = clock.after(updates=result.updates)
        assert clock.updates == 100
        weights.append((agent.get_model(), result.metrics))
    (one, notes), (other, others) = weights
    assert one.keys() == other.keys()
    assert any("/slot" in path or "first" in path for path in one)
    for path, value in one.items():
        np.testing.assert_allclose(value, other[path], atol=1e-4, err_msg=path)
    for name, value in notes.items():
        assert value == pytest.approx(others[name], abs=1e-4)


@pytest.mark.parametrize("count", [1, 4])
def test_a_prioritized_memory_hears_of_all_td_errors_in_the_order_of_its_draws(count):
    memory = {"type": "prioritized_replay", "buffer_size": 32, "alpha": 1.0, "epsilon": 1e-6}
    agent = make("td3", "torch", memory=memory, num_envs=count, optimizer="sgd")
    batch = records("td3", 20)
    # Only the first rewards are surprising, so that they are drawn more and more often.
    batch["rewards"] = np.where(np.arange(20) < 5, 10.0, 0.0).astype("float32")
    batch["terminals"][:] = True
    agent.insert(Batch(batch, 20))
    for _ in range(60 // count):
        metrics = agent.learn_due(count, Clock()).metrics
    assert metrics["beta"] == pytest.approx(0.4)
    leaves = agent._root.memory.errors_of(np.arange(20))
    assert leaves[:5].min() > 3.0 > leaves[5:].max()
