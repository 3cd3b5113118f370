"""What all components promise: each golden goes through these tests on every backend."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from rlg.errors import BackendError
from rlg.graph import registry
from rlg.graph.core.assembly.assemble import Fresh
from rlg.graph.core.build.binding import Binding
from rlg.graph.core.build.flow import space_of
from rlg.graph.core.component.component import walk
from rlg.graph.core.component.methods import TENSOR
from rlg.graph.core.component.randomness import Stream
from rlg.graph.spaces import Space, flatten, path_name
from rlg.testing import ComponentTest
from rlg.testing.component_test import compare
from rlg.testing.goldens import GOLDENS, Golden

BY_NAME = {golden.name: golden for golden in GOLDENS}
golden_names = pytest.mark.parametrize("name", BY_NAME)


@dataclass(frozen=True)
class Built:
    """A golden on a backend, with what its variables were to start from."""

    golden: Golden
    backend: str
    test: ComponentTest
    initial: dict[str, Any]
    state: dict[str, Any]

    @property
    def calls(self) -> Sequence[tuple[str, Any]]:
        return self.golden.calls or [(api, {}) for api in self.test.component.api_methods()]

    def space(self, api: str, statics: dict[str, Any]) -> Space:
        """What the build says that a call gives."""
        method = self.test.component.api_methods()[api]
        values = {
            p.name: Fresh() if p.kind == TENSOR else statics.get(p.name, p.default)
            for p in method.parameters
        }
        graph = self.test.executor.builder.graph_of(self.test.component, method, values)
        return space_of(graph.outputs)

    def takes_gradients(self, api: str, statics: dict[str, Any]) -> bool:
        method = self.test.component.api_methods()[api]
        given = {p.name: True for p in method.parameters if p.is_optional_tensor}
        return self.test.executor.plan(api, **given, **statics).gradients > 0

    def gradient_calls(self) -> list[int]:
        """Numbers of the calls that NumPy can't make."""
        return [
            n for n, (api, statics) in enumerate(self.calls) if self.takes_gradients(api, statics)
        ]

    def run(self, batch: int = 2) -> list[Any]:
        """Outputs of all calls from the initial state; NumPy must refuse those with gradients."""
        executor, outputs = self.test.executor, []
        refused = self.gradient_calls() if self.backend == "numpy" else []
        executor.set_state(self.state)
        for number, (api, statics) in enumerate(self.calls):
            inputs, named = self.inputs(api, number, batch)
            if number in refused:
                with pytest.raises(BackendError, match="forward-only"):
                    executor.execute(api, *inputs, **named, **statics)
                outputs.append(None)
            else:
                outputs.append(executor.execute(api, *inputs, **named, **statics))
        return outputs

    def inputs(self, api: str, number: int, batch: int) -> tuple[list[Any], dict[str, Any]]:
        """Positional arguments, and named ones: those that stand after static ones."""
        values = self.test.sample(api, number, batch)
        parameters = self.test.component.api_methods()[api].parameters
        first = next((i for i, p in enumerate(parameters) if p.kind != TENSOR), len(parameters))
        names = [p.name for p in parameters[first:] if p.kind == TENSOR]
        return values[:first], dict(zip(names, values[first:], strict=True))

    def variables(self) -> dict[str, Any]:
        return self.test.executor.get_weights(trainable=None)


def build(golden: Golden, backend: str, **options: Any) -> Built:
    initial: dict[str, Any] = {}
    create = Binding._create

    def noting(self: Any, component: Any, array: Any, *args: Any) -> Any:
        initial[args[-1]] = np.array(array)
        return create(self, component, array, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Binding, "_create", noting)
        test = ComponentTest(golden.make(), golden.spaces, backend, **options)
    return Built(golden, backend, test, initial, test.executor.get_state())


@cache
def built(name: str, backend: str) -> Built:
    return build(BY_NAME[name], backend)


@cache
def reference(name: str, backend: str) -> tuple[list[Any], dict[str, Any]]:
    """What the backend should give: NumPy's numbers, or the other framework's with gradients."""
    one = built(name, "numpy")
    if one.gradient_calls():
        one = built(name, "tf" if backend == "torch" else "torch")
    return one.run(), one.variables()


