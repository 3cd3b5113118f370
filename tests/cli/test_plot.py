"""`rlg plot`: honest means over seeds, in one picture that needs nothing else."""

from __future__ import annotations

import base64
import re
import shutil
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import yaml

from rlg.display.curves import grouped, read_curves, runs_in
from rlg.display.plot import Chart, draw
from rlg.tracking.folder import RunFolder
from rlg.tracking.metrics import MetricsLog


def make_run(path: Path, values: dict[int, float], *, speed: float = 100.0, **config) -> Path:
    """A run's folder with one evaluation for each step, and a line of the log beside it."""
    content = {"seed": 0, "agent": {"type": "dqn"}, "env": {"name": "cartpole"}, **config}
    with RunFolder.create(path, yaml.safe_dump(content), seed=content["seed"]) as folder:
        log = MetricsLog(folder.path, tensorboard=False)
        for step, value in values.items():
            log.log(step, {"time/time_elapsed": step / speed, "time/frames": 4 * step})
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
    (axes,) = draw(Chart(tuple(groups), "eval/mean_reward")).axes
    drawn = [line.get_xydata().tolist() for line in axes.lines]
    assert [[100, 1], [200, 2]] in drawn
    assert [[300, 3], [400, 4]] in drawn


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
    log.log(500, {"time/time_elapsed": 8.0, "eval/mean_reward": 3.0})
    log.close()
    (curve,), _ = read_curves([path], "eval/mean_reward", "time")
    assert curve.x.tolist() == [2.0, 6.0, 8.0]
    (frames,), _ = read_curves([path], "eval/mean_reward", "frames")
    assert frames.x[:2].tolist() == [400, 1200]


def test_smoothing_is_a_mean_of_the_last_points_and_leaves_the_figures_alone(folder):
    path = make_run(folder / "a", {100: 0.0, 200: 6.0, 300: 3.0, 400: 9.0})
    (curve,), _ = read_curves([path], "eval/mean_reward", "steps")
    assert curve.smoothed(3).y.tolist() == [0, 3, 3, 6]
    axes = axes_of(folder, smooth=3)
    assert axes.lines[0].get_ydata().tolist() == [0, 3, 3, 6]
    assert "last 9.00" in axes.figure.legends[0].get_texts()[0].get_text()
    assert axes.texts[0].get_text() == "each run smoothed over 3 points"


def test_the_text_has_final_figures_of_every_group(rlg, six):
    result = rlg("plot", "s")
    assert result.code == 0, result.err
    assert [line.split() for line in result.out.splitlines()] == [
        "eval/mean_reward runs last std best seeds".split(),
        "learning_rate=0.01 3 52.00 1.00 52.00 1 2 3".split(),
        "learning_rate=0.1 3 52.00 1.00 52.00 1 2 3".split(),
        "picture: plot.png".split(),
    ]


def axes_of(folder: Path, **settings):
    groups = grouped(read_curves(runs_in([folder]), "eval/mean_reward", "steps")[0], None)
    (axes,) = draw(Chart(tuple(groups), "eval/mean_reward", **settings)).axes
    return axes


def test_a_picture_has_a_band_a_mean_and_single_runs_for_each_group(six):
    axes = axes_of(six)
    assert len(axes.collections) == 2  # bands
    widths = [line.get_linewidth() for line in axes.lines]
    assert (len(widths), widths.count(max(widths))) == (2 * (3 + 1), 2)
    mean = axes.lines[3].get_xydata()
    assert mean[:, 0].tolist() == [100, 200, 300]
    assert mean[:, 1].tolist() == pytest.approx([20, 2, 52])
    band = axes.collections[0].get_paths()[0].vertices
    assert {(300, 51), (300, 53)} <= {tuple(point) for point in band}
    labels = [text.get_text() for text in axes.figure.legends[0].get_texts()]
    assert labels == [
        "learning_rate=0.01   (last 52.0 ± 1.0, 3 seeds)",
        "learning_rate=0.1   (last 52.0 ± 1.0, 3 seeds)",
    ]
    assert axes.get_title(loc="left") == "dqn on cartpole: eval/mean_reward"
    assert "mean over seeds" in axes.texts[0].get_text()


def test_single_runs_have_neither_band_nor_thin_lines(folder):
    make_run(folder / "a", {100: 1.0, 200: 2.0})
    axes = axes_of(folder)
    assert (len(axes.collections), len(axes.lines), len(axes.texts)) == (0, 1, 0)


def test_a_band_needs_no_room_below_zero_where_no_run_is(folder):
    for seed, value in ((1, 0.5), (2, 90.0)):
        make_run(folder / str(seed), {100: value, 12_000: value}, seed=seed)
    axes = axes_of(folder)
    assert axes.get_ylim()[0] == 0
    axes.figure.canvas.draw()
    assert [text.get_text() for text in axes.get_xticklabels()][:3] == ["0", "2k", "4k"]


@pytest.mark.parametrize(
    ("name", "start"), [("c.png", b"\x89PNG\r\n\x1a\n"), ("c.pdf", b"%PDF-"), ("c.svg", b"<?xml")]
)
def test_the_format_is_that_of_the_name(rlg, six, name, start):
    result = rlg("plot", "s", "-o", name)
    assert result.code == 0, result.err
    assert f"picture:    {name}" in result.out
    assert (six.parent / name).read_bytes().startswith(start)


def test_a_picture_is_written_even_if_nobody_names_one(rlg, six):
    result = rlg("plot", "s")
    assert result.out.splitlines()[-1] == "picture:    plot.png"
    assert (six.parent / "plot.png").read_bytes().startswith(b"\x89PNG")


