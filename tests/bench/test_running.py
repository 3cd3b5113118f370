"""Suites in processes of their own: rounds are shared out, and who dies takes one suite along."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict

import pytest

from rlg.bench import process, running
from rlg.bench.running import Settings
from rlg.tracking.files import to_json
from tests.bench.reports import report, row

FAKE = """
import json, os, signal, sys
names, settings = json.loads(sys.argv[1])
for name in names:
    if name == "memory":
        os.kill(os.getpid(), signal.SIGSEGV)
    if name == "train":
        sys.exit(3)
    print(LINE.replace("act", name), flush=True)
"""


def measured(names, **options):
    said: list[str] = []
    found = list(running.in_process(names, Settings(**options), said.append))
    return found, said


@pytest.fixture
def dying(monkeypatch, tmp_path):
    """A process that dies at `memory` and fails at `train`."""
    line = to_json(asdict(report(row([0.5, 2.0])).suites[0]))
    path = tmp_path / "fake.py"
    path.write_text(f"LINE = {line!r}\n{FAKE}")
    monkeypatch.setattr(running, "COMMAND", (sys.executable, str(path)))


def test_one_that_kills_its_process_is_a_row_and_the_others_go_on(dying):
    found, said = measured(["build", "memory", "train", "worker"])
    assert [suite.name for suite in found] == ["build", "memory", "train", "worker"]
    assert [suite.rows[0].missing for suite in found] == [
        "",
        "failed: its process ended (SIGSEGV)",
        "failed: its process ended (exit code 3)",
        "",
    ]
    assert found[0].rows == (row([0.5, 2.0]),)
    assert said[0] == "  build: assembly and build"
    assert said.count("  worker: one sampler of Ape-X on Pong") == 1


def test_every_process_measures_every_suite(dying):
    *_, found = running.run_suites(["act", "memory"], Settings(processes=3))
    act, memory = found.suites
    assert act.rows[0].processes == (2, 2, 2)
    assert memory.rows[0].missing.startswith("failed: ")
    assert found.settings["processes"] == 3


def test_there_is_a_report_after_every_suite_of_every_process(dying):
    reports = list(running.run_suites(["build", "act"], Settings(processes=2)))
    names = [[suite.name for suite in found.suites] for found in reports]
    assert names == [["build"], ["build", "act"], ["build", "act"], ["build", "act"]]
    counts = [[suite.rows[0].processes for suite in found.suites] for found in reports]
    assert counts == [[(2,)], [(2,), (2,)], [(2, 2), (2,)], [(2, 2), (2, 2)]]
    assert [found.finished for found in reports] == [0, 1, 1, 2]
    assert [found.is_partial for found in reports] == [True, True, True, False]


def test_a_process_has_one_thread_and_hash_seeds_of_its_own(monkeypatch):
    monkeypatch.setenv("PYTHONHASHSEED", "0")
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    program = "import json, os; print(json.dumps(dict(os.environ)))"
    monkeypatch.setattr(running, "COMMAND", (sys.executable, "-c", program))
    with running._started(["act"], Settings()) as child:
        found = json.loads(child.stdout.readline())
    assert found["OMP_NUM_THREADS"] == found["TF_NUM_INTRAOP_THREADS"] == "1"
    assert "PYTHONHASHSEED" not in found
    assert child.returncode is not None


def test_one_that_does_not_end_is_killed(monkeypatch):
    monkeypatch.setattr(running, "PATIENCE", 0.1)
    monkeypatch.setattr(running, "COMMAND", (sys.executable, "-c", "import time; time.sleep(60)"))
    with running._started(["act"], Settings()) as child:
        pass
    assert child.returncode == -9


def test_one_that_is_not_wanted_any_more_is_told_and_waited_for(monkeypatch):
    program = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.default_int_handler)
try:
    print("begun", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    time.sleep(0.2)  # it takes its opponents along
    sys.exit(130)
"""
    monkeypatch.setattr(running, "COMMAND", (sys.executable, "-c", program))
    children = []

    def interrupted():
        with running._started(["act"], Settings()) as child:
            children.append(child)
            assert child.stdout.readline() == "begun\n"
            assert os.getpgid(child.pid) != os.getpgid(0)  # Ctrl-C of a terminal does not reach it
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert children[0].returncode == 130


def test_what_suites_print_does_not_disturb_their_results(monkeypatch, capfd):
    def loud(settings):
        os.write(1, b"libraries print to stdout")
        assert settings == Settings(pairs=2, backends=("numpy",))
        return [row([0.5])]

    monkeypatch.setattr(running, "load_suite", lambda name: loud)
    before = os.dup(1)
    try:
        options = asdict(Settings(pairs=2, backends=("numpy",)))
        assert process.main(to_json([["act"], options])) == 0
    finally:
        os.dup2(before, 1)
        os.close(before)
    (line,) = capfd.readouterr().out.splitlines()
    assert running.Suite.from_json(running.json.loads(line)).rows == (row([0.5]),)


def test_ctrl_c_ends_a_process_without_a_traceback(monkeypatch):
    def interrupted(name, settings):
        raise KeyboardInterrupt

    monkeypatch.setattr(process, "measure", interrupted)
    before = os.dup(1)
    try:
        assert process.main(to_json([["act"], asdict(Settings())])) == 130
    finally:
        os.dup2(before, 1)
        os.close(before)


def test_one_that_nobody_reads_ends_without_a_traceback(monkeypatch):
    monkeypatch.setattr(process, "measure", lambda name, settings: report().suites[0])
    before, (read, write) = os.dup(1), os.pipe()
    os.dup2(write, 1)
    os.close(write)
    os.close(read)
    try:
        assert process.main(to_json([["act"], asdict(Settings())])) == 130
    finally:
        os.dup2(before, 1)
        os.close(before)


def test_rounds_are_shared_out_among_processes():
    assert Settings().rounds(15, 31) == 4  # 15 / 4, rounded up
    assert Settings(full=True).rounds(15, 31) == 7  # 31 / 5
    assert Settings(pairs=9, processes=2).rounds(15, 31) == 5
    assert Settings(pairs=1).rounds(15, 31) == 1
    assert [Settings().passes, Settings(full=True).passes, Settings(processes=7).passes] == [
        4,
        5,
        7,
    ]


def test_a_suite_that_raises_is_a_row_that_says_why(monkeypatch):
    def fails(settings):
        raise RuntimeError("no\n  emulator")

    monkeypatch.setattr(running, "load_suite", lambda name: fails)
    (found,) = running.measure("act", Settings()).rows
    assert found.missing == "failed: RuntimeError: no emulator"


def test_the_load_average_is_asked_of_the_first_suite_only(dying, monkeypatch):
    asked = []

    def noted(load, cores, *, is_first):
        asked.append(is_first)
        return ["busy"] if is_first else []

    monkeypatch.setattr(running.machine, "load_warnings", noted)
    *_, found = running.run_suites(["build", "act"], Settings(processes=1))
    assert asked == [True, True, False]
    assert [suite.warnings for suite in found.suites] == [("busy",), ()]
