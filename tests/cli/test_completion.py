"""Completion, asked as shells ask: `rlg __complete SHELL WORDS`."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest

from rlg.api.config.groups import composed_groups, groups
from tests.cli.conftest import PROGRAM

HEAVY = ("numpy", "hydra", "omegaconf", "torch", "tensorflow", "gymnasium")


def asked(rlg, line: str) -> list[str]:
    """What zsh and fish get: whole words."""
    result = rlg("__complete", "zsh", *line.split(" "))
    assert (result.code, result.err) == (0, "")
    return result.out.split("\n")[:-1] if result.out.strip() else []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rlg tra", ["train"]),
        ("rlg --v", ["--version"]),
        ("rlg train env=po", ["env=pong"]),
        ("rlg train agent.gam", ["agent.gamma="]),
        ("rlg train agent.gamma=", ["agent.gamma=0.99"]),
        ("rlg train agent.double=", ["agent.double=true", "agent.double=false"]),
        ("rlg train ~agent.ta", ["~agent.tau", "~agent.target_update_interval"]),
        ("rlg train optimizer=sgd optimizer.mo", ["optimizer.momentum="]),
        (
            "rlg train env=pong network.",
            [
                f"network.{key}="
                for key in (
                    *("type", "features_dim", "convolutions", "offset", "divisor"),
                    *("kernel_init", "bias_init", "layer_norm"),
                )
            ],
        ),
        ("rlg train network=mlp network.un", ["network.units="]),
        ("rlg train --conf", ["--config-dir", "--config-name"]),
        ("rlg eval --epi", ["--episodes"]),
        ("rlg list memor", ["memory", "memories"]),
        ("rlg completion f", ["fish"]),
        ("rlg nonsense x", []),
        ("rlg train nonsense.", []),
    ],
)
def test_words_are_completed(rlg, line, expected):
    assert sorted(asked(rlg, line)) == sorted(expected)


def test_a_group_offers_all_of_its_options(rlg):
    known = groups()
    for group in composed_groups():
        options = known[group]
        assert asked(rlg, f"rlg train {group}=") == [f"{group}={option}" for option in options]


def test_an_empty_word_offers_groups_and_keys_that_are_not_given_yet(rlg):
    found = asked(rlg, "rlg train env=pong ")
    assert {"agent=", "seed=", "total_timesteps=", "agent."} <= set(found)
    assert "env=" not in found


def test_the_users_folder_is_completed_too(rlg, folder):
    (folder / "mine/env").mkdir(parents=True)
    (folder / "mine/env/maze.yaml").write_text("name: Maze-v0\nwalls: 3\n")
    assert asked(rlg, "rlg train --config-dir mine env=ma") == ["env=maze"]
    assert asked(rlg, "rlg train --config-dir mine env=maze env.wa") == ["env.walls="]


def test_run_folders_and_checkpoints_are_completed_newest_first(rlg, folder):
    for name in ("outputs/2030-01-01/a", "outputs/2030-01-02/b", "multirun/2030-01-01/x/0"):
        (folder / name / "checkpoints/step-000000640").mkdir(parents=True)
        (folder / name / "status.json").write_text("{}")
    assert asked(rlg, "rlg resume outputs/") == ["outputs/2030-01-02/b", "outputs/2030-01-01/a"]
    assert "multirun/2030-01-01/x/0" in asked(rlg, "rlg eval ")
    assert asked(rlg, "rlg resume outputs/2030-01-01/a total_t") == ["total_timesteps="]
    line = "rlg eval outputs/2030-01-01/a --checkpoint s"
    assert asked(rlg, line) == ["step-000000640"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_script_is_printed_for_each_shell(rlg, shell):
    out = rlg("completion", shell).out
    assert f"__complete {shell}" in out
    wrong = rlg("completion", f"{shell}x")
    assert (wrong.code, f"Did you mean '{shell}'?" in wrong.err) == (2, True)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("rlg tra", ["train "]),
        ("rlg train env=po", ["pong "]),  # bash takes words apart at =
        ("rlg train agent.gam", ["agent.gamma="]),
        ("rlg train 'env=p", []),
    ],
)
def test_bash_itself_completes_with_the_script(rlg, folder, line, expected):
    (folder / "script").write_text(rlg("completion", "bash").out)
    ask = (
        'source ./script; COMP_LINE="$1" COMP_POINT=${#1} COMP_WORDS=(rlg); _rlg_complete; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "-c", ask, "bash", line],
        cwd=folder,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    assert [word for word in done.stdout.split("\n") if word] == expected
    assert done.stderr == ""


def test_an_answer_loads_next_to_nothing(folder):
    script = (
        "import sys; from rlg.cli.main import main; "
        "main(['__complete', 'bash', 'rlg train env=pong memory.']); "
        "print(' '.join(sys.modules))"
    )
    done = subprocess.run(
        [PROGRAM.parent / "python", "-c", script], capture_output=True, text=True, check=True
    )
    assert "memory.type=" in done.stdout
    assert [name for name in HEAVY if name in done.stdout.split()] == []