def test_words_in_an_svg_are_text(rlg, six):
    assert rlg("plot", "s", "-o", "c.svg").code == 0
    root = ET.parse(six.parent / "c.svg").getroot()
    words = "".join(root.itertext())
    assert "dqn on cartpole: eval/mean_reward" in words
    assert "last 52.0 ± 1.0, 3 seeds" in words


def test_a_page_holds_the_same_picture_with_its_figures_and_needs_nothing_else(rlg, six):
    assert rlg("plot", "s", "-o", "c.html").code == 0
    assert rlg("plot", "s", "-o", "c.png").code == 0
    page = (six.parent / "c.html").read_text()
    assert re.findall(r"https?://|<script|<link", page) == []
    (picture,) = re.findall(r'src="data:image/png;base64,([^"]+)"', page)
    assert base64.b64decode(picture) == (six.parent / "c.png").read_bytes()
    rows = re.findall(r"<tr>(.*?)</tr>", page)
    assert re.findall(r"<td>(.*?)</td>", rows[2]) == [
        *("learning_rate=0.1", "3", "52.0", "1.0", "52.0", "1 2 3")
    ]


def test_labels_in_a_page_are_text(rlg, folder):
    for seed, name in ((1, "</script><b>"), (2, "plain")):
        make_run(folder / str(seed), {100: 1.0}, seed=seed, env={"name": name})
    assert rlg("plot", ".", "-o", "c.html").code == 0
    page = (folder / "c.html").read_text()
    assert "&lt;/script&gt;&lt;b&gt;" in page  # in the table
    assert "<b>" not in page


def test_a_png_is_a_picture_with_the_colours_of_the_groups(rlg, six):
    assert rlg("plot", "s", "-o", "c.png", "--x", "time").code == 0
    from PIL import Image

    with Image.open(six.parent / "c.png") as image:
        assert image.size[0] == 1800
        pixels = np.asarray(image.convert("RGB")).reshape(-1, 3)
    for colour in ((0x00, 0x72, 0xB2), (0xD5, 0x5E, 0x00)):
        assert (pixels == colour).all(axis=1).sum() > 100


@pytest.mark.parametrize(("seconds", "unit"), [(100, "seconds"), (200, "minutes"), (8000, "hours")])
def test_time_is_in_the_unit_that_suits_the_longest_run(folder, seconds, unit):
    path = make_run(folder / "a", {100: 1.0, 200: 2.0}, speed=200 / seconds)
    groups = grouped(read_curves([path], "eval/mean_reward", "time")[0], None)
    (axes,) = draw(Chart(tuple(groups), "eval/mean_reward", "time")).axes
    assert axes.get_xlabel() == f"{unit} of training"
    scale = {"seconds": 1, "minutes": 60, "hours": 3600}[unit]
    assert axes.lines[0].get_xdata()[-1] == pytest.approx(seconds / scale)


def test_labels_name_the_most_telling_first_and_no_more_than_is_needed(folder):
    for number, (agent, rate) in enumerate([("dqn", 0.1), ("dqn", 0.2), ("sac", 0.1)]):
        make_run(
            folder / str(number),
            {100: 1.0},
            seed=number,
            total_timesteps=1000 + number,
            logger={"interval": 100 + number},
            optimizer={"learning_rate": rate, "momentum": 0.1 * number},
            env={"name": "cartpole", "num_envs": number + 1},
            agent={"type": agent},
        )
    groups = grouped(read_curves(runs_in([folder]), "eval/mean_reward", "steps")[0], None)
    assert [group.label for group in groups] == [
        "agent=dqn, num_envs=1, learning_rate=0.1",
        "agent=dqn, num_envs=2, learning_rate=0.2",
        "agent=sac, num_envs=3, learning_rate=0.1",
    ]


def test_labels_grow_until_they_tell_the_groups_apart(folder):
    options = [(0, 0, 0, 0), (0, 0, 0, 1), (1, 1, 1, 1)]
    for number, values in enumerate(options):
        agent = {"type": "dqn", **dict(zip("abcd", values, strict=True))}
        make_run(folder / str(number), {100: 1.0}, agent=agent)
    groups = grouped(read_curves(runs_in([folder]), "eval/mean_reward", "steps")[0], None)
    assert [group.label for group in groups][:2] == ["a=0, b=0, c=0, d=0", "a=0, b=0, c=0, d=1"]


def test_what_is_logged_and_saved_makes_no_group_of_its_own(folder):
    for seed in (1, 2):
        make_run(folder / str(seed), {100: 1.0}, seed=seed, logger={"interval": seed})
    (group,) = grouped(read_curves(runs_in([folder]), "eval/mean_reward", "steps")[0], None)
    assert (group.label, group.count) == ("dqn on cartpole", 2)


def test_groups_can_be_chosen(rlg, six):
    result = rlg("plot", "s", "--group-by", "agent,seed")
    labels = [line.split("  ")[0] for line in result.out.splitlines()[1:-1]]
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
        (["-o", "c.bmp"], "a name that ends in .png, .svg, .pdf, .html"),
        (["-o", "nowhere/c.svg"], "there is no folder nowhere"),
        (["other"], "other: no run with metrics"),
    ],
)
def test_a_mistake_is_one_line(rlg, six, words, hint):
    result = rlg("plot", "s", *words)
    assert result.code == 2
    assert hint in result.err
    assert result.err.count("\n") == 1
