"""The table of learning results: written from raw figures alone, beside the table of test runs."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml

from scripts import curves, learning_results, record_results

PAGE = Path(__file__).parent.parent / "docs" / "results.md"


def run(seed, reward, task="ppo_cartpole", backend="torch"):
    figures = {"steps": 1024, "returns": [reward, reward + 2.0], "seconds": 3.4, "cpu_seconds": 2.6}
    return {"task": task, "backend": backend, "seed": seed, **figures}


def test_the_page_shows_the_raw_figures_and_nothing_else():
    text = PAGE.read_text()
    assert text == learning_results.page(text, learning_results.read())
    assert text.count(learning_results.BEGIN) == text.count(learning_results.END) == 1


def test_every_run_is_kept_once_with_all_of_its_episodes():
    runs = learning_results.read()
    names = [(run["task"], run["backend"], run["seed"]) for run in runs]
    assert len(set(names)) == len(names)
    assert {name for name, _, _ in names} <= set(learning_results.TASKS)
    assert {len(run["returns"]) for run in runs} == {20}


def test_a_line_has_mean_deviation_every_seed_and_marks_what_is_below_the_threshold():
    text = learning_results.section([run(1, 459.0), run(0, 499.0), run(0, 499.0, backend="tf")])
    torch, tf = [line for line in text.splitlines() if line.startswith("| `agent")]
    assert torch == (
        "| `agent=ppo env=cartpole` | torch | 1,024 | 480.0 | 28.3 | 0: 500.0, 1: **460.0** | 475 "
        "| 500 at 100k | 3 | 3 |"
    )
    assert "| tf | 1,024 | 500.0 | one seed | 0: 500.0 |" in tf


def test_rewards_of_1_have_two_digits_and_a_line_to_compare_with_has_no_threshold():
    text = learning_results.section(
        [run(0, -0.12, "r2d2_recall"), run(0, 8.0, "dqn_cartpole_short")]
    )
    short, recall = [line for line in text.splitlines() if line.startswith("| `agent")]
    assert "| **0.88** | one seed | 0: **0.88** | 0.9 |" in recall
    assert "| 9.0 | one seed | 0: 9.0 |  |" in short


def experiments() -> dict[str, Any]:
    """Expectations by the overrides that an experiment stands for, and what it changes."""
    found = {}
    for path in (PAGE.parents[1] / "experiments").glob("*.yaml"):
        experiment = yaml.safe_load(path.read_text())
        chosen = (line for line in experiment.get("defaults", ()) if isinstance(line, dict))
        words = [f"{k.removeprefix('override /')}={v}" for line in chosen for k, v in line.items()]
        if experiment.keys() == {"defaults", "expected"}:
            found[" ".join(words)] = experiment["expected"]
    return found


def test_experiments_with_tuned_values_name_seeds_that_reached_what_they_expect():
    means = {
        (learning_results.TASKS[run["task"]].overrides, run["seed"]): fmean(run["returns"])
        for run in learning_results.read()
        if run["backend"] == "torch"
    }
    checked = 0
    for overrides, expected in experiments().items():
        for seed in expected["seeds"]:
            if (overrides, seed) in means:
                assert means[overrides, seed] >= expected["mean_reward"], (overrides, seed)
                checked += 1
    assert checked >= 20


def test_both_scripts_leave_the_others_table_as_it_is():
    text = PAGE.read_text()
    learnt = learning_results.page(text, [run(0, 1.0)])
    assert record_results.recorded(learnt) == record_results.recorded(text) != []
    tested = record_results.page(["| 2030-01-31 | abc1234 | 6 | 2 | 2 | 4 |"], "")
    both = record_results.page(record_results.recorded(tested), record_results.above(learnt))
    assert learning_results.section([run(0, 1.0)]) in both
    assert learning_results.page(both, [run(0, 1.0)]) == both


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.setattr(learning_results, "RAW", tmp_path / "results.json")
    monkeypatch.setattr(learning_results, "PAGE", tmp_path / "results.md")
    (tmp_path / "results.md").write_text(PAGE.read_text())
    learning_results.write([run(1, 450.0)])
    return tmp_path


def test_runs_are_added_one_at_a_time_and_known_ones_are_not_made_again(files, monkeypatch):
    asked = []

    def train(*words):
        asked.append((*words, len(learning_results.read())))
        return {"steps": 7, "returns": [480.0], "seconds": 1.0, "cpu_seconds": 1.0}

    monkeypatch.setattr(learning_results, "train", train)
    words = ["run", "--tasks", "ppo_cartpole", "--backends", "torch", "--seeds", "0,1,2"]
    learning_results.main(words)
    assert asked == [("agent=ppo env=cartpole", "torch", 0, "", 1), (*asked[0][:2], 2, "", 2)]
    assert [run["seed"] for run in learning_results.read()] == [0, 1, 2]
    assert "0: 480.0, 1: **451.0**, 2: 480.0" in (files / "results.md").read_text()


@pytest.mark.timeout(240)  # four processes, each of which loads a framework
def test_a_run_is_trained_to_the_end_of_its_budget_and_played_with_its_last_weights():
    words = "total_timesteps=96 agent.learning_starts=64 network.units=[8] evaluation.interval=0"
    learner = "agent=dqfd agent.pretrain_updates=4 memory.buffer_size=10_000"
    found = learning_results.train(f"{learner} {words} logger.graph=false", "torch", 3, words)
    assert found["steps"] == 256  # one round
    assert len(found["returns"]) == 20
    assert found["cpu_seconds"] > 0.0


def test_a_run_that_fails_is_not_a_result(capsys):
    with pytest.raises(SystemExit, match=r"exited with 2:\n.*agent.learning_rat"):
        learning_results.train("agent.learning_rat=3", "torch", 0)


def test_curves_read_evaluations_and_the_time_of_their_steps(tmp_path: Path) -> None:
    rows = [
        {"step": 100, "time/time_elapsed": 60.0},
        {"step": 200, "eval/mean_reward": 3.0},
        {"step": 300, "time/time_elapsed": 180.0},
        {"step": 300, "eval/mean_reward": 16.256},
    ]
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    types = "agent: {type: apex}\nexecutor: {type: ray}\nbackend: {type: tf}\n"
    (tmp_path / "config.yaml").write_text(f"{types}seed: 4\n")
    found = curves.curve(tmp_path)
    assert found == {
        "agent": "apex",
        "executor": "ray",
        "backend": "tf",
        "seed": 4,
        "points": [[200, 2.0, 3.0], [300, 3.0, 16.26]],
    }
    line = curves.section([found]).splitlines()[-3]
    assert line == "| apex | ray | tf | 4 | 3 min | not reached | 16.3 | 300 | 3 |"


def test_the_page_has_the_curves_of_the_raw_figures() -> None:
    text = curves.PAGE.read_text("utf-8")
    assert text == curves.page(text, json.loads(curves.RAW.read_text("utf-8")))
    assert curves.PICTURE.stat().st_size > 10_000
