"""Ranks on Horovod: a pretended one by default, and the real one (mark `horovod`)."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import psutil
import pytest

from rlg.api.run import train
from rlg.cli.main import main
from rlg.errors import ExecutionError, SpecError
from rlg.execution.engines.ranks import horovod
from rlg.execution.engines.ranks.collective import RankLostError
from rlg.execution.engines.ranks.crew import Crew
from rlg.execution.engines.ranks.horovod import HorovodCollective, Spoken
from rlg.execution.engines.ranks.lead import Follower, LeadingLoop
from rlg.execution.engines.ranks.rounds import open_rank
from rlg.execution.engines.settings import is_follower, is_under_horovodrun, num_ranks
from rlg.execution.types import Batch, Clock, SavedBatches
from rlg.tracking.folder import RunFolder
from tests.api.runs import config
from tests.execution.crews import Horovod, Server, Thread
from tests.execution.parts import plugin
from tests.execution.suite import EVERY, ExecutorSuite, FragileSuite, RepeatingSuite
from tests.execution.test_ranks import factory
from tests.patience import PATIENCE

HOROVOD: dict[str, Any] = {"type": "horovod", "num_ranks": 2, "timeout": 60.0}


def collectives(size: int, timeout: float = PATIENCE) -> list[HorovodCollective]:
    server = Server(size)
    return [HorovodCollective(Horovod(server, rank, timeout)) for rank in range(size)]


def on_each(functions: list[Any]) -> list[Any]:
    threads = [Thread(function) for function in functions]
    return [thread.result() for thread in threads]


# -- the collective and the channel ---------------------------------------------------------------
def test_means_and_largest_values():
    def run(ranks: Any) -> Any:
        mean, most = np.float32([1.0, ranks.rank]), np.float64([ranks.rank, -ranks.rank])
        ranks.mean(mean)
        ranks.most(most)
        return mean.tolist(), most.tolist(), ranks.gather(ranks.rank)

    found = on_each([lambda ranks=ranks: run(ranks) for ranks in collectives(3)])
    reduced = [1.0, 1.0], [2.0, 0.0]
    assert found == [(*reduced, [0, 1, 2]), (*reduced, []), (*reduced, [])]


def test_commands_and_reports_of_different_types_meet():
    first, *others = [Spoken(collective) for collective in collectives(3)]

    def lead() -> Any:
        first.command("iterate")
        said = first.reports()
        first.command("insert", {"rows": 2}, to=2)
        first.command("load", 5, "all")
        return said

    def follow(channel: Spoken, orders: int) -> Any:
        heard = [channel.receive()]
        channel.report({"rank": channel.collective.rank})
        return heard + [channel.receive() for _ in range(orders - 1)]

    one, two = others
    found = on_each([lead, lambda: follow(one, 2), lambda: follow(two, 3)])
    load = ("load", (5, "all"))
    assert found[0] == [{"rank": 1}, {"rank": 2}]
    assert found[1] == [("iterate", ()), load]
    assert found[2] == [("iterate", ()), ("insert", ({"rows": 2},)), load]


def test_a_rank_that_is_gone_is_an_error_in_each_exchange():
    alone = collectives(2, timeout=0.05)[0]
    exchanges = [
        lambda: alone.mean(np.zeros(2)),
        lambda: alone.most(np.zeros(2)),
        lambda: alone.broadcast(1),
        lambda: alone.gather(1),
    ]
    for exchange in exchanges:
        with pytest.raises(RankLostError, match="a rank is stalled in"):
            exchange()
    with pytest.raises(TypeError):
        alone.mean("no array")  # type: ignore[arg-type]
    error = Spoken(alone).explained(RankLostError("of Horovod"))
    assert str(error) == "a rank is gone: of Horovod"
    assert type(error) is ExecutionError


@pytest.mark.parametrize("is_in_a_round", [False, True])
def test_rank_0_tells_the_others_to_leave_only_if_they_can_hear_it(is_in_a_round):
    one, two = (Crew(c, Spoken(c)) for c in collectives(2))

    def lead() -> None:
        if is_in_a_round:
            one.channel.command("iterate")
        one.close()  # as after an error

    def follow() -> Any:
        heard = [two.channel.receive()[0]]
        if is_in_a_round:
            with pytest.raises(RankLostError, match="shut down"):
                two.any(False)
        return heard

    heard = on_each([lead, follow])[1]
    assert heard == (["iterate"] if is_in_a_round else ["leave"])


def test_a_whole_run_goes_through_the_channel_of_horovodrun():
    def follow(collective: HorovodCollective) -> Any:
        crew = Crew(collective, Spoken(collective))
        follower = Follower(factory(), crew, 2048)
        follower.follow()
        found = follower.rounds.learner.get_weights(), follower.rounds.learner.stored  # type: ignore[attr-defined]
        follower.close()
        return found

    first, second = collectives(2)
    other = Thread(lambda: follow(second))
    crew = Crew(first, Spoken(first))
    loop: Any = LeadingLoop(open_rank(factory(), crew, 2048), crew, factory())
    loop.start()
    for _ in range(4):
        loop.iterate(lambda: False)
    state = loop.get_state()
    batches = [Batch(**batch) for batch in state["memory"]["batches"]]
    assert sum(batch.size for batch in batches) == 4 * 64
    state["memory"] = SavedBatches(lambda: iter(batches))
    loop.set_state(state)
    loop.iterate(lambda: False)
    assert loop.clock == Clock(5 * 64, 40, 2048)
    weights = loop.learner.get_weights()
    loop.close()
    others, stored = other.result()
    assert stored == 160  # the half of 4 * 64 records that it was dealt, and those of one round
    for path, value in weights.items():
        np.testing.assert_array_equal(others[path], value)


# -- the environment ------------------------------------------------------------------------------
def test_horovodrun_says_who_leads_and_how_many_there_are(monkeypatch):
    for name in [name for name in os.environ if name.startswith("HOROVOD_")]:
        monkeypatch.delenv(name)
    assert (is_under_horovodrun(), num_ranks(HOROVOD), is_follower(HOROVOD)) == (False, 2, False)
    monkeypatch.setenv("HOROVOD_RANK", "0")
    monkeypatch.setenv("HOROVOD_SIZE", "3")
    assert (is_under_horovodrun(), num_ranks(HOROVOD), is_follower(HOROVOD)) == (True, 3, False)
    monkeypatch.setenv("HOROVOD_RANK", "2")
    assert is_follower(HOROVOD)
    assert not is_follower({**HOROVOD, "type": "ddp"})
    assert num_ranks({**HOROVOD, "type": "ddp"}) == 2
    monkeypatch.setenv("RLG_HOROVOD", "1")  # started by the engine itself
    assert (is_under_horovodrun(), is_follower(HOROVOD), num_ranks(HOROVOD)) == (False, False, 2)


def test_a_rank_notes_its_place_for_horovod_and_takes_it_back(monkeypatch):
    monkeypatch.setattr(horovod, "_framework", lambda name: Horovod(Server(4), 3))
    monkeypatch.setattr(os, "environ", dict(os.environ))
    made = horovod.by_torch(4242, 3, 4, 30.0)
    noted = {name for name in os.environ if name.startswith("HOROVOD_")}
    places = {name: os.environ[f"HOROVOD_{name}"] for name in ("RANK", "SIZE", "LOCAL_RANK")}
    assert places == {"RANK": "3", "SIZE": "4", "LOCAL_RANK": "3"}
    assert os.environ["HOROVOD_GLOO_RENDEZVOUS_PORT"] == "4242"
    assert os.environ["HOROVOD_GLOO_IFACE"] == "lo"
    assert os.environ["HOROVOD_STALL_SHUTDOWN_TIME_SECONDS"] == "30"
    assert os.environ["HOROVOD_STALL_CHECK_TIME_SECONDS"] == "15"
    assert not is_under_horovodrun()
    made.close()
    assert not noted & set(os.environ)
    assert "RLG_HOROVOD" not in os.environ


@pytest.mark.parametrize("words", [["train"], ["train", "executor.num_ranks=1"]])
def test_without_horovod_one_line_says_how_to_get_it(words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    find = horovod.find_spec
    monkeypatch.setattr(
        horovod, "find_spec", lambda name: find(name) if name != "horovod" else None
    )
    assert main([*words, "env=cartpole", "executor=horovod", "total_timesteps=64"]) == 2
    said = capsys.readouterr().err.strip().splitlines()
    assert said[-1] == (
        "rlg: error: executor=horovod: Horovod is not installed. Build it with "
        "`make install-horovod`, or use executor=ddp, which needs nothing extra."
    )
    assert len(said) == 1
    assert list(tmp_path.iterdir()) == []  # no run folder


def test_without_horovod_python_gets_an_error_and_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(horovod, "find_spec", lambda name: None)
    with pytest.raises(SpecError, match="Horovod is not installed"):
        train(config() | {"executor": HOROVOD}, tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


# -- the real one ---------------------------------------------------------------------------------
@pytest.mark.horovod
@pytest.mark.timeout(600)
class TestHorovod(RepeatingSuite, FragileSuite, ExecutorSuite):
    executor: ClassVar[dict[str, Any]] = HOROVOD
    alone: ClassVar[dict[str, Any]] = {**HOROVOD, "num_ranks": 1}
    others = EVERY
    least = 1


@pytest.mark.horovod
def test_ranks_of_this_machine_meet_on_loopback_and_leave_no_socket():
    meeting = horovod.Rendezvous(2)
    (found,) = [c for c in psutil.Process().net_connections("tcp") if c.laddr.port == meeting.path]
    assert (found.laddr.ip, found.status) == ("127.0.0.1", "LISTEN")
    meeting.close()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", meeting.path))


def horovodrun(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name("horovodrun")
    given = [
        "agent=a2c",
        "env=cartpole",
        "env.num_envs=2",
        "executor=horovod",
        "logger.graph=false",
    ]
    given += ["logger.tensorboard=false", "evaluation.episodes=2", f"hydra.run.dir={folder}"]
    rlg = [sys.executable, "-m", "rlg", "train", *given, *words]
    command = [str(program), "-np", "2", "--gloo", *rlg]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)


EQUAL = """
import sys
import numpy as np
from rlg.execution.engines.ranks import horovod
from rlg.execution.engines.ranks.crew import Crew
from rlg.execution.types import Batch, Clock
from tests.execution.test_ranks import factory
from tests.patience import PATIENCE

