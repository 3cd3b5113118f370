"""Ranks that learn together: what is averaged, what is equal, what is each one's own."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np
import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.execution.engines.local import make_sampler
from rlg.execution.engines.ranks import collective
from rlg.execution.engines.ranks.collective import RankLostError
from rlg.execution.engines.ranks.crew import Crew
from rlg.execution.engines.ranks.lead import _parts
from rlg.execution.engines.ranks.rounds import RankPool, RankTrainer
from rlg.execution.roles import never
from rlg.execution.types import Batch, Clock, SavedBatches, side_by_side
from rlg.graph.components.optimizers.optimizer import Optimizer
from rlg.graph.core.component.component import walk
from rlg.graph.spaces import map_leaves
from tests.api.runs import config
from tests.execution.crews import Place, Queues, Ranks, Thread, together
from tests.patience import PATIENCE

SGD = {"type": "sgd", "learning_rate": 0.5}
A2C: dict[str, Any] = {"type": "a2c", "n_steps": 8}
# One minibatch, and no shuffling that would matter.
PPO: dict[str, Any] = {
    "type": "ppo",
    "n_steps": 8,
    "batch_size": 32,
    "n_epochs": 3,
    "normalize_advantage": False,
}
PQN: dict[str, Any] = {"type": "pqn", "n_steps": 8, "batch_size": 32, "n_epochs": 3}


def settings(agent: Any = None, backend: str = "torch", **changes: Any) -> dict[str, Any]:
    found = config(backend) | {"optimizer": SGD}
    found["env"] = {"name": "cartpole", "num_envs": 4, "max_episode_steps": 6}
    if agent is not None:
        found["agent"] = agent
        if agent["type"] in ("ppo", "a2c", "pqn"):
            del found["memory"]
    return found | changes


def factory(**given: Any) -> ConfiguredAgents:
    return ConfiguredAgents(validate(settings(**given)))


# -- the collective ------------------------------------------------------------------------------
def test_means_and_largest_values():
    def run(ranks: Any) -> Any:
        mean, most = np.float32([1.0, ranks.rank]), np.float64([ranks.rank, -ranks.rank])
        ranks.mean(mean)
        ranks.most(most)
        return mean.tolist(), most.tolist()

    assert together(3, run) == [([1.0, 1.0], [2.0, 0.0])] * 3


@pytest.mark.parametrize(
    ("hangs", "expected"),
    [(False, "by peer"), (True, "^Timed out waiting 500ms for recv operation")],
)
def test_a_rank_that_is_gone_is_an_error_at_once_and_one_that_hangs_after_the_time_out(
    hangs, expected
):
    noticed = threading.Event()

    def run(ranks: Any) -> str:
        if ranks.rank == 1:
            assert not hangs or noticed.wait(PATIENCE)
            return "gone"
        with pytest.raises(RankLostError) as found:
            ranks.mean(np.zeros(3))
        noticed.set()
        return str(found.value)

    said, _ = together(2, run, timeout=0.5 if hangs else PATIENCE)
    assert re.search(expected, said), said


def test_ranks_that_do_not_find_each_other_are_lost(monkeypatch):
    from torch import distributed

    monkeypatch.setattr(collective, "MEETING", 0.5)
    with pytest.raises(RankLostError):
        collective.GlooCollective(distributed.HashStore(), 0, 2, 0.1)


def test_an_average_is_one_exchange_and_keeps_shapes_and_types():
    calls: list[int] = []

    def run(ranks: Any) -> Any:
        crew = Crew(ranks, Place(Queues(2), ranks.rank))
        reduce = ranks.mean

        def noting(buffer: Any) -> None:
            calls.append(buffer.size)
            reduce(buffer)

        ranks.mean = noting
        mine = [np.full((2, 3), ranks.rank, "float32"), np.float32(4.0 * ranks.rank)]
        return crew.average(mine)

    for matrix, number in together(2, run):
        assert matrix.dtype == number.dtype == np.float32
        np.testing.assert_array_equal(matrix, np.full((2, 3), 0.5))
        assert number == 2.0
        assert number.shape == ()
    assert calls == [8, 8]


def test_the_wish_to_stop_travels_with_an_average_and_is_known_to_all():
    def run(ranks: Any) -> Any:
        crew = Crew(ranks, Place(Queues(2), ranks.rank))
        crew.begin_round(lambda: ranks.rank == 0)
        before = crew.is_stopped()
        crew.average([np.zeros(2)])
        after = crew.is_stopped()
        crew.begin_round(lambda: False)
        again = crew.is_stopped()
        crew.average([np.zeros(2)])
        return before, after, again, crew.is_stopped(), crew.any(ranks.rank == 1, False)

    assert together(2, run) == [(False, True, False, False, [True, False])] * 2


# -- updates --------------------------------------------------------------------------------------
def learnt(given: Any, batches: list[list[Batch]], whole: list[Batch]) -> tuple[Any, Any]:
    """Weights and losses of two ranks that learn from batches of their own, and of one process."""
    made = factory(**given)

    def run(ranks: Any) -> Any:
        crew = Crew(ranks, Place(Queues(2), ranks.rank))
        agent = made.make_rank(ranks.rank, 2, crew)
        losses = [float(agent.learn(b, Clock(0, 1)).metrics["loss"]) for b in batches[ranks.rank]]
        return agent.get_weights(), losses

    alone = made.make("actor", "learner", num_envs=8)
    losses = [float(alone.learn(batch, Clock(0, 1)).metrics["loss"]) for batch in whole]
    return together(2, run), (alone.get_weights(), losses)


def same_as_one(found: Any, expected: Any) -> None:
    (first, losses), (second, others) = found
    weights, whole = expected
    np.testing.assert_allclose(np.mean([losses, others], 0), whole, rtol=1e-5, atol=1e-6)
    for path, value in weights.items():
        np.testing.assert_array_equal(first[path], second[path], err_msg=path)
        np.testing.assert_allclose(first[path], value, rtol=1e-5, atol=1e-5, err_msg=path)


@pytest.mark.parametrize("agent", [PPO, A2C, PQN], ids=["ppo", "a2c", "pqn"])
def test_two_ranks_learn_what_one_learns_from_both_batches(agent):
    check_segments(agent, "torch")


def check_segments(agent: dict[str, Any], backend: str) -> None:
    given = {"agent": agent, "backend": backend}
    made = factory(**given)
    actor = made.make("actor")
    samplers = [make_sampler(made, actor, index) for index in range(2)]
    for sampler in samplers:
        sampler.start()
    segments = [[sampler.collect(Clock()) for _ in range(2)] for sampler in samplers]
    for sampler in samplers:
        sampler.close()
    assert any(segment.truncations.any() for segment in segments[0])
    parts = [[Batch({"segment": s}, s.steps) for s in of_rank] for of_rank in segments]
    pairs = [side_by_side(pair) for pair in zip(*segments, strict=True)]
    whole = {**agent, "batch_size": 64} if "batch_size" in agent else agent
    found, _ = learnt(given, parts, [])
    alone = factory(agent=whole, backend=backend).make("actor", "learner", num_envs=8)
    before = alone.get_weights()
    batches = [Batch({"segment": segment}, segment.steps) for segment in pairs]
    losses = [float(alone.learn(batch, Clock(0, 1)).metrics["loss"]) for batch in batches]
    same_as_one(found, (alone.get_weights(), losses))
    assert any((before[path] != value).any() for path, value in alone.get_weights().items())


def test_two_ranks_of_dqn_learn_what_one_learns_from_both_batches():
    check_records("torch")


def check_records(backend: str) -> None:
    rng = np.random.default_rng(0)

    def records(n: int) -> dict[str, Any]:
        return {
            "states": rng.normal(size=(n, 4)).astype("float32"),
            "actions": rng.integers(0, 2, n),
            "rewards": rng.normal(size=n).astype("float32"),
            "terminals": rng.random(n) < 0.2,
            "next_states": rng.normal(size=(n, 4)).astype("float32"),
        }

    wholes = [records(16) for _ in range(3)]
    halves = [
        [{name: x[rank * 8 : rank * 8 + 8] for name, x in whole.items()} for whole in wholes]
        for rank in range(2)
    ]
    batches = [[Batch(part, 8) for part in of_rank] for of_rank in halves]
    same_as_one(*learnt({"backend": backend}, batches, [Batch(whole, 16) for whole in wholes]))


# -- rounds ---------------------------------------------------------------------------------------
@contextmanager
def ranks(size: int = 2, **given: Any) -> Iterator[Ranks]:
    made = Ranks([factory(**given) for _ in range(size)])
    made.loop.start()
    yield made
    made.close()


def assert_equal_models(made: Ranks, kinds: Any = ("weight", "slot", "statistic")) -> None:
    first, *others = [agent.executor.get_variables(kinds) for agent in made.agents()]
    for other in others:
        for path, value in first.items():
            np.testing.assert_array_equal(other[path], value, err_msg=path)


NORMALIZED = {**PPO, "normalize_observations": True, "normalize_rewards": True, "batch_size": 16}


def test_ranks_stay_equal_with_environments_and_random_numbers_of_their_own():
    check_rounds("torch")


def check_rounds(backend: str) -> None:
    with ranks(3, agent=NORMALIZED, backend=backend, optimizer={"type": "adam"}) as made:
        before = made.loop.learner.get_weights()
        iterations = [made.loop.iterate(lambda: False) for _ in range(3)]
        assert_equal_models(made)
        after = made.loop.learner.get_weights()
        assert any((before[path] != after[path]).any() for path in before)
        clocks = {made.loop.clock, *(f.rounds.clock for f in made.followers.values())}
        assert clocks == {Clock(3 * 3 * 4 * 8, 3, 2048)}
        # Episodes of all ranks: 12 environments whose episodes have 6 steps at most.
        assert sum(len(iteration.returns) for iteration in iterations) >= 12 * 4
        lengths = [length for iteration in iterations for length in iteration.lengths]
        assert max(lengths) == 6
        seeds, draws = set(), set()
        for agent, pool in zip(
            made.agents(),
            [made.loop.pool, *(f.rounds.pool for f in made.followers.values())],
            strict=True,
        ):
            seeds |= {pool.sampler.env._episodes.seed_of(row) for row in range(4)}
            streams = agent.executor.builder.binding.streams
            draws |= {float(stream.uniform(())) for stream in streams.values()}
        assert len(seeds) == 12
        assert len(draws) == 3 * len(made.loop.learner.executor.builder.binding.streams)


def test_statistics_are_the_means_of_those_of_all_ranks():
    with ranks(2, agent=NORMALIZED) as made:
        seen: list[Any] = []
        for agent in made.agents():
            get = agent.executor.get_variables

            def noting(kinds: Any = None, scope: Any = None, get: Any = get) -> Any:
                found = get(kinds, scope)
                if kinds == "statistic":
                    seen.append(found)
                return found

            agent.executor.get_variables = noting
        made.loop.iterate(lambda: False)
        one, two = seen
        path = "agent/observations/mean"
        assert (one[path] != two[path]).any()
        now = made.loop.learner.get_model()
        for name in one:
            np.testing.assert_allclose(now[name], (one[name] + two[name]) / 2, rtol=1e-12)
        del made.loop.learner.executor.get_variables
        del made.followers[1]._agent.executor.get_variables


def test_metrics_are_means_over_ranks_so_nan_on_one_is_seen_by_the_first():
    with ranks(2, agent=A2C) as made:
        iterate = made.followers[1].rounds.iterate

        def broken(stop: Any) -> Any:
            found = iterate(stop)
            found.train["train/loss"] = float("nan")
            return found

        made.followers[1].rounds.iterate = broken  # type: ignore[method-assign]
        found = made.loop.iterate(lambda: False)
        assert np.isnan(found.train["train/loss"])
        assert np.isfinite(found.train["train/value_loss"])


def test_a_divergence_beyond_the_target_on_one_rank_stops_both_or_none():
    agent = {**PPO, "target_kl": 1e-4, "n_epochs": 10, "batch_size": 8}
    with ranks(2, agent=agent, optimizer={"type": "adam", "learning_rate": 1e-2}) as made:
        for _ in range(3):
            found = made.loop.iterate(lambda: False)
            assert 1 <= found.train["train/n_updates"] < 40
        assert_equal_models(made)


@pytest.mark.parametrize("at", [0, 5, 11])
def test_a_stop_while_sampling_leaves_no_rank_alone(at):
    with ranks(2, agent=A2C | {"n_steps": 16}) as made:
        made.loop.iterate(lambda: False)
        asked: list[int] = []

        def stop() -> bool:
            asked.append(1)
            return len(asked) > at

        updates = made.loop.clock
        assert not made.loop.iterate(stop).is_complete
        assert made.queues.hurried  # the others did not sample to the end
        assert made.loop.clock == made.followers[1].rounds.clock == updates
        # What was sampled is kept, and the rest comes with the next call.
        assert made.loop.iterate(lambda: False).is_complete
        assert made.loop.clock == updates.after(steps=2 * 4 * 16, updates=1)
        assert_equal_models(made)


def test_a_round_that_is_complete_waits_for_those_of_others_and_is_used_once():
    class Sampler:
        made = 0

        def sample(self, clock: Any, stop: Any) -> Any:
            self.made += 1
            return SimpleNamespace(steps=4, returns=[], lengths=[]), [self.made]

    class Others:
        rank, size, wish = 0, 2, staticmethod(never)
        cuts: ClassVar = [True, True, False, False]

        def any(self, *flags: bool) -> list[bool]:
            return [self.cuts.pop(0)]

    pool = RankPool.__new__(RankPool)
    pool.sampler, pool._crew, pool._complete = Sampler(), Others(), None  # type: ignore[assignment]
    found = [pool.ready(Clock()) for _ in range(4)]
    assert found[:2] == [[], []]
    assert [(sampled.steps, batches) for ((sampled, batches),) in found[2:]] == [(8, [1]), (8, [2])]


def test_a_stop_between_updates_leaves_the_same_rest_on_all_ranks():
    # 36 updates in a round: 32 in one call, then four single ones.
    agent = {**config()["agent"], "gradient_steps": 36}
    with ranks(2, agent=agent, optimizer={"type": "adam"}) as made:
        while not made.loop.clock.updates:
            made.loop.iterate(lambda: False)
        made.loop.iterate(lambda: False)
        before = made.loop.clock
        # Not asked while sampling: 8 steps of 4 environments are a task.
        loop, calls = made.loop, []
        learn_due = loop.learner.learn_due

        def counting(due: int, clock: Any) -> Any:
            calls.append(due)
            return learn_due(due, clock)

        loop.learner.learn_due = counting
        found = loop.iterate(lambda: len(calls) == 3)
        assert not found.is_complete
        assert calls == [36, 4, 3]
        assert loop.clock == made.followers[1].rounds.clock
        assert loop.clock.updates - before.updates == 34
        assert loop.iterate(lambda: False).is_complete
        assert loop.clock == before.after(steps=64, updates=36)
        assert_equal_models(made)


def test_dqn_keeps_its_ratio_and_shares_its_memory():
    with ranks(2, optimizer={"type": "adam"}) as made:
        for _ in range(6):
            made.loop.iterate(lambda: False)
        # Each rank takes 32 steps and then makes 8 updates, as one process does.
        assert made.loop.clock == Clock(6 * 64, 48, 2048)
        assert {agent._root.memory.buffer_size for agent in made.agents()} == {150}
        assert made.loop.trainer.stored == 6 * 64
        assert 0 < made.loop.statistics()["ranks/reducing"] < 1
        assert made.loop.statistics()["ranks/reducing"] == 0  # since the last call
        assert_equal_models(made)


def test_learning_begins_when_no_ranks_memory_is_empty():
    def run(ranks: Any) -> list[bool]:
        learner: Any = SimpleNamespace(stored=ranks.rank, set_state=lambda state: None)
        crew = Crew(ranks, Place(Queues(2), ranks.rank))
        trainer = RankTrainer(learner, crew, None)  # type: ignore[arg-type]
        found = [trainer.is_ready]
        learner.stored = 1
        found.append(trainer.is_ready)
        learner.stored = 0  # Full memories are not asked about again, but for a resume.
        found.append(trainer.is_ready)
        trainer.set_state({})
        return [*found, trainer.is_ready]

    assert together(2, run) == [[False, True, True, False]] * 2


def test_frames_that_belong_together_go_to_the_ranks_in_turn():
    records = {"frames": np.zeros((7, 2)), "actions": np.zeros(3)}
    batch = Batch(records, 3, np.ones(3))
    for number, rank in enumerate([0, 1, 2, 0]):
        parts = _parts(batch, number, 3)
        assert [part is batch for part in parts] == [index == rank for index in range(3)]
        assert parts.count(None) == 2


def test_at_first_all_ranks_have_the_weights_of_the_first():
    made = Ranks([factory(agent=A2C), factory(agent=A2C, seed=6)])
    first = made.loop.learner.get_weights()
    made.loop.start()
    made.loop.iterate(lambda: False)  # it has started
    assert_equal_models(made, ("weight",))
    made.close()
    assert any(value.any() for value in first.values())


SAC: dict[str, Any] = {"type": "sac", "batch_size": 8, "learning_starts": 8, "train_freq": 8}
CONTINUOUS = {"name": "pendulum", "num_envs": 4}


@pytest.mark.parametrize(
    ("agent", "optimizers"), [("sac", 3), ("td3", 2), ("ddpg", 2)], ids=["sac", "td3", "ddpg"]
)
def test_every_optimizer_of_an_agent_is_averaged(agent, optimizers):
    given = {"agent": {**SAC, "type": agent}, "env": CONTINUOUS, "optimizer": {"type": "adam"}}
    with ranks(2, **given) as made:
        before = made.loop.learner.get_weights()
        for _ in range(3):
            made.loop.iterate(lambda: False)
        assert made.loop.clock.updates >= 2
        assert_equal_models(made, ("weight",))
        slots = [agent.executor.get_variables("slot") for agent in made.agents()]
        steps = [path for path in slots[0] if path.endswith("/step")]
        assert len(steps) == optimizers
        for path in (path for path in slots[0] if "optimizer" in path):
            np.testing.assert_array_equal(slots[1][path], slots[0][path], err_msg=path)
        after = made.loop.learner.get_weights()
        assert any((before[path] != after[path]).any() for path in before)
        parts = list(walk(made.loop.learner._root))
        averaged = [part for part in parts if getattr(part, "average", None) is not None]
        assert len({id(part) for part in averaged if isinstance(part, Optimizer)}) == optimizers


@pytest.mark.parametrize("delay", [1, 2])
def test_two_ranks_of_td3_learn_what_one_learns_from_both_batches(delay):
    """Without the noise of targets, which each rank draws for itself."""
    rng = np.random.default_rng(0)
    agent = {**SAC, "type": "td3", "target_policy_noise": 0.0, "policy_delay": delay}
    given = {"agent": agent, "env": CONTINUOUS, "optimizer": {"type": "sgd", "learning_rate": 0.05}}
    space = factory(**given).make("actor", "learner").record_space()
    wholes = [space.sample(rng, batch=16) for _ in range(4)]
    halves = [[map_leaves(lambda x, r=r: x[r * 8 : r * 8 + 8], w) for w in wholes] for r in (0, 1)]
    made = factory(**given)

    def run(ranks: Any) -> Any:
        agent = made.make_rank(ranks.rank, 2, Crew(ranks, Place(Queues(2), ranks.rank)))
        for number, part in enumerate(halves[ranks.rank]):
            agent.learn(Batch(part, 8), Clock(0, number))
        return agent.get_weights()

    first, second = together(2, run)
    alone = made.make("actor", "learner", num_envs=8)
    before = alone.get_weights()
    for number, whole in enumerate(wholes):
        alone.learn(Batch(whole, 16), Clock(0, number))
    for path, value in alone.get_weights().items():
        np.testing.assert_array_equal(first[path], second[path], err_msg=path)
        np.testing.assert_allclose(first[path], value, rtol=1e-5, atol=1e-5, err_msg=path)
    changed = [path for path, value in alone.get_weights().items() if (before[path] != value).any()]
    assert len(changed) == len(before)


TENSORFLOW = """
from tests.execution import test_ranks as tests
tests.check_segments(tests.PPO, "tf")
tests.check_segments(tests.A2C, "tf")
tests.check_records("tf")
tests.check_rounds("tf")
"""


def test_all_of_it_holds_on_tensorflow():
    """In a process of its own: ranks that are threads share TensorFlow's, and wait in them."""
    env = {**os.environ, "TF_NUM_INTEROP_THREADS": "8"}
    command = [sys.executable, "-c", TENSORFLOW]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


