"""Sessions on one server: variables belong to their owner, whoever joins finds them as they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.errors import BackendError, ExecutionError
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
