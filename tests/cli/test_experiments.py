"""Named experiments: complete, with a figure to reach, and each one a test by `--as-test`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hydra import compose, initialize_config_module
from omegaconf import OmegaConf

from rlg.api.config.groups import groups
from rlg.api.config.validate import validate
from rlg.api.expectation import Budget, Expectation, Verdict
from rlg.execution.evaluation import Evaluation
from tests.cli.conftest import TINY

ROOT = Path(__file__).resolve().parents[2]
NAMES = sorted(path.stem for path in (ROOT / "experiments").glob("*.yaml"))


def composed(*overrides: str) -> dict:
    with initialize_config_module("rlg.conf", version_base="1.3"):
        config = compose("train", overrides=list(overrides))
        return OmegaConf.to_container(config, resolve=True)


def test_the_folder_of_experiments_is_the_group():
    assert groups()["experiment"] == NAMES
    assert {"acrobot_dqn", "cartpole_dqn", "grid_world_dqn", "pong_dqn"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_says_what_to_expect_and_with_how_much(name):
    config = validate(composed(f"experiment={name}"))
    expected = config["expected"]
    assert expected["mean_reward"] is not None
    # What is expected within a budget can be reached within the run.
    assert 0 < expected["total_timesteps"] <= config["total_timesteps"]
    # A figure is seen with some seeds, or another's: never neither.
    assert expected["seeds"] or expected["source"]
    assert not (expected["seeds"] and expected["minutes"] is None)
    goal = config["evaluation"]["stop_at"]
    assert goal is None or goal >= expected["mean_reward"]


def test_the_cheapest_experiment_reaches_its_reward(rlg):
    done = rlg("train", "experiment=grid_world_dqn", "--as-test", "hydra.run.dir=run")
    assert done.code == 0, done.err
    assert "expected:   reached: mean reward 0.50, expected 0.45, after " in done.out
    status = json.loads(Path("run/status.json").read_text())
    assert (status["state"], status["exit_code"]) == ("done", 0)
    assert "--as-test" in json.loads(Path("run/meta.json").read_text())["command"]


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["tf", "tf_graph"])
def test_the_cheapest_experiment_reaches_its_reward_on_tensorflow(rlg, backend):
    # TensorFlow's threads can't be set again in a process that has used it.
    words = ["experiment=grid_world_dqn", f"backend={backend}", "backend.threads=null"]
    done = rlg("train", *words, "--as-test")
    assert done.code == 0, done.err
    assert "expected:   reached: " in done.out


def test_a_reward_that_is_not_reached_is_exit_code_3(rlg):
    words = ["train", *TINY, "expected.mean_reward=500", "--as-test", "hydra.run.dir=run"]
    done = rlg(*words)
    assert done.code == 3
    assert "expected:   not reached: mean reward " in done.out
    assert "done: 640 steps" in done.out
    status = json.loads(Path("run/status.json").read_text())
    assert (status["state"], status["exit_code"]) == ("done", 3)


def test_the_budget_of_steps_ends_a_test(rlg):
    words = ["expected.mean_reward=0", "expected.total_timesteps=130", "--as-test"]
    done = rlg("train", *TINY, *words)
    assert done.code == 0, done.err
    assert "done: 192 steps" in done.out
    assert "expected 0.00, after 192 steps" in done.out


def test_the_budget_of_minutes_ends_a_test(rlg):
    words = ["total_timesteps=100_000_000", "expected.minutes=0.01", "expected.mean_reward=500"]
    done = rlg("train", *TINY, *words, "--as-test")
    assert done.code == 3
    assert "expected:   not reached" in done.out


def test_a_sweep_of_tests_says_3_if_any_is_not_reached(rlg):
    words = ["train", "-m", *TINY, "expected.mean_reward=0,500", "--as-test"]
    done = rlg(*words, "hydra.sweep.dir=sweep")
    assert done.code == 3, done.err
    assert "expected.mean_reward=0): done: 640 steps" in done.out
    assert "s, reached: mean reward " in done.out
    assert "s, not reached: mean reward " in done.out
    reached = rlg("train", "-m", *TINY, "expected.mean_reward=0", "seed=1", "--as-test")
    assert reached.code == 0, reached.err


def test_a_test_needs_something_to_expect(rlg, folder):
    done = rlg("train", *TINY, "--as-test")
    assert done.code == 2
    assert "expected.mean_reward: --as-test needs one" in done.err
    assert "experiment=cartpole_dqn" in done.err


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("expected.mean_rewards=3", "Did you mean 'expected.mean_reward'?"),
        (
            "expected.mean_reward=high",
            "expected.mean_reward: expected a number or null, got 'high'.",
        ),
        ("expected.minutes=-1", "expected.minutes: must be positive, got -1.0."),
        ("expected.total_timesteps=0", "expected.total_timesteps: must be at least 1, got 0."),
        ("expected.seeds=3", "expected.seeds: expected a list"),
    ],
)
def test_mistakes_in_what_is_expected_are_said(rlg, word, said):
    done = rlg("train", word)
    assert done.code == 2
    assert said in done.err


class Never:
    requested = False


def test_a_budget_asks_to_stop_at_its_steps_or_minutes():
    steps, now = [0], [50.0]
    made = Expectation(1.0, total_timesteps=100, minutes=2)
    budget = Budget(made, lambda: steps[0], Never(), clock=lambda: now[0])
    assert not budget.requested
    steps[0] = 100
    assert budget.requested
    steps[0], now[0] = 99, 169.9
    assert not budget.requested
    now[0] = 170.0
    assert budget.requested
    unbounded = Budget(Expectation(1.0), lambda: 10**12, Never(), clock=lambda: now[0])
    assert not unbounded.requested


def test_the_expected_reward_itself_is_reached():
    assert Verdict(0.5, Evaluation((0.25, 0.75), (1, 1)), 10, 1.0).is_reached
    assert not Verdict(0.5, Evaluation((0.25, 0.74), (1, 1)), 10, 1.0).is_reached
