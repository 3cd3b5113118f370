"""Names: what is known, and one line of help for what isn't."""

from __future__ import annotations

import subprocess
import sys

import gymnasium
import numpy as np
import pytest

from rlg.envs import env_names, make_env
from rlg.errors import SpecError
from tests.patience import PATIENCE


def message(*args, **words):
    with pytest.raises(SpecError) as caught:
        make_env(*args, **words)
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_short_names_atari_games_and_builtin_ones_are_listed():
    names = env_names()
    assert len(names) >= 104 + 10
    assert {"cartpole", "pendulum", "lunar_lander", "pong", "ms_pacman", "grid_world"} <= set(names)
    assert "combat" not in names  # for two players


@pytest.mark.parametrize(
    ("short", "env_id"),
    [("acrobot", "Acrobot-v1"), ("mountain_car", "MountainCar-v0"), ("cartpole", "CartPole-v1")],
)
def test_short_names_and_ids_are_one_environment(short, env_id):
    assert make_env(env_id).name == make_env(short).name == short


def test_any_other_id_of_gymnasium_is_its_own_name():
    env = make_env("FrozenLake-v1", is_slippery=False)
    assert env.name == "FrozenLake-v1"
    assert env.reset().tolist() == [0]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("cartpoel", "cartpole"),
        ("Pong", "pong"),
        ("brekout", "breakout"),
        ("CartPole-v9", "CartPole-v1"),
        ("ALE/Pong-v4", "ALE/Pong-v5"),
    ],
)
def test_unknown_names_are_refused_with_the_nearest_one(name, meant):
    text = message(name)
    assert text.startswith(f"there is no environment {name!r}. Did you mean {meant!r}? Use")


def test_names_that_import_code_are_refused():
    assert message("my_package.envs:Maze-v0") == (
        "environment 'my_package.envs:Maze-v0' names code to import; list 'my_package.envs' under "
        "`plugins:` and write 'Maze-v0'."
    )


WITHOUT_EXTRAS = """
import sys
for module in ("Box2D", "mujoco", "minatar", "vizdoom"):
    sys.modules[module] = None  # importing it raises, as if it were not installed
from rlg.cli.main import main
for name in sys.argv[1:]:
    print("exit", main(["config", f"env={name}", "agent=random"]), flush=True)
"""


def test_a_missing_extra_is_named_in_one_line_and_exits_with_2():
    names = {
        "lunar_lander": "box2d",
        "bipedal_walker": "box2d",
        "half_cheetah": "mujoco",
        "minatar_asterix": "minatar",
        "doom_basic": "vizdoom",
    }
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_EXTRAS, *names],
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.stdout.split() == ["exit", "2"] * len(names), done.stderr
    lines = done.stderr.splitlines()
    assert len(lines) == len(names)
    for line, (name, extra) in zip(lines, names.items(), strict=True):
        assert line.endswith(
            f"environment {name!r} needs a package that isn't installed: pip install "
            f"'rlgraph-next[{extra}]'"
        )


def test_unknown_options_are_refused():
    assert message("pong", episodic_lives=True).startswith(
        "environment 'pong' has no option 'episodic_lives'. Did you mean 'episodic_life'? Options:"
    )
    assert "no option 'gravity'" in message("cartpole", num_envs=8, gravity=1)
    assert "unexpected keyword argument 'mass'" in message("pendulum", mass=3)
    assert message("pong", repeat_action_probability=1.5).startswith(
        "pong: repeat_action_probability is 1.5;"
    )
    assert message("cartpole", num_envs=0).endswith("num_envs is 0; give at least 1.")


def test_builtin_environments_are_registered_on_use():
    make_env("grid_world")
    assert gymnasium.make("rlg/GridWorld-v0").reset()[0] == 0


def test_importing_the_layer_imports_no_environment_and_no_framework():
    script = (
        "import sys, rlg.envs; "
        "print(sorted({'gymnasium', 'ale_py', 'torch', 'tensorflow', 'cv2'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True, timeout=PATIENCE
    )
    assert done.stdout.strip() == "[]"


def test_cartpole_without_velocities_shows_place_and_angle():
    options = {"num_envs": 2, "seed": 3}
    with (
        make_env("cartpole_positions", **options) as hidden,
        make_env("cartpole", **options) as env,
    ):
        seen, whole = hidden.reset(), env.reset()
        assert hidden.observation_space.shape == (2,)
        for _ in range(20):
            np.testing.assert_allclose(seen, whole[:, [0, 2]], rtol=1e-5)
            seen = hidden.step(np.array([0, 1])).observations
            whole = env.step(np.array([0, 1])).observations
