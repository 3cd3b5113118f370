"""Promises of the best model, and of what a resume finds: it survives, and is checked."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from rlg.api import session
from rlg.api.run import resume, train
from rlg.errors import CheckpointError
from rlg.tracking.checkpoints.store import CheckpointStore
from rlg.tracking.folder import RunFolder
from tests.api import runs

PLAY = session.evaluate
REWARDS = (3.0, 9.0, 5.0, 20.0)  # of the evaluations at 512, 1024, 1536 and 2048


def config(**changes) -> dict:
    """A run that learns little: only its evaluations matter here."""
    settings = runs.config(**changes)
    settings["agent"]["gradient_steps"] = 1
    settings["evaluation"]["episodes"] = 1
    return settings


def scripted(monkeypatch, rewards) -> None:
    """Evaluations play as they do, and say these returns."""
    left = list(rewards)

    def played(*arguments, **names):
        result = PLAY(*arguments, **names)
        reward = left.pop(0)
        return type(result)((reward,) * len(result.returns), result.lengths)

    monkeypatch.setattr(session, "evaluate", played)


def best_steps(folder) -> list[int]:
    return CheckpointStore(folder / "best", read_only=True).steps()


def model(folder, name: str) -> dict[str, np.ndarray]:
    return CheckpointStore(folder / name, read_only=True).load(sections=["model"]).tree["model"]


def test_a_resume_from_before_the_best_model_finds_the_one_that_was_best_then(
    tmp_path, monkeypatch
):
    scripted(monkeypatch, REWARDS)
    train(config(), tmp_path)
    assert RunFolder(tmp_path).status.best_evaluation == {"step": 2048, "mean_reward": 20.0}
    assert best_steps(tmp_path) == [512, 1024, 2048]
    at_1024 = CheckpointStore(tmp_path / "checkpoints", read_only=True).load(1024).tree["model"]
    scripted(monkeypatch, [4.0])
    # Without the evaluation at 2048: the best one is that of the step before the checkpoint's.
    outcome = resume(tmp_path, checkpoint=1536, changes={"total_timesteps": 2048})
    assert outcome.best == {"step": 1024, "mean_reward": 9.0}
    assert best_steps(tmp_path) == [512, 1024]
    np.testing.assert_equal(model(tmp_path, "best"), at_1024)
    # The model of the discarded future is set aside.
    assert (tmp_path / "best" / "discarded-000002048" / "manifest.json").is_file()


def test_an_evaluation_at_exactly_the_checkpoints_step_counts(tmp_path, monkeypatch):
    scripted(monkeypatch, REWARDS)
    train(config(), tmp_path)
    scripted(monkeypatch, [4.0, 4.0])
    assert resume(tmp_path, checkpoint=1024).best == {"step": 1024, "mean_reward": 9.0}


def test_only_as_many_best_models_are_kept_as_a_resume_may_need(tmp_path, monkeypatch):
    scripted(monkeypatch, [1.0, 2.0, 3.0, 4.0])
    train(config(checkpoint={"interval": 512, "keep": 1, "memory": False}), tmp_path)
    assert best_steps(tmp_path) == [1536, 2048]


@pytest.mark.parametrize(
    ("rewards", "best"),
    [
        ([math.nan, 5.0, math.nan, 7.0], {"step": 2048, "mean_reward": 7.0}),
        ([-math.inf, math.nan, 5.0, 5.0], {"step": 1536, "mean_reward": 5.0}),
        ([math.inf, 5.0, math.inf, 1.0], {"step": 512, "mean_reward": math.inf}),
        ([math.nan] * 4, None),
    ],
)
def test_evaluations_that_are_not_finite_stop_no_run(tmp_path, monkeypatch, rewards, best):
    scripted(monkeypatch, rewards)
    outcome = train(config(), tmp_path)
    assert outcome.exit_code == 0
    status = RunFolder(tmp_path).status
    assert status.best_evaluation == best
    assert repr(status.last_evaluation["mean_reward"]) == repr(rewards[-1])
    json.loads((tmp_path / "status.json").read_text(), parse_constant=pytest.fail)


def test_a_model_that_was_restored_differently_is_refused(tmp_path, monkeypatch):
    from rlg.backends.torch.executor import TorchExecutor

    train(config(), tmp_path)
    write = TorchExecutor.write

    def forgetful(executor, variable, value):
        if np.asarray(value).shape != (32, 2):  # the last layer's kernel never arrives
            write(executor, variable, value)

    monkeypatch.setattr(TorchExecutor, "write", forgetful)
    with pytest.raises(CheckpointError, match=r"section 'model': restored differently than saved"):
        resume(tmp_path, checkpoint=1024)