made = factory(backend=sys.argv[1])
collective = horovod.HorovodCollective(horovod._framework(sys.argv[1]))
rank = collective.rank
agent = made.make_rank(rank, 2, Crew(collective, horovod.Spoken(collective)))
alone = made.make("actor", "learner", num_envs=8)
space, rng = alone.record_space(), np.random.default_rng(0)
for number in range(3):
    whole = space.sample(rng, batch=16)
    half = {name: x[8 * rank : 8 * rank + 8] for name, x in whole.items()}
    agent.learn(Batch(half, 8), Clock(0, number))
    alone.learn(Batch(whole, 16), Clock(0, number))
found = agent.get_weights()
for path, value in alone.get_weights().items():
    np.testing.assert_allclose(found[path], value, rtol=1e-5, atol=1e-5, err_msg=path)
print("equal on", rank)
"""


@pytest.mark.horovod
@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_two_ranks_learn_what_one_learns_from_both_batches(backend):
    program = str(Path(sys.executable).with_name("horovodrun"))
    command = [program, "-np", "2", "--gloo", sys.executable, "-c", EQUAL, backend]
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run(
        command, env=environ, capture_output=True, text=True, check=False, timeout=240
    )
    assert done.returncode == 0, done.stderr[-3000:]
    said = done.stdout + done.stderr
    assert ("equal on 0" in said, "equal on 1" in said) == (True, True)


@pytest.mark.horovod
@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_ranks_that_horovodrun_starts_make_one_run(backend, tmp_path):
    done = horovodrun(tmp_path / "run", f"backend={backend}", "total_timesteps=400")
    assert done.returncode == 0, done.stderr[-3000:]
    said = done.stdout + done.stderr
    assert said.count("2 ranks x 2 environments with one thread each") == 1
    assert "gradients averaged by Horovod" in said
    status = RunFolder(tmp_path / "run").status
    assert (status.state, status.exit_code) == ("done", 0)
    assert (tmp_path / "run" / "checkpoints").exists()


@pytest.mark.horovod
@pytest.mark.timeout(600)
@pytest.mark.parametrize("rank", [0, 1])
def test_a_rank_of_horovodrun_whose_environment_raises_ends_the_run(rank, tmp_path, monkeypatch):
    action = f"if os.environ['HOROVOD_RANK'] == '{rank}': raise RuntimeError('no screen')"
    broken = plugin(tmp_path, f"raising_{rank}", action, 40, monkeypatch)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    (name,) = broken["plugins"]
    words = [f"plugins=[{name}]", f"env.name={broken['env']['name']}", "total_timesteps=100000"]
    done = horovodrun(tmp_path / "run", *words)
    assert done.returncode != 0
    assert "no screen" in done.stdout + done.stderr
    assert RunFolder(tmp_path / "run").status.state == "failed"