# -- state ----------------------------------------------------------------------------------------
MEMORIES: dict[str, Any] = {
    "replay": ({}, {"type": "replay", "buffer_size": 300}),
    "prioritized": ({"n_step": 3}, {"type": "prioritized_replay", "buffer_size": 300}),
    "recurrent": ({"sequence_length": 4}, {"type": "replay", "buffer_size": 300}),
}


def contents(agents: list[Any]) -> dict[bytes, float]:
    """All records, and how much each of them weighs."""
    found = {}
    for agent in agents:
        for batch in agent.export():
            rows = batch.records["states"], batch.records["rewards"]
            for state, reward, priority in zip(*rows, batch.priorities, strict=True):
                found[state.tobytes() + reward.tobytes()] = float(priority)
    return found


@pytest.mark.parametrize("kind", MEMORIES)
def test_the_replay_data_of_all_ranks_moves_to_any_number_of_them_and_to_one_process(kind):
    more, memory = MEMORIES[kind]
    network = {"type": "lstm", "units": 8} if kind == "recurrent" else {"type": "mlp", "units": [8]}
    given = {
        "agent": settings()["agent"] | more,
        "memory": memory,
        "network": network,
        "optimizer": {"type": "adam"},
    }
    with ranks(2, **given) as made:
        for _ in range(4):
            made.loop.iterate(lambda: False)
        state = made.loop.get_state()
        held, clock, model = contents(made.agents()), made.loop.clock, made.loop.learner.get_model()
        assert "environments" not in state
    assert len(held) > 20
    assert (len(set(held.values())) > 20) == (kind == "prioritized")
    batches = [Batch(**batch) for batch in state["memory"]["batches"]]

    state["memory"] = SavedBatches(lambda: iter(batches))
    alone = factory(**given).make("actor", "learner")
    alone.set_state(state)
    assert contents([alone]) == pytest.approx(held, rel=1e-4)
    assert alone.stored == len(held) * (4 if kind == "recurrent" else 1)
    for path, value in alone.get_model().items():
        np.testing.assert_array_equal(model[path], value)
    made = Ranks([factory(**given) for _ in range(3)])
    made.loop.set_state(state)
    again = [Batch(**batch) for batch in made.loop.trainer.records()["batches"]]
    shares = [agent.stored for agent in made.agents()]
    assert max(shares) - min(shares) <= 8
    assert contents(made.agents()) == pytest.approx(held, rel=1e-4)
    assert sum(batch.size for batch in again) == sum(shares) == alone.stored
    while made.loop.clock.steps == clock.steps or made.loop.clock.updates == clock.updates:
        made.loop.iterate(lambda: False)
    assert made.loop.clock == made.followers[1].rounds.clock == made.followers[2].rounds.clock
    assert_equal_models(made)
    made.close()


