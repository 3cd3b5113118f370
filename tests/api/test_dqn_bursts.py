"""Several updates of DQN and its relatives in one call are exactly those of single calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.apex import ApexAgent
from rlg.api.agents.dqfd import DQfDAgent
from rlg.api.agents.dqn import DQNAgent
from rlg.api.agents.factory import agent_of
from rlg.execution.types import Batch, Clock
from rlg.graph.spaces import Box, IntBox
from tests.api.runs import config

MLP = {"type": "mlp", "units": [8]}
LSTM = {"type": "lstm", "units": 8, "network": None}
PRIORITIZED = {"type": "prioritized_replay", "buffer_size": 64}
LINEAR = {"type": "linear", "initial": 0.01, "final": 0.0}
CASES: dict[str, tuple[type[DQNAgent], dict[str, Any]]] = {
    "replay": (DQNAgent, {}),
    "rates": (DQNAgent, {"optimizer": {"type": "adam", "learning_rate": LINEAR}}),
    "prioritized": (DQNAgent, {"memory": PRIORITIZED, "n_step": 3}),
    "schedules": (
        DQNAgent,
        {"memory": PRIORITIZED, "optimizer": {"type": "adam", "learning_rate": LINEAR}},
    ),
    "polyak": (DQNAgent, {"tau": 0.25, "target_update_interval": 1}),
    "quantiles": (DQNAgent, {"distributional": "quantile", "n_quantiles": 5}),
    "sequences": (DQNAgent, {"network": LSTM, "sequence_length": 4, "burn_in": 1}),
    "stored states": (
        DQNAgent,
        {"network": LSTM, "sequence_length": 4, "memory": PRIORITIZED, "stored_state": True},
    ),
    "apex": (ApexAgent, {"memory": PRIORITIZED}),
    "demonstrations": (
        DQfDAgent,
        {"memory": {"type": "demonstration_replay", "buffer_size": 64}, "pretrain_updates": 0},
    ),
    "pretraining": (
        DQfDAgent,
        {
            "memory": {"type": "demonstration_replay", "buffer_size": 64},
            "pretrain_updates": 20,
            "target_update_interval": 3,  # steps: every second update, of 3 per 4 steps
        },
    ),
}
# TensorFlow takes seconds to trace each.
QUICK_ON_TF = ("rates", "schedules")
COUNT = 3


def made(case: str, backend: str, **changes: Any) -> DQNAgent:
    kind, options = CASES[case]
    options = {
        "network": MLP,
        "memory": {"type": "replay", "buffer_size": 64},
        "batch_size": 5,
        "target_update_interval": 10,
        "gradient_steps": COUNT,
        "total_timesteps": 100,
        **options,
        **changes,
    }
    agent = kind(Box((3,)), IntBox(3), **options)
    agent.build(BuildOptions(backend))
    records = agent.record_space().sample(0, batch=30)
    agent.insert(Batch(records, 30, np.linspace(0.1, 3.0, 30, dtype="float32")))
    return agent


def cases() -> list[Any]:
    return [
        pytest.param(
            backend,
            case,
            marks=[pytest.mark.slow] if backend == "tf" and case not in QUICK_ON_TF else [],
        )
        for backend in ("torch", "tf")
        for case in CASES
    ]


def variables(agent: DQNAgent) -> dict[str, Any]:
    found: dict[str, Any] = agent.executor.get_state()["variables"]
    return found


def calls_of(agent: DQNAgent, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    calls: list[str] = []
    execute = agent.executor.execute

    def noted(name: str, *args: Any, **words: Any) -> Any:
        calls.append(name)
        return execute(name, *args, **words)

    monkeypatch.setattr(agent.executor, "execute", noted)
    return calls


@pytest.mark.parametrize(("backend", "case"), cases())
def test_several_updates_by_one_call_equal_single_calls_number_by_number(
    backend, case, monkeypatch
):
    one, other = made(case, backend), made(case, backend)
    calls, singles = calls_of(one, monkeypatch), calls_of(other, monkeypatch)
    clock = Clock(steps=7, horizon=100)
    for _ in range(3):  # The target is due in the second round, at step 11.
        result = one.learn_due(COUNT, clock)
        assert result.updates == COUNT
        clocks = [clock.after(updates=number) for number in range(COUNT)]
        results = [other.learn(None, at).metrics for at in clocks]
        assert result.metrics.keys() == results[0].keys()
        for name, value in result.metrics.items():
            mean = np.mean([np.mean(metrics[name]) for metrics in results])
            assert float(value) == pytest.approx(float(mean), rel=1e-4, abs=1e-6), name
        clock = clock.after(steps=4, updates=COUNT)
        found, expected = variables(one), variables(other)
        assert found.keys() == expected.keys()
        for path, value in expected.items():
            np.testing.assert_array_equal(found[path], value, err_msg=path)
    assert calls == ["updates"] * 3
    assert singles.count("update") == 9
    assert singles.count("sync_target") == {"polyak": 3, "pretraining": 4}.get(case, 1)
    assert one.get_streams() == other.get_streams()


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize("case", ["replay", "prioritized"])
def test_the_target_is_synced_after_the_updates_that_are_named(backend, case):
    one, other = made(case, backend), made(case, backend)
    flags = [False, True, False]
    numbers = {"beta": np.float32(0.4)} if case == "prioritized" else {}
    one.executor.execute("updates", 5, 3, np.array(flags), **numbers)
    for is_synced in flags:
        other.executor.execute("update", 5, **numbers)
        if is_synced:
            other.executor.execute("sync_target")
    policy, target = "agent/policy/network/dense-0/kernel", "target_policy"
    found, expected = variables(one), variables(other)
    np.testing.assert_array_equal(found[policy], expected[policy])
    followed = policy.replace("policy", target, 1)
    np.testing.assert_array_equal(found[followed], expected[followed])
    assert (found[followed] != found[policy]).any()  # The third update came later.
    # Without flags the target stays.
    one.executor.execute("updates", 5, 3, **numbers)
    np.testing.assert_array_equal(variables(one)[followed], found[followed])


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"train_freq": 4, "gradient_steps": 1}, 1),
        ({"train_freq": 4, "gradient_steps": 8}, 8),
        ({"train_freq": 1, "gradient_steps": 2, "num_envs": 4}, 8),
        ({"train_freq": 4, "gradient_steps": 2, "num_envs": 3}, 2),
        ({"train_freq": 256, "gradient_steps": 128}, 32),
    ],
)
def test_one_call_makes_the_updates_of_a_round_and_32_at_most(settings, expected):
    for kind in (DQNAgent, ApexAgent, DQfDAgent):
        agent = kind(Box((3,)), IntBox(3), network=MLP, **settings)
        assert agent.burst == expected
        assert ("updates" in agent.apis_of("learner")) == (expected > 1)
        assert "updates" not in agent.apis_of("actor")


@pytest.mark.parametrize("kind", ["dqn", "apex", "dqfd"])
def test_the_environments_of_a_run_count(kind):
    settings = config(agent={"type": kind, "train_freq": 1, "gradient_steps": 3})
    if kind != "dqn":
        memory = {"apex": "prioritized_replay", "dqfd": "demonstration_replay"}[kind]
        settings["memory"] = {"type": memory, "buffer_size": 300}
    agent = agent_of(settings, Box((4,)), IntBox(2))
    assert isinstance(agent, DQNAgent)
    assert agent.burst == 4 * 3  # config has four


def test_updates_of_less_than_a_round_are_single_calls(monkeypatch):
    agent = made("replay", "torch")
    calls = calls_of(agent, monkeypatch)
    found = [agent.learn_due(due, Clock()).updates for due in (7, 4, 3, 2, 1)]
    assert found == [3, 3, 3, 1, 1]
    assert calls == ["updates"] * 3 + ["update"] * 2


@pytest.mark.parametrize(
    "changes", [{"noisy": True}, {"network": {"type": "mlp", "units": [8], "noisy": True}}]
)
def test_noise_is_drawn_by_single_calls(changes, monkeypatch):
    agent = made("replay", "torch", **changes)
    calls = calls_of(agent, monkeypatch)
    assert agent.learn_due(COUNT, Clock()).updates == 1
    assert calls == ["update"]


def test_summaries_are_those_of_single_calls():
    agent = DQNAgent(Box((3,)), IntBox(3), network=MLP, gradient_steps=4)
    assert agent.burst == 4
    agent.build(BuildOptions("torch", options={"summaries": True}))
    assert agent.burst == 1
    agent.insert(Batch(agent.record_space().sample(0, batch=8), 8, np.ones(8, "float32")))
    assert agent.learn_due(4, Clock()).updates == 1
    assert "agent/gradient_norm" in agent.executor.summaries
