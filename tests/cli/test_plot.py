"""`rlg plot`: honest means over seeds, in one picture that needs nothing else."""

from __future__ import annotations

import json
import re
import shutil
import struct
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml

from rlg.tracking.chart.curves import grouped, read_curves, runs_in
from rlg.tracking.chart.layout import Chart, draw
from rlg.tracking.folder import RunFolder
from rlg.tracking.metrics import MetricsLog

SVG = "{http://www.w3.org/2000/svg}"


def make_run(path: Path, values: dict[int, float], *, speed: float = 100.0, **config) -> Path:
    """A run's folder with one evaluation for each step, and a line of the log beside it."""
    content = {"seed": 0, "agent": {"type": "dqn"}, "env": {"name": "cartpole"}, **config}
    with RunFolder.create(path, yaml.safe_dump(content), seed=content["seed"]) as folder:
        log = MetricsLog(folder.path, tensorboard=False)
        for step, value in values.items():
            log.log(step, {"time/fps": speed, "time/frames": 4 * step})
            log.log(step, {"eval/mean_reward": value})
        log.close()
    return path


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two learning rates with three seeds each."""
    folder = tmp_path_factory.mktemp("six")
    for number, (rate, seed) in enumerate((r, s) for r in (0.01, 0.1) for s in (1, 2, 3)):
        values = {100: 10.0 * seed, 200: 100.0 * rate * seed, 300: 50.0 + seed}
        make_run(folder / f"{number}", values, seed=seed, optimizer={"learning_rate": rate})
    return folder


@pytest.fixture
def six(made: Path, folder: Path) -> Path:
    return shutil.copytree(made, folder / "s")


def test_groups_differ_in_everything_but_the_seed(six):
    curves, without = read_curves(runs_in([six]), "eval/mean_reward", "steps")
    groups = grouped(curves, None)
    assert [group.label for group in groups] == ["learning_rate=0.01", "learning_rate=0.1"]
    assert [group.count for group in groups] == [3, 3]
    x, mean, std = groups[1].mean()
    assert x.tolist() == [100, 200, 300]
    assert mean.tolist() == pytest.approx([20, 20, 52])  # of 10 20 30, of 10 20 30, of 51 52 53
    assert std.tolist() == pytest.approx([10, 10, 1])
    assert without == []


def test_a_mean_ends_where_the_first_seed_ends(folder):
    make_run(folder / "a", {100: 0.0, 200: 10.0, 300: 20.0}, seed=1)
    make_run(folder / "b", {100: 2.0, 200: 20.0}, seed=2)
    (group,) = grouped(read_curves(runs_in([folder]), "eval/mean_reward", "steps")[0], None)
    x, mean, _ = group.mean()
    assert x.tolist() == [100, 200]
    assert mean.tolist() == [1, 15]
    assert group.last() == (20.0, 0.0)


def test_seeds_without_common_steps_have_no_mean_and_are_drawn(folder):
    make_run(folder / "a", {100: 1.0, 200: 2.0}, seed=1)
    make_run(folder / "b", {300: 3.0, 400: 4.0}, seed=2)
    groups = grouped(read_curves(runs_in([folder]), "eval/mean_reward", "steps")[0], None)
    assert [array.tolist() for array in groups[0].mean()] == [[], [], []]
    picture = draw(Chart("title", "note", "x", "y", tuple(groups)))
    assert picture.x_range == (0.0, 400.0)


def test_points_behind_the_last_line_of_the_log_follow_at_its_speed(folder):
    path = make_run(folder / "a", {100: 1.0, 300: 2.0}, speed=50.0)
    log = MetricsLog(path, tensorboard=False)
    log.log(600, {"eval/mean_reward": 3.0})
    log.log(700, {"eval/mean_reward": float("nan")})  # no point of a curve
    log.close()
    (curve,), _ = read_curves([path], "eval/mean_reward", "time")
    assert curve.x.tolist() == [2.0, 6.0, 12.0]


def test_time_is_that_of_training_without_pauses(folder):
    path = make_run(folder / "a", {100: 1.0, 300: 2.0}, speed=50.0)
    (curve,), _ = read_curves([path], "eval/mean_reward", "time")
    assert curve.x.tolist() == [2.0, 6.0]
    with RunFolder.open(path) as opened:
        opened.resumed(300)
    log = MetricsLog(path, tensorboard=False)
    log.log(500, {"time/fps": 100.0, "eval/mean_reward": 3.0})  # 200 steps since it was resumed
    log.close()
    (curve,), _ = read_curves([path], "eval/mean_reward", "time")
    assert curve.x.tolist() == [2.0, 6.0, 8.0]
    (frames,), _ = read_curves([path], "eval/mean_reward", "frames")
    assert frames.x[:2].tolist() == [400, 1200]


def test_smoothing_is_a_mean_of_the_last_points_and_leaves_the_figures_alone(folder):
    path = make_run(folder / "a", {100: 0.0, 200: 6.0, 300: 3.0, 400: 9.0})
    (curve,), _ = read_curves([path], "eval/mean_reward", "steps")
    assert curve.smoothed(3).y.tolist() == [0, 3, 3, 6]
    (group,) = grouped([curve.smoothed(3)], None)
    assert group.last()[0] == 9.0


def test_the_text_has_final_figures_of_every_group(rlg, six):
    result = rlg("plot", "s")
    assert result.code == 0, result.err
    assert [line.split() for line in result.out.splitlines()] == [
        "eval/mean_reward runs last std best seeds".split(),
        "learning_rate=0.01 3 52.00 1.00 52.00 1 2 3".split(),
        "learning_rate=0.1 3 52.00 1.00 52.00 1 2 3".split(),
    ]


def test_an_svg_has_a_band_a_mean_and_single_runs_for_each_group(rlg, six):
    assert rlg("plot", "s", "-o", "c.svg").code == 0
    root = ET.parse(six.parent / "c.svg").getroot()
    words = [text.text for text in root.iter(f"{SVG}text")]
    assert "dqn on cartpole: eval/mean_reward" in words
    assert "learning_rate=0.1" in words
    assert words.count("last 52.0 ± 1.0, 3 seeds") == 2
    assert len(list(root.iter(f"{SVG}polygon"))) == 2
    lines = [line.get("class") for line in root.iter(f"{SVG}polyline")]
    assert lines.count("s-g0") == lines.count("s-g1") == 3 + 1 + 1  # runs, mean, legend
    # Every point is inside the picture.
    width, height = float(root.get("width")), float(root.get("height"))
    for line in root.iter(f"{SVG}polyline"):
        for pair in line.get("points").split():
            x, y = map(float, pair.split(","))
            assert 0 <= x <= width
            assert 0 <= y <= height
    assert "prefers-color-scheme: dark" in ET.tostring(root, encoding="unicode")


def test_a_page_needs_nothing_else_and_carries_the_means(rlg, six):
    assert rlg("plot", "s", "-o", "c.html").code == 0
    page = (six.parent / "c.html").read_text()
    addresses = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}
    (data,) = re.findall(r'<script id="data" type="application/json">(.*?)</script>', page)
    group = json.loads(data)["groups"][1]
    assert group["mean"] == pytest.approx([20, 20, 52])
    assert group["n"] == 3


def test_labels_in_a_page_are_text(rlg, folder):
    for seed, name in ((1, "</script><b>"), (2, "plain")):
        make_run(folder / str(seed), {100: 1.0}, seed=seed, env={"name": name})
    assert rlg("plot", ".", "-o", "c.html").code == 0
    page = (folder / "c.html").read_text()
    assert "&lt;/script&gt;&lt;b&gt;" in page  # in the table
    assert "<b>" not in page


def test_a_png_is_a_picture_with_the_colours_of_the_groups(rlg, six):
    assert rlg("plot", "s", "-o", "c.png", "--x", "time").code == 0
    content = (six.parent / "c.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">I", content[16:20]) == (1800,)
    from PIL import Image

    with Image.open(six.parent / "c.png") as image:
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
    for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):
        assert (pixels == colour).all(axis=1).sum() > 100


def test_groups_can_be_chosen(rlg, six):
    result = rlg("plot", "s", "--group-by", "agent,seed")
    labels = [line.split("  ")[0] for line in result.out.splitlines()[1:]]
    assert labels == ["agent=dqn, seed=1", "agent=dqn, seed=2", "agent=dqn, seed=3"]


def test_options_of_one_type_only_are_not_in_labels(folder):
    make_run(folder / "a", {100: 1.0}, backend={"type": "torch", "compile": False})
    make_run(folder / "b", {100: 2.0}, backend={"type": "tf", "deterministic": True})
    groups = grouped(read_curves(runs_in([folder]), "eval/mean_reward", "steps")[0], None)
    assert [group.label for group in groups] == ["backend=tf", "backend=torch"]


def test_runs_without_the_metric_are_named(rlg, six):
    (six / "5/metrics.jsonl").write_text('{"step": 100, "time/fps": 1.0}\n')
    result = rlg("plot", "s")
    assert result.code == 0
    assert "left out:   1 without eval/mean_reward: s/5" in result.out


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--metric", "eval/mean_rewards"], "Did you mean 'eval/mean_reward'?"),
        (["--x", "tim"], "Did you mean 'time'?"),
        (["--group-by", "agnt"], "Did you mean 'agent'?"),
        (["-o", "c.pdf"], ".html, .svg or .png"),
        (["-o", "nowhere/c.svg"], "there is no folder nowhere"),
        (["other"], "other: no run with metrics"),
    ],
)
def test_a_mistake_is_one_line(rlg, six, words, hint):
    result = rlg("plot", "s", *words)
    assert result.code == 2
    assert hint in result.err
    assert result.err.count("\n") == 1


def test_ticks_are_round_numbers():
    from rlg.tracking.chart.ticks import names, ticks

    assert ticks(0, 12_000, 8) == [0, 2000, 4000, 6000, 8000, 10000, 12000]
    assert names(ticks(0, 12_000, 8)) == ["0", "2k", "4k", "6k", "8k", "10k", "12k"]
    assert ticks(-21, 21) == [-20, -10, 0, 10, 20]
    assert names([0, 2.5e6, 5e6, 7.5e6, 1e7]) == ["0", "2.5M", "5.0M", "7.5M", "10.0M"]
    assert names([0.0, 0.25, 0.5]) == ["0", "0.25", "0.50"]
