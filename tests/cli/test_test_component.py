"""`rlg test-component`: words, spaces, exit codes, tables and JSON."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import tests.testing.wrong
from rlg.graph import registry
from rlg.graph.spaces import Box, Dict, FloatBox, IntBox
from rlg.testing.asked.names import find, kind_of
from rlg.testing.asked.question import question_of

CONF = Path(__file__).resolve().parents[2] / "conf"
FAST = "--backends=numpy,torch"


# -- names ----------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("word", "kind", "name", "is_file"),
    [
        ("memory=prioritized", "memory", "prioritized", True),
        ("network=nature_cnn", "network", "nature_cnn", True),
        ("policy=dueling", "policy", "dueling", True),
        ("optimizer=adam", "optimizer", "adam", True),
        ("loss=dqn", "loss", "dqn_loss", False),
        ("loss=dqn_loss", "loss", "dqn_loss", False),
        ("memory=ring", "memory", "ring_buffer", False),
        ("preprocessing=grayscale", "preprocessing", "grayscale", False),
        ("return=gae", "return", "gae", False),
        ("component=dense", "component", "dense", False),
        ("dense", "component", "dense", False),
        ("dqn", "component", "dqn", False),
        ("prioritized", "memory", "prioritized", True),
    ],
)
def test_words_name_files_first_and_then_registered_components(word, kind, name, is_file):
    found = find(word, None)
    assert (found.kind, found.name, found.is_file) == (kind, name, is_file)


def test_kinds_are_folders_in_the_singular():
    assert {kind_of(name) for name in registry.COMPONENTS} >= {
        "memory", "loss", "network", "policy", "head", "layer", "preprocessing", "common",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("memory=priorized", "Did you mean memory=prioritized?"),
        ("memry=prioritized", "Did you mean memory=prioritized?"),
        ("loss=dqm", "Did you mean loss=dqn?"),
        ("dens", "Did you mean 'dense'?"),
        ("dueling", "Write head=dueling_head or policy=dueling."),
        ("agent=dqn", "no components of the kind 'agent'"),
        ("schedule=p", "there is no such component"),
        ("loss=", "there is no such component"),
        ("", "which one?"),
        ("dense units", "'units' is not of the form key=value"),
        ("dense units=[4", "Close brackets"),
        ("dense unit=4", "Did you mean 'units'?"),
        ("dense layer.units=4", "there is no such key"),
        ("dense units=four", "dense.units: expected an integer, got 'four'"),
        ("dense units=0", "dense.units: must be at least 1, got 0"),
        ("policy=q network.unit=[3]", "Did you mean 'units'?"),
        ("dense spaces.input=float", "Did you mean 'inputs'?"),
        ("dense spaces.inputs={type:flot}", "spaces.inputs: Space type 'flot' is unknown"),
        ("dense spaces.inputs={type:float,shape:[0]}", "give a tuple of positive integers"),
        ("dense spaces.inputs=int", "Dense takes float vectors"),
        ("network=multi_input", "give others: spaces.inputs=..."),
        ("memory=replay env=pong", "GB on each backend"),
        ("dense seed=x", "seed: expected an integer, got 'x'"),
        ("dense batch=0", "batch: must be at least 1, got 0"),
        ("dense env=cartpol", "Did you mean 'cartpole'?"),
        ("dense plugins=[no_such_module]", "importing 'no_such_module' raised"),
        ("dense --backends numpi", "Did you mean 'numpy'?"),
        ("dense --config-dir nowhere", "there is no such folder"),
        ("--all units=4", "with --all it has no meaning"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(rlg, words, said):
    result = rlg("test-component", *words.split())
    assert result.code == 2
    assert said in result.err
    assert result.err.startswith("rlg: error: ")
    assert result.err.count("\n") == 1
    assert result.out == ""


# -- arguments and spaces -------------------------------------------------------------------------
def test_arguments_are_plain_or_with_the_kind():
    for word in ("units=[8]", "network.units=[8]", "+network.units=[8]"):
        spec = question_of(["network=mlp", word], None).golden.spec
        assert (spec["units"], spec["activation"]) == ([8], "relu")  # of conf/network/mlp.yaml
    assert question_of(["dense"], None).golden.spec["activation"] == "tanh"  # of its golden


def test_a_whole_spec_replaces_and_single_keys_change():
    whole = question_of(["policy=q", "network={type: dense, units: 3}"], None).golden.spec
    assert whole["network"] == {"type": "dense", "units": 3}
    single = question_of(["policy=q", "network.units=[3]"], None).golden.spec
    assert single["network"] == {"type": "mlp", "units": [3], "activation": "tanh"}


def test_spaces_come_from_the_command_line():
    words = ["policy=q", "spaces.states={type: float, shape: [7], low: 0}", "seed=4", "batch=2"]
    question = question_of(words, None)
    assert question.golden.spaces == {"states": FloatBox(low=0.0, shape=(7,))}
    assert (question.settings["seed"], question.settings["batch"]) == (4, 2)
    nested = "spaces.inputs={a: float, b: {type: int, high: 3, low: 0}}"
    assert question_of(["concat", nested], None).golden.spaces == {
        "inputs": Dict(a=FloatBox(), b=IntBox(4))
    }


def test_an_environment_gives_observations_and_actions():
    policy = question_of(["policy=dueling", "env=cartpole"], None).golden
    assert policy.spaces["states"].shape == (4,)
    assert policy.make().action_space.num_categories == 2
    critic = question_of(["policy=recurrent", "env=cartpole"], None).golden.spaces
    assert (critic["states"].ranks, critic["act.states"].ranks) == ("TB", "B")
    assert critic["hidden"]["c"].shape == (64,)  # the component says so itself
    assert critic["masks"].shape == (2,)
    loss = question_of(["loss=dqn", "env=cartpole"], None).golden.spaces
    assert (loss["q_next"], loss["actions"].num_categories) == (Box((2,)), 2)
    memory = question_of(["memory=prioritized", "env=cartpole"], None).golden.spaces
    assert set(memory["records"]) == {"actions", "next_states", "rewards", "states", "terminals"}


def test_static_arguments_and_keys_that_are_settings_too(rlg):
    words = ["memory=replay", "memory.buffer_size=20", "statics.n=7", "--json", "--backends=numpy"]
    content = json.loads(rlg("test-component", *words).out)
    assert [row["name"] for row in content["methods"]] == ["insert", "sample(n=7)", "size"]
    spec = question_of(["dense", "component.units=3", "seed=5"], None).golden.spec
    assert (spec["units"], "seed" in spec) == (3, False)


def test_default_spaces_are_those_that_can_be_built():
    spaces = question_of(["network=stack"], None).golden.spaces
    assert len(spaces["inputs"].shape) == 1  # its layers are dense


# -- results --------------------------------------------------------------------------------------
def test_a_table_shows_calls_times_errors_and_builds(rlg):
    result = rlg("test-component", "policy=dueling", "env=cartpole", "network.units=[8]")
    assert result.code == 0, result.out + result.err
    lines = result.out.splitlines()
    for title in ("numpy ms", "torch ms", "tf ms", "tf-graph ms", "gradients", "verdict"):
        assert title in lines[0]
    assert "states f32[B,4] -> f32[B,2]" in lines[1]
    assert "torch and tf: 6 variables and 1 input" in lines[1]
    assert lines[1].endswith("ok")
    (torch,) = [line.split() for line in lines if line.startswith("torch ")]
    # Weights: 4 x 8 + 8, then 8 x 1 + 1 for the value and 8 x 2 + 2 for the advantages.
    assert torch[-2:] == ["67", "ok"]
    assert lines[-1].startswith("dueling: ok: 5 API calls on numpy, torch, tf, tf-graph, ")


def test_json_says_the_same_to_programs(rlg):
    result = rlg("test-component", "loss=dqn", "--json", FAST)
    content = json.loads(result.out)
    assert (result.code, content["passed"], content["problems"]) == (0, True, [])
    assert content["spec"]["type"] == "dqn_loss"
    rows = {row["name"]: row for row in content["methods"]}
    assert {"td_errors", "loss", "loss(weights=None)"} <= set(rows)
    assert rows["loss"]["inputs"]["td"] == FloatBox().to_spec()
    assert rows["loss"]["outputs"]["type"] == "tuple"
    assert set(rows["loss"]["milliseconds"]) == {"numpy", "torch"}
    assert rows["loss"]["gradients"]["check"] == "torch against finite differences on numpy"
    assert [about["name"] for about in content["backends"]] == ["numpy", "torch"]
    assert all(about["restored"] for about in content["backends"])


@pytest.mark.parametrize("path", sorted((CONF / "policy").glob("*.yaml")), ids=lambda p: p.stem)
def test_every_packaged_policy_passes(rlg, path):
    result = rlg("test-component", f"policy={path.stem}", "--backends=numpy")
    assert result.code == 0, result.out + result.err


# -- a user's own ---------------------------------------------------------------------------------
PLUGIN = "plugins=[tests.testing.wrong]"
VECTOR = "spaces.inputs={type: float, shape: [3]}"


@pytest.mark.parametrize(
    ("name", "backends", "said"),
    [
        ("other_on_torch", "numpy,torch", "call: numpy and torch: outputs are not equal"),
        ("forgetful", "numpy", "a restored component continues differently"),
        ("unbounded", "numpy", "the output is outside of its space"),
        ("cut_on_torch", "torch,tf", "gradients by `w` are not equal"),
        ("cut_torch_only", "numpy,torch", "the gradient by `w` is not the slope of the loss"),
    ],
)
def test_a_users_wrong_component_is_caught(rlg, name, backends, said):
    words = [f"check_{name}", PLUGIN, VECTOR, f"--backends={backends}"]
    result = rlg("test-component", *words)
    assert result.code == 1
    assert said in result.out
    assert "failed" in result.out
    assert result.err == ""


def test_a_users_right_component_passes_and_needs_its_spaces(rlg):
    assert rlg("test-component", "check_scaled", "factor=3", PLUGIN, VECTOR, FAST).code == 0
    assert rlg("test-component", "network=check_scaled", PLUGIN, VECTOR, FAST).code == 0
    result = rlg("test-component", "check_scaled", PLUGIN)
    assert result.code == 2
    assert "call: it needs the space of `inputs`: spaces.inputs=..." in result.err


def test_backends_of_a_component_are_honoured(rlg):
    result = rlg("test-component", "check_torch_only", PLUGIN, VECTOR)
    assert result.code == 0
    assert "left out: numpy: TorchOnly runs on torch only" in result.out
    assert rlg("test-component", "check_torch_only", PLUGIN, VECTOR, "--backends=tf").code == 2


def test_a_users_folder_of_files_is_searched_first(rlg, folder):
    (folder / "mine/network").mkdir(parents=True)
    (folder / "mine/network/wide.yaml").write_text("type: mlp\nunits: [7]\n")
    words = ["network=wide", "--config-dir", "mine", "--json", FAST]
    content = json.loads(rlg("test-component", *words).out)
    assert content["methods"][0]["outputs"]["shape"] == [7]
    assert rlg("test-component", "network=wide").code == 2


def test_a_plugin_in_a_process_of_its_own(process, folder):
    shutil.copy(tests.testing.wrong.__file__, folder / "my_parts.py")
    words = ["check_other_on_torch", "plugins=[my_parts]", VECTOR, FAST]
    result = process("test-component", *words)
    assert result.code == 1
    assert result.out.splitlines()[-1].startswith("check_other_on_torch: 2 problems: 3 API calls")


# -- all ------------------------------------------------------------------------------------------
def test_all_prints_a_line_for_each_and_lists_the_failures(rlg, monkeypatch):
    from rlg.cli import component_report as component_survey
    from rlg.testing.goldens import GOLDENS, Golden

    some = [golden for golden in GOLDENS if golden.name in ("dense", "replay")]
    wrong = Golden("mine", {"type": "check_other_on_torch"}, {"inputs": Box((3,))})
    impossible = Golden("impossible", {"type": "dense", "units": 2}, {"inputs": IntBox(3)})
    monkeypatch.setattr(component_survey, "GOLDENS", some)
    passed = rlg("test-component", "--all", FAST, "seed=1")
    assert passed.code == 0
    assert [line.split()[2:4] for line in passed.out.splitlines()[:2]] == [
        ["dense", "ok"],
        ["replay", "ok"],
    ]
    monkeypatch.setattr(component_survey, "GOLDENS", [*some, wrong, impossible])
    failed = rlg("test-component", "--all", FAST)
    assert failed.code == 1
    assert "2 of 4 ok on numpy, torch" in failed.out
    assert failed.out.splitlines()[-1] == "failed: mine, impossible"
    content = json.loads(rlg("test-component", "--all", "--json", FAST).out)
    assert (content["passed"], content["failed"]) == (False, ["mine", "impossible"])
    assert len(content["components"]) == 4


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_all_registered_components_pass(rlg):
    result = rlg("test-component", "--all")
    assert result.code == 0, result.out