def close(one: Sequence[Any], other: Sequence[Any]) -> None:
    """Equal within 1e-5; calls without outputs give none in both."""
    assert [output is None for output in one] == [output is None for output in other]
    for first, second in zip(one, other, strict=True):
        if first is not None:
            compare(first, second)


def same(one: Any, other: Any) -> None:
    """Equal to the last bit."""
    first, second = flatten(one), flatten(other)
    assert first.keys() == second.keys()
    for path, value in first.items():
        np.testing.assert_array_equal(value, second[path], err_msg=path_name(path))


@golden_names
def test_outputs_lie_in_the_spaces_that_the_build_found(name, backend):
    golden = built(name, backend)
    for batch in (1, 2, 7):
        for (api, statics), outputs in zip(golden.calls, golden.run(batch), strict=True):
            if outputs is None:
                continue
            space = golden.space(api, statics)
            assert space.why_not(outputs) is None
            boxes = space.flatten()
            for path, value in flatten(outputs).items():
                assert value.dtype == boxes[path].dtype, path_name(path)
                assert value.dtype.kind != "f" or np.isfinite(value).all()
    assert all(np.isfinite(v).all() for v in golden.variables().values() if v.dtype.kind == "f")


@golden_names
def test_the_build_writes_nothing(name, backend):
    golden = built(name, backend)
    same(golden.state["variables"], golden.initial)
    for path, state in golden.state["streams"].items():
        assert state == Stream(0, path).state


@golden_names
def test_a_restored_state_repeats_everything(name, backend):
    golden = built(name, backend)
    first, after = golden.run(), golden.test.executor.get_state()
    same(tuple(golden.run()), tuple(first))
    again = golden.test.executor.get_state()
    same(again["variables"], after["variables"])
    assert again["streams"] == after["streams"]


@golden_names
def test_a_spec_makes_an_equal_component_again_and_equal_seeds_equal_outputs(name, backend):
    golden = BY_NAME[name]
    twin = build(replace(golden, spec=json.loads(json.dumps(dict(golden.spec)))), backend)
    same(tuple(twin.run()), tuple(built(name, backend).run()))
    same(twin.variables(), built(name, backend).variables())


@golden_names
def test_backends_agree(name, backend):
    golden = built(name, backend)
    outputs, variables = reference(name, backend)
    refused = golden.gradient_calls() if backend == "numpy" else []
    end = refused[0] if refused else len(outputs)
    close(golden.run()[:end], outputs[:end])
    if not refused:
        compare(golden.variables(), variables)


@golden_names
def test_define_by_run_equals_the_plan(name, backend):
    if backend == "tf-graph":
        with pytest.raises(BackendError, match="define-by-run has no sessions"):
            build(BY_NAME[name], backend, define_by_run=True)
        return
    golden = built(name, backend)
    running = build(BY_NAME[name], backend, define_by_run=True)
    close(running.run(), golden.run())
    compare(running.variables(), golden.variables())


@golden_names
def test_a_component_of_another_backend_is_refused(name, backend):
    component = BY_NAME[name].make()
    last = list(walk(component))[-1]
    last.backends = ("abacus",)
    with pytest.raises(BackendError, match=r"runs on abacus, not on (numpy|torch|tf)"):
        ComponentTest(component, BY_NAME[name].spaces, backend)


def test_every_registered_component_has_a_golden():
    assert {golden.spec["type"] for golden in GOLDENS} == set(registry.COMPONENTS)
    assert len(BY_NAME) == len(GOLDENS)


@pytest.mark.parametrize("name", sorted(registry.COMPONENTS))
def test_a_constructor_argument_is_an_attribute_of_the_same_name(name):
    cls = registry.component_class(name)
    golden = next(golden for golden in GOLDENS if golden.spec["type"] == name)
    component = registry.make(dict(golden.spec))
    assert cls.__doc__
    for argument in registry.parameters_of(cls):
        assert argument in vars(component), f"{cls.__name__}.{argument}"
        given = golden.spec.get(argument)
        if isinstance(given, (bool, int, float)):
            assert getattr(component, argument) in (given, (given, given))


def test_class_names_are_unique():
    classes = [registry.component_class(name) for name in registry.COMPONENTS]
    assert len({cls.__name__ for cls in classes}) == len(classes)


def test_spaces_of_goldens_are_spaces():
    assert all(isinstance(space, Space) for golden in GOLDENS for space in golden.spaces.values())
