"""What the component graph costs over hand-written code: `python -m rlg.bench.overhead`.

Build: everything from composition to callable functions, minus a hand-written equivalent in the
same run. Act: greedy actions, numpy in and numpy out, against hand-written torch and a hand-written
tf.function; once with the plan, once routed through the components. Opponents stand in
`handwritten_torch.py` and `handwritten_tf.py`; all figures are medians of interleaved pairs.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.bench.timing import compare, percentiles
from rlg.graph import Component
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Space

BATCHES = (1, 4, 16, 64, 256)
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


def build_table(repeats: int = 11) -> Table:
    """Build times in milliseconds."""
    table = Table(title=f"Build, ms (median of {repeats} interleaved pairs)")
    for column in ("graph", "backend", "rlg", "by hand", "overhead", "spread", "asked"):
        table.add_column(column, justify="right" if column not in ("graph", "backend") else "left")
    rows: list[tuple[str, str, Callable[[], Any], Callable[[], Any], int]] = []
    for backend, most in (("torch", 100), ("tf", 150)):
        memories = partial(build_memory, backend), partial(handwritten_memory, backend)
        rows.append(("memory", backend, *memories, 10))
        for kind in ("mlp", "cnn"):
            pair = partial(build_dqn, backend, kind), partial(handwritten_dqn, backend, kind)
            rows.append((f"dueling DQN ({kind})", backend, *pair, most))
    for name, backend, ours, theirs, asked in rows:
        ours(), theirs()
        pairs = [(_milliseconds(ours), _milliseconds(theirs)) for _ in range(repeats)]
        differences = [mine - other for mine, other in pairs]
        low, middle, high = statistics.quantiles(differences, n=4)
        table.add_row(
            name,
            backend,
            f"{statistics.median(mine for mine, _ in pairs):.1f}",
            f"{statistics.median(other for _, other in pairs):.1f}",
            f"{middle:.1f}",
            f"[{low:.1f}, {high:.1f}]",
            f"<= {asked}",
        )
    return table


def _milliseconds(function: Callable[[], Any]) -> float:
    started = time.perf_counter()
    function()
    return (time.perf_counter() - started) * 1e3


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


def act_table(backend: str) -> Table:
    """Act calls against hand-written code, with the plan and without."""
    table = Table(title=f"Act on {backend}, us (medians of interleaved pairs, quartiles)")
    for column in ("network", "batch", "rlg", "by hand", "ratio", "through components", "asked"):
        table.add_column(column, justify="right" if column != "network" else "left")
    for kind in ("mlp", "cnn"):
        ours, theirs = acting(backend, kind), handwritten_acting(backend, kind)
        routed = acting(backend, kind, define_by_run=True)
        for batch in BATCHES:
            states = np.asarray(STATES[kind].sample(0, batch=batch))
            block = 0.02 if kind == "mlp" else 0.05
            by_hand = partial(theirs, states)
            with_plan = compare(partial(ours, states), by_hand, block=block)
            without = compare(partial(routed, states), by_hand, block=block, pairs=7)
            first = backend == "tf" and kind == "mlp" and batch == 1
            asked = "<= 1.02x" if backend == "torch" else "<= 0.30x" if first else "<= 1.00x"
            table.add_row(
                kind,
                str(batch),
                f"{with_plan.ours * 1e6:.1f}",
                f"{with_plan.theirs * 1e6:.1f}",
                str(with_plan),
                f"{without.ratio:.2f}x",
                asked,
            )
    return table


def latency_table() -> Table:
    """Single calls at batch 1."""
    table = Table(title="Latency of single act calls at batch 1, us")
    for column in ("network", "backend", "rlg p50", "rlg p99", "by hand p50", "by hand p99"):
        table.add_column(column, justify="right" if "p" in column[-3:] else "left")
    for backend in ("torch", "tf"):
        for kind in ("mlp", "cnn"):
            states = np.asarray(STATES[kind].sample(0, batch=1))
            ours, theirs = acting(backend, kind), handwritten_acting(backend, kind)
            mine = percentiles(partial(ours, states))
            other = percentiles(partial(theirs, states))
            table.add_row(kind, backend, *(f"{s * 1e6:.0f}" for s in (*mine, *other)))
    return table


def main() -> None:
    """Prints all tables."""
    import torch

    torch.set_num_threads(1)
    console = Console(width=120)
    console.print(build_table())
    for backend in ("torch", "tf"):
        console.print(act_table(backend))
    console.print(latency_table())


if __name__ == "__main__":
    main()
