"""Ctrl-C while a segment is sampled: answered at once, and the run resumes bit by bit."""

from __future__ import annotations

import signal
import threading
import time
from typing import Any

import pytest

from rlg.api.agents.actor_critic import ActorCriticAgent
from rlg.api.agents.dqn import DQNAgent
from rlg.api.agents.pqn import PQNAgent
from rlg.api.run import resume, train
from tests.api.runs import config, course
from tests.api.test_actor_critic import LSTM, settings
from tests.api.test_pqn import settings as pqn_settings


def interrupt(monkeypatch: Any, kind: Any, at: list[int]) -> list[int]:
    """Ctrl-C while these calls of `act` are made; only those that explore count."""
    act, calls = kind.act, []

    def interrupting(self, *args, explore=True):
        if explore:
            calls.append(len(calls) + 1)
            if calls[-1] in at:
                note: Any = signal.getsignal(signal.SIGINT)
                main = threading.main_thread()
                signal.pthread_kill(main.ident, signal.SIGINT)
                while threading.current_thread() is not main and not note.__self__.requested:
                    time.sleep(0.001)  # until the other thread has seen it
        return act(self, *args, explore=explore)

    monkeypatch.setattr(kind, "act", interrupting)
    return calls


@pytest.mark.parametrize("executor", ["local", "threads"])
@pytest.mark.parametrize("kind", ["ppo", "a2c"])
def test_a_run_that_was_stopped_while_it_sampled_goes_on_exactly(
    kind, executor, tmp_path, monkeypatch
):
    changed = settings(kind, network=LSTM, executor={"type": executor})
    train(changed, tmp_path / "whole")
    # Segments have 16 steps. The first stop comes before any checkpoint, the second behind one.
    interrupt(monkeypatch, ActorCriticAgent, at=[5, 40])
    stopped = train(changed, tmp_path / "stopped")
    assert (stopped.exit_code, stopped.steps) == (130, 0)
    again = resume(tmp_path / "stopped")
    assert (again.exit_code, again.steps) == (130, 128)
    monkeypatch.undo()
    assert resume(tmp_path / "stopped").exit_code == 0
    assert course(tmp_path / "stopped") == course(tmp_path / "whole")


@pytest.mark.parametrize("executor", ["local", "threads"])
def test_a_run_of_pqn_that_was_stopped_while_it_sampled_goes_on_exactly(
    executor, tmp_path, monkeypatch
):
    changed = pqn_settings(executor={"type": executor})
    train(changed, tmp_path / "whole")
    interrupt(monkeypatch, PQNAgent, at=[5, 40])
    assert train(changed, tmp_path / "stopped").exit_code == 130
    assert resume(tmp_path / "stopped").exit_code == 130
    monkeypatch.undo()
    assert resume(tmp_path / "stopped").exit_code == 0
    assert course(tmp_path / "stopped") == course(tmp_path / "whole")


def test_a_segment_that_would_take_hours_is_not_waited_for(tmp_path, monkeypatch):
    long = settings("ppo", total_timesteps=10**9)
    long["agent"] |= {"n_steps": 20_000, "batch_size": 20_000}
    calls = interrupt(monkeypatch, ActorCriticAgent, at=[30])
    outcome = train(long, tmp_path)
    assert (outcome.exit_code, outcome.steps, len(calls)) == (130, 0, 30)


@pytest.mark.parametrize("executor", ["local", "threads"])
def test_a_round_of_replay_is_not_waited_for_either(executor, tmp_path, monkeypatch):
    changed = config("torch", total_timesteps=1024, executor={"type": executor})
    train(changed, tmp_path / "whole")
    calls = interrupt(monkeypatch, DQNAgent, at=[35, 180])  # Rounds have 8 steps.
    assert train(changed, tmp_path / "stopped").exit_code == 130
    assert len(calls) == 35
    assert resume(tmp_path / "stopped").exit_code == 130
    monkeypatch.undo()
    resume(tmp_path / "stopped")
    assert course(tmp_path / "stopped") == course(tmp_path / "whole")
