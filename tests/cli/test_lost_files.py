"""Files of a run that are lost, damaged or can't be written: nothing that was saved is lost."""

from __future__ import annotations

import json
import shutil

import pytest

from tests.cli.conftest import TINY


@pytest.fixture
def run(rlg, folder):
    result = rlg("train", *TINY, "hydra.run.dir=run")
    assert result.code == 0, result.err
    return folder / "run"


@pytest.mark.parametrize("text", [None, "{", "[]"])
def test_a_run_whose_status_is_lost_is_played_and_resumed(rlg, run, text):
    (run / "status.json").unlink()
    if text is not None:
        (run / "status.json").write_text(text)
    assert rlg("eval", "run", "--episodes", "1").code == 0
    assert rlg("config", "run").code == 0
    resumed = rlg("resume", "run", "total_timesteps=700")
    assert resumed.code == 0, resumed.err
    assert "(resumed at 640)" in resumed.out
    status = json.loads((run / "status.json").read_text())
    assert (status["state"], status["steps"]) == ("done", 704)


def test_no_run_starts_among_the_checkpoints_of_another(rlg, run):
    (run / "status.json").unlink()
    result = rlg("train", *TINY, "hydra.run.dir=run")
    assert (result.code, "run holds a run already. Resume it" in result.err) == (2, True)
    assert (run / "checkpoints/step-000000640").is_dir()


def test_checkpoints_that_stay_where_they_are_are_not_said_to_be_set_aside(rlg, run):
    for path in run.glob("checkpoints/*/memory.safetensors"):
        content = bytearray(path.read_bytes())
        content[-1] ^= 255
        path.write_bytes(content)
    result = rlg("resume", "run", "total_timesteps=700")
    assert (result.code, "No older checkpoint is intact" in result.err) == (1, True)
    assert "Set aside" not in result.err
    assert [path.name for path in run.glob("checkpoints/*")] == ["step-000000640"]


def test_a_run_folder_that_can_not_be_written_is_named(rlg, run):
    (run / ".lock").unlink()
    (run / ".lock").mkdir()  # even root can't write it
    result = rlg("resume", "run", "total_timesteps=700")
    assert result.code == 1
    assert "rlg: error: run: Is a directory, but a run writes into its folder." in result.err
    shutil.rmtree(run / ".lock")


def test_a_picture_that_can_not_be_written_is_named(rlg, run, folder):
    (folder / "plot.png").mkdir()
    result = rlg("plot", "run")
    assert result.code == 1
    assert result.err == (
        "rlg: error: --output plot.png: Is a directory. Give a place that can be written.\n"
    )


def test_a_place_below_a_file_is_refused(rlg, run, folder):
    (folder / "file").write_text("")
    film = rlg("eval", "run", "--video", "file/film.gif")
    assert film.code == 1
    assert "--video file/film.gif: File exists. Give a place that can be written.\n" in film.err
    bench = rlg("bench", "bench=build", "--output", "file/report")
    assert bench.code == 1
    assert "rlg: error: file/report: Not a directory. Add --traceback" in bench.err
