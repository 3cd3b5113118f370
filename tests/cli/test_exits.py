"""Exit codes go by when an error is raised, not by what kind of error it is."""

from __future__ import annotations

import json

import pytest

from rlg.api.phases import phase, phase_of
from rlg.cli.exits import explain
from rlg.errors import CheckpointError, EnvironmentFailure, SpaceError, SpecError
from tests.cli.conftest import TINY

# An environment that fails when the run makes it (after the check has), or at its 100th step.
PLUGIN = """
import gymnasium
import numpy as np


class Odd(gymnasium.Env):
    observation_space = gymnasium.spaces.Box(-1, 1, (2,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    made = {}

    def __init__(self, fails: str = "never"):
        Odd.made[fails] = Odd.made.get(fails, 0) + 1
        if fails == "build" and Odd.made[fails] > 1:
            raise OSError("no second one")
        self.fails, self.steps = fails, 0

    def reset(self, *, seed=None, options=None):
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.steps += 1
        if self.fails == "step" and self.steps == 100:
            raise OSError("worn out")
        return np.zeros(2, np.float32), 1.0, self.steps % 10 == 0, False, {}


gymnasium.register("Odd-v0", entry_point=Odd)
"""


@pytest.mark.parametrize(
    ("error", "name", "code"),
    [
        (EnvironmentFailure("x"), "preparing", 2),
        (SpaceError("x"), "preparing", 2),
        (SpaceError("x"), "running", 1),
        (SpecError("x"), "running", 1),
        (SpecError("x"), None, 2),
        (CheckpointError("x"), None, 1),
    ],
)
def test_an_error_is_of_the_configuration_until_the_run_begins(error, name, code):
    if name is not None:
        with pytest.raises(type(error)), phase(name):
            raise error
    assert phase_of(error) == name
    assert explain(error) == ("x", code)


def test_the_innermost_phase_counts():
    error = SpecError("x")
    with pytest.raises(SpecError), phase("running"), phase("preparing"):
        raise error
    assert phase_of(error) == "preparing"


@pytest.mark.parametrize(("when", "code"), [("build", 2), ("step", 1)])
def test_one_environment_failure_exits_by_its_phase(rlg, folder, monkeypatch, when, code):
    (folder / f"odd_{when}.py").write_text(PLUGIN.replace("Odd-v0", f"Odd{when}-v0"))
    words = [f"plugins=[odd_{when}]", f"env.name=Odd{when}-v0", "env.num_envs=1"]
    result = rlg("train", *TINY, *words, f"+env.fails={when}", "hydra.run.dir=run")
    assert result.code == code, result.err
    line = result.err.splitlines()[-1]
    assert line.startswith("rlg: error: ")
    assert ("no second one" in line) == (when == "build")
    assert json.loads((folder / "run/status.json").read_text())["exit_code"] == code


def test_a_run_that_cannot_be_built_leaves_no_folder_of_its_own(rlg, folder):
    (folder / "odd_late.py").write_text(PLUGIN.replace("Odd-v0", "Oddlate-v0"))
    words = ["plugins=[odd_late]", "env.name=Oddlate-v0", "env.num_envs=1", "+env.fails=build"]
    assert rlg("train", *TINY, *words).code == 2
    assert not (folder / "outputs").exists()
    assert rlg("train", "-m", *TINY, "seed=interval(0,1)").code == 2
    assert not (folder / "multirun").exists()
