"""The policies and agents that the suites `build` and `act` measure, ours and by hand."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.graph import Component
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Space

ACTIONS = 6
HIDDEN = {"mlp": (64, 64), "cnn": (512,)}
STATES: dict[str, Box] = {
    "mlp": FloatBox(shape=(8,)),
    "cnn": Box((84, 84, 4), "uint8", low=0, high=255),
}


def records(kind: str) -> Space:
    """Transitions of one kind of states."""
    states = STATES[kind]
    return Dict(
        states=states,
        actions=IntBox(ACTIONS),
        rewards=FloatBox(),
        terminals=BoolBox(),
        next_states=states,
    )


def policy(kind: str) -> dict[str, Any]:
    """The spec of a dueling policy."""
    network = "nature_cnn" if kind == "cnn" else {"type": "mlp", "units": list(HIDDEN[kind])}
    return {
        "type": "q_policy",
        "network": network,
        "head": "dueling_head",
        "action_space": IntBox(ACTIONS),
    }


def dqn(kind: str, buffer_size: int) -> Component:
    """A dueling DQN with memory, target network and optimizer."""
    component: Component = make(
        {
            "type": "dqn",
            "policy": policy(kind),
            "action_space": IntBox(ACTIONS),
            "memory": {"type": "replay", "buffer_size": buffer_size},
            "optimizer": {"type": "adam", "learning_rate": 1e-4},
        }
    )
    return component


# -- build ----------------------------------------------------------------------------------------
def build_memory(backend: str) -> GraphExecutor:
    """A memory alone, ready to insert and to sample."""
    executor = make_executor(backend)
    executor.build(make({"type": "replay", "buffer_size": 1000}), {"records": records("mlp")})
    for api, statics in (("insert", {}), ("sample", {"n": 32})):
        executor.prepare(api, **statics)
    return executor


def build_dqn(backend: str, kind: str) -> GraphExecutor:
    """The DQN, ready to act, observe, update and sync."""
    executor = make_executor(backend)
    spaces = {"states": STATES[kind], "epsilon": FloatBox(ranks=""), "records": records(kind)}
    executor.build(
        dqn(kind, 1000), spaces, apis=["get_actions", "observe", "update", "sync_target"]
    )
    executor.prepare("get_actions", explore=False)
    for api in ("observe", "update", "sync_target"):
        executor.prepare(api)
    return executor


def handwritten_dqn(backend: str, kind: str) -> Any:
    """The opponent's equivalent."""
    if backend == "torch":
        from rlg.bench import handwritten_torch as module
    else:
        from rlg.bench import handwritten_tf as module  # type: ignore[no-redef]
    return module.DQN(STATES[kind].shape, HIDDEN[kind], ACTIONS, 1000)


def handwritten_memory(backend: str) -> Any:
    """The opponent's memory."""
    if backend == "torch":
        import torch

        from rlg.bench.handwritten_torch import Memory

        return Memory(1000, STATES["mlp"].shape, torch.float32)
    from rlg.bench.handwritten_tf import Memory as TFMemory

    return TFMemory(1000, STATES["mlp"].shape)


# -- act ------------------------------------------------------------------------------------------
def acting(backend: str, kind: str, define_by_run: bool = False) -> Callable[[Any], Any]:
    """Greedy actions through an executor."""
    executor = make_executor(backend, define_by_run=define_by_run)
    executor.build(make(policy(kind)), {"states": STATES[kind]}, apis=["greedy"])
    return partial(executor.execute, "greedy")


def handwritten_acting(backend: str, kind: str) -> Callable[[Any], Any]:
    """Greedy actions by hand."""
    frames = kind == "cnn"
    inputs = 3136 if frames else STATES[kind].shape[0]
    if backend == "torch":
        from rlg.bench.handwritten_torch import DuelingQ

        return DuelingQ(inputs, HIDDEN[kind], ACTIONS, frames).act
    from rlg.bench.handwritten_tf import DuelingQ as TFDuelingQ
    from rlg.bench.handwritten_tf import make_act

    function: Callable[[Any], Any] = make_act(
        TFDuelingQ(inputs, HIDDEN[kind], ACTIONS, frames), STATES[kind].shape
    )
    return function
