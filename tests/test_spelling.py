"""Spelling suggestions: what a mistyped word may have meant."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rlg
from rlg.spelling import ALIASES, nearest, nearest_path, suggestion

PATHS = [
    "seed",
    "total_timesteps",
    "agent.type",
    "agent.gamma",
    "agent.tau",
    "agent.double",
    "agent.learning_starts",
    "optimizer.type",
    "optimizer.learning_rate",
    "memory.type",
    "memory.buffer_size",
    "logger.interval",
    "evaluation.interval",
    "agent",
    "optimizer",
]


@pytest.mark.parametrize(
    ("word", "words", "meant"),
    [
        ("gama", ["tau", "gamma"], "gamma"),
        ("DQN", ["dqn"], "dqn"),
        ("bet1a", ["beta1", "beta2"], "beta1"),  # as close to both, with the letters of one
        ("tf-graph", ["tf", "tf_graph"], "tf_graph"),
        ("lr", ["tau", "learning_rate"], "learning_rate"),
        ("LR", ["learning_rate"], "learning_rate"),
        ("capacity", ["type", "buffer_size"], "buffer_size"),
        ("max_steps", ["total_timesteps"], "total_timesteps"),
        ("max_steps", ["total_timesteps", "max_episode_steps"], "max_episode_steps"),
        ("lr", ["tau", "gamma"], None),
        ("xyzzy", ["tau", "gamma"], None),
        ("anything", [], None),
    ],
)
def test_the_nearest_word_is_a_slip_another_case_or_another_librarys_name(word, words, meant):
    assert nearest(word, words) == meant
    assert suggestion(word, words) == (f" Did you mean {meant!r}?" if meant else "")


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("agent.gama", "agent.gamma"),
        ("agent.learning_rate", "optimizer.learning_rate"),
        ("optimzer.learning_rate", "optimizer.learning_rate"),
        ("optimzer.learnin_rate", "optimizer.learning_rate"),
        ("optim.lr", "optimizer.learning_rate"),
        ("eval.interval", "evaluation.interval"),
        ("logger.intervall", "logger.interval"),
        ("learnig_rate", "optimizer.learning_rate"),
        ("lr", "optimizer.learning_rate"),
        ("agent.discount", "agent.gamma"),
        ("memory.capacity", "memory.buffer_size"),
        ("agnt", "agent"),
        ("optimizer.weight_decay", None),  # nothing like it, though the sections are equal
        ("memory.xyzzy", None),
    ],
)
def test_the_nearest_path_is_in_the_section_that_was_meant_or_has_the_same_last_word(path, meant):
    assert nearest_path(path, PATHS) == meant


def test_aliases_lead_to_names_that_exist():
    from rlg.api.agents.factory import agent_class
    from rlg.api.config.validate import KEYS
    from rlg.graph import registry

    known = {*KEYS, "name", "num_envs", "max_episode_steps", "episodes", "device"}
    known |= set(registry.parameters_of(agent_class("dqn")))
    for name in registry.names():
        known |= set(registry.parameters_of(registry.component_class(name)))
    assert {meant for names in ALIASES.values() for meant in names} - known == set()


def test_there_is_one_engine_for_suggestions():
    sources = Path(rlg.__file__).parent.rglob("*.py")
    users = [path.name for path in sources if re.search(r"^import difflib", path.read_text(), re.M)]
    assert users == ["spelling.py"]
