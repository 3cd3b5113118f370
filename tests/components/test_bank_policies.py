"""The bank's cases of distributions, schedules, exploration and noise, on every backend."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

from rlg.graph.components.distributions.bernoulli import Bernoulli
from rlg.graph.components.distributions.categorical import Categorical
from rlg.graph.components.distributions.joint import Joint
from rlg.graph.components.distributions.mixture import NormalMixture
from rlg.graph.components.distributions.normal import DiagNormal
from rlg.graph.components.distributions.squashed_normal import SquashedNormal
from rlg.graph.components.explorations.apex import apex_epsilons
from rlg.graph.components.explorations.epsilon_greedy import EpsilonGreedy
from rlg.graph.components.explorations.noise import OrnsteinUhlenbeckNoise
from rlg.graph.components.schedules import make_schedule
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest
from rlg.testing.component_test import compare
from tests import bank
from tests.bank import Runner

RUNNERS: dict[str, Runner] = {}
runs = partial(bank.runs, runners=RUNNERS)


def row(numbers: Any) -> Any:
    """A batch of one."""
    return np.asarray(numbers, "float32")[None]


def gaussian(given: dict[str, Any]) -> Any:
    return {"mean": row(given["mean"]), "log_std": np.log(row(given["stddev"]))}


# -- distributions --------------------------------------------------------------------------------
@runs("dist.bernoulli")
def bernoulli(backend, given):
    p = np.array(given["probs"])
    logits = row(np.log(p) - np.log1p(-p))
    spaces = {"parameters": Box((5,)), "values": BoolBox((5,))}
    test = ComponentTest(Bernoulli(), spaces, backend, apis=["log_prob", "entropy", "mode"])
    return {
        "log_prob": test.call("log_prob", logits, np.array([given["values"]]))[0],
        "entropy": test.call("entropy", logits)[0],
        "deterministic": test.call("mode", logits)[0],
    }


@runs("dist.diag_normal_log_prob")
def diag_normal(backend, given):
    spaces = {"parameters": Dict(mean=Box((5,)), log_std=Box((5,))), "values": Box((5,))}
    test = ComponentTest(DiagNormal(), spaces, backend, apis=["log_prob"])
    return {"log_prob": test.call("log_prob", gaussian(given), row(given["x"]))[0]}


@runs("dist.kl_categorical")
def kl_categorical(backend, given):
    spaces = {"parameters": Box((3,)), "other": Box((3,))}
    test = ComponentTest(Categorical(), spaces, backend, apis=["kl"])
    return {"kl": test.call("kl", row(given["logits_p"]), row(given["logits_q"]))[0]}


@runs("dist.squashed_normal")
def squashed_normal(backend, given):
    bounds = {"low": given["low"], "high": given["high"]}
    spaces = {"parameters": Dict(mean=Box((5,)), log_std=Box((5,))), "values": Box((5,))}
    arguments = (gaussian(given), row(given["x"]))
    test = ComponentTest(SquashedNormal(**bounds), spaces, backend, apis=["log_prob", "mode"])
    joint = ComponentTest(Joint(SquashedNormal(**bounds)), spaces, backend, apis=["log_prob"])
    return {
        "log_prob": test.call("log_prob", *arguments)[0],
        "log_prob_sum": joint.call("log_prob", *arguments)[0],
        "deterministic": test.call("mode", arguments[0])[0],
    }


@runs("dist.mixture_log_prob")
def mixture(backend, given):
    parts = Dict(logits=Box((2,)), mean=Box((2,)), log_std=Box((2,)))
    spaces = {"parameters": parts, "values": FloatBox()}
    test = ComponentTest(NormalMixture(), spaces, backend, apis=["log_prob", "mode"])
    parameters = {"logits": row(given["logits"]), **gaussian(given)}
    return {
        "log_prob": test.call("log_prob", parameters, row(given["x"]))[0],
        "mean": test.call("mode", parameters)[0],
    }


# -- schedules ------------------------------------------------------------------------------------
def values(backend: str, spec: Any, times: Any) -> dict[str, Any]:
    """In the graph; the twin in Python gives the same."""
    schedule = make_schedule(spec)
    test = ComponentTest(schedule, {"time": FloatBox()}, backend)
    y = test.call("value", np.asarray(times, "float32"))
    np.testing.assert_allclose(y, [schedule.at(time) for time in times], rtol=1e-5, atol=1e-6)
    return {"y": y}


@runs("schedule.constant")
def constant(backend, given):
    return values(backend, given["value"], given["time"])


@runs("schedule.polynomial")
def polynomial(backend, given):
    ends = {"initial": given["from_"], "final": given["to"], "power": given["power"]}
    return values(backend, {"type": "polynomial", **ends}, given["time"])


@runs("schedule.linear_by_timestep")
def linear(backend, given):
    spec = {"type": "linear", "start": given["start"], "length": given["length"]}
    return values(backend, {**spec, "initial": given["from_"], "final": given["to"]}, given["t"])


@runs("schedule.half_life")
def half_life(backend, given):
    spec = {"type": "half_life", "initial": given["from_"], "half_life": given["half_life"]}
    return values(backend, spec, given["t"])


# -- exploration ----------------------------------------------------------------------------------
@runs("explore.epsilon_rate")
def epsilon_rate(backend, given):
    choices, n = 50, 8000
    schedule = make_schedule({"type": "linear", "initial": given["from_"], "final": given["to"]})
    spaces = {"q_values": Box((choices,)), "epsilon": FloatBox(0.0, 1.0)}
    test = ComponentTest(EpsilonGreedy(IntBox(choices)), spaces, backend)
    epsilons = ComponentTest(schedule, {"time": FloatBox()}, backend)
    q_values = np.eye(1, choices, dtype="float32").repeat(n, 0)  # 0 is the best.

    def rate(times: Any) -> Any:
        epsilon = epsilons.call("value", np.broadcast_to(times, n).astype("float32"))
        return np.mean(test.call("explore", q_values, epsilon) != 0) / (1.0 - 1.0 / choices)

    rates = np.array([rate(time) for time in given["time"]])
    return {"p_explore": rates, "mean_over_uniform": rate(np.linspace(0.0, 1.0, n))}


@runs("noise.ou_moments")
def ou_moments(backend, given):
    n, space = 500, FloatBox()
    noise = OrnsteinUhlenbeckNoise(
        space, n, mean=given["mu"], sigma=given["sigma"], theta=given["theta"]
    )
    test = ComponentTest(noise, {"actions": space}, backend)
    zeros = np.zeros(n, "float32")
    for _ in range(40):  # (1 - theta)^40 = 0.0015: stationary by then.
        test.call("explore", zeros)
    x = np.stack([test.call("explore", zeros) for _ in range(20)])
    return {"mean": x.mean(), "std": x.std()}


@runs("apex.worker_epsilons_n2")
def worker_epsilons(backend, given):
    assert apex_epsilons(1, given["base"], given["alpha"]) == np.float32(given["base"])
    return {"epsilons": apex_epsilons(given["num_workers"], given["base"], given["alpha"])}


@pytest.mark.parametrize("name", RUNNERS)
def test_case(name, backend):
    case = bank.CASES[name]
    compare(RUNNERS[name](backend, case["inputs"]), case["expected"], case["tol"])
