"""Promises of metrics: valid lines, exact floats, a table that grows, and no doubled lines."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from rlg.tracking import MetricsLog, TrackingError, read_metrics


@pytest.fixture
def log(tmp_path):
    log = MetricsLog(tmp_path, tensorboard=False)
    yield log
    log.close()


def lines(folder) -> list[str]:
    return (folder / "metrics.jsonl").read_text().splitlines()


def table(folder) -> list[str]:
    return (folder / "progress.csv").read_text().splitlines()


def test_a_call_is_one_sorted_line_on_file_at_once(tmp_path, log):
    log.log(100, {"train/loss": 0.1, "rollout/ep_rew_mean": 21.5, "time/total_timesteps": 100})
    assert lines(tmp_path) == [
        '{"rollout/ep_rew_mean": 21.5, "step": 100, "time/total_timesteps": 100, "train/loss": 0.1}'
    ]
    assert table(tmp_path) == [
        "step,rollout/ep_rew_mean,time/total_timesteps,train/loss",
        "100,21.5,100,0.1",
    ]


def test_floats_keep_every_bit(tmp_path, log):
    numbers = np.random.default_rng(0).standard_normal(100) * 10.0 ** np.arange(-50, 50)
    for step, number in enumerate(numbers):
        log.log(step, {"x": number, "y": np.float32(number / 1e30)})
    rows = read_metrics(tmp_path / "metrics.jsonl")
    assert [row["x"] for row in rows] == numbers.tolist()
    assert [row["y"] for row in rows] == [float(np.float32(x / 1e30)) for x in numbers]
    cells = [line.split(",")[1] for line in table(tmp_path)[1:]]
    assert [float(cell) for cell in cells] == numbers.tolist()


def test_numbers_that_json_lacks_stay_valid_and_come_back(tmp_path, log):
    log.log(1, {"a": math.nan, "b": math.inf, "c": -math.inf, "d": np.float32("nan")})

    def refuse(name: str) -> None:
        raise AssertionError(name)

    row = json.loads(lines(tmp_path)[0], parse_constant=refuse)
    assert row == {"step": 1, "a": "NaN", "b": "Infinity", "c": "-Infinity", "d": "NaN"}
    back = read_metrics(tmp_path / "metrics.jsonl")[0]
    assert math.isnan(back["a"])
    assert (back["b"], back["c"]) == (math.inf, -math.inf)
    assert table(tmp_path)[1] == "1,nan,inf,-inf,nan"


def test_new_tags_grow_the_header(tmp_path, log):
    log.log(1, {"b": 1})
    log.log(2, {"a": 2, "b, quoted": 3})
    log.log(3, {"b": 4})
    assert table(tmp_path) == ['step,a,b,"b, quoted"', "1,,1,", "2,2,,3", "3,,4,"]


def test_integers_booleans_and_zero_dimensional_arrays_are_numbers(tmp_path, log):
    log.log(np.int64(1), {"a": np.int32(2), "b": True, "c": np.array(1.5), "d": np.bool_(False)})
    assert lines(tmp_path) == ['{"a": 2, "b": 1, "c": 1.5, "d": 0, "step": 1}']


@pytest.mark.parametrize("value", ["text", None, [1.0], np.zeros(1)])
def test_other_values_are_refused_by_name_and_leave_no_trace(tmp_path, log, value):
    with pytest.raises(TrackingError, match="'train/loss' at step 5 can't be logged: it is a"):
        log.log(5, {"a": 1, "train/loss": value})
    assert lines(tmp_path) == table(tmp_path) == []


def test_the_name_step_is_taken(log):
    with pytest.raises(TrackingError, match="the name is taken"):
        log.log(5, {"step": 1})


def test_logging_nothing_writes_nothing(tmp_path, log):
    log.log(5, {})
    assert lines(tmp_path) == []


def write(log: MetricsLog, steps: range) -> None:
    for step in steps:
        log.log(step, {"x": step / 7, **({"late": step} if step >= 6 else {})})
        if step % 3 == 0:
            log.log(step, {"eval/mean_reward": step * 1.5})


def test_a_resumed_run_writes_the_same_files_as_one_that_never_stopped(tmp_path):
    whole = MetricsLog(tmp_path / "whole", tensorboard=False)
    write(whole, range(10))
    whole.close()
    killed = MetricsLog(tmp_path / "killed", tensorboard=False)
    write(killed, range(8))
    killed.close()
    resumed = MetricsLog(tmp_path / "killed", tensorboard=False)
    resumed.truncate_after(4)
    assert [row["step"] for row in read_metrics(tmp_path / "killed" / "metrics.jsonl")] == [
        *[0, 0, 1, 2, 3, 3, 4]
    ]
    assert table(tmp_path / "killed")[0] == "step,eval/mean_reward,x"
    write(resumed, range(5, 10))
    resumed.close()
    for name in ("metrics.jsonl", "progress.csv"):
        assert (tmp_path / "killed" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_truncating_also_works_in_the_middle_of_a_log(tmp_path, log):
    write(log, range(8))
    log.truncate_after(2)
    write(log, range(3, 5))
    assert [json.loads(line)["step"] for line in lines(tmp_path)] == [0, 0, 1, 2, 3, 3, 4]
    assert len(table(tmp_path)) == 8


@pytest.mark.parametrize("torn", ['{"step": 3, "x"', '{"step": 3, "x": 1}', "\0\0\0\0", "17\n"])
def test_what_a_kill_tore_is_dropped_at_the_next_start(tmp_path, torn):
    first = MetricsLog(tmp_path, tensorboard=False)
    write(first, range(3))
    first.close()
    for name in ("metrics.jsonl", "progress.csv"):
        with (tmp_path / name).open("a") as file:
            file.write(torn)
    assert len(read_metrics(tmp_path / "metrics.jsonl")) == 4
    second = MetricsLog(tmp_path, tensorboard=False)
    write(second, range(3, 4))
    second.close()
    assert [json.loads(line)["step"] for line in lines(tmp_path)] == [0, 0, 1, 2, 3, 3]
    assert [line.split(",")[0] for line in table(tmp_path)] == ["step", *"001233"]


def test_flush_reaches_every_file(tmp_path):
    log = MetricsLog(tmp_path)
    log.flush()
    log.log(
        np.int64(1), {"x": 1, "more than a float32": 1e300, "less": -(10**300), "nan": math.nan}
    )
    log.flush()
    log.close()
    (events,) = (tmp_path / "tb").glob("*/events*")
    assert events.stat().st_size > 0
