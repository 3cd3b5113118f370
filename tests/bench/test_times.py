"""Profiles: what is called inside of another is its part, and components stand by their paths."""

from __future__ import annotations

import json

import pytest

import rlg as library
from rlg.bench import times
from rlg.bench.flames import draw
from rlg.bench.run_profile import profile_run
from rlg.bench.times import Times, Watch


@pytest.fixture
def clock(monkeypatch):
    """A clock that goes by `clock.now += seconds`."""

    class Clock:
        now = 0.0

        def perf_counter(self):
            return self.now

    found = Clock()
    monkeypatch.setattr(times, "time", found)
    return found


def spend(clock, seconds, inner=lambda: None):
    def function():
        clock.now += seconds
        inner()

    return function


def test_what_is_called_inside_of_another_is_its_part(clock):
    watch = Watch()
    dense = watch.component("agent/policy/network/dense-0.call", spend(clock, 2.0))
    norm = watch.component("agent/optimizer.global_norm", spend(clock, 0.5))
    own = watch.component("agent.priorities", spend(clock, 0.25))

    def update():
        dense()
        dense()
        norm()
        own()

    learn = watch.stage("learning", spend(clock, 1.0, update))
    learn()
    clock.now += 4.0  # of the loop
    run = watch.stop()
    assert run.seconds == pytest.approx(9.75)
    (learning,) = run.parts.values()
    assert (learning.seconds, learning.calls) == (5.75, 1)
    assert learning.rest == pytest.approx(1.0)
    assert {name: part.seconds for name, part in learning.parts.items()} == {
        "policy": 4.0,
        "optimizer": 0.5,
        ".priorities": 0.25,
    }
    assert learning.parts["policy"].parts["network"].parts["dense-0"].calls == 2
    assert learning.parts["optimizer"].parts[".global_norm"].seconds == 0.5
    assert [part.name for part in run.ordered()] == ["learning", "rest"]
    assert run.ordered()[-1].seconds == 4.0
    assert [(depth, part.name) for depth, part in learning.walk()][:4] == [
        (0, "policy"),
        (1, "network"),
        (2, "dense-0"),
        (0, "optimizer"),
    ]


def test_a_function_that_fails_is_closed_all_the_same(clock):
    watch = Watch()

    def broken():
        clock.now += 1.0
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        watch.stage("learning", broken)()
    watch.stage("act", spend(clock, 1.0))()
    assert set(watch.stop().parts) == {"learning", "act"}


def test_shares_of_another_time():
    whole = Times("learning")
    whole.seconds = 2.0
    whole.part("policy").add(0.5)
    found = whole.scaled(3.0)
    assert (found.seconds, found.parts["policy"].seconds, found.parts["policy"].calls) == (
        6,
        1.5,
        1,
    )
    assert whole.seconds == 2.0
    assert found.as_dict()["parts"] == [
        {"name": "policy", "seconds": 1.5, "calls": 1, "parts": []},
        {"name": "rest", "seconds": 4.5, "calls": 0, "parts": []},
    ]


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_a_profile_of_a_run_has_stages_and_components(backend, tmp_path):
    folder = tmp_path / "run"
    agent = {"learning_starts": 100, "train_freq": 8, "gradient_steps": 1}
    words = {"total_timesteps": 300, "agent": agent}
    # TensorFlow's threads can't be changed in a process that has used it.
    overrides = ("agent=dqn", "env=cartpole", f"backend={backend}", "backend.threads=null")
    overrides += ("env.num_envs=1",)
    library.train(*overrides, folder=folder, **words)
    before = {path: path.stat().st_mtime_ns for path in folder.rglob("*")}
    found = profile_run(folder, 0.6)
    assert {path: path.stat().st_mtime_ns for path in folder.rglob("*")} == before
    assert set(found.times.parts) == {"environment", "act", "memory", "learning"}
    assert found.updates > 0
    assert found.times.parts["environment"].calls == found.steps  # none of those that warmed up
    assert sum(part.seconds for part in found.times.ordered()) == pytest.approx(found.times.seconds)
    learning, act = found.times.parts["learning"], found.times.parts["act"]
    assert {"policy", "target_policy", "loss", "optimizer", "memory"} <= set(learning.parts)
    assert ".gradients" in learning.parts["optimizer"].parts
    assert "target_policy" not in act.parts
    inside = sum(part.seconds for part in learning.parts.values())
    assert 0 < inside <= learning.seconds * (1 + 1e-9)
    assert ("op by op" in " ".join(found.notes)) == (backend == "tf")
    path = found.write(tmp_path)
    content = json.loads(path.with_suffix(".json").read_text())
    assert content["times"]["parts"][0]["name"] == found.times.ordered()[0].name
    assert path.with_suffix(".png").stat().st_size > 5_000
    assert "optimizer" in path.read_text()


def test_a_picture_of_a_single_stage_is_drawn(tmp_path):
    whole = Times("run")
    whole.add(1.0)
    whole.part("act").add(1.0)
    assert draw(whole, "title", tmp_path / "p.png").stat().st_size > 1_000
