"""Folders of runs: each run has its own, whoever else starts in the same second."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from rlg.api.folders import claim, new_folder
from rlg.api.phases import exit_code_of
from rlg.errors import SpecError, TrackingError
from tests.cli.conftest import TINY

CONF = Path(__file__).resolve().parents[2] / "conf/train.yaml"


@pytest.fixture
def same_second(folder: Path) -> list[str]:
    """Every run and sweep starts at noon."""
    (folder / "mine").mkdir()
    text = CONF.read_text().replace("${now:%H-%M-%S}", "12-00-00")
    (folder / "mine/train.yaml").write_text(text)
    return ["--config-dir", "mine"]


def test_equal_runs_of_the_same_second_have_folders_of_their_own(rlg, folder, same_second):
    names = []
    for _ in range(3):
        result = rlg("train", *TINY, *same_second, "evaluation.interval=0")
        assert result.code == 0, result.err
        assert json.loads((result.folder / "status.json").read_text())["steps"] == 640
        names.append(result.folder.name)
    first = "12-00-00_dqn_cartpole_s0"
    assert names == [first, f"{first}-2", f"{first}-3"]


def test_a_run_may_refer_to_the_folder_that_it_really_has(rlg, folder, same_second):
    source = "expected.source=${hydra:runtime.output_dir}"
    for _ in range(2):
        result = rlg("train", *TINY, *same_second, source, "evaluation.interval=0")
        config = yaml.safe_load((result.folder / "config.yaml").read_text())
        assert config["expected"]["source"] == str(result.folder.resolve())
        hydra = yaml.safe_load((result.folder / ".hydra/hydra.yaml").read_text())["hydra"]
        assert hydra["run"]["dir"] == str(result.folder)
        overrides = yaml.safe_load((result.folder / ".hydra/overrides.yaml").read_text())
        assert overrides == [*TINY, source, "evaluation.interval=0"]


def test_equal_sweeps_of_the_same_second_have_folders_of_their_own(rlg, folder, same_second):
    for name in ("12-00-00", "12-00-00-2"):
        done = rlg("train", "-m", *same_second, *TINY, "evaluation.interval=0", "seed=1")
        assert done.code == 0, done.err
        assert f"/{name}/0\n" in done.out


def test_a_name_is_taken_once_under_any_concurrency(tmp_path):
    with ThreadPoolExecutor(16) as pool:
        found = list(pool.map(lambda _: claim(tmp_path / "day/run"), range(64)))
    assert len(set(found)) == 64
    assert all(path.is_dir() for path in found)


def test_a_name_is_taken_while_refused_runs_remove_the_days_folder(tmp_path):
    def refused(_: int) -> None:
        with pytest.raises(SpecError), new_folder(tmp_path / "out/day/run", is_named=False):
            raise SpecError("no")

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(refused, range(200)))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("result", ["checkpoints/step-000000640", "0/status.json"])
def test_results_are_never_removed_whatever_goes_wrong(tmp_path, result):
    def fails_late() -> None:
        with new_folder(tmp_path / "day/run", is_named=False) as folder:
            (folder / result).mkdir(parents=True)
            raise SpecError("late")

    with pytest.raises(SpecError, match="late"):
        fails_late()
    assert (tmp_path / "day/run" / result).exists()


def test_a_place_that_is_a_file_is_an_error_and_not_a_search_without_end(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file/run", tmp_path / "file/day/run"):
        said = pytest.raises(TrackingError, match=r"Choose another folder: hydra.run.dir=")
        with said as error, new_folder(path, is_named=False):
            pass
        assert exit_code_of(error.value) == 2


def test_what_hydra_offers_around_a_job_works(rlg, folder):
    words = ["+hydra.job.env_set.RLG_HERE=yes", "expected.source=${oc.env:HOME}"]
    chdir = ["hydra.job.chdir=true", "hydra.run.dir=run", "total_timesteps=64"]
    result = rlg("train", *TINY, *words, *chdir, "evaluation.interval=0")
    assert result.code == 0, result.err
    assert (folder / "run/status.json").is_file()
    assert list((folder / "run").glob("run")) == []
    shown = rlg("train", "--cfg", "hydra", "--package", "hydra.run").out
    assert "dir: outputs/" in shown
