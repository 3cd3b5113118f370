"""Promises of TensorBoard events: its own reader finds them, and no framework is loaded."""

from __future__ import annotations

import json

import numpy as np
import pytest

from rlg.tracking import MetricsLog
from rlg.tracking.tensorboard import summarize
from tests.tracking.processes import run

WRITE = """
import sys
from rlg.tracking import MetricsLog
log = MetricsLog(sys.argv[1])
for step in range(0, 100, 10):
    log.log(step, {"rollout/ep_rew_mean": step / 10, "train/loss": 1 / (step + 1)})
log.events.histogram(90, "weights", [0.0, 1.0, 1.0, 4.0, float("nan")])
log.events.text(0, "config", "    agent: dqn")
log.close()
"""

RESUME = """
log = MetricsLog(sys.argv[1])
log.truncate_after(40)
for step in range(50, 70, 10):
    log.log(step, {"rollout/ep_rew_mean": -step})
log.close()
"""

READ = """
import json
from pathlib import Path
from dataclasses import astuple
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
(folder,) = Path(sys.argv[1], "tb").iterdir()
events = EventAccumulator(str(folder), size_guidance={"scalars": 0}).Reload()
print(json.dumps({
    "scalars": {
        tag: [(event.step, event.value) for event in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    },
    "histograms": [astuple(event.histogram_value) for event in events.Histograms("weights")],
    "texts": [event.tensor_proto.string_val[0].decode() for event in events.Tensors("config")],
    "loaded": [name for name in ("torch", "tensorflow") if name in sys.modules],
}))
"""


def test_tensorboard_reads_back_what_was_logged_and_no_framework_is_loaded(tmp_path):
    found = json.loads(run(WRITE + READ, tmp_path))
    assert found["loaded"] == []
    steps = range(0, 100, 10)
    assert found["scalars"] == {
        "rollout/ep_rew_mean": [[step, step / 10] for step in steps],
        "train/loss": [[step, float(np.float32(1 / (step + 1)))] for step in steps],
    }
    ((low, high, count, total, squares, _, buckets),) = found["histograms"]
    assert (low, high, count, total, squares) == (0.0, 4.0, 4.0, 6.0, 18.0)
    assert [n for n in buckets if n] == [1, 2, 1]
    assert found["texts"] == ["    agent: dqn"]


def test_a_resumed_run_hides_what_came_after_its_checkpoint(tmp_path):
    found = json.loads(run(WRITE + RESUME + READ, tmp_path))
    assert found["loaded"] == []
    assert len(list((tmp_path / "tb").glob("*/events*"))) == 2
    assert found["scalars"]["rollout/ep_rew_mean"] == [
        *[[step, step / 10] for step in range(0, 50, 10)],
        [50, -50],
        [60, -60],
    ]
    assert [step for step, _ in found["scalars"]["train/loss"]] == [0, 10, 20, 30, 40]
    assert found["histograms"] == []


HPARAMS = """
import sys
from rlg.tracking import MetricsLog
log = MetricsLog(sys.argv[1])
log.events.hparams({"agent": {"type": "dqn", "double": True, "gamma": None}, "seed": 3}, ["eval/x"])
log.close()

from pathlib import Path
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import metadata
(folder,) = Path(sys.argv[1], "tb").iterdir()
found = EventAccumulator(str(folder)).Reload().SummaryMetadata
content = found(metadata.SESSION_START_INFO_TAG).plugin_data.content
start = metadata.parse_session_start_info_plugin_data(content)
content = found(metadata.EXPERIMENT_TAG).plugin_data.content
experiment = metadata.parse_experiment_plugin_data(content)
print(folder.name, start.hparams["agent.type"].string_value, start.hparams["seed"].number_value)
print(start.hparams["agent.double"].bool_value, sorted(start.hparams))
print([info.name.tag for info in experiment.metric_infos], "tensorflow" in sys.modules)
"""


def test_tensorboard_compares_runs_by_their_options(tmp_path):
    name = "12-00-00_dqn_cartpole_s0"
    assert run(HPARAMS, tmp_path / name).splitlines() == [
        f"{name} dqn 3.0",
        "True ['agent.double', 'agent.type', 'seed']",
        "['eval/x'] False",
    ]


@pytest.mark.parametrize(
    ("folder", "name"), [("day/run_s0", "run_s0"), ("multirun/rates/7", "rates_7")]
)
def test_events_are_in_a_folder_named_by_the_run_even_after_it_is_renamed(tmp_path, folder, name):
    log = MetricsLog(tmp_path / folder)
    log.log(1, {"x": 1})
    log.close()
    assert [path.name for path in (tmp_path / folder / "tb").iterdir()] == [name]
    (tmp_path / folder).rename(tmp_path / "other")
    log = MetricsLog(tmp_path / "other")
    log.log(2, {"x": 1})
    log.close()
    assert [path.name for path in (tmp_path / "other" / "tb").iterdir()] == [name]


@pytest.mark.parametrize("values", [[], [np.nan, np.inf], np.zeros((0, 3))])
def test_a_histogram_of_nothing_is_empty(values):
    assert summarize(values)["num"] == 0


@pytest.mark.parametrize("values", [3.0, [3.0, 3.0], np.array([[0, 255]], "uint8"), [True]])
def test_a_histogram_counts_every_value(values):
    summary = summarize(values)
    assert sum(summary["bucket"]) == summary["num"] == np.size(values)
    assert len(summary["bucket"]) == len(summary["bucket_limit"])
    assert summary["sum"] == np.sum(values, dtype=float)
