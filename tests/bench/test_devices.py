"""The suite `devices`: contenders learn the same, and each row says what it compares."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from rlg.bench.measuring import Absent, Cost
from rlg.bench.running import Settings
from rlg.bench.suites import devices, updates


def test_a_share_is_seconds_of_an_update_and_of_all_of_it():
    samples = [
        {"steps": 2, "wall": 9.0, "cut": 9.0},  # warms up
        {"steps": 2, "wall": 1.0, "cut": 0.1},
        {"steps": 2, "wall": 2.0, "cut": 0.4},
        {"steps": 2, "wall": 1.0, "cut": 0.2},
    ]
    row = devices.share("CNN: splitting", "rlg torch, 2 replicas", "cut", samples)
    assert [cost.wall for cost in row.costs] == [0.05, 0.2, 0.1]
    assert row.note == "20.0 % of the update"
    assert (row.kind, row.opponent, row.unit) == ("figure", "", "update")


class Contender:
    """Stands in for a process."""

    def __init__(self, program: str, settings: dict[str, Any], command: Any) -> None:
        assert program == "rlg.bench.suites.updates"
        self.who, self.samples = settings["who"], []
        self.missing = "it died" if self.who == "MirroredStrategy" else ""

    def block(self) -> Cost:
        if self.missing:
            raise Absent
        parts = {"cut": 0.1, "average": 0.2} if "2 replicas" in self.who else {"allreduce": 0.5}
        self.samples.append({"steps": 1, "wall": 1.0, "cpu": 2.0, **parts})
        return Cost(1.0, 2.0)

    def __enter__(self) -> Contender:
        return self

    def __exit__(self, *_: object) -> None: ...


def test_every_pair_has_a_row_and_shares_follow(monkeypatch):
    monkeypatch.setattr(devices, "Opponent", Contender)
    rows = list(devices.measure(Settings(pairs=2, processes=1)))
    assert [(row.ours, row.opponent) for row in rows[:8]] == list(devices.PAIRS)
    assert all(row.case == "Nature CNN: update" for row in rows[:8])
    assert rows[7].missing == "it died"
    assert (len(rows[2].costs), len(rows[2].others), rows[2].missing) == (2, 2, "")
    assert [(row.case, row.note) for row in rows[8:11]] == [
        ("Nature CNN: splitting", "10.0 % of the update"),
        ("Nature CNN: averaging", "20.0 % of the update"),
        ("Nature CNN: allreduce, with waiting for the other", "50.0 % of the update"),
    ]
    learning = rows[11:]
    assert [row.missing for row in learning] == ["left out: --full measures it"] * 2
    assert learning[1].key == ("PPO, CartPole: a run", "rlg tf, 2 replicas", "rlg tf, 1 replica")
    more = list(devices.updates("mlp", Settings(pairs=1)))
    assert [row.case for row in more[:9]] == ["MLP of 64, 64: update"] * 8 + [
        "MLP of 64, 64: splitting"
    ]
    names = {row.ours for row in devices.measure(Settings(pairs=1, backends=("torch",)))}
    assert not [name for name in names if "tf" in name]
    assert list(devices.measure(Settings(backends=("numpy",)))) == []


def test_a_course_is_some_moments_of_a_run():
    rows = [{"rollout/ep_rew_mean": 10.0 * n, "time/time_elapsed": n / 2} for n in range(11)]
    rows.insert(0, {"time/time_elapsed": 0.0})
    assert devices.course(rows) == ("reward after 0 s 0, 1 s 20, 2 s 40, 3 s 60, 4 s 80, 5 s 100")
    assert devices.course([]) == "reward after "


@pytest.mark.parametrize(
    "who", [n for n in updates.CONTENDERS if "torch" in n and "ranks" not in n]
)
def test_contenders_make_as_many_updates_as_a_block_has(who):
    found = updates.make(who, "mlp", batch=6, updates=3)()
    assert found.pop("steps") == 3
    assert sorted(found) == (["average", "cut"] if "2 replicas" in who else [])
    assert all(seconds > 0 for seconds in found.values())


def test_a_block_is_as_many_updates_as_it_says(monkeypatch):
    made: list[int] = []
    block = updates.partial(updates._repeat, lambda: made.append(1))
    monkeypatch.setitem(updates.CONTENDERS, "counted", (lambda kind, size, parts: block, {}))
    assert updates.make("counted", "mlp", batch=6, updates=5)() == {"steps": 5}
    assert len(made) == 5


def twins() -> Iterator[Any]:
    """By hand, for one process."""
    import torch

    from rlg.bench.handwritten_ddp import Learner

    for _ in range(2):
        torch.manual_seed(3)
        yield Learner((8,), (5,), 6, others=False)


def test_by_hand_updates_are_those_of_double_dueling_dqn():
    import torch

    one, two = twins()
    batch = dict(updates.data("mlp", 7))
    with torch.no_grad():
        q, following, target = (
            network(torch.from_numpy(batch[name])).numpy()
            for network, name in (
                (two.plain, "states"),
                (two.plain, "next_states"),
                (two.target, "next_states"),
            )
        )
    rows = np.arange(7)
    best = target[rows, following.argmax(-1)]
    wanted = batch["rewards"] + 0.99 * np.where(batch["terminals"], 0.0, best)
    expected = 0.5 * np.mean((wanted - q[rows, batch["actions"]]) ** 2)
    assert one.update(batch) == pytest.approx(expected, rel=1e-5)
    assert one.update(batch) < expected


@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.parametrize("who", updates.CONTENDERS)
def test_every_contender_answers(who):
    words = {"who": who, "kind": "mlp", "batch": 8, "updates": 2}
    with devices.Opponent(devices.PROGRAM, words, command=devices.SERVE) as contender:
        assert contender.missing == ""
        assert contender.block().wall > 0
    assert contender.samples[0]["steps"] == 2


@pytest.mark.slow
@pytest.mark.timeout(400)
def test_a_run_has_a_cost_and_a_course(monkeypatch):
    words = [w for w in devices.TRAINING if not w.startswith("total")] + ["total_timesteps=3000"]
    monkeypatch.setattr(devices, "TRAINING", [*words, "logger.interval=500"])
    cost, course = devices.trained("torch", 2)
    assert cost.cpu > 0
    assert course.count(" s ") >= 1
