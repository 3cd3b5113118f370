"""Sessions on one server: variables belong to their owner, whoever joins finds them as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.backends.tf import devices
from rlg.backends.tf.sessions import explained
from rlg.errors import BackendError, ClosedError, DisconnectedError, ExecutionError
from rlg.execution.engines.tf_cluster.tasks import free_ports
from rlg.graph import Component, Tensor, api, graph_fn


class Counter(Component):
    def create_variables(self) -> None:
        self._n = self.variable("n", value=3.0)

    @api
    @graph_fn
    def count(self) -> Tensor:
        self.ops.assign_add(self._n, self.ops.constant(1.0, "float32"))
        return self.ops.value_of(self._n)

    @api
    @graph_fn
    def value(self) -> Tensor:
        return self.ops.value_of(self._n)


@pytest.fixture
def server() -> Iterator[Any]:
    return tf.compat.v1.train.Server.create_local_server()


def session(server: Any, scope: str = "counter", **options: Any) -> GraphExecutor:
    executor = make_executor("tf-graph", target=server.target, **options)
    executor.build(Counter().configure(scope=scope), {})
    return executor


def test_a_session_that_joins_does_not_reset_variables(server):
    owner = session(server)
    assert [float(owner.execute("count")) for _ in range(2)] == [4.0, 5.0]
    for joining in (session(server, owner=False), session(server)):
        assert float(joining.execute("value")) == 5.0
    assert float(joining.execute("count")) == 6.0
    assert float(owner.execute("value")) == 6.0
    np.testing.assert_array_equal(joining.get_variables()["counter/n"], 6.0)


def test_only_an_owner_initialises(server):
    joining = session(server, owner=False)
    with pytest.raises(ExecutionError, match=r"counter/n is not initialised .* its owner has not"):
        joining.execute("value")
    assert float(session(server).execute("value")) == 3.0
    assert float(joining.execute("value")) == 3.0


def test_variables_of_other_paths_are_others(server):
    one, two = session(server, "one"), session(server, "two")
    one.execute("count")
    assert float(two.execute("value")) == 3.0


@pytest.mark.parametrize("options", [{"target": "grpc://localhost:1"}, {"owner": False}])
def test_functions_have_no_sessions(options):
    with pytest.raises(BackendError, match="use TensorFlow's mode 'graph'"):
        make_executor("tf", **options)


ALONE = ["/job:localhost/task:0"]
TWICE = "The same RunGraph (Worker) request was received twice. graph_handle: 4"


@pytest.mark.parametrize(("filters", "calls"), [(ALONE, 3), ([], 1), ([*ALONE, "/job:actor"], 1)])
def test_a_refused_call_is_made_again_if_no_other_task_has_a_part_in_it(server, filters, calls):
    executor = session(server, filters=filters)
    made = []

    def refused_twice(value: int) -> int:
        made.append(value)
        if len(made) < 3:
            raise tf.errors.AbortedError(None, None, f"From /job:localhost:\n{TWICE}")
        return value

    sent = executor._sessions._sent  # type: ignore[attr-defined]
    if calls == 1:
        with pytest.raises(DisconnectedError, match="request was received twice"):
            sent(refused_twice, 5)
    else:
        assert sent(refused_twice, 5) == 5
    assert made == [5] * calls


def test_other_errors_are_not_tried_again(server):
    executor = session(server, filters=ALONE)
    made = []

    def gone() -> None:
        made.append(1)
        assert len(made) == 1
        raise tf.errors.AbortedError(None, None, "Graph handle is not found")

    with pytest.raises(DisconnectedError, match="Graph handle is not found"):
        executor._sessions._sent(gone)  # type: ignore[attr-defined]
    assert made == [1]


@pytest.mark.slow
def test_hundreds_of_thousands_of_calls_are_each_made_once(server):
    """A server takes some of them for repetitions: in 250,000 calls about four."""
    executor = session(server, filters=ALONE)
    for _ in range(250_000):
        executor.execute("count")
    assert float(executor.execute("value")) == 250_003.0


# -- tasks of a cluster --------------------------------------------------------------------------
class Pair(Component):
    """Two counters, which may be on two tasks; reads both, counts its own."""

    def __init__(self) -> None:
        self.shared = Counter()
        self.local = Counter()

    @api
    def step(self) -> Any:
        return self.shared.value(), self.local.count()


@pytest.fixture
def cluster() -> Iterator[list[Any]]:
    jobs = {"learner": 1, "actor": 2}
    addresses = iter([f"127.0.0.1:{port}" for port in free_ports(3)])
    spec = {job: [next(addresses) for _ in range(count)] for job, count in jobs.items()}
    # The second actor never starts: nobody waits for it.
    return [tf.compat.v1.train.Server(spec, job, 0) for job in jobs]


LEARNER, ACTOR = "/job:learner/task:0", "/job:actor/task:0"


def on_task(server: Any, task: str) -> GraphExecutor:
    executor = make_executor(
        "tf-graph",
        target=server.target,
        task=task,
        filters=[LEARNER, task],
        device=task,
        devices={"pair/shared": LEARNER},
    )
    executor.build(Pair(), {}, apis=["step"])
    return executor


def test_tasks_initialise_their_own_variables_only_and_see_those_of_others(cluster):
    learner, actor = on_task(cluster[0], LEARNER), on_task(cluster[1], ACTOR)
    with pytest.raises(ExecutionError, match=r"pair/shared/n is not initialised .* Wait for it"):
        actor.execute("step")
    learner.set_weights({"pair/shared/n": np.float32(9.0)}, trainable=None, partial=True)
    assert [float(x) for x in learner.execute("step")] == [9.0, 4.0]
    assert [float(x) for x in actor.execute("step")] == [9.0, 4.0]
    assert [float(x) for x in actor.execute("step")] == [9.0, 5.0]
    assert [float(x) for x in learner.execute("step")] == [9.0, 5.0]
    devices = {
        path.rpartition("/")[0]: info.variable.device
        for path, info in actor.builder.binding.variables.items()
    }
    assert devices == {
        "pair/shared": f"{LEARNER}/device:CPU:0",
        "pair/local": f"{ACTOR}/device:CPU:0",
    }


def test_calls_work_after_a_reconnection(cluster):
    learner = on_task(cluster[0], LEARNER)
    assert [float(x) for x in learner.execute("step")] == [3.0, 4.0]
    learner.reconnect()
    assert [float(x) for x in learner.execute("step")] == [3.0, 5.0]


def test_several_variables_are_read_and_written_in_one_run(cluster, monkeypatch):
    learner = on_task(cluster[0], LEARNER)
    learner.execute("step")
    runs = []
    run = tf.compat.v1.Session.run
    monkeypatch.setattr(
        tf.compat.v1.Session, "run", lambda *args: runs.append(args[1]) or run(*args)
    )
    values = learner.get_variables()
    learner.set_variables({path: value + 1 for path, value in values.items()})
    assert [len(fetches) for fetches in runs] == [2, 2]
    assert learner.get_variables() == {"pair/shared/n": 4.0, "pair/local/n": 5.0}


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        (tf.errors.UnavailableError, DisconnectedError, "a task of the cluster is gone: one line"),
        (tf.errors.AbortedError, DisconnectedError, "a task of the cluster is gone: one line"),
        (tf.errors.CancelledError, ClosedError, "closed by its owner: one line"),
    ],
)
@pytest.mark.parametrize("lead", ["", "From /job:learner/replica:0/task:0:\n"])
def test_errors_of_a_cluster_are_one_line(error, kind, said, lead):
    with pytest.raises(kind, match=f"^grpc://host:1: {said}$"), explained("grpc://host:1"):
        raise error(None, None, f"{lead}one   line\nAdditional GRPC error information")


def test_a_device_of_a_cluster_is_written_in_full():
    assert devices.check("/job:actor/task:1") == "/job:actor/task:1/device:CPU:0"
    assert devices.check("/job:learner/task:0/device:GPU:1") == "/job:learner/task:0/device:GPU:1"
    with pytest.raises(BackendError, match="write /job:NAME/task:NUMBER/device:CPU:0"):
        devices.check("/job:actor/what:1")
