"""The bank's cases on memories: trees, priorities, rings, queues and n-step segments."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
import pytest

from rlg.graph.components.memories.fifo import FIFOQueue
from rlg.graph.components.memories.n_step import NStep
from rlg.graph.components.memories.prioritized import PrioritizedReplay
from rlg.graph.components.memories.priority_tree import PriorityTree
from rlg.graph.components.memories.ring import RingBuffer
from rlg.graph.spaces import BoolBox, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest
from rlg.testing.component_test import compare
from tests import bank
from tests.bank import Runner
from tests.patience import PATIENCE

RUNNERS: dict[str, Runner] = {}
runs = partial(bank.runs, runners=RUNNERS)


def tree(backend, given):
    numbers, rows = FloatBox(), IntBox()
    spaces = {"rows": rows, "priorities": numbers, "prefixes": numbers, "start": rows, "stop": rows}
    test = ComponentTest(PriorityTree(given["capacity"]), spaces, backend)
    for row, priority in given["inserts"]:
        test.call("set", [row], np.float32([priority]))
    return test


@runs("segtree.range_sum")
def range_sum(backend, given):
    test = tree(backend, given)
    queries = [[start] if stop is None else [start, stop] for start, stop in given["queries"]]
    return {"sums": np.array([test.call("sum", *([q] for q in query))[0] for query in queries])}


@runs("segtree.prefix_index_dense")
def prefix_index(backend, given):
    return {"index": tree(backend, given).call("find", np.float32(given["prefix"]))}


def memory(backend, given):
    spaces = {
        "records": Dict(rewards=FloatBox()),
        "priorities": FloatBox(),
        "keys": IntBox(),
        "td_errors": FloatBox(),
        "beta": FloatBox(ranks=""),
    }
    capacity = given.get("capacity", 8)
    test = ComponentTest(PrioritizedReplay(capacity, given["alpha"]), spaces, backend)
    if "num_inserted" in given:
        insert(test, given["num_inserted"])
    return test


def insert(test, n):
    test.call("insert", {"rewards": np.zeros(n, "float32")})


@runs("per.probabilities")
def probabilities(backend, given):
    test = memory(backend, given)
    n = len(given["priorities"])
    records = {"rewards": np.zeros(n, "float32")}
    test.call("insert", records, np.float32(given["priorities"]))
    leaves = test.read("tree/sums")[8 : 8 + n]
    return {"probs": leaves / test.read("tree/sums")[1]}


@runs("per.equal_priorities_weight_one")
def equal_priorities(backend, given):
    test = memory(backend, given)
    _, rows, weights = test.call("sample", given["num_samples"], np.float32(given["beta"]))
    return {
        "weights": np.unique(weights).reshape(()),
        "prob_each": np.bincount(rows, minlength=given["num_inserted"]) / len(rows),
        "index_set": np.unique(rows),
    }


@runs("per.update_single")
def update_single(backend, given):
    test = memory(backend, given)
    test.call("update", given["indices"], np.float32(given["update"]))
    return {"leaves": test.read("tree/sums")[8:], "max_priority": test.read("max_priority")}


@runs("per.alpha_applied_once")
def alpha_once(backend, given):
    test = memory(backend, given)
    test.call("update", given["indices"], np.float32(given["update"]))
    insert(test, 1)
    leaves = test.read("tree/sums")[8:]
    return {"leaves_first2": leaves[:2], "next_insert_leaf": leaves[2]}


def ring(backend, given, values, terminals):
    records = Dict(values=IntBox(), terminals=BoolBox())
    test = ComponentTest(RingBuffer(given["capacity"]), {"records": records}, backend)
    test.call("insert", {"values": np.array(values), "terminals": np.array(terminals)})
    return test


@runs("ring.last_n")
def last_n(backend, given):
    test = ring(backend, given, given["values"], [False] * len(given["values"]))
    return {
        "size": test.call("size"),
        "index": test.read("index"),
        "num_episodes": test.call("num_episodes"),
        "last": tuple(test.call("get_records", n)["values"] for n in given["n"]),
    }


@runs("ring.only_terminals")
def only_terminals(backend, given):
    test = ring(backend, given, range(len(given["terminals"])), given["terminals"])
    ends = np.flatnonzero(test.read("terminals"))
    return {"num_episodes": test.call("num_episodes"), "episode_end_slots": ends}


@runs("fifo.order_and_size")
def order_and_size(backend, given):
    queue = FIFOQueue(given["capacity"], timeout=PATIENCE)
    test = ComponentTest(queue, {"records": IntBox()}, backend)
    sizes = []
    for values in (given["first"], given["further"]):
        test.call("put", np.array(values))
        sizes.append(test.call("size"))
    out = test.call("get", given["get"])
    sizes.append(test.call("size"))
    # "Putting 11 blocks until someone takes 2."
    thread = threading.Thread(target=test.call, args=("put", np.arange(11)))
    thread.start()
    thread.join(0.05)
    assert thread.is_alive()
    np.testing.assert_array_equal(test.call("get", 2), [5, 0])
    thread.join(PATIENCE)
    assert not thread.is_alive()
    np.testing.assert_array_equal(test.call("get", 10), range(1, 11))
    return {"sizes": np.array(sizes), "out": out}


@runs("nstep.terminal_segment")
def terminal_segment(backend, given):
    flags = BoolBox(ranks="TB")
    spaces = {"rewards": FloatBox(ranks="TB"), "terminals": flags, "truncations": flags}
    test = ComponentTest(NStep(given["n"], given["gamma"]), spaces, backend)
    rewards = np.float32(given["rewards"])[:, None]
    terminals = np.zeros(rewards.shape, bool)
    terminals[-1] = given["ends_in_terminal"]
    sums, index, terminal, _, whole = test.call("call", rewards, terminals)
    assert whole.all()
    return {"rewards": sums[:, 0], "next_state_index": index[:, 0], "terminals": terminal[:, 0]}


@pytest.mark.parametrize("name", RUNNERS)
def test_case(name, backend):
    case = bank.CASES[name]
    expected = dict(case["expected"])
    if name == "ring.last_n":
        expected["last"] = tuple(expected["last"])
    compare(RUNNERS[name](backend, case["inputs"]), expected, case["tol"])
