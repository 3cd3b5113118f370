"""Ape-X on a Ray cluster of several nodes, simulated on this machine; one of them dies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.execution.test_ray import RAY, on_actor, opened, settings, until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


@pytest.fixture(params=[2, 4])
def nodes(request: Any) -> Iterator[tuple[Any, list[Any]]]:
    """A head and others; nobody is connected yet."""
    import ray
    from ray.cluster_utils import Cluster

    ray.shutdown()
    cluster = Cluster(
        initialize_head=True, head_node_args={"num_cpus": 2, "include_dashboard": False}
    )
    others = [cluster.add_node(num_cpus=1) for _ in range(request.param - 1)]
    yield cluster, others
    ray.shutdown()
    cluster.shutdown()


def node_of(loop: Any, actor: Any) -> str:
    def name(self: Any) -> str:
        import ray

        return str(ray.get_runtime_context().get_node_id())

    return str(on_actor(loop, actor, name))


def test_a_run_spreads_over_nodes_and_survives_the_death_of_one(nodes):
    cluster, others = nodes
    count = len(others) + 1
    executor = {**RAY, "num_workers": count, "num_shards": 2, "address": cluster.address}
    loop = opened(settings(executor))
    try:
        until(loop, lambda: loop.clock.updates >= 40, 120)
        assert loop.description.startswith(f"Ray at {cluster.address}: {count} x 4 environments")
        homes = {node_of(loop, worker) for worker in loop.pool._handles}
        assert len(homes) > 1
        updates, steps = loop.clock.updates, loop.clock.steps
        cluster.remove_node(others[0], allow_graceful=False)
        until(loop, lambda: loop.clock.updates >= updates + 200, 150)
        assert loop.clock.steps > steps
    finally:
        loop.close()
