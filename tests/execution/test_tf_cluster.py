"""Learner and actor as two servers in one process: their numbers are those of the local engine."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlg.api.agents.factory import ConfiguredAgents
from rlg.api.config.validate import validate
from rlg.errors import ClosedError, ExecutionError, SpecError
from rlg.execution.engines.local import make_sampler
from rlg.execution.engines.tf_cluster.actor import await_learner
from rlg.execution.engines.tf_cluster.tasks import ACTOR, LEARNER, Tasks, free_ports, is_listening
from rlg.execution.roles import never
from rlg.execution.trainers import QueueTrainer
from rlg.execution.types import Clock
from tests.api.runs import config
from tests.execution.clusters import Both
from tests.patience import PATIENCE

NETWORKS = {
    "mlp": {"type": "mlp", "units": [8], "activation": "tanh"},
    "lstm": {"type": "lstm", "units": 4, "network": {"type": "mlp", "units": [6]}},
    "cnn": {"type": "nature_cnn", "convolutions": [[4, 8, 4], [4, 4, 2]], "features_dim": 8},
}
# Episodes are cut by a time limit after 5 steps: values of true last states matter.
LIMITED = {"name": "cartpole", "num_envs": 3, "max_episode_steps": 5}
FRAMES = {"name": "pong", "num_envs": 3, "num_threads": 1, "image_size": 36, "max_episode_steps": 5}
AGENT = {"type": "impala", "n_steps": 7, "batch_rollouts": 2, "queue": 3}


def settings(network: str = "mlp", **changes: Any) -> dict[str, Any]:
    given = {**config(), "agent": AGENT, "network": NETWORKS[network], "env": LIMITED}
    given |= {"backend": {"type": "tf-graph"}, "executor": {"type": "tf_cluster"}}
    given.pop("memory")
    return validate(given | {"optimizer": {"type": "rmsprop", "learning_rate": 1e-2}} | changes)


@pytest.fixture(scope="module")
def both() -> Both:
    return Both(settings())


@pytest.mark.parametrize("network", NETWORKS)
def test_updates_and_episodes_are_those_of_the_local_engine_number_by_number(network):
    given = settings(network, env=FRAMES if network == "cnn" else LIMITED)
    cluster = Both(given)
    cluster.begin()
    factory = ConfiguredAgents({**given, "executor": {"type": "local", "actor_backend": None}})
    agent = factory.make("actor", "learner")
    # The actor's copy of the policy has streams of its own: the local engine draws from them too.
    agent.set_streams(cluster.streams_of_the_actor())
    sampler, trainer = make_sampler(factory, agent), QueueTrainer(agent)
    sampler.start()
    clock, truncated = Clock(horizon=1000), 0
    for number in range(4):
        returns, lengths = [], []
        for _ in range(2):
            cluster.actor.rollout()
            sampler.version = number
            segment, batches = sampler.sample(clock)  # type: ignore[misc]
            trainer.absorb(batches)
            clock = clock.after(steps=segment.steps)
            returns += segment.returns
            lengths += segment.lengths
            truncated += int(segment.truncations.sum())
        iteration = cluster.loop.iterate(never)
        expected = trainer.learn(clock).metrics
        clock = clock.after(updates=1)
        assert cluster.loop.clock == clock
        for name, value in expected.items():
            found = iteration.train[f"train/{name}"]
            assert found == pytest.approx(float(value), rel=1e-4, abs=1e-5), name
        assert iteration.returns == returns
        assert iteration.lengths == lengths
    assert truncated > 20
    weights = cluster.learner.get_weights()
    for path, value in agent.get_weights().items():
        np.testing.assert_allclose(weights[path], value, rtol=1e-4, atol=1e-6, err_msg=path)


def test_an_actor_has_no_optimizer_and_a_checkpoint_no_actor(both):
    assert not [path for path in both.actor.executor.kinds() if "optimizer" in path]
    saved = both.learner.get_model()
    agent = ConfiguredAgents(settings(executor={"type": "local"})).make("actor", "learner")
    assert saved.keys() == agent.get_model().keys()


def test_actors_wait_until_the_learner_has_published(both):
    both.learner.publish(-1)
    with pytest.raises(ExecutionError, match=r"no learner at 127.0.0.1:\d+ for 0.5 s: it has not"):
        await_learner(both.actor, both.tasks.learner, 0.5)
    both.learner.publish(3)
    await_learner(both.actor, both.tasks.learner, PATIENCE)
    assert both.actor.published() == 3
    with pytest.raises(ExecutionError, match=r"for 0.5 s: nobody listens there"):
        await_learner(both.actor, f"127.0.0.1:{free_port()}", 0.5)


def free_port() -> int:
    return int(Tasks.on_this_machine(1).learner.rpartition(":")[2])


def test_a_rollout_carries_the_version_and_the_copy_of_the_weights_that_acted(both):
    both.actor.begin(both.factory._new_env(0))
    both.learner.publish(5)
    for _ in range(2):
        both.actor.rollout()
    shared = both.learner.get_weights()
    copy = {
        path.replace("agent/actor", "agent/policy"): value
        for path, value in both.actor.executor.get_variables(scope="agent/actor").items()
    }
    for path, value in copy.items():
        np.testing.assert_array_equal(value, shared[path], err_msg=path)
    assert both.trainer.look()
    both.trainer._learnt -= 0.2  # An update later it looks four times in as long.
    result = both.trainer.learn(Clock(updates=7, horizon=1000)).metrics
    assert (result["policy_lag"], result["policy_lag_max"], result["queue"]) == (2.0, 2.0, 0.0)
    assert 0.05 <= both.trainer.pause <= 0.1
    assert both.trainer.notes["actors"].tolist() == [0, 0]
    assert both.actor.published() == 6


def test_a_rollout_carries_the_number_of_its_actor(both):
    both.actor.begin(both.factory._new_env(0))
    both.actor.place, before = (1, 2), both.actor.place
    try:
        for _ in range(2):
            both.actor.rollout()
    finally:
        both.actor.place = before
    assert both.trainer.look()
    both.trainer.learn(Clock(horizon=1000))
    assert both.trainer.notes["actors"].tolist() == [1, 1]


def test_a_resumed_run_publishes_its_weights_under_the_number_of_its_updates(both):
    both.pool.set_state({"counters": {"clock": {"updates": 9}}})
    assert both.actor.published() == 9


def test_a_loop_without_rollouts_returns_and_counts_nothing(both):
    before = both.loop.clock
    iteration = both.loop.iterate(never)
    assert iteration.train == {}
    assert both.loop.clock == before
    assert 0.0 < both.loop.statistics()["time/learner_waiting"] <= 1.0


def test_a_closed_queue_ends_actors():
    one = Both(settings())
    one.begin()
    one.pool.close()
    with pytest.raises(ClosedError, match=r"(?i)queue"):
        one.actor.rollout()


# -- addresses ------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cluster", "said"),
    [
        ({"learner": "a:1"}, "Write it as {learner:"),
        ({"learner": "a:1", "actors": "b:2"}, "Write it as {learner:"),
        ({"learner": "a:1", "actors": []}, "at least one actor"),
        ({"learner": "a:1", "actors": ["b:2", "a:1"]}, "an address of its own"),
        ({"learner": "a", "actors": ["b:2"]}, "'a' is not of the form host:port"),
        ({"learner": "a:70000", "actors": ["b:2"]}, "'a:70000' is not of the form host:port"),
    ],
)
def test_clusters_that_are_none_are_refused(cluster, said):
    with pytest.raises(SpecError, match=f"executor.cluster: .*{said}"):
        Tasks.of(cluster)


def test_places_say_what_belongs_to_the_learner():
    tasks = Tasks.of({"learner": "a:1", "actors": ["b:2", "b:3"]})
    place = tasks.place(ACTOR, 1, "grpc://b:3")
    assert place["device"] == "/job:actor/task:1/device:CPU:0"
    assert set(place["devices"].values()) == {"/job:learner/task:0"}
    assert place["filters"] == ("/job:learner/task:0", "/job:actor/task:1")
    assert tasks.place(LEARNER, 0, "")["filters"] == ("/job:learner/task:0",)


def test_free_ports_are_none_that_connections_may_get_meanwhile():
    with socket.create_server(("", 0)) as server:
        ports = free_ports(50)
        assert len({*ports, server.getsockname()[1]}) == 51
    reserved = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()
    assert max(ports) < int(reserved[0])
    with socket.create_server(("", ports[0])):
        assert is_listening(f"127.0.0.1:{ports[0]}")


def test_a_port_that_is_taken_is_an_error_with_its_address(both):
    with pytest.raises(ExecutionError, match=f"no server for learner 0 at {both.tasks.learner}"):
        both.tasks.server(LEARNER, 0, 1)
    assert is_listening(both.tasks.learner)
