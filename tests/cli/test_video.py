"""`rlg eval --video` and `--render`."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from PIL import Image

from rlg.display.video import Video
from rlg.envs import make_env
from tests.cli.conftest import TINY


@pytest.fixture
def run(rlg):
    """The greedy agent of grid_world, hardly trained: its episodes end after 20 steps."""
    words = ["env=grid_world", "+env.max_episode_steps=20", "hydra.run.dir=run"]
    done = rlg("train", *TINY, *words, "evaluation.interval=0")
    assert done.code == 0, done.err
    return "run"


def frames(path) -> list:
    import cv2

    film = cv2.VideoCapture(str(path))
    found = []
    while True:
        is_there, frame = film.read()
        if not is_there:
            return found
        found.append(frame)


def test_episodes_become_a_film(rlg, folder, run):
    result = rlg("eval", run, "--video", "films/one.mp4")
    assert result.code == 0, result.err
    assert "over 1 episode" in result.out
    assert "video:      films/one.mp4\n" in result.out
    film = frames(folder / "films/one.mp4")
    length = int(result.out.split(" steps")[0].split()[-1])
    assert len(film) == length
    assert film[0].shape == (192, 192, 3)
    # BGR of the first frame: the walker (red) is on the start, the goal (green) far away.
    corners = [film[0][y, x].astype(int) for y, x in ((24, 24), (168, 168))]
    assert corners[0][2] > corners[0][1] + 80
    assert corners[1][1] > corners[1][2] + 60
    assert [path.name for path in (folder / "films").iterdir()] == ["one.mp4"]


def test_a_gif_needs_no_codec(rlg, folder, run):
    assert rlg("eval", run, "--video", "two.gif", "--episodes", "2", "--json").code == 0
    assert (folder / "two.gif").read_bytes().startswith(b"GIF8")


def test_a_gif_shows_every_step(tmp_path):
    with make_env("grid_world", render_mode="rgb_array") as env, Video(tmp_path / "a.gif") as film:
        observations = env.reset()
        for action in (1, 1, 1):  # to the right
            film.add(env, observations)
            observations = env.step(np.array([action])).observations
    with Image.open(tmp_path / "a.gif") as gif:
        assert (gif.size, gif.n_frames, gif.info["duration"]) == ((192, 192), 3, 250)
        for number in range(3):
            gif.seek(number)
            red, green, _ = gif.convert("RGB").getpixel((48 * number + 24, 24))
            assert red > green + 80


def test_a_film_that_fails_midway_leaves_no_file(tmp_path):
    def film() -> None:
        file = tmp_path / "a.mp4"
        with make_env("grid_world", render_mode="rgb_array") as env, Video(file) as video:
            video.add(env, env.reset())
            assert [path.name for path in tmp_path.iterdir()] == [".a.part.mp4"]
            raise OSError("the disk is full")

    with pytest.raises(OSError, match="full"):
        film()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--video", "film.avi"], "--video film.avi: its name must end in .mp4 or .gif"),
        (["--video", "a.mp4", "--render"], "--render or --video, not both"),
    ],
)
def test_mistakes_are_one_line(rlg, folder, run, words, line):
    result = rlg("eval", run, *words)
    assert (result.code, result.err.count("\n")) == (2, 1)
    assert line in result.err
    assert list(folder.glob("*.mp4")) == []


def test_a_wrong_name_is_refused_before_the_run_is_looked_at(rlg, folder):
    result = rlg("eval", "nowhere", "--video", "film.avi")
    assert result.code == 2
    assert result.err == "rlg: error: --video film.avi: its name must end in .mp4 or .gif.\n"


def test_without_pygame_a_line_names_the_extra(rlg, folder, monkeypatch):
    assert rlg("train", *TINY, "evaluation.interval=0", "hydra.run.dir=run").code == 0
    monkeypatch.setitem(sys.modules, "pygame", None)
    result = rlg("eval", "run", "--video", "film.mp4")
    assert (result.code, result.err.count("\n")) == (2, 1), result.err
    assert "[render]'" in result.err
    assert list(folder.glob("*film*")) == []


def test_games_show_what_the_agent_sees(rlg, folder):
    with make_env("pong", frame_skip=4) as env:
        picture = env.picture(env.reset())
    assert picture.shape == (336, 336, 3)
    assert len(set(picture.ravel().tolist())) > 3
    assert env.fps == 15.0
    with pytest.raises(ValueError, match=r"--video FILE.mp4"):
        make_env("pong", render_mode="human")
