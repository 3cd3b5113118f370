"""What people mistype: exit code 2 and one line that names the cause and what was meant."""

from __future__ import annotations

import json
import os
from datetime import datetime

import pytest

# command line -> what its line must say
COMPOSITION = {
    # groups and their options
    "train agent=dqnn": ["agent=dqnn", "Did you mean 'dqn'?"],
    "train agent=DQN": ["agent=DQN", "Did you mean 'dqn'?"],
    "train env=cartpol": ["env=cartpol", "Did you mean 'cartpole'?", "acrobot"],
    "train env=lunar_landr": ["env=lunar_landr", "Did you mean 'lunar_lander'?", "env.name=NAME"],
    "train env=CartPol-v1": ["'CartPol-v1'", "Did you mean 'CartPole-v1'?"],
    "train backend=tf-graph": ["Did you mean 'tf_graph'?"],
    "train experiment=pong": ["experiment=pong", "Did you mean 'pong_dqn'?"],
    "train hydra/launcher=foo": ["hydra/launcher=foo", "basic, joblib"],
    "train memory=5": ["memory=5", "replay"],
    "train memory=": ["Options of memory: ", "replay"],
    "train policy=q": ["policy: training doesn't choose", "test-component"],
    "train agent=null": ["agent=null"],
    "train +experiment=pong_dqn": ["experiment", "Leave out the +"],
    "train env@x=pong": ["env@x", "env=..."],
    "train foo/bar=3": ["foo/bar", "Groups: agent"],
    "train -m agent=dqn,foo seed=1,2": ["agent=foo", "Options of agent: ", "dqn"],
    # keys
    "train agnt=dqn": ["agnt", "Did you mean 'agent'?"],
    "train memory.bufer_size=3": ["Did you mean 'memory.buffer_size'?"],
    "train learning_rate=1e-3": ["Did you mean 'optimizer.learning_rate'?"],
    "train agent.learning_rate=1e-3": ["Did you mean 'optimizer.learning_rate'?"],
    "train optimzer.learning_rate=1": [
        "there is no section 'optimzer'",
        "Did you mean 'optimizer.learning_rate'?",
    ],
    "train eval.interval=1": ["Did you mean 'evaluation.interval'?"],
    "train lr=1e-3": ["Did you mean 'optimizer.learning_rate'?"],
    "train agent.lr=1e-3": ["Did you mean 'optimizer.learning_rate'?"],
    "train agent.discount=0.9": ["Did you mean 'agent.gamma'?"],
    "train memory.capacity=9": ["Did you mean 'memory.buffer_size'?"],
    "train steps=9": ["Did you mean 'total_timesteps'?"],
    "train env.max_episode_step=9": ["Did you mean 'env.max_episode_steps'?"],
    "train -m agent.gama=1,2": ["agent.gama", "Did you mean 'agent.gamma'?"],
    "train agent.gamma.x=3": ["agent.gamma is one value"],
    "train network.units.foo=3": ["network.units.foo=3", "'foo'"],
    "train memory={size:1}": ["memory.size", "buffer_size"],
    "train +agent.gamma=3": ["agent.gamma", "Leave out the +"],
    "train ~agent.gama": ["~agent.gama", "Did you mean 'agent.gamma'?"],
    # grammar
    "train cartpole": ["'cartpole' is not of the form key=value", "Did you mean env=cartpole?"],
    "train agent": ["agent: which one?", "dqn"],
    "train network.units=[64": ["network.units=[64", "Close brackets"],
    "train agent.tau='a": ["agent.tau='a", "quotes"],
    "train =5": ["=5: it has no key"],
    "train hydra.run.dir=": ["hydra.run.dir: expected the name of a folder"],
    "train seed=1,2": ["seed=1,2", "Add -m", "seed=[1,2]"],
    "train -m seed=interval(0,1)": ["seed=interval(0,1)", "Add hydra/sweeper=optuna"],
    # references
    "train seed=${foo}": ["seed=${foo}", "'foo' not found"],
    "train agent.gamma=${oc.env:NOPE}": ["agent.gamma=${oc.env:NOPE}", "'NOPE' not found"],
    "train agent.gamma=${nope:3}": ["agent.gamma=${nope:3}", "nope"],
    "train seed=???": ["seed: it has no value"],
    "train agent.gamma=???": ["agent.gamma: it has no value"],
    # flags and commands
    # sections that an agent doesn't have
    "train agent=ppo memory.buffer_size=9": ["agent ppo has no memory", "network, optimizer"],
    "train agent=ppo +memory.alpha=1": ["agent ppo has no memory"],
    "train agent=a2c memory=prioritized": ["memory=prioritized: agent a2c has no memory"],
    "train --foo": ["rlg train", "--foo"],
    "train --cfg jobs": ["--cfg", "'jobs'"],
    "train --cfg job -m": ["-m, --cfg and --info exclude each other"],
    "train --resolve": ["--cfg job --resolve"],
    "train --config-dir nowhere": ["--config-dir nowhere", "no such folder"],
    "train --config-name nothing": ["--config-name nothing"],
    "trian": ["rlg: error: No such command 'trian'", "Did you mean 'train'?"],
    "resume": ["rlg resume", "folder"],
    "resume nowhere": ["nowhere", "not a run folder"],
    "eval nowhere": ["nowhere", "not a run folder"],
    "eval nowhere --episodes 0": ["--episodes", "1"],
}

