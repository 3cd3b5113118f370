"""IMPALA as a root: every number against a second computation, and what acting promises."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rlg.errors import ComponentError
from rlg.graph.components.algorithms.impala import IMPALA, RecurrentIMPALA
from rlg.graph.components.returns.vtrace import VTrace
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest
from rlg.testing.goldens.on_policy import batch_of
from tests.components import impala_oracle as oracle
from tests.components.on_policy_oracle import discrete

FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf"])
T, B = 6, 4
STATES, CHOICE = Box((3,)), IntBox(3)
MLP = {"type": "mlp", "units": [5], "activation": "tanh"}
SHARED = {"type": "actor_critic", "network": MLP}
SEPARATE = {**SHARED, "separate": True}
LSTM = {"type": "recurrent_actor_critic", "network": {"type": "lstm", "units": 3, "network": MLP}}
BOTH = {"type": "multi_input", "networks": {"states": MLP, "previous": "vectors"}}
WITH_PREVIOUS = {**LSTM, "network": {"type": "lstm", "units": 3, "network": BOTH}}
FIGURES = (
    "loss", "policy_loss", "value_loss", "entropy", "gradient_norm", "approx_kl",
    "importance_weight",
)  # fmt: skip


def built(root, backend, masks=None, apis=None, actions=CHOICE):
    more = {"resets": BoolBox(ranks="TB")} if root.is_recurrent else {}
    steps = batch_of(STATES, actions, **more)
    spaces = {
        "states": STATES,
        "batch": Dict({name: space for name, space in steps.items() if name != "values"}),
        "last_states": STATES,
        "learning_rate": FloatBox(ranks=""),
    }
    if root.is_recurrent:
        spaces |= {"hidden": root.hidden_space, "resets": BoolBox()}
    if masks is not None:
        spaces |= {"act.masks": masks, "update.masks": masks.with_ranks("TB")}
    return ComponentTest(root, spaces, backend, apis=apis)


def rollouts(seed=0, *, resets=False, B=B):
    """Rollouts of another policy, with ends of both kinds, and the states behind them."""
    rng = np.random.default_rng(seed)
    ends = rng.random((2, T, B)) < 0.15
    ends[:, 2, 1] = True, False
    ends[:, 3, 2] = False, True
    ends[:, -1, 0] = False, True
    ends[:, -1, 3] = True, False
    ends[:, -1, 1] = False
    batch = {
        "states": rng.normal(size=(T, B, 3)).astype("float32"),
        "actions": rng.integers(0, 3, (T, B)),
        "log_probs": rng.uniform(-2.0, -0.3, (T, B)).astype("float32"),
        "rewards": (2.0 * rng.normal(size=(T, B))).astype("float32"),
        "terminals": ends[0],
        "truncations": ends[1],
        "bootstrap_values": rng.normal(size=(T, B)).astype("float32"),
    }
    if resets:
        first = np.array([[True, False, True, False]])
        batch["resets"] = np.concatenate([first, (ends[0] | ends[1])[:-1]])
    return batch, rng.normal(size=(B, 3)).astype("float32")


def weights_of(test):
    lead = f"{test.component.path}/policy/"
    return {path.removeprefix(lead): value for path, value in test.executor.get_weights().items()}


def rmsprop(weights):
    return torch.optim.RMSprop(weights, lr=3e-3, alpha=0.99, eps=0.1)


# As torch has it; the default has its epsilon inside of the root, as TensorFlow does.
RMSPROP = {"type": "rmsprop", "learning_rate": 1.0, "alpha": 0.99, "epsilon": 0.1}
RATE = {"learning_rate": np.float32(3e-3)}


def agrees(test, judge, metrics, expected):
    assert set(metrics) == set(FIGURES)
    for name in FIGURES:
        np.testing.assert_allclose(
            metrics[name], expected[name], rtol=2e-5, atol=1e-5, err_msg=name
        )
    for path, value in weights_of(test).items():
        np.testing.assert_allclose(
            value, judge.weights[path].detach().numpy(), atol=1e-5, err_msg=path
        )


CASES = {
    "paper": (SHARED, {}),
    "two-networks": (SEPARATE, {"gamma": 0.9, "ent_coef": 0.1, "vf_coef": 0.3}),
    "clipped-gradients": (SHARED, {"max_grad_norm": 0.2}),
    "rewards-as-they-are": (SHARED, {"reward_clip": None}),
    "bounds": (SHARED, {"rho_bar": 1.5, "c_bar": 0.8, "pg_rho_bar": 1.2}),
    "appo": (SHARED, {"clip_range": 0.2}),
    "epochs": (SHARED, {"n_epochs": 3}),
    "normalized": (SHARED, {"normalize_advantage": True}),
    "appo-epochs": (
        SHARED,
        {"clip_range": 0.1, "n_epochs": 2, "normalize_advantage": True},
    ),
}


@FRAMEWORKS
@pytest.mark.parametrize("name", CASES)
def test_an_update_is_that_of_the_paper(name, backend):
    policy, options = CASES[name]
    test = built(IMPALA(policy, CHOICE, RMSPROP, **options), backend)
    judge = oracle.Oracle(weights_of(test), discrete, rmsprop, **options)
    for seed in range(2):
        batch, last = rollouts(seed)
        expected = judge.update(batch, last)
        metrics = test.call("update", batch, last, **RATE)
        agrees(test, judge, metrics, expected)
    if name == "clipped-gradients":
        assert expected["gradient_norm"] > 1.0


@FRAMEWORKS
def test_masked_choices_are_learned_from_as_they_were_masked(backend):
    masks = np.ones((T, B, 3), bool)
    masks[::2, :, 0] = False
    test = built(IMPALA(SHARED, CHOICE, RMSPROP), backend, BoolBox((3,)))
    batch, last = rollouts()
    batch["actions"][::2] = np.maximum(batch["actions"][::2], 1)
    judge = oracle.Oracle(weights_of(test), discrete, rmsprop)
    expected = judge.update(batch, last, masks=masks)
    agrees(test, judge, test.call("update", batch, last, masks, **RATE), expected)


@FRAMEWORKS
@pytest.mark.parametrize("previous", [True, False])
def test_a_recurrent_update_starts_from_the_rollouts_first_state(previous, backend):
    policy = WITH_PREVIOUS if previous else LSTM
    test = built(RecurrentIMPALA(policy, CHOICE, RMSPROP, previous_inputs=previous), backend)
    batch, last = rollouts(resets=True)
    hidden = test.component.hidden_space.sample(1, B)
    kept = hidden["policy"] if previous else hidden
    known = {f"hidden/{key}": value for key, value in kept.items()}
    if previous:
        hidden["rewards"] = np.float32([3.0, -0.5, 0.2, -7.0])  # clipped as others are
        known |= {"first_actions": hidden["actions"], "first_rewards": hidden["rewards"]}
    judge = oracle.Oracle(weights_of(test), oracle.remembering, rmsprop)
    expected = judge.update(batch, last, **known)
    agrees(test, judge, test.call("update", batch, last, hidden, **RATE), expected)


@FRAMEWORKS
def test_the_defaults_are_the_papers_for_32_sequences(backend):
    """Whose loss is a sum over them, with an epsilon of 0.1 (about) and a norm of 40 at most."""
    test = built(IMPALA(SHARED, CHOICE, vf_coef=5.0), backend)  # Large gradients.
    judge = oracle.Oracle(
        weights_of(test),
        discrete,
        lambda weights: oracle.RMSprop(weights, 6e-4, 0.1024),
        sums=True,
        vf_coef=5.0,
        max_grad_norm=40.0,
    )
    for seed in range(3):
        batch, last = rollouts(seed, B=32)
        expected = judge.update(batch, last)
        metrics = test.call("update", batch, last, learning_rate=np.float32(6e-4))
        assert metrics["loss"] == pytest.approx(expected["loss"] / 32, rel=1e-4)
        assert expected["gradient_norm"] > 40.0
    for path, value in weights_of(test).items():
        np.testing.assert_allclose(value, judge.weights[path].detach().numpy(), atol=1e-5)


ROOTS = {
    "impala": lambda: IMPALA(SEPARATE, CHOICE),
    "appo": lambda: IMPALA(SHARED, CHOICE, clip_range=0.2),
    "recurrent": lambda: RecurrentIMPALA(WITH_PREVIOUS, CHOICE),
}


@pytest.mark.parametrize("name", ROOTS)
def test_torch_and_tensorflow_agree_over_100_updates_and_20_of_an_lstm(name):
    one, two = (built(ROOTS[name](), backend) for backend in ("torch", "tf"))
    is_recurrent = one.component.is_recurrent
    for seed in range(20 if is_recurrent else 100):
        batch, last = rollouts(seed, resets=is_recurrent)
        hidden = (one.component.hidden_space.sample(seed, B),) if is_recurrent else ()
        for test in (one, two):
            test.call("update", batch, last, *hidden, **RATE)
    others = weights_of(two)
    for path, value in weights_of(one).items():
        np.testing.assert_allclose(others[path], value, atol=1e-4, err_msg=path)


def test_vtrace_follows_the_recursion_of_the_paper(backend):
    options = {"gamma": 0.9, "rho_bar": 1.5, "c_bar": 0.8, "reward_clip": None}
    batch, _ = rollouts(3)
    rng = np.random.default_rng(0)
    log_probs = rng.uniform(-2.0, 0.0, (T, B)).astype("float32")
    values, bootstrap = rng.normal(size=(T, B)), rng.normal(size=B)
    ratios = np.exp(log_probs.astype("float64") - batch["log_probs"])
    targets, advantages = oracle.vtrace(ratios, batch, values, bootstrap, options)
    spaces = {
        **dict.fromkeys(
            ["log_probs", "behaviour_log_probs", "rewards", "values", "final_values"],
            FloatBox(ranks="TB"),
        ),
        **dict.fromkeys(["terminals", "truncations"], BoolBox(ranks="TB")),
        "bootstrap": FloatBox(),
    }
    names = ("terminals", "truncations", "bootstrap_values")
    for bound in (1.2, None):
        test = ComponentTest(VTrace(0.9, 1.5, 0.8, bound), spaces, backend)
        found = test.call(
            "call", log_probs, batch["log_probs"], batch["rewards"], np.float32(values),
            np.float32(bootstrap), *(batch[name] for name in names),
        )  # fmt: skip
        weights = 1.0 if bound is None else np.minimum(ratios, bound)
        expected = (targets, weights * advantages, ratios)
        for got, wanted in zip(found, expected, strict=True):
            np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


# -- acting ---------------------------------------------------------------------------------------
def test_what_acted_by_the_same_weights_is_on_policy(backend):
    if backend == "numpy":
        return  # It learns nothing.
    test = built(IMPALA(SHARED, CHOICE), backend)
    batch, last = rollouts()
    for t in range(T):
        batch["actions"][t], batch["log_probs"][t] = test.call("act", batch["states"][t])
    metrics = test.call("update", batch, last, **RATE)
    assert metrics["approx_kl"] == pytest.approx(0.0, abs=1e-6)
    assert metrics["importance_weight"] == pytest.approx(1.0, abs=1e-5)


def test_a_recurrent_actor_sees_its_last_action_and_reward_but_not_across_episodes(backend):
    test = built(RecurrentIMPALA(WITH_PREVIOUS, CHOICE), backend, apis=["act", "value"])
    states = np.repeat(STATES.sample(0, 1), 2, 0)
    hidden = test.component.hidden_space.zeros(2)
    values = [test.call("value", states, hidden, np.zeros(2, bool))]
    for change in ({"actions": np.array([0, 2])}, {"rewards": np.float32([0.0, 0.7])}):
        changed = {**hidden, **change}
        values.append(test.call("value", states, changed, np.zeros(2, bool)))
        beginning = test.call("value", states, changed, np.ones(2, bool))
        assert beginning[0] == pytest.approx(beginning[1], abs=1e-6)
    assert values[0][0] == pytest.approx(values[0][1], abs=1e-6)
    assert abs(values[1][0] - values[1][1]) > 1e-3
    assert abs(values[2][0] - values[2][1]) > 1e-3
    actions, log_probs, after = test.call("act", states, hidden, np.ones(2, bool))
    np.testing.assert_array_equal(after["actions"], actions)
    np.testing.assert_array_equal(after["rewards"], [0.0, 0.0])
    assert log_probs.shape == (2,)
    assert after["policy"]["c"].shape == (2, 3)


def test_acting_computes_no_values():
    test = built(IMPALA(SEPARATE, CHOICE), "torch", apis=["act"])
    assert "value" not in test.executor.plan("act").source


@FRAMEWORKS
def test_floats_are_learned_from_as_they_were_drawn(backend):
    torque = FloatBox(-2.0, 2.0, (2,))
    root = RecurrentIMPALA(WITH_PREVIOUS, torque)
    test = built(root, backend, actions=Box((2,)))
    batch, last = rollouts(resets=True)
    states, hidden = STATES.sample(0, 100), root.hidden_space.zeros(100)
    actions, _, env, _ = test.call("act", 9.0 * states, hidden, np.ones(100, bool))
    assert np.abs(env).max() <= 2.0 < np.abs(actions).max()
    batch["actions"] = np.resize(actions, (T, B, 2))
    before = weights_of(test)
    test.call("update", batch, last, root.hidden_space.zeros(B), **RATE)
    assert all((value != before[path]).any() for path, value in weights_of(test).items())


# -- refusals -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cls", "policy", "message"),
    [
        (IMPALA, {"type": "policy", "network": MLP}, r"has no values. Give .* actor_critic\."),
        (IMPALA, LSTM, "IMPALA: for RecurrentActorCritic use RecurrentIMPALA"),
        (RecurrentIMPALA, SHARED, "RecurrentIMPALA: for ActorCritic use IMPALA"),
    ],
)
def test_policies_that_do_not_fit_are_refused(cls, policy, message):
    with pytest.raises(ComponentError, match=message):
        cls(policy, CHOICE)


def test_a_clip_range_must_be_positive():
    with pytest.raises(ComponentError, match=r"clip_range must be positive or None, got -0\.1"):
        built(IMPALA(SHARED, CHOICE, clip_range=-0.1), "numpy")
