"""One executor per thread: what one thread builds, traces or fails at disturbs no other's."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox

STATES, ACTIONS = Box((3,)), IntBox(2)
RECORDS = Dict(
    states=STATES, actions=ACTIONS, rewards=FloatBox(), terminals=BoolBox(), next_states=STATES
)


@pytest.fixture(autouse=True)
def _often() -> Iterator[None]:
    """Threads take turns every few operations instead of every 5 ms."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def at_once(*functions: Callable[[], Any]) -> list[Any]:
    """The results of functions that start together, each in its own thread."""
    results: list[Any] = [None] * len(functions)
    start = threading.Barrier(len(functions))

    def run(index: int) -> None:
        start.wait()
        try:
            results[index] = functions[index]()
        except BaseException as error:  # noqa: BLE001 shown by the test's own thread
            results[index] = error

    threads = [threading.Thread(target=run, args=(i,)) for i in range(len(functions))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for result in results:
        if isinstance(result, BaseException):
            raise result
    return results


def dqn(backend: str, seed: int) -> GraphExecutor:
    network = {"type": "mlp", "units": [4]}
    policy = {"type": "q_policy", "network": network, "head": "dueling_head"}
    memory = {"type": "prioritized_replay", "buffer_size": 32}
    root = make({"type": "dqn", "policy": policy, "action_space": ACTIONS, "memory": memory})
    executor = make_executor(backend, seed=seed)
    executor.build(root, {"states": STATES, "epsilon": FloatBox(ranks=""), "records": RECORDS})
    return executor


def course(backend: str, seed: int, sizes: tuple[int, ...]) -> list[Any]:
    """Builds, acts and (where it can) learns at several batch sizes, each a variant to trace."""
    executor = dqn(backend, seed)
    found: list[Any] = []
    executor.execute("observe", RECORDS.sample(seed, batch=20))
    for n in sizes:
        states = STATES.sample(seed, batch=n)
        for explore in (True, False):
            found += [executor.execute("get_actions", states, np.float32(0.5), explore)]
        if backend != "numpy":
            found.extend(executor.execute("update", n))
    return found


def test_executors_in_threads_give_what_they_give_alone(backend):
    sizes = [(2, 5), (5, 2)]
    alone = [course(backend, seed, sizes[seed]) for seed in range(2)]
    together = at_once(*(lambda s=seed: course(backend, s, sizes[s]) for seed in range(2)))
    for expected, found in zip(alone, together, strict=True):
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(other, one)


class Chain(Component):
    """Each `n` is a variant of its own, and a long one to trace."""

    def create_variables(self, *, x: Box) -> None:
        self._w = self.variable("w", value=0.5)

    @api
    def call(self, x: Any, n: Static[int] = 1) -> Any:
        for _ in range(n):
            x = self.step(x)
        return x

    @graph_fn
    def step(self, x: Tensor) -> Tensor:
        return x * self._w + 1.0


def test_a_thread_that_traces_does_not_disturb_one_that_runs(backend):
    tracing, running = make_executor(backend), make_executor(backend)
    for executor in (tracing, running):
        executor.build(Chain(), {"x": FloatBox()})
    running.execute("call", [1.0], 3)

    def trace() -> list[float]:
        return [float(tracing.execute("call", [1.0], n)[0]) for n in range(1, 12)]

    def run() -> set[float]:
        return {float(running.execute("call", [1.0], 3)[0]) for _ in range(300)}

    traced, ran = at_once(trace, run)
    assert traced == [2.0 - 0.5**n for n in range(1, 12)]
    assert ran == {2.0 - 0.5**3}


class Weak(Component):
    """Refuses negative numbers, in Python inside the graph."""

    @api
    @graph_fn
    def call(self, x: Tensor) -> Tensor:
        self.ops.require(self.ops.all(x >= 0.0), f"{self.path}.call: it is negative.")
        return x + 1.0


def test_errors_stay_in_the_thread_that_made_them(backend):
    from rlg.errors import ExecutionError

    good, bad = make_executor(backend), make_executor(backend)
    good.build(Weak().configure(scope="good"), {"x": FloatBox()})
    bad.build(Weak().configure(scope="bad"), {"x": FloatBox()})

    def succeed() -> set[float]:
        return {float(good.execute("call", [1.0])[0]) for _ in range(100)}

    def fail() -> int:
        count = 0
        for _ in range(30):
            with pytest.raises(ExecutionError, match=r"bad.call"):
                bad.execute("call", [-1.0])
            count += 1
        return count

    assert at_once(succeed, fail) == [{2.0}, 30]
