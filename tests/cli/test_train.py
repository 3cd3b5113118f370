"""`rlg train`, `rlg resume` and `rlg eval` on tiny runs."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest
import yaml

from tests.cli.conftest import TINY

FILES = {
    ".hydra",
    ".lock",
    "best",
    "checkpoints",
    "config.yaml",
    "graph.html",
    "graph.svg",
    "meta.json",
    "metrics.jsonl",
    "plans",
    "progress.csv",
    "run.log",
    "status.json",
    "tb",
}


OURS = ("step ", "rlg: ")  # lines on stderr


@pytest.mark.parametrize("backend", ["torch", "tf", "tf_graph"])
def test_a_run_leaves_everything_behind_and_says_what_to_type_next(rlg, folder, backend):
    # TensorFlow's threads can't be set again in a process that has used it.
    result = rlg("train", *TINY, f"backend={backend}", "backend.threads=null", "seed=3")
    assert result.code == 0, result.err
    run = result.folder
    assert run.parts[0] == "outputs"
    assert run.name.endswith("_dqn_cartpole_s3")
    assert {path.name for path in run.iterdir()} == FILES
    assert [path.name for path in (run / "checkpoints").iterdir()] == ["step-000000640"]
    status = json.loads((run / "status.json").read_text())
    assert (status["state"], status["exit_code"], status["steps"]) == ("done", 0, 640)
    assert json.loads((run / "meta.json").read_text())["command"][:2] == ["rlg", "train"]
    assert "done: 640 steps, 36 updates" in result.out
    assert f"{status['last_evaluation']['mean_reward']:.2f}" in result.out
    for command in (f"rlg eval {run}", f"rlg resume {run}", f"tensorboard --logdir {run}"):
        assert command in result.out
    config = yaml.safe_load((run / "config.yaml").read_text())
    assert config["seed"] == 3
    assert config["env"]["max_episode_steps"] == 500


def test_tensorflow_does_not_write_between_our_lines(process):
    words = [*TINY, "backend=tf", "total_timesteps=128", "evaluation.interval=0"]
    result = process("train", *words)
    assert result.code == 0, result.err
    assert [line for line in result.err.splitlines() if not line.startswith(OURS)] == []


def test_a_run_says_where_and_how_it_begins_and_what_makes_little_sense(rlg, folder):
    words = [*TINY, "agent.learning_starts=5000", "hydra.run.dir=run"]
    first, second, *_ = rlg("train", *words).err.splitlines()
    assert first == "rlg: run in run: torch on cpu, threads: 1"
    warning = "agent.learning_starts=5000 is not reached in total_timesteps=600"
    assert second.startswith(f"rlg: warning: {warning}")
    assert f"# warning: {warning}" in rlg("config", *words[:-1]).out
    log = (folder / "run/run.log").read_text().splitlines()
    assert log[0].endswith(" run in run: torch on cpu, threads: 1")
    assert f" warning: {warning}" in log[1]
    resumed = rlg("resume", "run", "total_timesteps=700")
    assert resumed.err.startswith("rlg: run in run: torch on cpu, threads: 1\n")
    job = rlg("train", "-m", *TINY, "agent.learning_starts=5000", "seed=1,2")
    assert f"rlg: warning: job 0 (seed=1): {warning}" in job.err
    assert "rlg: run in" not in job.err


def test_a_finished_run_is_evaluated_and_resumed(rlg):
    run = rlg("train", *TINY).folder
    played = rlg("eval", str(run), "--episodes", "3", "--checkpoint", "step-000000640")
    assert played.code == 0
    assert played.out.startswith("mean reward ")
    assert "over 3 episodes" in played.out

    refused = rlg("resume", str(run))
    assert refused.code == 2
    assert "total_timesteps=..." in refused.err

    resumed = rlg("resume", str(run), "total_timesteps=1000", "backend.define_by_run=true")
    assert resumed.code == 0, resumed.err
    assert "done: 1,024 steps (resumed at 640)" in resumed.out


def test_a_run_goes_on_with_another_backend(rlg):
    run = rlg("train", *TINY).folder
    resumed = rlg("resume", str(run), "total_timesteps=1000", "backend=tf", "backend.threads=null")
    assert resumed.code == 0, resumed.err
    assert "done: 1,024 steps (resumed at 640)" in resumed.out


def test_a_resumed_run_refuses_what_its_checkpoints_cannot_follow(rlg):
    run = str(rlg("train", *TINY).folder)
    cases = {
        "env=acrobot": "env: a resumed run can't change it",
        "seed=5": "seed: a resumed run can't change it",
        "experiment=pong_dqn": "experiment: it is for new runs",
        "backend=tff": "Did you mean 'tf'?",
        "total_timestep=2000": "Did you mean 'total_timesteps'?",
        "agent.learning_rate=1": "Did you mean 'optimizer.learning_rate'?",
        "total_timesteps=[": "Close brackets",
        "total_timesteps=1,2": "one value each",
        "total_timesteps=x": "total_timesteps: expected an integer, got 'x'",
        "seed=${foo}": "'foo' not found",
    }
    for word, part in cases.items():
        result = rlg("resume", run, word)
        assert (result.code, len(result.err.splitlines())) == (2, 1), result.err
        assert part in result.err
    missing = rlg("resume", run, "total_timesteps=2000", "--checkpoint", "77")
    assert missing.code == 1
    assert "step-000000640" in missing.err
    assert rlg("resume", run, "--checkpoint", "last").code == 2


def test_which_keys_a_resumed_run_may_change_follows_from_its_checkpoint(rlg):
    run = rlg("train", *TINY, "agent.n_step=1").folder
    before = (run / "status.json").read_text()
    for word in (
        "network.units=[8]",
        "memory.buffer_size=2000",
        "agent.n_step=3",
        "memory=prioritized",
    ):
        result = rlg("resume", str(run), word, "total_timesteps=800")
        assert (result.code, len(result.err.splitlines())) == (2, 1), result.err
        key = word.partition("=")[0]
        assert f"{key}" in result.err
        assert "a resumed run can't change this, since its checkpoint no longer fits" in result.err
        assert (run / "status.json").read_text() == before
    words = ["network.activation=tanh", "agent.gamma=0.9", "optimizer.learning_rate=1e-4"]
    resumed = rlg("resume", str(run), *words, "total_timesteps=800")
    assert resumed.code == 0, resumed.err


def test_a_folder_that_holds_a_run_is_not_overwritten(rlg, folder):
    where = "hydra.run.dir=run"
    assert rlg("train", *TINY, where, "agent.gamma=7").code == 2
    assert rlg("train", *TINY, where).code == 0  # a refused configuration leaves no run
    again = rlg("train", *TINY, where)
    assert again.code == 2
    assert "run holds a run already" in again.err
    assert json.loads((folder / "run/status.json").read_text())["state"] == "done"


def test_an_environment_that_fails_in_a_run_exits_1(rlg, folder, monkeypatch):
    monkeypatch.syspath_prepend(str(folder))
    (folder / "rlg_test_plugin.py").write_text(PLUGIN)
    result = rlg("train", *TINY, "plugins=[rlg_test_plugin]", "env.name=Breaking-v0")
    assert result.code == 1
    (line,) = [line for line in result.err.splitlines() if line.startswith("rlg: error:")]
    assert "RuntimeError: the pole broke" in line
    (status,) = folder.glob("outputs/*/*/status.json")
    assert json.loads(status.read_text())["state"] == "failed"


# How an environment breaks -> what the error's line says.
BREAKS = {
    "raise RuntimeError('the pole broke')": "RuntimeError: the pole broke",
    "raise SystemExit(7)": "called sys.exit(7)",
    "self.state = np.full(4, np.nan)": "the observation of environment 0 is nan at step",
}


@pytest.mark.parametrize("what", BREAKS)
def test_a_run_that_breaks_says_why_and_how_to_go_on(rlg, folder, monkeypatch, what):
    monkeypatch.syspath_prepend(str(folder))
    name = f"rlg_breaks_{list(BREAKS).index(what)}"
    (folder / f"{name}.py").write_text(
        PLUGIN.replace("raise RuntimeError('the pole broke')", what).replace("Breaking", name)
    )
    run = ["checkpoint.interval=64", "hydra.run.dir=my run"]
    result = rlg("train", *TINY, *run, f"plugins=[{name}]", f"env.name={name}-v0")
    assert result.code == 1, result
    assert result.err.splitlines()[-1].startswith("rlg: error: ")
    assert BREAKS[what] in result.err.splitlines()[-1]
    results, resume = result.out.splitlines()
    assert results == "results:    'my run'"
    assert resume.startswith("resume:     rlg resume 'my run'  # from step ")
    assert json.loads((folder / "my run/status.json").read_text())["state"] == "failed"


PLUGIN = """
import gymnasium
import numpy as np
from gymnasium.envs.classic_control.cartpole import CartPoleEnv

