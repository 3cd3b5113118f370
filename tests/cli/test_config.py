"""`rlg config`: the resolved tree, where its values come from, and what they come to."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import pytest
import yaml

from rlg.api.config.sections import EXECUTORS, backend_arguments
from rlg.api.config.signatures import arguments_of
from rlg.api.inspection.estimate import Replay, Rounds
from rlg.backends.executor import make_executor
from rlg.execution.cadence import Cadence
from rlg.execution.types import Clock
from tests.cli.conftest import TINY
from tests.cli.test_start import SCRIPT


def shown(rlg, *words: str) -> dict:
    result = rlg("config", "--json", *words)
    assert result.code == 0, result.err
    return json.loads(result.out)


def test_every_value_says_where_it_comes_from(rlg, folder):
    (folder / "mine/env").mkdir(parents=True)
    (folder / "mine/env/cartpole.yaml").write_text("name: cartpole\nnum_envs: 3\n")
    found = shown(
        rlg, "--config-dir", "mine", "experiment=cartpole_dqn", "agent.gamma=0.9", "backend=tf"
    )
    assert set(found["sources"].values()) >= {"command line", "default"}
    assert found["sources"]["agent.gamma"] == "command line"
    assert found["sources"]["agent.tau"] == "conf/agent/dqn.yaml"
    assert found["sources"]["agent.train_freq"] == "conf/experiment/cartpole_dqn.yaml"
    assert found["sources"]["env.num_envs"] == "mine/env/cartpole.yaml"
    assert found["sources"]["backend.deterministic"] == "conf/backend/tf.yaml"
    assert found["sources"]["env.max_episode_steps"] == "default"
    assert found["sources"]["seed"] == "conf/train.yaml"
    assert found["config"]["agent"]["gamma"] == 0.9
    assert found["config"]["env"]["num_envs"] == 3


@pytest.mark.parametrize("name", ["Acrobot-v1", "counter", "MountainCar-v0"])
def test_any_environment_is_an_option_of_env(rlg, name):
    found = shown(rlg, f"env={name}")
    assert (found["config"]["env"]["name"], found["config"]["env"]["num_envs"]) == (name, 8)
    assert found["sources"]["env.name"] == f"env={name}"
    by_name = shown(rlg, f"env.name={name}")["config"]
    assert found["config"] == by_name


@pytest.mark.parametrize(("name", "sticky"), [("seaquest", 0.0), ("ALE/Seaquest-v5", 0.25)])
def test_an_atari_game_brings_network_and_memory_of_images(rlg, name, sticky):
    config = shown(rlg, f"env={name}")["config"]
    assert (config["env"]["name"], config["env"]["frame_stack"]) == (name, 4)
    assert config["env"]["repeat_action_probability"] == sticky
    assert (config["network"]["type"], config["memory"]["type"]) == ("nature_cnn", "frame_replay")


@pytest.mark.parametrize(
    ("words", "key", "value"),
    [
        (["env.max_episode_steps=9"], "env.max_episode_steps", 9),
        (["env=Acrobot-v1", "env.max_episode_steps=9"], "env.max_episode_steps", 9),
        (["network=lstm", "network.network.bias_init=zeros"], "network.network.bias_init", "zeros"),
        (["network.scope=net"], "network.scope", "net"),
        (["backend.compile=true", "backend=torch"], "backend.compile", True),
    ],
)
def test_a_key_that_a_constructor_takes_needs_no_plus(rlg, words, key, value):
    found = shown(rlg, *words)
    section = found["config"]
    for name in key.split(".")[:-1]:
        section = section[name]
    assert section[key.rpartition(".")[2]] == value
    assert found["sources"][key] == "command line"


@pytest.mark.parametrize("value", ["1e-3", "[[0,1e-3],[1,0]]", "{type:linear,initial:1,final:0}"])
def test_a_tuned_schedule_is_replaced_by_any_other_form(rlg, value):
    found = shown(rlg, "env=cartpole", f"optimizer.learning_rate={value}")["config"]
    assert str(found["optimizer"]["learning_rate"])[:1] == {"1": "0"}.get(value[0], value[0])


def test_values_say_that_they_were_tuned(rlg):
    found = shown(rlg, "env=seaquest")["sources"]
    assert found["agent.batch_size"] == "conf/tuned/dqn_atari.yaml"
    assert found["optimizer.learning_rate"] == "conf/tuned/optimizer/dqn_atari_adam.yaml"
    assert found["agent.gamma"] == "conf/agent/dqn.yaml"


def test_an_experiment_may_choose_any_environment(rlg, folder):
    (folder / "mine/experiment").mkdir(parents=True)
    text = "# @package _global_\ndefaults:\n  - override /env: Acrobot-v1\n"
    (folder / "mine/experiment/study.yaml").write_text(text)
    found = shown(rlg, "--config-dir", "mine", "experiment=study")
    assert found["config"]["env"]["name"] == "Acrobot-v1"


def test_the_page_is_yaml_that_a_run_would_accept(rlg, folder):
    result = rlg("config", "env=pong", "seed=4")
    content = yaml.safe_load(result.out)
    assert content == shown(rlg, "env=pong", "seed=4")["config"]
    assert "seed: 4" in result.out
    assert "# command line" in result.out
    assert "frames: 40,000,000 (4 for each step)" in result.out
    assert list(folder.iterdir()) == []


def test_the_figures_are_those_of_the_run_itself(rlg, folder):
    figures = shown(rlg, *TINY, "evaluation.interval=100", "checkpoint.interval=200")["figures"]
    done = rlg(
        "train", *TINY, "evaluation.interval=100", "checkpoint.interval=200", "checkpoint.keep=99"
    )
    assert f"done: {figures['steps']:,} steps, {figures['updates']:,} updates" in done.out
    rows = [json.loads(line) for line in (done.folder / "metrics.jsonl").read_text().splitlines()]
    evaluated = {row["step"] for row in rows if "eval/mean_reward" in json.dumps(row)}
    assert len(evaluated) == figures["evaluations"] == 6
    assert len(list((done.folder / "checkpoints").iterdir())) == figures["checkpoints"]
    assert figures["samples_trained_per_sample_collected"] == 4 * 64 / 64


def simulated(total, cadence, num_envs, interval, sync, n_step=1) -> tuple:
    """The replay loop, round by round."""
    depth = max(1, cadence.train_freq // num_envs)
    t = updates = visits = syncs = synced = iterations = 0
    first = None
    while t < total:
        before, t, iterations = t, t + depth * num_envs, iterations + 1
        is_ready = t // num_envs >= n_step
        due = cadence.due(Clock(t, updates, total)) if is_ready else 0
        if due:
            first = t if first is None else first
            updates += due
            if t // sync > synced // sync:
                syncs, synced = syncs + 1, t
        visits += bool(interval) and (before // interval != t // interval or t >= total)
    return iterations, first, updates, visits, syncs


@pytest.mark.parametrize(
    ("total", "train_freq", "num_envs", "starts", "interval", "sync", "n_step"),
    [
        (600, 64, 8, 100, 100, 128, 1),
        (50_000, 256, 8, 1_000, 10_000, 512, 1),
        (5_000, 4, 8, 1_000, 7, 3, 1),
        (5_000, 5, 3, 1_000, 999, 1_001, 3),
        (5_000, 100, 8, 1_000, 999, 250, 3),
        (999, 10, 10, 1, 0, 30, 5),
        (64, 64, 1, 64, 64, 64, 1),
        (100, 16, 4, 5_000, 33, 10, 1),
    ],
)
def test_the_estimate_agrees_with_the_loop(
    total, train_freq, num_envs, starts, interval, sync, n_step
):
    cadence = Cadence(starts, train_freq, 3)
    size = max(1, train_freq // num_envs) * num_envs
    rounds = Rounds(size, -(-total // size))
    replay = Replay.of(rounds, cadence, num_envs, n_step)
    iterations, first, updates, visits, syncs = simulated(
        total, cadence, num_envs, interval, sync, n_step
    )
    assert (rounds.count, replay.updates) == (iterations, updates)
    assert replay.at[:1].tolist() == ([] if first is None else [first])
    assert rounds.crossings(interval) == visits
    assert replay.syncs(sync) == syncs


@pytest.mark.parametrize("agent", ["ppo", "a2c"])
def test_an_agent_without_a_memory_is_shown_without_one(rlg, agent):
    found = shown(rlg, f"agent={agent}", "total_timesteps=100", "agent.n_steps=5", "env.num_envs=4")
    assert "memory" not in found["config"]
    assert (found["figures"]["steps"], found["figures"]["updates"]) == (100, 5)
    assert "memory_bytes" not in found["figures"]


@pytest.mark.parametrize(
    ("words", "bytes_each"),
    [
        # two observations of 4 floats, an action, a reward, an end
        (["memory.buffer_size=100000", "tuned=null"], 2 * 16 + 8 + 4 + 1),
        (["env=pong", "memory=replay_frames"], 2 * 84 * 84 * 4 + 8 + 4 + 1),
    ],
)
def test_the_memory_is_estimated_to_the_byte(rlg, words, bytes_each):
    found = shown(rlg, *words)
    size = found["config"]["memory"]["buffer_size"] * bytes_each
    assert math.isclose(found["figures"]["memory_bytes"], size, rel_tol=1e-3)


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["agent.learning_starts=60000"], "nothing will be learned"),
        (["agent=ppo", "env=grid_world", "total_timesteps=500"], "an iteration has 16,384 steps"),
        (["agent.exploration=[[0,1],[1000,0.1]]"], "agent.exploration has a point at time 1000"),
        (["optimizer.learning_rate=[[0,1],[2,0.1]]"], "optimizer.learning_rate has a point"),
        (["agent.target_update_interval=60000"], "the target network stays"),
        (["agent.exploration_initial_eps=0.01"], "exploration grows"),
        (["memory.buffer_size=100000000000"], "are free"),
        (["evaluation.interval=0", "evaluation.stop_at=3"], "evaluation.stop_at=3"),
        (["backend.threads=4000"], "4000"),
        (["backend.replica_devices=[cpu,cpu,cpu]", "backend.threads=4000"], "replicas=3 is more"),
        (["backend.replicas=4000"], "backend.threads=1 for each of backend.replicas=4000 is more"),
    ],
)
def test_what_makes_no_sense_gets_a_line(rlg, words, part):
    result = rlg("config", *words)
    assert result.code == 0
    warnings = [line for line in result.out.splitlines() if line.startswith("# warning: ")]
    assert [line for line in warnings if part in line]


def test_the_packaged_defaults_make_sense(rlg):
    assert shown(rlg)["warnings"] == []


def test_an_agent_that_never_learns_is_not_warned_of_it(rlg):
    assert shown(rlg, "agent=random")["warnings"] == []


def test_a_run_folder_shows_its_configuration_with_changes(rlg, folder):
    run = str(rlg("train", *TINY, "seed=9").folder)
    found = shown(rlg, run, "total_timesteps=9000")
    assert found["config"]["seed"] == 9
    assert found["sources"]["seed"] == f"{run}/config.yaml"
    assert found["sources"]["total_timesteps"] == "command line"
    assert found["figures"]["steps"] == 9024


@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["agent.gama=1"], ["agent.gama", "Did you mean 'agent.gamma'?"]),
        (["agent.gamma=7"], ["agent.gamma: must be between 0 and 1, got 7.0"]),
        (["agent=dqnn"], ["Did you mean 'dqn'?"]),
        (["nowhere"], ["'nowhere'"]),
        (["seed=1,2"], ["seed=1,2", "several"]),
        (["seed=${foo}"], ["'foo' not found"]),
        (["seed=???"], ["seed", "no value"]),
        (["-m"], ["rlg config"]),
        (["--config-dir", "nowhere"], ["nowhere", "no such folder"]),
        (["."], ["not a run folder"]),
    ],
)
def test_what_train_refuses_is_refused_here(rlg, words, parts):
    result = rlg("config", *words)
    assert (result.code, len(result.err.splitlines())) == (2, 1), result
    assert [part for part in parts if part not in result.err] == [], result.err


@pytest.mark.parametrize("backend", EXECUTORS)
def test_the_options_of_a_backend_are_those_of_its_executor(backend):
    # The seed is the run's; the mode is in the type; role and sessions are the engine's.
    given = ("seed", "mode", "role", "owner", "target", "task", "filters")
    executor = arguments_of(type(make_executor(backend)), without=given)
    assert backend_arguments(backend) == executor


def test_showing_a_configuration_loads_no_framework(folder):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "config"], capture_output=True, text=True, check=True
    )
    code, _, modules = json.loads(done.stdout)
    assert (code, [name for name in ("torch", "tensorflow", "ray") if name in modules]) == (0, [])
