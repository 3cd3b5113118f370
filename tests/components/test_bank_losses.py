"""The bank's cases of returns and losses, on every backend."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest
from scipy import special

from rlg.graph.components.losses.a2c import A2CLoss
from rlg.graph.components.losses.impala import IMPALALoss
from rlg.graph.components.losses.ppo import PPOLoss
from rlg.graph.components.losses.sac import SACLoss
from rlg.graph.components.losses.supervised import CrossEntropyLoss, GaussianNLLLoss
from rlg.graph.components.losses.temperature import Temperature
from rlg.graph.components.returns.discounted import DiscountedSum
from rlg.graph.components.returns.gae import GAE
from rlg.graph.components.returns.vtrace import VTrace
from rlg.graph.spaces import BoolBox, Box, FloatBox, IntBox, Tuple
from rlg.testing import ComponentTest
from rlg.testing.component_test import compare
from tests import bank
from tests.bank import Runner

RUNNERS: dict[str, Runner] = {}
runs = partial(bank.runs, runners=RUNNERS)


def numbers(*names: str, ranks: str = "B") -> dict[str, Any]:
    return dict.fromkeys(names, FloatBox(ranks=ranks))


# -- returns --------------------------------------------------------------------------------------
def sums(backend, gamma, ranks):
    spaces = {"inputs": FloatBox(ranks=ranks), "ends": BoolBox(ranks=ranks)}
    return ComponentTest(DiscountedSum(gamma), spaces, backend)


@runs("seq.lengths")
def lengths(backend, given):
    ends = np.array(given["flags"], bool)
    left = sums(backend, 1.0, "BT").call("steps_left", ends)
    starts = np.hstack([np.ones((len(ends), 1), bool), ends[:, :-1]])
    return {"lengths": [row[start] for row, start in zip(left, starts, strict=True)]}


@runs("seq.reverse_decay")
def reverse_decay(backend, given):
    ends = np.array(given["flags"], bool)
    return {"y": sums(backend, given["decay"], "T").call("call", given["x"], ends)}


def gae(backend, given, bootstrap, truncations=None):
    terminals = np.array(given["terminals"], bool)
    spaces = {
        **numbers("rewards", "values", ranks="T"),
        **numbers("bootstrap", ranks=""),
        **dict.fromkeys(["terminals", "truncations"], BoolBox(ranks="T")),
    }
    test = ComponentTest(GAE(given["gamma"], given["lam"]), spaces, backend)
    arguments = [given["rewards"], given["values"], bootstrap, terminals]
    if truncations is not None:
        arguments.append(truncations)
    advantages, returns = test.call("call", *arguments)
    td = test.call("td_errors", *arguments)
    return {"td": td, "advantages": advantages, "returns": returns}


@runs("gae.manual_lambda05")
def manual_lambda(backend, given):
    found = gae(backend, given, 999.0, truncations=np.array(given["seq"], bool))
    return {name: found[name] for name in ("td", "advantages")}


@runs("gae.explicit_bootstrap")
def explicit_bootstrap(backend, given):
    return gae(backend, given, given["bootstrap_of_open_sequence"])


def chosen(log_probs, actions):
    return np.take_along_axis(np.asarray(log_probs), np.asarray(actions)[..., None], -1)[..., 0]


SEQUENCES = {
    **numbers("log_probs", "behaviour_log_probs", "rewards", "values", "entropies", ranks="TB"),
    **numbers("bootstrap"),
    "terminals": BoolBox(ranks="TB"),
}


def vtrace(backend, given, log_probs, behaviour_log_probs):
    discounts = np.array(given["discounts"])
    spaces = {name: space for name, space in SEQUENCES.items() if name != "entropies"}
    vs, advantages, weights = ComponentTest(VTrace(discounts.max()), spaces, backend).call(
        "call",
        log_probs.astype("float32"),
        behaviour_log_probs.astype("float32"),
        given["rewards"],
        given["values"],
        given["bootstrap"],
        discounts == 0.0,
    )
    return {"vs": vs, "pg_advantages": advantages, "is_weights": weights}


@runs("vtrace.offpolicy_T3B2")
def off_policy(backend, given):
    log_probs = special.log_softmax(given["logits_pi"], -1)
    actions = given["actions"]
    return vtrace(
        backend, given, chosen(log_probs, actions), chosen(given["log_probs_mu"], actions)
    )


@runs("vtrace.on_policy_is_nstep_return")
def on_policy(backend, given):
    other = bank.CASES[given["same_as"]]["inputs"]
    log_probs = chosen(special.log_softmax(given["logits_pi"], -1), other["actions"])
    found = vtrace(backend, other, log_probs, log_probs)
    np.testing.assert_array_equal(found.pop("is_weights"), np.ones((3, 2)))
    return found


# -- losses ---------------------------------------------------------------------------------------
@runs("impala.loss_T3B2")
def impala(backend, given):
    assert (given["weight_pg"], given["reward_clipping"]) == (1.0, "clamp_one")
    loss = IMPALALoss(given["discount"], given["weight_baseline"], given["weight_entropy"], 1.0)
    log_probs = special.log_softmax(given["logits_pi"][:-1], -1)
    values, actions = np.array(given["values"], "float32"), given["actions"]
    _, items, _ = ComponentTest(loss, SEQUENCES, backend).call(
        "loss",
        chosen(log_probs, actions).astype("float32"),
        np.log(chosen(given["probs_mu"], actions)).astype("float32"),
        -(np.exp(log_probs) * log_probs).sum(-1).astype("float32"),
        values[:-1],
        values[-1],
        given["rewards"],
        np.array(given["terminals"]),
    )
    return {"loss_per_item": items}


PPO = numbers(
    "log_probs", "old_log_probs", "advantages", "entropies", "values", "old_values", "returns"
)


@runs("ppo.loss")
def ppo(backend, given):
    log_probs, old = (np.log(given[key], dtype="float32") for key in ("probs", "prev_probs"))
    returns = np.add(given["advantages"], given["prev_values"])
    loss = PPOLoss(given["clip"], None, 1.0, given["weight_entropy"], False)
    test = ComponentTest(loss, PPO, backend)
    policy, ratio = test.call("policy_loss", log_probs, old, given["advantages"], given["entropy"])
    value = test.call("value_loss", given["values"], given["prev_values"], returns)
    _, items, means = test.call(
        "loss",
        log_probs,
        given["entropy"],
        given["values"],
        old,
        given["prev_values"],
        given["advantages"],
        returns,
    )
    np.testing.assert_allclose(items, policy + value, rtol=1e-6)
    return {
        "ratio": ratio,
        "pg_loss_per_item": policy,
        "pg_loss": means["policy_loss"] - given["weight_entropy"] * means["entropy"],
        "vf_loss_per_item": value,
        "vf_loss": means["value_loss"],
    }


@runs("ppo.value_clipping")
def value_clipping(backend, given):
    test = ComponentTest(PPOLoss(clip_range_vf=given["clip"], vf_coef=1.0), PPO, backend)
    returns = np.add(given["advantages"], given["prev_values"])
    items = test.call("value_loss", given["values"], given["prev_values"], returns)
    return {"vf_loss_per_item": items}


@runs("a2c.loss")
def a2c(backend, given):
    names = ("log_probs", "advantages", "entropies", "values", "returns")
    test = ComponentTest(A2CLoss(vf_coef=0.5, ent_coef=0.00025), numbers(*names), backend)
    values = np.array([0.3, -1.0, 2.0])
    policy = test.call("policy_loss", given["log_probs"], given["advantages"], given["entropy"])
    value = test.call("value_loss", values, values + given["advantages"])
    return {"pg_loss_per_item": policy, "vf_loss_per_item": value}


@runs("sac.loss")
@runs("sac.loss_terminal")
def sac(backend, given):
    twins = Tuple(FloatBox(), FloatBox())
    spaces = {
        **dict.fromkeys(["q", "q_next", "q_pi"], twins),
        **numbers("rewards", "log_probs", "log_probs_next"),
        "terminals": BoolBox(),
        "alpha": FloatBox(ranks=""),
    }
    alpha = f"auto_{given['alpha']}"
    temperature = Temperature(FloatBox(shape=(2,)), alpha, given["target_entropy"])
    entropy = ComponentTest(temperature, numbers("log_probs"), backend)
    alpha = entropy.call("alpha")
    test = ComponentTest(SACLoss(given["discount"]), spaces, backend)

    def row(value):
        return tuple([x] for x in value) if isinstance(value, list) else [value]

    critic, *_ = test.call(
        "critic_loss",
        row(given["q"]),
        row(given["reward"]),
        [given["terminal"] == 1.0],
        row(given["q_next"]),
        row(given["log_probs_next"]),
        alpha,
    )
    actor, _ = test.call("actor_loss", row(given["log_probs"]), row(given["q_sampled"]), alpha)
    loss, _ = entropy.call("loss", row(given["log_probs"]))
    return {"actor": actor, "critic": critic, "alpha": loss}


@runs("supervised.cross_entropy")
def cross_entropy(backend, given):
    spaces = {"logits": Box((2,)), "labels": IntBox(2)}
    test = ComponentTest(CrossEntropyLoss(), spaces, backend)
    mean, items = test.call("loss", given["logits"], given["labels"])
    return {"loss_per_item": items, "loss": mean}


@runs("supervised.neg_log_likelihood")
def neg_log_likelihood(backend, given):
    spaces = dict.fromkeys(["mean", "stddev", "targets"], Box((2,)))
    test = ComponentTest(GaussianNLLLoss(), spaces, backend)
    mean, items = test.call("loss", given["mean"], given["stddev"], given["x"])
    return {"loss_per_item": items, "loss": mean}


@pytest.mark.parametrize("name", RUNNERS)
def test_case(name, backend):
    case = bank.CASES[name]
    found, expected = RUNNERS[name](backend, case["inputs"]), case["expected"]
    if name == "seq.lengths":
        assert [row.tolist() for row in found["lengths"]] == expected["lengths"]
    else:
        compare(found, expected, case["tol"])