def test_a_resumed_run_plays_other_episodes_than_it_began_with():
    with ranks(2, agent=A2C) as made:
        made.loop.iterate(lambda: False)
        state = made.loop.get_state()
        pools = [made.loop.pool, made.followers[1].rounds.pool]
        first = [pool.sampler.env._episodes.seed for pool in pools]
        streams = made.followers[1]._agent.get_streams()
        made.loop.set_state(state)
        made.loop.iterate(lambda: False)
        pools = [made.loop.pool, made.followers[1].rounds.pool]
        assert not {*first} & {pool.sampler.env._episodes.seed for pool in pools}
        now = made.followers[1]._agent.get_streams()
        assert streams.keys() == now.keys()
        assert all(streams[path] != now[path] for path in streams)
        assert_equal_models(made)


def test_ranks_compute_on_one_thread_each():
    assert ConfiguredAgents(validate(settings()))._agent()  # the framework may have more
    made = factory(agent=A2C)
    seen: list[BuildOptions] = []
    import rlg.api.agents.agent as module

    build = module.Agent.build

    def noting(self: Any, options: Any = None, roles: Any = ()) -> Any:
        seen.append(options)
        return build(self, options, roles)

    module.Agent.build = noting  # type: ignore[method-assign]
    try:
        made.make_rank(1, 2, None)  # type: ignore[arg-type]
    finally:
        module.Agent.build = build  # type: ignore[method-assign]
    assert seen[0].options["threads"] == 1
    assert seen[0].options["role"] == ("rank/0", 1)


def test_a_thread_that_fails_is_told():
    with pytest.raises(ValueError, match="told"):
        Thread(lambda: (_ for _ in ()).throw(ValueError("told"))).result()
