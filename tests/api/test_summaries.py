"""Promises of summaries: off and absent by default, on request in TensorBoard under their paths."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from rlg.api.run import resume, train
from rlg.backends.executor import make_executor
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.spaces import FloatBox
from rlg.tracking.metrics import read_metrics

sys.modules.setdefault("tensorboard.compat.notf", ModuleType("notf"))

SUMMARIES = {"agent/gradient_norm", "agent/q_values", "agent/td_errors"}


def config(backend: str, **logger) -> dict:
    return {
        "seed": 3,
        "total_timesteps": 256,
        "agent": {"type": "dqn", "learning_starts": 32, "train_freq": 16, "batch_size": 8},
        "env": {"name": "cartpole", "num_envs": 8},
        "network": {"type": "mlp", "units": [8]},
        "memory": {"type": "replay", "buffer_size": 256},
        "optimizer": {"type": "adam"},
        "backend": {"type": backend},
        "evaluation": {"interval": 0},
        "logger": {"interval": 64, **logger},
    }


def read_events(folder: Path) -> dict[str, list]:
    """By tag, the values of all event files."""
    from tensorboard.backend.event_processing.event_file_loader import LegacyEventFileLoader

    found: dict[str, list] = {}
    for path in sorted(folder.glob("*/events*")):
        for event in LegacyEventFileLoader(str(path)).Load():
            for value in event.summary.value:
                found.setdefault(value.tag, []).append((event.step, value))
    return found


def test_the_tags_of_metrics_are_those_of_stable_baselines(tmp_path):
    settings = config("torch", tensorboard=False)
    train(settings | {"evaluation": {"interval": 256, "episodes": 2}}, tmp_path)
    resume(tmp_path, changes={"total_timesteps": 384})
    rows = read_metrics(tmp_path / "metrics.jsonl")
    assert {tag for row in rows for tag in row} >= {
        *("rollout/ep_rew_mean", "rollout/ep_len_mean", "rollout/exploration_rate"),
        *("train/loss", "train/learning_rate", "train/n_updates"),
        *("time/time_elapsed", "time/fps", "time/total_timesteps"),
        *("eval/mean_reward", "eval/mean_ep_length"),
    }
    trained = [row for row in rows if "time/fps" in row]
    assert [row["time/total_timesteps"] for row in trained] == [64, 128, 192, 256, 320, 384]
    # The first update comes at 32 steps, then one every 16.
    assert [row["train/n_updates"] for row in trained] == [3, 7, 11, 15, 19, 23]
    # Seconds of training, of all processes together.
    elapsed = [row["time/time_elapsed"] for row in trained]
    assert elapsed == sorted(elapsed)
    assert elapsed[0] > 0


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_scalars_and_histograms_are_read_back_under_component_paths(tmp_path, backend):
    train(config(backend, summaries=True, histograms=128), tmp_path / "run")
    events = read_events(tmp_path / "run/tb")
    steps, values = zip(*events["agent/gradient_norm"], strict=True)
    assert steps == (64, 128, 192, 256)
    assert all(value.simple_value > 0 for value in values)
    for tag in ("agent/q_values", "agent/td_errors", "agent/policy/network/dense-0/kernel"):
        assert [step for step, _ in events[tag]] == [128, 256]
    # 8 records with 2 actions each, 4 numbers into 8 units.
    counts = {
        tag: events[tag][0][1].histo.num for tag in events if events[tag][0][1].HasField("histo")
    }
    assert counts["agent/q_values"] == 16
    assert counts["agent/td_errors"] == 8
    assert counts["agent/policy/network/dense-0/kernel"] == 32
    lines = read_metrics(tmp_path / "run/metrics.jsonl")
    assert not SUMMARIES & {tag for line in lines for tag in line}


def test_a_histogram_of_weights_has_their_least_and_largest(tmp_path):
    train(config("torch", histograms=256), tmp_path / "run")
    tag = "agent/policy/network/dense-0/kernel"
    ((step, value),) = read_events(tmp_path / "run/tb")[tag]
    assert step == 256
    checkpoint = load(tmp_path / "run")[tag]
    assert (value.histo.min, value.histo.max) == pytest.approx((checkpoint.min(), checkpoint.max()))


def load(folder: Path) -> dict[str, np.ndarray]:
    from rlg.tracking.checkpoints.store import CheckpointStore

    return CheckpointStore(folder / "checkpoints", read_only=True).load(256).tree["model"]


def test_histograms_alone_bring_no_scalars(tmp_path):
    train(config("torch", histograms=256), tmp_path / "run")
    events = read_events(tmp_path / "run/tb")
    assert "agent/q_values" in events
    assert "agent/gradient_norm" not in events


class Silent(Component):
    """Names a value and gives none; its other method names nothing."""

    @api
    def note(self, x) -> None:
        self.summary("twice", self.twice(x))

    @api
    def call(self, x):
        return self.twice(x)

    @graph_fn
    def twice(self, x: Tensor) -> Tensor:
        return 2.0 * x


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf", "tf-graph"])
def test_methods_without_outputs_or_without_summaries_are_fine(backend):
    executor = make_executor(backend, summaries=True)
    executor.build(Silent(), {"x": FloatBox()})
    assert executor.execute("note", np.float32([1.5])) is None
    assert executor.execute("call", np.float32([4.0])).tolist() == [8.0]
    assert executor.summaries["silent/twice"].tolist() == [3.0]
    assert executor.summary_kinds() == {"silent/twice": "scalar"}


def test_a_scalar_of_several_numbers_is_their_mean(tmp_path):
    from rlg.api.summaries import write_scalars
    from rlg.tracking.metrics import MetricsLog

    executor = make_executor("torch", summaries=True)
    executor.build(Silent(), {"x": FloatBox()})
    executor.execute("note", np.float32([1.0, 3.0]))
    log = MetricsLog(tmp_path)
    write_scalars(executor, log, 5)
    log.close()
    ((step, value),) = read_events(tmp_path / "tb")["silent/twice"]
    assert (step, value.simple_value) == (5, 4.0)


def test_the_figures_of_a_session_are_those_of_its_steps_and_updates(tmp_path):
    from rlg.api.config.validate import validate
    from rlg.api.figures import figures_of, title_of
    from rlg.api.session import Session
    from rlg.tracking.folder import RunFolder

    with (
        RunFolder.create(tmp_path / "run", "") as folder,
        Session(validate(config("torch")), folder) as session,
    ):
        session.start()
        assert figures_of(session).replay_ratio is None
        while session.steps < 288:
            session.loop.iterate(lambda: False)
        figures, title = figures_of(session), title_of(session)
        session.evaluations["last_evaluation"] = {"step": 256, "mean_reward": float("nan")}
        assert figures_of(session).last_evaluation[0] == 256
    # An update of 8 records at 32 steps and then every 16.
    assert (figures.steps, figures.total, figures.updates) == (288, 256, 17)
    assert figures.replay_ratio == 17 * 8 / 288
    assert (figures.memory.records, figures.memory.percent) == (256, 100)
    assert figures.memory.nbytes == session.loop.trainer.memory_nbytes > 256 * 2 * 4 * 4
    assert (figures.reward is None) is (figures.episodes == 0)
    assert 0.0 <= figures.epsilon <= 1.0
    assert (title.agent, title.env, title.backend, title.seed) == ("dqn", "cartpole", "torch", 3)


def test_by_default_plans_hold_no_summaries_and_no_event_is_written(tmp_path):
    from rlg.api.config.validate import validate
    from rlg.api.session import Session
    from rlg.tracking.folder import RunFolder

    with (
        RunFolder.create(tmp_path / "run", "") as folder,
        Session(validate(config("torch")), folder) as session,
    ):
        session.start()
        executor = session.agent.executor
        assert executor.collects_summaries is False
        assert executor.plan("update", n=8).summaries == []
        assert "global_norm" not in executor.plan("update", n=8).source
    train(config("torch"), tmp_path / "other")
    tags = read_events(tmp_path / "other/tb")
    assert not any(tag.startswith("agent/") for tag in tags)


def test_summaries_change_no_result(tmp_path):
    for name, logger in {"with": {"summaries": True, "histograms": 64}, "without": {}}.items():
        train(config("torch", **logger), tmp_path / name)
    kept = [
        {tag: value for tag, value in line.items() if not tag.startswith("time/")}
        for name in ("with", "without")
        for line in read_metrics(tmp_path / name / "metrics.jsonl")
    ]
    assert kept[: len(kept) // 2] == kept[len(kept) // 2 :]
    assert len(kept) == 8