class Breaking(CartPoleEnv):
    steps = 0

    def step(self, action):
        self.steps += 1
        if self.steps > 50:
            raise RuntimeError('the pole broke')
        return super().step(action)

gymnasium.register("Breaking-v0", Breaking)
"""


def test_the_best_model_is_kept_and_played(rlg, folder):
    """It is the one that the checkpoint of that step holds; the last one is another."""
    words = ["evaluation.interval=128", "checkpoint.interval=128", "checkpoint.keep=null", "seed=3"]
    result = rlg("train", *TINY, *words)
    status = json.loads((result.folder / "status.json").read_text())
    best, last = (status[f"{name}_evaluation"]["step"] for name in ("best", "last"))
    assert best < last
    (kept,) = (result.folder / "best").glob("step-*")
    models = {
        step: json.loads((path / "manifest.json").read_text())["sections"]["model"]["digest"]
        for step in (best, last)
        for path in [result.folder / "checkpoints" / kept.name.replace(str(best), str(step))]
    }
    model = json.loads((kept / "manifest.json").read_text())["sections"]["model"]["digest"]
    assert model == models[best]
    assert model != models[last]
    assert f"rlg eval {result.folder} --checkpoint best" in result.out
    figures = json.loads(rlg("eval", str(result.folder), "--checkpoint", "best", "--json").out)
    assert sum(figures["returns"]) / 20 == pytest.approx(figures["mean_reward"])
    played = rlg("eval", str(result.folder), "--checkpoint", "best")
    assert f"mean reward {figures['mean_reward']:.2f}" in played.out
    assert played.out == rlg("eval", str(result.folder), "--checkpoint", str(best)).out


def test_without_a_best_model_a_line_says_so(rlg, folder):
    result = rlg("train", *TINY, "evaluation.interval=128", "checkpoint.best=false")
    assert not (result.folder / "best").exists()
    refused = rlg("eval", str(result.folder), "--checkpoint", "best")
    assert refused.code != 0
    assert "no best model was kept" in refused.err


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (["env.name=Acrobot-v1"], "dqn_Acrobot-v1_s0"),
        (["env=acrobot"], "dqn_acrobot_s0"),
        (["env.name=rlg/Counter-v0", "env.num_envs=2"], "dqn_rlg-Counter-v0_s0"),
    ],
)
def test_the_folder_is_named_by_the_environment(rlg, folder, words, name):
    result = rlg("train", *TINY, *words, "total_timesteps=64", "evaluation.interval=0")
    assert result.code == 0, result.err
    assert result.folder.name.endswith(name)


def test_a_run_that_is_under_way_is_not_touched_by_another(rlg, folder):
    held = (
        "import sys; from rlg.tracking import RunFolder\n"
        "with RunFolder.create('run', '', seed=0):\n"
        "    print('held', flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", held], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as other:
        assert other.stdout.readline() == b"held\n"
        before = (folder / "run/status.json").read_text()
        refused = rlg("train", *TINY, "hydra.run.dir=run")
        after = (folder / "run/status.json").read_text()
        other.stdin.close()
    assert refused.code == 2
    assert "run holds a run already" in refused.err
    assert after == before
