"""`rlg list`: everything that can be chosen, from the files and signatures themselves."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from rlg.api.config.groups import groups
from rlg.graph import registry
from tests.cli.test_start import SCRIPT

PLUGIN = '''
import gymnasium
from rlg.graph import Component
from rlg.graph.registry import register


class Doubler(Component):
    """Doubles what it gets. And more."""

    def __init__(self, factor: float = 2.0):
        super().__init__()


register("doubler", Doubler)
gymnasium.register("Listed-v0", entry_point="nowhere:Listed")
'''


def test_the_overview_names_every_option_and_every_component(rlg):
    out = rlg("list").out
    words = set(out.replace(",", " ").split())
    assert [name for options in groups().values() for name in options if name not in words] == []
    assert [name for name in registry.COMPONENTS if name not in words] == []


def test_a_group_shows_its_options_and_its_family_with_arguments(rlg):
    out = rlg("list", "memory").out
    assert "memory=NAME" in out
    assert "A ring of transitions, sampled uniformly (Lin, 1992)." in out
    assert "prioritized_replay" in out
    assert "alpha=0.6" in out


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        ("components", ["memories", "adam", "learning_rate=0.001", "dqn_loss"]),
        ("networks", ["mlp", "units=[64, 64]"]),
        ("dense", ["units", "an integer (at least 1); needed", "kernel_init"]),
        ("env", ["env=NAME", "CartPole-v1", "pong", "any id", "env=ID"]),
        ("environments", ["CartPole-v1"]),
        ("agents", ["dqn", "gamma=0.99", "target_update_interval"]),
        ("backends", ["torch", "tf-graph", "numpy", "compile=false"]),
        ("executors", ["local"]),
        ("experiments", ["cartpole_dqn"]),
        ("agent=dqn", ["type: dqn", "# discount per step"]),
        ("pong", ["name: pong"]),
    ],
)
def test_a_word_shows_what_it_names(rlg, what, parts):
    result = rlg("list", what)
    assert result.code == 0, result.err
    assert [part for part in parts if part not in result.out] == []


@pytest.mark.parametrize(
    ("what", "parts"),
    [
        ("memry", ["memry", "Did you mean 'memory'?"]),
        ("replya", ["Did you mean 'replay'?"]),
        ("agent=dqnn", ["agent=dqnn", "Did you mean 'dqn'?"]),
        ("agnt=dqn", ["agnt", "Did you mean 'agent'?"]),
        ("xyzzy", ["xyzzy", "components"]),
    ],
)
def test_an_unknown_word_is_refused_with_what_was_meant(rlg, what, parts):
    result = rlg("list", what)
    assert result.code == 2
    assert len(result.err.splitlines()) == 1
    assert [part for part in parts if part not in result.err] == [], result.err


def test_a_long_name_stands_apart_from_its_line(rlg):
    lines = rlg("list", "experiments").out.splitlines()
    (line,) = [line for line in lines if line.lstrip().startswith("grid_world_prioritized_dqn")]
    assert line.split()[:3] == ["grid_world_prioritized_dqn", "The", "walk"]


def test_json_holds_the_same(rlg):
    found = json.loads(rlg("list", "optimizer", "--json").out)
    assert [section["title"] for section in found] == ["optimizer", "optimizers"]
    adam = next(entry for entry in found[1]["entries"] if entry["name"] == "adam")
    assert adam["arguments"]["beta1"] == {
        "type": "a number (at least 0 and below 1)",
        "default": 0.9,
    }
    assert json.loads(rlg("list", "env=cartpole", "--json").out)["name"] == "cartpole"


def test_what_to_install_can_be_typed_as_it_stands_there(rlg):
    sections = json.loads(rlg("list", "env", "--json").out)
    lines = [entry["line"] for section in sections for entry in section["entries"]]
    hints = [line for line in lines if "pip install" in line]
    assert hints
    assert [line for line in hints if "pip install 'rlgraph-next[" not in line] == []


def test_the_users_files_and_plugins_are_listed(rlg, folder):
    (folder / "mine/env").mkdir(parents=True)
    (folder / "mine/env/my_env.yaml").write_text("# My own one. Long story.\nname: Acrobot-v1\n")
    (folder / "listed_plugin.py").write_text(PLUGIN)
    out = rlg("list", "env", "--config-dir", "mine", "--plugin", "listed_plugin").out
    assert "My own one. [mine/env/my_env.yaml]" in out
    assert "Listed-v0" in out
    of_plugins = out.partition("of plugins")[2]
    assert "Listed-v0" in of_plugins
    assert "ALE/" not in of_plugins.partition("gymnasium (")[0]
    try:
        shown = rlg("list", "plugins", "--plugin", "listed_plugin").out
        assert "Doubles what it gets. [listed_plugin]" in shown
        assert "factor=2.0" in shown
    finally:
        registry._ADDED.pop("doubler", None)
    refused = rlg("list", "--plugin", "not_there")
    assert (refused.code, "not_there" in refused.err) == (2, True)


@pytest.mark.parametrize("words", [["list", "components"], ["list", "env"]])
def test_listing_loads_neither_framework_nor_hydra(folder, words):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words], capture_output=True, text=True, check=True
    )
    code, _, modules = json.loads(done.stdout)
    heavy = ("torch", "tensorflow", "ray", "numba", "hydra")
    assert (code, [name for name in heavy if name in modules]) == (0, [])
