"""`rlg doctor`: versions, resources and real computations, each in one line."""

from __future__ import annotations

import json
from importlib.metadata import metadata, version

import psutil
import pytest

from rlg.testing.machine import health


def test_a_quick_look_names_versions_resources_and_extras(rlg):
    result = rlg("doctor", "--quick")
    assert result.code == 0, result.out
    assert f"hydra-core             {version('hydra-core')}" in result.out
    assert f"torch {version('torch')}" in result.out
    assert f"of {psutil.virtual_memory().total / 1e9:.1f} GB free" in result.out
    for extra in metadata("rlgraph-next").get_all("Provides-Extra"):
        assert f"rlgraph-next[{extra}]" in result.out


def test_an_extra_says_what_is_missing_and_how_to_install_it(rlg):
    for extra in health.extras():
        assert extra.present or extra.missing
        for name in extra.present:
            assert version(name.split()[0]) == name.split()[1]
    checks = json.loads(rlg("doctor", "--quick", "--json").out)["checks"]
    missing = [check for check in checks if check["state"] == "missing"]
    assert all(check["advice"].startswith("pip install 'rlgraph-next[") for check in missing)


def test_more_threads_than_cores_are_a_warning(rlg, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4096")
    out = rlg("doctor", "--quick").out
    (line,) = [line for line in out.splitlines() if line.startswith("warning  threads")]
    assert "OMP_NUM_THREADS=4096" in line
    assert "-> export OMP_NUM_THREADS=" in line


def test_probes_compute_something(monkeypatch):
    found = {check.name: check for check in health.probe_checks(["components", "numba", "atari"])}
    assert {name: check.state for name, check in found.items()} == {
        "rlg": "ok",
        "numba": "ok",
        "Atari": "ok",
    }
    assert "(84, 84, 4)" in found["Atari"].line


def test_what_is_broken_is_one_line_with_what_to_do_and_exits_1(rlg, monkeypatch, folder):
    # A numba that raises when it is imported, found before the installed one.
    (folder / "numba.py").write_text("raise RuntimeError('no LLVM\\nhere')\n")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    monkeypatch.setattr(health, "PROBED", {"numba": health.PROBED["numba"]})
    result = rlg("doctor")
    assert result.code == 1
    (line,) = [line for line in result.out.splitlines() if line.startswith("broken")]
    assert "numba" in line
    assert "RuntimeError: no LLVM here" in line
    assert "-> pip install --force-reinstall numba" in line
    assert result.out.splitlines()[-1].startswith("Broken: numba.")
    found = json.loads(rlg("doctor", "--json").out)
    assert found["ok"] is False


@pytest.mark.parametrize(
    ("text", "limit", "part"),
    [
        ("import os; os._exit(7)", 50.0, "ended with 7"),
        ("import time; time.sleep(60)", 2.0, "too long"),
    ],
)
def test_a_probe_that_crashes_or_hangs_is_broken(monkeypatch, folder, text, limit, part):
    (folder / "numba.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    (check,) = health.probe_checks(["numba"], limit=limit)
    assert (check.state, part in check.line, check.is_failure) == ("broken", True, True)


def test_probes_that_nobody_waits_for_end(monkeypatch, folder):
    (folder / "numba.py").write_text("import time; time.sleep(60)")
    monkeypatch.setenv("PYTHONPATH", str(folder))
    started = []
    start = health._start
    monkeypatch.setattr(health, "_start", lambda name: started.append(start(name)) or started[-1])
    checks = health.probe_checks(["horovod", "numba"])
    next(checks)
    checks.close()
    assert [process.returncode for process in started] == [0, -9]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_everything_that_an_install_needs_works_here(rlg):
    found = json.loads(rlg("doctor", "--json").out)
    assert found["ok"], [check for check in found["checks"] if check["state"] != "ok"]
    states = {check["name"]: check["state"] for check in found["checks"]}
    for name in ("torch", "tensorflow", "distributed TensorFlow", "ray", "numba", "Atari"):
        assert states[name] == "ok"
