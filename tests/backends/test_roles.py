"""Parts of one graph in several processes: what each builds, where it lies, and what it draws."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.errors import ComponentError, ExecutionError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox

STATES, ACTIONS = Box((3,)), IntBox(2)
RECORDS = Dict(
    states=STATES, actions=ACTIONS, rewards=FloatBox(), terminals=BoolBox(), next_states=STATES
)
SPACES = {"states": STATES, "epsilon": FloatBox(ranks=""), "records": RECORDS}
MEMORY = {"type": "prioritized_replay", "buffer_size": 64}


def agent() -> Component:
    network = {"type": "mlp", "units": [4]}
    policy = {"type": "q_policy", "network": network, "head": "dueling_head"}
    root: Component = make(
        {"type": "dqn", "policy": policy, "action_space": ACTIONS, "memory": MEMORY}
    )
    return root.configure(scope="agent")  # type: ignore[no-any-return]


def built(backend: str = "numpy", apis: Any = None, **options: Any) -> GraphExecutor:
    executor = make_executor(backend, **options)
    executor.build(agent(), SPACES, apis=apis)
    return executor


def parts(executor: GraphExecutor) -> set[str]:
    return {path.split("/")[1] for path in executor.kinds()}


def test_an_actor_holds_no_memory_target_or_optimizer(backend):
    actor = built(backend, ["get_actions"])
    assert parts(actor) == {"policy"}
    actor.execute("get_actions", STATES.sample(0, batch=2), np.float32(0.5))
    actor.execute("get_actions", STATES.sample(0, batch=2), np.float32(0.5), False)
    assert parts(actor) == {"policy"}


def test_a_learner_from_batches_holds_no_memory():
    assert parts(built("torch", ["update_from", "sync_target"])) == {
        "policy",
        "target_policy",
        "optimizer",
    }


def test_what_is_built_for_some_methods_refuses_the_others(backend):
    actor = built(backend, ["get_actions"])
    with pytest.raises(
        ExecutionError,
        match=r"agent.observe: this graph was built for get_actions only. Add 'observe' to apis",
    ):
        actor.execute("observe", RECORDS.sample(0, batch=2))
    for ask in (actor.plan, actor.prepare, actor.output_space):
        with pytest.raises(ExecutionError, match="built for get_actions only"):
            ask("sync_target")
    with pytest.raises(ExecutionError, match="built for get_actions only"):
        actor.execute([("sync_target",)])
    assert parts(actor) == {"policy"}


def test_a_part_has_the_variables_that_it_has_in_the_whole():
    whole, actor = built("torch"), built("torch", ["get_actions"])
    found = whole.get_variables(scope="agent/policy")
    assert actor.get_variables().keys() == found.keys()
    for path, value in actor.get_variables().items():
        np.testing.assert_array_equal(value, found[path])


class Counter(Component):
    """Variables that need no inputs, in parts that are reached in different ways."""

    def create_variables(self) -> None:
        self._n = self.variable("n", dtype="int64")

    @api
    @graph_fn
    def count(self) -> Tensor:
        self.ops.assign_add(self._n, self.ops.constant(1, "int64"))
        return self.ops.value_of(self._n)


class Counters(Component):
    def __init__(self) -> None:
        self.one, self.two, self.three = Counter(), Counter(), Counter()

    @api
    def first(self) -> Any:
        return self.one.count()

    @api
    def read(self) -> Any:
        return self.two.variables(None)

    @api(split=True)
    def each(self, x: Any) -> Any:
        return self.add(x, self.three.count())

    @graph_fn
    def add(self, x: Tensor, n: Tensor) -> Tensor:
        return x + self.ops.cast(n, "float32")


@pytest.mark.parametrize(
    ("name", "args", "reached"),
    [("first", (), "one"), ("read", (), "two"), ("each", ([1.0],), "three")],
)
def test_calls_variables_and_split_methods_reach_components(name, args, reached, backend):
    executor = make_executor(backend)
    executor.build(Counters(), {"x": FloatBox()}, apis=[name])
    assert set(executor.kinds()) == {f"counters/{reached}/n"}
    executor.execute(name, *args)


# -- a part as a root -----------------------------------------------------------------------------
def test_a_part_as_a_root_has_the_paths_and_draws_of_the_whole(backend):
    whole = built(backend, seed=5)
    part = make_executor(backend, seed=5)
    memory = make(MEMORY)
    spaces = {"records": RECORDS, "keys": IntBox(), "td_errors": FloatBox()}
    part.build(memory, spaces, at="agent/memory")
    assert memory.path == "agent/memory"
    assert part.kinds() == {
        path: kind for path, kind in whole.kinds().items() if path.startswith("agent/memory/")
    }
    records = RECORDS.sample(0, batch=20)
    whole.execute("observe", records)
    part.execute("insert", records)
    part.set_variables(whole.get_variables("record"))
    streams = whole.get_state("record")["streams"]
    for path, numbers in part.get_state()["streams"].items():
        assert streams[path] == numbers
    first = part.execute("sample", 6)[1]
    again = make_executor(backend, seed=5)
    again.build(make(MEMORY), spaces, at="agent/other")
    again.execute("insert", records)
    assert not np.array_equal(again.execute("sample", 6)[1], first)


def test_a_part_as_a_root_draws_its_initial_values_as_in_the_whole():
    whole, part = built("torch", seed=2), make_executor("torch", seed=2)
    part.build(agent().policy, {"states": STATES}, at="agent/policy", apis=["q_values"])  # type: ignore[attr-defined]
    found = whole.get_variables(scope="agent/policy")
    assert part.get_variables().keys() == found.keys()
    for path, value in part.get_variables().items():
        np.testing.assert_array_equal(value, found[path])


@pytest.mark.parametrize("at", ["", "/agent", "agent/", "agent//memory", "agent memory"])
def test_a_place_that_is_no_path_is_refused(at):
    with pytest.raises(ComponentError, match=r"as in at='agent/memory'"):
        make_executor("numpy").build(make(MEMORY), {"records": RECORDS}, at=at, apis=["insert"])


class Distributed(Component):
    """A learner's policy, and an actor's copy that is brought up to date before it acts."""

    def __init__(self) -> None:
        self.policy = make(
            {"type": "q_policy", "network": {"type": "mlp", "units": [4]}, "action_space": ACTIONS}
        )
        self.actor = self.policy.copy("actor")
        self.sync = make("target_sync")

    @api
    def act(self, states: Any) -> Any:
        return self.actor.greedy(states)

    @api
    def update_actor(self) -> None:
        self.sync.sync(self.policy.variables(), self.actor.variables())

    @api
    def learn(self, states: Any) -> Any:
        return self.policy.q_values(states)


@pytest.mark.parametrize(
    "apis", [["act", "update_actor"], ["update_actor", "act"], ["learn", "update_actor"]]
)
def test_what_is_only_read_has_the_variables_of_its_copy(apis, backend):
    executor = make_executor(backend)
    executor.build(Distributed(), {"states": STATES}, apis=apis)
    whole = make_executor(backend)
    whole.build(Distributed(), {"states": STATES})
    expected = whole.get_variables()
    assert executor.get_variables().keys() == expected.keys()
    for path, value in executor.get_variables().items():
        np.testing.assert_array_equal(value, expected[path])
    executor.execute("update_actor")


def test_a_copy_that_nothing_reads_stays_without_variables():
    executor = make_executor("numpy")
    executor.build(Distributed(), {"states": STATES}, apis=["act"])
    assert {path.split("/")[1] for path in executor.kinds()} == {"actor"}


# -- streams by role ------------------------------------------------------------------------------
def draws(executor: GraphExecutor) -> np.ndarray:
    states = STATES.sample(0, batch=400)
    return np.asarray(executor.execute("get_actions", states, np.float32(1.0)))


def test_roles_draw_from_streams_of_their_own_and_begin_with_equal_weights(backend):
    apis = ["get_actions"]
    roles: list[Any] = [(), ("actor", 0), ("actor", 1), ("learner", 0), ("actor", 1, 1)]
    executors = [built(backend, apis, seed=3, role=role) for role in roles]
    found = [draws(executor) for executor in executors]
    for i, one in enumerate(found):
        assert not any(np.array_equal(one, other) for other in found[i + 1 :])
    weights = executors[0].get_weights()
    for other in executors[1:]:
        for path, value in other.get_weights().items():
            np.testing.assert_array_equal(value, weights[path])
    again = built(backend, apis, seed=3, role=("actor", 1))
    np.testing.assert_array_equal(draws(again), found[2])


def test_roles_share_no_random_number():
    from rlg.graph.core.component.randomness import Stream

    roles: list[Any] = [(), ("actor", 0), ("actor", 1), ("actor", 11), ("actor", 1, 1)]
    numbers = [Stream(0, "agent/exploration", role).uniform64((2000,)) for role in roles]
    assert len(np.unique(np.concatenate(numbers))) == 2000 * len(roles)
