"""A wheel holds the program and its configurations, and works from any folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PARTS = ["rlg", "conf", "experiments", "pyproject.toml", "setup.py", "README.md", "LICENSE"]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that the wheel is unpacked into, built from a copy of the sources."""
    source = tmp_path_factory.mktemp("source")
    for name in PARTS:
        if (ROOT / name).is_dir():
            skip = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / name, source / name, ignore=skip, symlinks=True)
        else:
            shutil.copy(ROOT / name, source / name)
    target = tmp_path_factory.mktemp("installed")
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "-q"]
    options = ["--no-deps", "--no-build-isolation", "--target", str(target)]
    subprocess.run([*pip, "install", *options, str(source)], check=True, capture_output=True)
    return target


def run(installed: Path, folder: Path, *words: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(installed)}
    done = subprocess.run(
        [sys.executable, str(installed / "bin/rlg"), *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def test_the_wheel_works_from_an_empty_folder(installed, tmp_path):
    files = {path.relative_to(ROOT / "conf") for path in (ROOT / "conf").rglob("*.yaml")}
    files |= {Path("experiment") / path.name for path in (ROOT / "experiments").glob("*.yaml")}
    shipped = installed / "rlg/conf"
    assert {path.relative_to(shipped) for path in shipped.rglob("*.yaml")} == files
    assert "train" in run(installed, tmp_path, "--help")
    assert "name: acrobot\n" in run(installed, tmp_path, "train", "env=acrobot", "--cfg", "job")
    words = ["train", "experiment=grid_world_dqn", "--cfg", "job"]
    assert "name: grid_world\n" in run(installed, tmp_path, *words)
    found = run(installed, tmp_path, "train", "--info", "searchpath")
    assert "pkg://rlg.conf" in found
    assert list(tmp_path.iterdir()) == []
