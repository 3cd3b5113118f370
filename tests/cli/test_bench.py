"""`rlg bench`: files, tables, exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import pytest

from rlg.bench import running, suites
from rlg.bench.results import Report
from rlg.bench.running import Settings
from tests.bench.reports import by_both, report, row
from tests.cli.conftest import PROGRAM
from tests.patience import PATIENCE


@pytest.fixture
def fake(monkeypatch):
    """A suite `act` whose rows are given."""
    rows = [row([0.5, 1.0, 2.0])]

    def load(name: str):
        if isinstance(rows[0], Exception):
            raise rows[0]
        return lambda settings: rows

    def here(names, settings, say):
        return [running.measure(name, settings) for name in names]

    monkeypatch.setattr(running, "load_suite", load)
    monkeypatch.setattr(running, "in_process", here)
    return rows


def test_a_tiny_run_measures_and_writes_everything(rlg, folder):
    words = ["bench=memory", "pairs=3", "processes=2", "block=0.002", "backends=numpy"]
    result = rlg("bench", *words, "--output", "found")
    assert result.code == 0, result.err
    assert "process 2 of 2\n  memory: prioritized replay\n" in result.err
    assert "small records, capacity 100,000" in result.out
    found = Report.read(folder / "found" / "bench.json")
    assert [suite.name for suite in found.suites] == ["memory"]
    assert [r.processes for r in found.suites[0].rows] == [(2, 2), (2, 2)]
    assert [len(r.costs) for r in found.suites[0].rows] == [4, 4]
    assert [len(r.others) for r in found.suites[0].rows] == [4, 4]
    assert found.settings["threads"] == 1
    assert found.settings["processes"] == 2
    names = {path.name for path in (folder / "found").iterdir()}
    assert names == {"bench.json", "memory.png", "report.html"}


def test_results_go_to_outputs_by_date_and_time(rlg, folder, fake):
    assert rlg("bench", "bench=act").code == 0
    (path,) = folder.glob("outputs/bench/*/*/bench.json")
    assert json.loads(path.read_text())["suites"][0]["name"] == "act"


def test_the_table_has_the_figures(rlg, fake):
    out = rlg("bench", "bench=act").out
    assert "1.00x [0.99, 1.01]" in out  # The fake finds the same in all processes.
    assert "load average" in out


def test_load_is_a_warning_in_table_and_report(rlg, folder, fake, monkeypatch):
    monkeypatch.setattr(running.machine, "load_warnings", lambda *_, **__: ["others used 1.9"])
    out = rlg("bench", "bench=act", "--output", "found").out
    assert "warning:    act: others used 1.9: take these figures with care" in out
    assert "others used 1.9" in (folder / "found" / "report.html").read_text()


def test_an_opponent_that_is_missing_is_a_row(rlg, fake):
    fake[0] = row(costs=(), others=(), missing="no .venv-peers: make bench-peers")
    result = rlg("bench", "bench=act")
    assert result.code == 0
    assert "not measured" in result.out
    assert "make bench-peers" in result.out


def test_compared_with_itself_nothing_is_slower(rlg, folder, fake):
    path = report(fake[0]).write(folder)
    result = rlg("bench", "bench=act", "--compare", str(path))
    assert result.code == 0
    assert "slower:     0 of 1 rows" in result.out
    assert "inside:     1 of 1 medians are in the earlier spread; 95 % should be" in result.out
    assert "warning:    another machine: processor: Abacus 3000 before" in result.out


def test_slower_beyond_the_spread_exits_with_1(rlg, folder, fake):
    path = report(by_both([0.1, 0.2, 0.3])).write(folder)
    result = rlg("bench", "bench=act", "--compare", str(path))
    assert result.code == 1
    assert "slower:     1 of 1 rows" in result.out


@pytest.fixture
def cut_off(fake, monkeypatch):
    """Two suites: the second process is interrupted in the second of them."""
    passes = iter([["act", "memory"], ["act"]])

    def here(names, settings, say):
        done = next(passes)
        yield from (running.measure(name, settings) for name in done)
        if done != names:
            raise KeyboardInterrupt

    monkeypatch.setattr(running, "in_process", here)


def test_what_was_measured_before_an_interruption_is_kept(rlg, folder, cut_off):
    result = rlg("bench", "bench=act,memory", "processes=3", "--output", "found")
    assert result.code == 130
    assert result.err.endswith("rlg: interrupted\n")
    text = "a partial report: 1 of 3 processes have measured everything"
    assert f"warning:    {text}: take these figures with care" in result.out
    assert text in (folder / "found" / "report.html").read_text()
    found = Report.read(folder / "found" / "bench.json")
    assert {suite.name: suite.rows[0].processes for suite in found.suites} == {
        "act": (3, 3),
        "memory": (3,),
    }
    assert found.is_partial


def test_there_are_pages_after_each_process_and_results_after_each_suite(rlg, folder, fake):
    from rlg.cli.bench import _measure

    seen = []

    def names():
        return {path.name: path.stat().st_mtime_ns for path in (folder / "found").iterdir()}

    def reports():
        for found in running.run_suites(["act", "memory"], Settings(processes=2)):
            yield found
            seen.append(names())

    (folder / "found").mkdir()
    _measure(reports(), folder / "found")
    one, process, three, _ = seen
    assert set(one) == {"bench.json"}
    assert set(process) == {"bench.json", "report.html", "act.png", "memory.png"}
    assert process["report.html"] == three["report.html"]
    assert process["bench.json"] < three["bench.json"]
    assert names()["report.html"] > three["report.html"]


def test_an_interrupted_program_leaves_a_report(folder):
    words = ["bench=memory", "pairs=1", "processes=1000", "block=0.002", "backends=numpy"]
    command = [PROGRAM, "bench", *words, "--output", "found"]
    out = subprocess.PIPE
    with subprocess.Popen(command, cwd=folder, stdout=out, stderr=out, text=True) as process:
        try:
            for line in process.stderr:
                if line == "process 2 of 1000\n":
                    break
            process.send_signal(signal.SIGTERM)
            printed, error = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
    assert process.returncode == 130, error
    assert error.endswith("rlg: interrupted\n")
    assert "of 1000 processes have measured everything" in printed
    found = Report.read(folder / "found" / "bench.json")
    assert len(found.suites[0].rows[0].processes) in (1, 2)
    assert (folder / "found" / "report.html").exists()


def test_a_suite_that_fails_says_why_and_exits_with_1(rlg, fake):
    fake[0] = RuntimeError("no emulator")
    result = rlg("bench", "bench=act")
    assert result.code == 1
    assert "failed: RuntimeError: no emulator" in result.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["bench=memroy"], "there is no suite 'memroy'. Did you mean 'memory'?"),
        (["bench="], "bench=: expected names of suites"),
        (["bensh=act"], "there is no key 'bensh'. Did you mean 'bench'?"),
        (["act"], "'act' is not of the form key=value"),
        (["pairs=few"], "pairs: expected an integer, got 'few'"),
        (["pairs=0"], "pairs: must be above 0, got 0"),
        (["processes=0"], "processes: must be above 0, got 0"),
        (["processes=many"], "processes: expected an integer, got 'many'"),
        (["backends=torhc"], "there is no backend 'torhc'. Did you mean 'torch'?"),
        (["--compare", "nowhere.json"], "nowhere.json: No such file or directory"),
    ],
)
def test_mistakes_exit_with_2_and_leave_nothing_behind(rlg, folder, words, message):
    result = rlg("bench", *words)
    assert result.code == 2
    assert message in result.err
    assert list(folder.iterdir()) == []


def test_tab_completes_keys_suites_and_flags(rlg):
    def asked(line: str) -> list[str]:
        return rlg("__complete", "bash", line).out.split()

    assert asked("rlg bench b") == ["bench=", "block=", "backends="]
    assert asked("rlg bench bench=me") == ["memory"]
    assert "--compare" in asked("rlg bench --")


def test_suites_are_chosen_by_name_in_the_order_of_the_table():
    assert suites.chosen("memory,act") == ["act", "memory"]
    assert suites.chosen("all") == list(suites.SUITES)


def test_the_default_leaves_out_what_takes_long_and_says_so(rlg, folder, fake):
    result = rlg("bench", "--output", "found")
    assert "left out:   devices, impala: bench=devices,impala, or bench=all" in result.out
    measured = [suite.name for suite in Report.read(folder / "found" / "bench.json").suites]
    assert measured == [name for name in suites.SUITES if name not in ("devices", "impala")]
    assert "left out" not in rlg("bench", "bench=act").out


def test_every_suite_can_be_loaded():
    for name in suites.SUITES:
        assert callable(suites.load_suite(name))


def test_the_help_page_loads_no_suite():
    code = (
        "import sys; from rlg.cli.main import main; main(['bench', '--help']);"
        "sys.exit(any(name.startswith(('rlg.bench', 'torch')) for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_profile_of_a_run_is_printed_and_written(rlg, folder):
    words = ["agent=ppo", "env=cartpole", "total_timesteps=300", "hydra.run.dir=run"]
    assert rlg("train", *words).code == 0
    result = rlg("bench", "run=run", "seconds=0.5", "--output", "found")
    assert result.code == 0, result.err
    assert "steps/s in one process" in result.out
    assert ".gradients" in result.out
    names = {path.name for path in (folder / "found").iterdir()}
    assert names == {"profile.json", "profile.png", "profile.html"}


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run=nowhere"], "nowhere"),
        (["seconds=3"], "seconds: belongs to run=FOLDER."),
        (["run=x", "pairs=3"], "run: a profile of a run takes no pairs. It takes seconds."),
        (["run=x", "seconds=-1"], "seconds: must be above 0, got -1."),
    ],
)
def test_what_a_profile_does_not_take_is_refused(rlg, folder, words, expected):
    result = rlg("bench", *words)
    assert result.code == 2
    assert expected in result.err
    assert not (folder / "outputs").exists()
