"""Mistakes made by rule with every key of every packaged file: refused in a line that names it."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from functools import cache

import pytest

from tests.cli.mutating import Mistake, all_mistakes, conf_files, keys, mistakes
from tests.cli.test_start import SCRIPT

FILES = conf_files()
SAMPLED_FILES, EACH = 10, 4
# Should a mistake be accepted, its run is over soon.
SHORT = "total_timesteps=1"


def wrong_with(mistake: Mistake, rlg, command: str) -> str | None:
    """What a refusal lacks; None if it is as it should be."""
    short = [] if mistake.named.startswith("total_timesteps") else [SHORT]
    result = rlg(command, *short, *mistake.words)
    lines = result.err.splitlines()
    if result.code != 2:
        return f"exit code {result.code}: {result.err[-300:]}"
    if len(lines) != 1 or not lines[0].startswith("rlg: error: ") or "Traceback" in result.out:
        return f"not one line: {result.err}"
    if mistake.named not in lines[0]:
        return f"{mistake.named} is not named: {lines[0]}"
    hint = lines[0].partition("Did you mean ")[2].partition("?")[0]
    if mistake.meant is not None and mistake.meant not in hint:
        return f"{mistake.meant} is not what it suggests: {lines[0]}"
    return None


def check(found: list[Mistake], rlg) -> None:
    # By turns: `rlg config` refuses what `rlg train` does, and composes once instead of twice.
    commands = ["train" if index % 2 else "config" for index in range(len(found))]
    wrong = {m: wrong_with(m, rlg, command) for m, command in zip(found, commands, strict=True)}
    failed = [f"{mistake}\n    {what}" for mistake, what in wrong.items() if what]
    good = len(found) - len(failed)
    print(f"{len(found)} malformed inputs, {good} refused as they should be")  # noqa: T201
    assert failed == [], "\n".join(failed)


def test_a_sample_of_mistakes_is_refused_in_one_line_that_names_the_key(rlg):
    dice = random.Random(20)
    chosen = dice.sample(FILES, SAMPLED_FILES)
    found = [m for file in chosen for m in dice.sample(mistakes(file, set()), EACH)]
    assert len(found) == 40
    check(found, rlg)


@pytest.mark.parametrize(
    ("words", "named", "part"),
    [
        ("agent.exploration={type:linar}", "agent.exploration", "Did you mean 'linear'?"),
        ("agent.exploration={type:linear,initial:x}", "agent.exploration.initial", "a number"),
        ("agent.exploration={type:linear,inital:1}", "agent.exploration.inital", "'initial'?"),
        ("agent.exploration={type:linear,initial:3}", "agent.exploration", "between 0 and 1"),
        ("optimizer.learning_rate=[[0,-1]]", "optimizer.learning_rate", "positive"),
        ("optimizer.learning_rate=[[0,x]]", "optimizer.learning_rate", "not a schedule"),
        ("network.kernel_init=zeroes", "network.kernel_init", "Did you mean 'zeros'?"),
        ("network.kernel_init={type:orthogonal,gan:2}", "network.kernel_init", "gain"),
        ("network=lstm network.network.type=mllp", "network.network.type", "Did you mean 'mlp'?"),
        ("network=lstm network.network.activation=rleu", "network.network.activation", "'relu'?"),
        ("network=stack network.layers=[{units:3}]", "network.layers[0].type", "missing"),
        ("+network.scope=3", "network.scope", "text"),
        ("~backend.type", "backend.type", "torch"),
        ("expected.mean_reward=nan", "expected.mean_reward", "a number"),
    ],
)
def test_what_stands_inside_of_a_value_is_refused_under_its_own_key(rlg, words, named, part):
    result = rlg("config", *words.split())
    assert (result.code, len(result.err.splitlines())) == (2, 1), result
    assert result.err.startswith(f"rlg: error: {named}: ")
    assert part in result.err


@pytest.mark.parametrize(
    "words",
    [
        "agent.exploration={type:linear,initial:1.0,final:0.0,length:0.5}",
        "optimizer.learning_rate={type:linear,initial:1e-3,final:0}",
        "optimizer.learning_rate=[[0,1e-3],[1,1e-4]]",
        "memory=prioritized memory.alpha=1.0 memory.beta=0",
        "network.kernel_init={type:orthogonal,gain:2}",
        "+network.scope=net",
        "evaluation.stop_at=-100",
    ],
)
def test_unusual_values_that_mean_something_are_accepted(rlg, words):
    result = rlg("config", *words.split())
    assert result.code == 0, result.err


@cache
def everything() -> list[Mistake]:
    return all_mistakes()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_mistakes_are_made_with_every_key_of_every_file(record_property):
    found = everything()
    print(f"{len(found)} malformed inputs from {len(FILES)} files")  # noqa: T201
    record_property("malformed_inputs", len(found))
    assert len(found) >= 500
    named = {(m.file, m.words[-1].lstrip("+~").partition("=")[0]) for m in found}
    names = {(m.file, m.meant) for m in found if m.kind == "name"}
    for file in FILES:
        for key in keys(file):
            assert (file, key.name) in names
            assert key.holder is not None or any(f == file and key.name in w for f, w in named)
    kinds = {m.kind.partition(" ")[0] for m in found}
    assert kinds >= {"name", "added", "option", "type", "null", "missing", "negative", "endless"}


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("file", FILES)
def test_every_mistake_is_refused_in_one_line_that_names_the_key(rlg, file):
    check([mistake for mistake in everything() if mistake.file == file], rlg)


@pytest.mark.parametrize(
    "words", ["agent.gamma=2", "backend.threads=0", "memory.bufer_size=3", "env=cartpol"]
)
def test_a_refused_configuration_loads_no_framework(folder, words):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "train", words], capture_output=True, text=True, check=True
    )
    code, _, modules = json.loads(done.stdout)
    assert code == 2
    assert [name for name in ("torch", "tensorflow", "ray", "numba") if name in modules] == []
