"""State is strict and known by kinds: what is loaded is what is there, all of it or nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.errors import ComponentError, ExecutionError
from rlg.graph import Component, api, graph_fn
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox

STATES, ACTIONS = Box((3,)), IntBox(2)
RECORDS = Dict(
    states=STATES, actions=ACTIONS, rewards=FloatBox(), terminals=BoolBox(), next_states=STATES
)


def dqn(backend: str = "numpy", seed: int = 0) -> GraphExecutor:
    layers = ["moving_standardize", {"type": "dense", "units": 4}]
    policy = {"type": "q_policy", "network": {"type": "stack", "layers": layers}, "head": "q_head"}
    memory = {"type": "prioritized_replay", "buffer_size": 16}
    root = make({"type": "dqn", "policy": policy, "action_space": ACTIONS, "memory": memory})
    executor = make_executor(backend, seed=seed)
    executor.build(root, {"states": STATES, "epsilon": FloatBox(ranks=""), "records": RECORDS})
    return executor


def below(executor: GraphExecutor, kind: str) -> set[str]:
    """The second parts of the paths of one kind."""
    return {path.split("/")[1] for path, found in executor.kinds().items() if found == kind}


def test_variables_know_what_they_are_for():
    executor = dqn("torch")
    assert below(executor, "weight") == {"policy", "target_policy"}
    assert below(executor, "statistic") == {"policy", "target_policy"}
    assert below(executor, "slot") == {"optimizer"}
    assert below(executor, "record") == {"memory"}
    kinds = executor.kinds()
    assert {kinds[path] for path in executor.get_weights()} == {"weight"}
    assert {p.rsplit("/", 1)[1] for p, k in kinds.items() if k == "statistic"} == {
        "count",
        "mean",
        "variance",
    }


@pytest.mark.parametrize(
    ("spec", "spaces", "kind"),
    [
        (
            {
                "type": "ornstein_uhlenbeck_noise",
                "action_space": FloatBox(-1, 1, shape=(2,)),
                "n_envs": 2,
            },
            {"actions": FloatBox(shape=(2,)), "scale": FloatBox(ranks=""), "resets": BoolBox()},
            "env",
        ),
        (
            {"type": "sequence", "length": 2, "num_envs": 2},
            {"inputs": STATES, "resets": BoolBox()},
            "env",
        ),
        ({"type": "frame_replay", "buffer_size": 16}, None, "record"),
        ({"type": "replay", "buffer_size": 16}, {"records": RECORDS}, "record"),
    ],
    ids=lambda value: value["type"] if isinstance(value, dict) and "type" in value else None,
)
def test_components_declare_the_kind_of_their_variables(spec, spaces, kind):
    executor = make_executor("numpy")
    if spaces is None:
        numbers = IntBox()
        rows = {"env_ids": numbers, "positions": numbers, "before": numbers, "ages": IntBox(2)}
        rows = Dict(frames=Box((4, 4)), **rows)
        records = Dict(rows=rows, env_ids=numbers, positions=numbers, terminals=BoolBox())
        spaces = {"records": records, "keys": IntBox(), "td_errors": FloatBox()}
    root = make(spec)
    names = {p.name for method in root.api_methods().values() for p in method.parameters}
    executor.build(root, {name: space for name, space in spaces.items() if name in names})
    assert set(executor.kinds().values()) == {kind}


def test_a_kind_that_does_not_exist_is_refused():
    class Odd(Component):
        def create_variables(self) -> None:
            self.variable("v", kind="statistics")

        @api
        @graph_fn
        def call(self) -> None:
            pass

    with pytest.raises(ComponentError, match=r"odd/v: its kind is 'statistics'. Did you mean"):
        make_executor("numpy").build(Odd(), {})
    with pytest.raises(ExecutionError, match=r"no kind of variables 'records'. Did you mean 'rec"):
        dqn().get_state(kinds="records")


def test_state_is_read_and_written_by_kinds(backend):
    source, other = dqn(backend, seed=1), dqn(backend, seed=2)
    source.execute("observe", RECORDS.sample(0, batch=5))
    model = source.get_state(kinds=("weight", "statistic", "slot"))
    assert set(model["variables"]) == {p for p, k in source.kinds().items() if k != "record"}
    other.set_state(model, kinds=("weight", "statistic", "slot"))
    assert other.get_variables(scope="dqn/memory")["dqn/memory/size"] == 0
    for path, value in source.get_variables("weight").items():
        np.testing.assert_array_equal(other.get_weights()[path], value)
    other.set_variables(source.get_variables("record"), "record")
    assert other.get_variables("record")["dqn/memory/size"] == 5


def test_only_the_kinds_that_are_asked_for_are_read(monkeypatch):
    executor, seen = dqn(), []
    records = {
        id(i.variable) for i in executor.builder.binding.variables.values() if i.kind == "record"
    }
    read = executor.read

    def noting(variable: Any) -> Any:
        seen.append(id(variable))
        return read(variable)

    monkeypatch.setattr(executor, "read", noting)
    executor.get_state(kinds="weight")
    executor.get_weights()
    assert executor.nbytes("record") > 0
    assert seen
    assert not records & set(seen)


def test_missing_entries_are_refused_by_name(backend):
    executor = dqn(backend, seed=1)
    state = executor.get_state()
    before = executor.get_variables()
    changed = {path: value + np.ones_like(value) for path, value in before.items()}
    del changed["dqn/memory/size"]
    with pytest.raises(ExecutionError, match="don't fit, missing: dqn/memory/size"):
        executor.set_state({**state, "variables": changed})
    for path, value in executor.get_variables().items():
        np.testing.assert_array_equal(value, before[path])


def test_extra_entries_are_refused_by_name():
    executor = dqn()
    state = executor.get_state()
    extra = {**state["variables"], "dqn/memory/discounts": np.zeros(16, "float32")}
    with pytest.raises(ExecutionError, match="not in this graph: dqn/memory/discounts"):
        executor.set_state({**state, "variables": extra})
    with pytest.raises(ExecutionError, match="the weights don't fit, not in this graph: dqn/p"):
        executor.set_weights(executor.get_weights(trainable=None))


def test_a_renamed_entry_is_answered_with_a_suggestion():
    executor = dqn()
    weights = executor.get_weights()
    weights["dqn/policy/network/dense-1/kernal"] = weights.pop("dqn/policy/network/dense-1/kernel")
    with pytest.raises(
        ExecutionError, match=r"missing: dqn/pol.*; not in this graph: .*kernal. Did you mean"
    ):
        executor.set_weights(weights)


def test_wrong_shapes_and_dtypes_are_refused():
    executor = dqn()
    state = executor.get_state()
    for wrong in (np.zeros((3, 5), "float32"), np.zeros((3, 4), "float64")):
        variables = {**state["variables"], "dqn/policy/network/dense-1/kernel": wrong}
        with pytest.raises(ExecutionError, match=r"dense-1/kernel: the variable is float32 \(3, 4"):
            executor.set_state({**state, "variables": variables})


@pytest.mark.parametrize("change", ["missing", "extra"])
def test_random_streams_are_as_strict_as_variables(change):
    executor = dqn()
    state = executor.get_state()
    streams = dict(state["streams"])
    if change == "missing":
        del streams["dqn/exploration"]
    else:
        streams["dqn/other"] = streams["dqn/exploration"]
    before = executor.get_variables()
    changed = {path: value + np.ones_like(value) for path, value in before.items()}
    with pytest.raises(ExecutionError, match="the random streams don't fit"):
        executor.set_state({"variables": changed, "streams": streams})
    for path, value in executor.get_variables().items():
        np.testing.assert_array_equal(value, before[path])


def test_a_part_is_loaded_by_its_scope():
    source, other = dqn(seed=1), dqn(seed=2)
    other.set_variables(source.get_variables(scope="dqn/policy"), scope="dqn/policy")
    both = ["dqn/policy", "dqn/target_policy"]
    other.set_variables(source.get_variables(scope=both), scope=both)
    for path, value in source.get_variables("weight").items():
        np.testing.assert_array_equal(other.get_variables("weight")[path], value)
    with pytest.raises(ExecutionError, match="missing: dqn/target_policy/"):
        other.set_variables(source.get_variables(scope="dqn/policy"), scope=both)


def test_kernels_are_read_and_written_as_plain_arrays(backend):
    """Inside, a backend may keep them in another memory order; outside they are C arrays."""
    executor = make_executor(backend, seed=1)
    executor.build(
        make({"type": "conv2d", "filters": 3, "kernel_size": 2}), {"inputs": Box((5, 5, 2))}
    )
    kernel = executor.get_weights()["conv2d/kernel"]
    assert kernel.shape == (2, 2, 2, 3)
    assert kernel.flags.c_contiguous
    other = make_executor(backend, seed=2)
    other.build(
        make({"type": "conv2d", "filters": 3, "kernel_size": 2}), {"inputs": Box((5, 5, 2))}
    )
    weights = executor.get_weights()
    weights["conv2d/kernel"] = np.asfortranarray(kernel)
    other.set_weights(weights)
    np.testing.assert_array_equal(other.get_weights()["conv2d/kernel"], kernel)
    images = Box((5, 5, 2)).sample(0, batch=2)
    np.testing.assert_array_equal(other.execute("call", images), executor.execute("call", images))
