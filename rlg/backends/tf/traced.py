"""TensorFlow's own graphs of API methods, with operations in the scopes of their components."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import tensorflow as tf

from rlg.backends.hosting import is_hosted
from rlg.backends.tf.executor import TFExecutor, _Traced
from rlg.graph.core.component.component import Component
from rlg.graph.core.plan.plan import Plan, make_plan
from rlg.graph.drawing.nodes import node_name
from rlg.graph.drawing.picture import api_name, wanted


def operations(executor: TFExecutor, api: str | None = None) -> dict[str, bytes]:
    """A serialized GraphDef for each API method; of its variants, for the one with most calls.

    API methods that only compute on the host have no graph.
    """
    builder, plans = executor.builder, dict[str, Plan]()
    for graph in wanted(builder, api):
        if not is_hosted([graph]):
            name = api_name(builder, graph)
            plan = make_plan(graph.name, [graph], executor.lowering(), builder.binding)
            if name not in plans or plans[name].calls < plan.calls:
                plans[name] = plan
    return {name: _definition(executor, plan) for name, plan in plans.items()}


def _definition(executor: TFExecutor, plan: Plan) -> bytes:
    _scope(plan)
    traced = _Traced(plan, executor.device)
    with executor.graph.as_default() if executor.graph is not None else nullcontext():
        function = tf.function(traced.trace, autograph=False)
        graph = function.get_concrete_function(*traced.specs).graph
    definition: bytes = graph.as_graph_def(add_shapes=True).SerializeToString()
    return definition


def _scope(plan: Plan) -> None:
    """Lets each graph function of a plan that is only traced here run in its component's scope."""
    names = plan.function.__globals__
    for key, function in list(names.items()):
        component = getattr(function, "__self__", None)
        if isinstance(component, Component):
            scope = f"{node_name(component.path or '')}/"
            names[key] = _scoped(function, scope)
            if f"host_{key}" in names:
                names[f"host_{key}"] = _scoped(names[f"host_{key}"], scope)


def _scoped(function: Callable[..., Any], scope: str) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        with tf.name_scope(scope):
            return function(*args, **kwargs)

    return call