# These compose; the run's own check refuses them. `test_validate.py` has more of their kind.
VALUES = {
    "seed=true": ["seed: expected an integer, got true", "seed=0"],
    "optimizer.learning_rate=fast": [
        "optimizer.learning_rate: expected a number",
        "got 'fast'",
        "0.001",
    ],
    "agent.gamma=1.5": ["agent.gamma: must be between 0 and 1, got 1.5"],
    "memory.buffer_size=-5": ["memory.buffer_size: must be at least 1, got -5"],
    "env.name=cartpol": ["env", "'cartpol'", "Did you mean 'cartpole'?"],
    "backend.type=numpy": ["backend.type", "can't train", "backend=torch"],
    "network.activation=rel": ["Did you mean 'relu'?"],
    "plugins=[not_there]": ["plugins", "not_there"],
    "+agent.gama=0.9": ["agent.gama", "Did you mean 'gamma'?"],
    "~env": ["env", "missing"],
    "network=nature_cnn": ["network=mlp", "cartpole"],
    "env=pong network=mlp": ["network=nature_cnn", "pong"],
    "env.name=pendulum": ["agent=dqn with env=pendulum", "discrete"],
    "env=pendulum": ["agent=dqn with env=pendulum", "discrete"],
    "env=Pendulum-v1": ["agent=dqn with env=Pendulum-v1", "discrete"],
}


def the_line(result) -> str:
    lines = result.err.splitlines()
    assert result.code == 2, result
    assert len(lines) == 1, result.err
    assert lines[0].startswith("rlg: error: ")
    assert "Traceback" not in result.out + result.err
    return lines[0]


@pytest.mark.parametrize("line", COMPOSITION)
def test_a_mistyped_command_gets_one_line_that_says_what_to_type(rlg, line):
    message = the_line(rlg(*line.split()))
    assert [part for part in COMPOSITION[line] if part not in message] == [], message


@pytest.mark.parametrize("words", VALUES)
def test_a_wrong_value_gets_one_line_that_names_its_key(rlg, words):
    message = the_line(rlg("train", *words.split()))
    assert [part for part in VALUES[words] if part not in message] == [], message


def test_the_folder_of_a_refused_configuration_says_so(rlg, folder):
    message = the_line(rlg("train", "agent.gamma=2", "hydra.run.dir=here"))
    status = json.loads((folder / "here/status.json").read_text())
    assert (status["state"], status["exit_code"], status["steps"]) == ("failed", 2, 0)
    assert message.endswith(status["error"])


