"""One component, built alone from nothing but input spaces (the paper's Listing 1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.errors import ExecutionError
from rlg.graph import Component
from rlg.graph.spaces import Space, flatten, path_name
from rlg.spelling import suggestion


class ComponentTest:
    """Builds a component on a backend; `test` calls its API and compares.

    states = FloatBox(shape=(64,))
    test = ComponentTest(Policy(...), {"states": states}, backend="torch")
    test.test("get_actions", states.sample(batch=8))
    """

    def __init__(
        self,
        component: Component,
        input_spaces: Mapping[str, Any] | None = None,
        backend: str = "numpy",
        *,
        apis: Sequence[str] | None = None,
        seed: int = 0,
        **options: Any,
    ) -> None:
        self.component = component
        self.executor: GraphExecutor = make_executor(backend, seed=seed, **options)
        self.statistics = self.executor.build(component, input_spaces or {}, apis=apis)

    def test(
        self,
        api: str | Callable[..., Any],
        *inputs: Any,
        expected: Any = None,
        tolerance: float = 1e-5,
        **statics: Any,
    ) -> Any:
        """Calls an API method (a name or bound method); compares with `expected`, if given."""
        outputs = self.executor.execute(api, *inputs, **statics)
        if expected is not None:
            compare(outputs, expected, tolerance)
        return outputs

    call = test

    def sample(self, api: str, rng: int = 0, batch: int = 2, time: int = 3) -> list[Any]:
        """Inputs for an API method, drawn from the spaces it was built with."""
        _, method = self.executor._find(api)
        spaces = self.executor.builder.spaces
        given = (spaces.get(f"{api}.{p.name}", spaces.get(p.name)) for p in method.parameters)
        return [s.sample(rng, batch, time) for s in given if isinstance(s, Space)]

    def read(self, name: str) -> NDArray[Any]:
        """A variable by its path below the component."""
        path = f"{self.component.path}/{name}"
        variables = self.executor.builder.binding.variables
        if path not in variables:
            raise ExecutionError(f"there is no variable {path!r}.{suggestion(path, variables)}")
        return self.executor.read(variables[path].variable)

    def write(self, values: Mapping[str, Any]) -> None:
        """Overwrites variables by their paths below the component."""
        known = self.executor.builder.binding.variables
        paths = {f"{self.component.path}/{name}": value for name, value in values.items()}
        dtypes = {path: known[path].space.dtype if path in known else None for path in paths}
        self.executor.set_weights(
            {path: np.asarray(value, dtype=dtypes[path]) for path, value in paths.items()},
            partial=True,
        )


def compare(outputs: Any, expected: Any, tolerance: float = 1e-5) -> None:
    """Asserts equal structure, and values within `tolerance` (absolute and relative)."""
    got, wanted = flatten(outputs), flatten(expected)
    if got.keys() != wanted.keys():
        raise AssertionError(
            f"outputs have the leaves {[path_name(p) for p in got]}, expected "
            f"{[path_name(p) for p in wanted]}"
        )
    for path, value in wanted.items():
        np.testing.assert_allclose(
            got[path], value, rtol=tolerance, atol=tolerance, err_msg=f"output {path_name(path)!r}"
        )
