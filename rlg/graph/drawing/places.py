"""Where the graph functions of components run: on their own device, or on those of replicas."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlg.graph.core.assembly.records import Call, all_graphs
from rlg.graph.core.component.component import Component

if TYPE_CHECKING:
    from rlg.graph.core.build.builder import Builder

# Where components compute on arrays whatever the backend's device is.
HOST = "host"


class Places:
    """The devices and the replicas of each component of a built graph."""

    def __init__(self, builder: Builder) -> None:
        self._builder = builder
        self._inside: set[int] = set()
        self._outside: set[int] = set()
        for root in builder.graphs:
            for graph in all_graphs(root):
                found = self._outside if graph.replica_of is None else self._inside
                found.update(id(node.component) for node in graph.nodes if isinstance(node, Call))

    def replicas(self, part: Component) -> int:
        """In how many replicas it is called at once; 1 if in none."""
        return self._builder.backend.replicas if id(part) in self._inside else 1

    def devices(self, part: Component) -> list[str]:
        """Where its graph functions run; [] if it has none."""
        if not any(method.mark.is_graph_fn for method in part.methods().values()):
            return []
        if part.on_host:
            return [HOST]
        binding, places = self._builder.binding, self._builder.backend.replica_devices
        own = binding.devices.of_ops(part)
        # What has a device of its own stays there in every replica.
        if not places or id(part) not in self._inside or own != binding.devices.default:
            return [own]
        before = [own] if id(part) in self._outside else []
        return list(dict.fromkeys([*before, *places]))