def test_a_refused_configuration_leaves_no_folder_of_its_own(rlg, folder):
    the_line(rlg("train", "agent.gamma=2"))
    assert list(folder.iterdir()) == []


def test_a_refused_configuration_leaves_other_runs_alone(rlg, folder):
    day = folder / "outputs" / datetime.now().strftime("%Y-%m-%d")
    (day / "another").mkdir(parents=True)
    the_line(rlg("train", "agent.gamma=2"))
    assert [path.name for path in day.iterdir()] == ["another"]


def test_a_broken_yaml_file_is_named(rlg, folder):
    (folder / "mine/env").mkdir(parents=True)
    (folder / "mine/env/odd.yaml").write_text("name: [cartpole\n")
    message = the_line(rlg("train", "--config-dir", "mine", "env=odd"))
    assert "odd.yaml" in message


EXPERIMENTS = {
    "# @package _global_\ndefaults:\n  - override /env: cartpol\n": "study chooses env=cartpol:",
    "defaults:\n  - override /env: cartpole\n": "Begin the file with the line `# @package",
}


@pytest.mark.parametrize("text", EXPERIMENTS)
def test_a_mistake_in_an_experiment_is_said_to_be_there(rlg, folder, text):
    (folder / "mine/experiment").mkdir(parents=True)
    (folder / "mine/experiment/study.yaml").write_text(text)
    message = the_line(rlg("train", "--config-dir", "mine", "experiment=study"))
    assert EXPERIMENTS[text] in message


@pytest.mark.parametrize("command", ["eval", "resume"])
def test_a_run_with_a_broken_configuration_names_the_file(rlg, folder, command):
    (folder / "run").mkdir()
    (folder / "run/config.yaml").write_text("agent: [\n")
    (folder / "run/status.json").write_text("{}")
    message = the_line(rlg(command, "run"))
    assert "run/config.yaml: it can't be read" in message
    assert "--traceback" not in message


def test_a_folder_of_runs_names_the_newest_of_them(rlg, folder):
    for number, name in enumerate(("early", "late")):
        status = folder / "outputs/2030-01-31" / name / "status.json"
        status.parent.mkdir(parents=True)
        status.write_text("{}")
        os.utime(status, (number, number))
    message = the_line(rlg("eval", "outputs"))
    assert "one of the 2 runs in it; the newest is outputs/2030-01-31/late." in message


@pytest.mark.parametrize("words", [["--traceback"], []])
def test_the_traceback_is_there_for_those_who_ask(rlg, monkeypatch, words):
    if not words:
        monkeypatch.setenv("HYDRA_FULL_ERROR", "1")
    result = rlg("train", "seed=x", *words)
    assert result.code == 2
    assert "Traceback" in result.err
    assert result.err.splitlines()[-1].startswith("rlg: error: seed: expected an integer, got 'x'")


def test_an_unexpected_error_is_one_line_too_and_exits_1(rlg, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("oh")

    monkeypatch.setattr("rlg.api.run.train", broken)
    result = rlg("train")
    assert result.code == 1
    assert result.err == (
        "rlg: error: ZeroDivisionError: oh. Add --traceback to see where it comes from.\n"
    )


def test_a_folder_that_cannot_be_made_exits_2(rlg, folder):
    (folder / "file").write_text("")
    message = the_line(rlg("train", "hydra.run.dir=file/run"))
    assert message.endswith(" file/run: Not a directory. Choose another folder: hydra.run.dir=...")


@pytest.mark.parametrize("line", ["train agent=dqnn", "train memory.buffer_size=-5"])
def test_a_process_of_its_own_says_the_same(process, line):
    message = the_line(process(*line.split()))
    assert (
        "Did you mean 'dqn'?" in message
        or "memory.buffer_size: must be at least 1, got -5" in message
    )
