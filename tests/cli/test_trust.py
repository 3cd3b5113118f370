"""A run folder may come from anywhere: looking at it runs none of the code that it names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import TINY

# Leaves a note when it is imported; another name for each test, since modules are imported once.
PLUGIN = """
from pathlib import Path
import gymnasium
Path("imported.txt").write_text("yes")
gymnasium.register("{name}-v0", entry_point="gymnasium.envs.classic_control:CartPoleEnv",
                   max_episode_steps=50)
"""


@pytest.fixture
def plugin(folder: Path, request: pytest.FixtureRequest) -> str:
    name = f"trusted_{abs(hash(request.node.name))}"
    (folder / f"{name}.py").write_text(PLUGIN.format(name=name))
    return name


def imported(folder: Path) -> bool:
    note = folder / "imported.txt"
    was_there = note.exists()
    note.unlink(missing_ok=True)
    return was_there


def forget(name: str) -> None:
    """As in a process that has never imported it."""
    import sys

    import gymnasium

    sys.modules.pop(name, None)
    gymnasium.registry.pop(f"{name}-v0", None)


@pytest.fixture
def run(rlg, folder: Path, plugin: str) -> str:
    words = [f"plugins=[{plugin}]", f"env.name={plugin}-v0", "hydra.run.dir=run"]
    assert rlg("train", *TINY, *words).code == 0
    assert imported(folder)
    forget(plugin)
    return "run"


COMMANDS = {
    "eval run --episodes 2": 0,
    "resume run total_timesteps=700": 0,
    "graph run --text": 0,
}


@pytest.mark.parametrize("line", COMMANDS)
def test_a_folder_imports_its_plugins_only_if_it_is_trusted(rlg, folder, run, plugin, line):
    refused = rlg(*line.split())
    assert refused.code == 2
    assert refused.err == (
        f"rlg: error: run/config.yaml: it imports the plugins {plugin}, which run code. If you "
        "trust this folder, add --trust-plugins, or set RLG_TRUST_PLUGINS=1 for all folders.\n"
    )
    assert not imported(folder)
    done = rlg(*line.split(), "--trust-plugins")
    assert done.code == 0, done.err
    assert imported(folder)


def test_a_users_setting_trusts_all_folders(rlg, folder, run, monkeypatch):
    monkeypatch.setenv("RLG_TRUST_PLUGINS", "1")
    assert rlg("eval", "run", "--episodes", "2").code == 0
    assert imported(folder)


def test_a_configuration_is_shown_without_importing_anything(rlg, folder, run, plugin):
    shown = rlg("config", "run")
    assert shown.code == 0, shown.err
    assert f"name: {plugin}-v0" in shown.out
    assert f"# warning: nothing is checked: plugins ['{plugin}'] are not imported" in shown.out
    assert not imported(folder)


def test_a_sweeps_folder_needs_trust_too(rlg, folder, plugin):
    words = [f"plugins=[{plugin}]", f"env.name={plugin}-v0", "seed=1,2", "hydra.sweep.dir=s"]
    assert rlg("train", "-m", *TINY, *words).code == 0
    shutil.rmtree(folder / "s/1")
    imported(folder)
    forget(plugin)
    refused = rlg("sweep", "s", "--resume")
    assert refused.code == 2
    assert f"imports the plugins {plugin}" in refused.err
    assert not imported(folder)
    assert rlg("sweep", "s").code == 0
    assert not imported(folder)
    resumed = rlg("sweep", "s", "--resume", "--trust-plugins")
    assert resumed.code == 0, resumed.err
    assert imported(folder)


def test_a_sweeps_folder_names_no_targets_for_hydra_to_call(rlg, folder):
    assert rlg("train", "-m", *TINY, "seed=1", "hydra.sweep.dir=s").code == 0
    record = folder / "s/sweep.json"
    word = "+hydra.callbacks.x._target_=rlg.nothing"
    record.write_text(record.read_text().replace('"seed=1"', f'"seed=1", "{word}"', 1))
    refused = rlg("sweep", "s", "--resume")
    assert refused.code == 2
    assert word in refused.err
