"""Opponents in other processes: the line protocol, and opponents that are missing or die."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from rlg.bench import peers
from rlg.bench.measuring import Absent, Cost, interleave
from rlg.bench.peers import Opponent

FAKE = """
import sys, os
def make(mode, steps=4):
    print("libraries print to stdout")
    if mode == "broken":
        raise ValueError("no such game")
    calls = []
    def run(*words):
        calls.append(1)
        if mode == "dies" and len(calls) > 2:
            print("segmentation fault", file=sys.stderr, flush=True)
            os._exit(7)
        if mode == "fails" and len(calls) > 2:
            raise RuntimeError("out of memory")
        if mode == "sleeps" and len(calls) > 1:
            import time
            time.sleep(60)
        sum(range(20_000))
        return {"steps": steps, "trained": 20 * steps, "told": words} if mode != "mute" else {}
    return run
"""


@pytest.fixture
def opponent(tmp_path: Path):
    """A fake one behind the real program; made with its mode."""
    (tmp_path / "serve.py").write_text(peers.SERVE.read_text())
    (tmp_path / "fake.py").write_text(FAKE)
    opened = []

    def make(mode: str, **options) -> Opponent:
        command = [sys.executable, str(tmp_path / "serve.py")]
        opened.append(Opponent("fake", {"mode": mode}, command=command, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.__exit__()


def test_a_block_is_seconds_per_step(opponent):
    fake = opponent("works")
    assert fake.missing == ""
    cost = fake.block()
    (sample,) = fake.samples
    assert (sample["steps"], sample["trained"]) == (4, 80)
    assert cost == Cost(sample["wall"] / 4, sample["cpu"] / 4)
    fake.block("2", "actors")
    assert [sample["told"] for sample in fake.samples] == [[], ["2", "actors"]]
    assert cost.cpu > 0
    assert cost.wall > 0


def test_it_says_its_versions_and_has_one_thread(opponent, monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "7")
    fake = opponent("works")
    assert fake.facts["settings"] == {"mode": "works"}
    assert "torch " in fake.described
    environment = Path(f"/proc/{fake._process.pid}/environ").read_bytes().split(b"\0")
    assert b"OMP_NUM_THREADS=1" in environment


def test_blocks_of_ours_and_theirs_interleave(opponent):
    found = interleave({"ours": lambda: Cost(1.0, 1.0), "theirs": opponent("works").block}, 3)
    assert {name: len(costs) for name, costs in found.items()} == {"ours": 3, "theirs": 3}


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("broken", "fake: ValueError: no such game (libraries print to stdout)"),
        ("mute", "fake: expected wall, cpu and steps, got {"),
        ("dies", "fake: it ended, exit code 7 (segmentation fault)"),
        ("fails", "fake: RuntimeError: out of memory"),
    ],
)
def test_one_that_fails_is_left_out_and_says_why(opponent, mode, message):
    fake = opponent(mode)
    found = interleave({"ours": lambda: Cost(1.0, 1.0), "theirs": fake.block}, rounds=3)
    assert found == {"ours": [Cost(1.0, 1.0)] * 3}
    assert fake.missing.startswith(message)
    with pytest.raises(Absent):
        fake.block()


def test_one_that_does_not_answer_is_ended(opponent):
    fake = opponent("sleeps", limits=(30.0, 0.5))
    process = fake._process
    with pytest.raises(Absent, match=r"fake: no answer within 0\.5 s"):
        fake.block()
    assert process.returncode is not None


def test_a_program_that_is_not_there_is_missing():
    with Opponent("fake", {}, command=["/nowhere/python"]) as absent:
        assert absent.missing.startswith("fake: [Errno 2]")


def test_without_an_environment_the_command_is_named(tmp_path, monkeypatch):
    monkeypatch.setenv("RLG_PEERS", str(tmp_path))
    with Opponent("sb3_ppo", {}) as absent:
        assert absent.missing == "no .venv-peers: make bench-peers, then bench=all"
        with pytest.raises(Absent):
            absent.block()


def test_an_environment_that_is_there_is_used_only_if_wanted(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python").symlink_to(sys.executable)
    monkeypatch.setenv("RLG_PEERS", str(tmp_path))
    assert peers.interpreter() == tmp_path / "bin" / "python"
    with Opponent("sb3_ppo", {}, wanted=False) as absent:
        assert absent.missing == "left out: bench=all measures it (after make bench-peers)"


def test_stopping_ends_the_process(opponent):
    fake = opponent("works")
    fake.close()
    assert fake._process.returncode == 0
