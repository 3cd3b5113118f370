"""A larger budget leaves the schedules of a run where they are."""

from __future__ import annotations

import json

import pytest
import yaml

from tests.cli.conftest import TINY

SCHEDULE = ["optimizer.learning_rate={type:linear,initial:1e-3,final:0}", "logger.interval=64"]


def epsilons(run) -> dict[int, float]:
    rows = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    name = "rollout/exploration_rate"
    return {row["step"]: row[name] for row in rows if name in row}


def test_a_larger_budget_does_not_rewind_the_schedules(rlg, folder):
    words = [*TINY, *SCHEDULE, "agent.exploration_fraction=1.0", "hydra.run.dir=run"]
    assert rlg("train", *words).code == 0
    run = folder / "run"
    assert yaml.safe_load((run / "config.yaml").read_text())["schedule_timesteps"] == 600
    before = epsilons(run)[640]
    resumed = rlg("resume", "run", "total_timesteps=6000", "evaluation.interval=0")
    assert resumed.code == 0, resumed.err
    after = {step: value for step, value in epsilons(run).items() if step > 640}
    assert len(after) > 5
    assert set(after.values()) == {before}
    assert before == pytest.approx(0.04)


def test_the_span_of_schedules_is_changed_by_its_own_name(rlg, folder):
    words = [*TINY, *SCHEDULE, "agent.exploration_fraction=1.0", "hydra.run.dir=run"]
    assert rlg("train", *words).code == 0
    changes = ["total_timesteps=2000", "schedule_timesteps=2000", "evaluation.interval=0"]
    assert rlg("resume", "run", *changes).code == 0
    found = epsilons(folder / "run")
    assert found[1280] > 0.04
    assert found[max(found)] < found[1280]
    assert rlg("resume", "run", "schedule_timesteps=0").code == 2
