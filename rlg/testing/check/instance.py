"""One component built on one backend, ready to be called."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.backends.executor import make_executor
from rlg.backends.hosting import is_hosted
from rlg.graph import Component
from rlg.graph.core.assembly.assemble import Fresh
from rlg.graph.core.assembly.records import Graph
from rlg.graph.core.build.flow import space_of
from rlg.graph.spaces import Space
from rlg.testing.check.calls import APICall


class Instance:
    """A build of a component; it starts again from its first state with `reset`."""

    def __init__(
        self,
        component: Component,
        spaces: Mapping[str, Any],
        backend: str,
        apis: list[str] | None,
        seed: int,
    ) -> None:
        self.component = component
        self.backend = backend
        self.executor = make_executor(backend, seed=seed)
        self.statistics = self.executor.build(component, spaces, apis=apis)
        self._first = self.executor.get_state()

    def call(self, call: APICall, inputs: Mapping[str, Any]) -> Any:
        """Runs an API method, numpy in and numpy out."""
        return self.executor.execute(call.api, *call.arguments(inputs))

    def reset(self) -> None:
        """Goes back to the state after the build."""
        self.executor.set_state(self._first)

    def variables(self) -> dict[str, Any]:
        return self.executor.get_weights(trainable=None)

    def output_space(self, call: APICall) -> Space:
        """The space of a call's results, according to the build."""
        return space_of(self._graph(call).outputs)

    def can_make(self, call: APICall) -> bool:
        """Whether the backend has what the call needs: NumPy has no gradients."""
        return self.backend != "numpy" or not self.takes_gradients(call)

    def takes_gradients(self, call: APICall) -> bool:
        """Whether the call itself learns."""
        given = dict.fromkeys(call.tensors, True)
        return self.executor.plan(call.api, **given, **call.statics).gradients > 0

    def is_on_host(self, call: APICall) -> bool:
        """Whether everything happens in NumPy on every backend, as in memories."""
        return is_hosted([self._graph(call)])

    @property
    def parameters(self) -> int:
        """Numbers in trainable variables."""
        infos = self.executor.builder.binding.variables.values()
        return sum(info.space.flat_dim for info in infos if info.trainable)

    def _graph(self, call: APICall) -> Graph:
        values = {
            p.name: Fresh() if p.name in call.tensors else call.statics.get(p.name, p.default)
            for p in call.method.parameters
        }
        return self.executor.builder.graph_of(self.component, call.method, values)
