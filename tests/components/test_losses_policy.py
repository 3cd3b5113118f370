"""The losses of A2C, PPO and IMPALA by literal numbers; the bank holds more of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.losses.a2c import A2CLoss
from rlg.graph.components.losses.impala import IMPALALoss
from rlg.graph.components.losses.ppo import PPOLoss
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.spaces import BoolBox, FloatBox
from rlg.testing import ComponentTest

FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
ALL = {
    "log_probs", "entropies", "values", "advantages", "returns", "weights", "old_log_probs",
    "old_values", "policy", "value", "ratio",
}  # fmt: skip


def built(loss, backend, ranks="B", apis=("loss",), **changes):
    spaces = {**dict.fromkeys(ALL, FloatBox(ranks=ranks)), **changes}
    names = {p.name for api in apis for p in loss.api_methods()[api].parameters}
    known = {name: space for name, space in spaces.items() if name in names}
    return ComponentTest(loss, known, backend, apis=list(apis))


# -- A2C ------------------------------------------------------------------------------------------
LOG_PROBS, ENTROPIES = [-1.0, -2.0], [0.5, 1.0]
VALUES, ADVANTAGES, RETURNS = [1.0, 2.0], [3.0, -4.0], [2.0, 5.0]
A2C_ITEMS = [3.0 - 0.05 + 0.5, -8.0 - 0.1 + 4.5]


def test_a2c_adds_policy_value_and_entropy(backend):
    test = built(A2CLoss(0.5, 0.1), backend)
    inputs = (LOG_PROBS, ENTROPIES, VALUES, ADVANTAGES, RETURNS)
    parts = {"policy_loss": -2.5, "value_loss": 5.0, "entropy": 0.75}
    test.test("loss", *inputs, expected=(-0.075, A2C_ITEMS, parts))
    # Weights multiply items once; parts are of the batch as it is.
    weighted = [0.5 * A2C_ITEMS[0], 2.0 * A2C_ITEMS[1]]
    test.test("loss", *inputs, [0.5, 2.0], expected=(np.mean(weighted), weighted, parts))


@pytest.mark.parametrize("ranks", ["TB", "BT"])
def test_items_have_batch_and_time(ranks, backend):
    test = built(A2CLoss(0.5, 0.1), backend, ranks)
    inputs = [[x, x, x] for x in (LOG_PROBS, ENTROPIES, VALUES, ADVANTAGES, RETURNS)]
    mean, items, _ = test.call("loss", *inputs)
    np.testing.assert_allclose(items, [A2C_ITEMS] * 3, rtol=1e-5)
    np.testing.assert_allclose(mean, np.mean(A2C_ITEMS), rtol=1e-5)


# -- PPO ------------------------------------------------------------------------------------------
def test_ppo_clips_on_the_side_that_would_gain(backend):
    test = built(PPOLoss(0.25, ent_coef=0.5), backend, apis=["policy_loss"])
    ratios = np.array([2.0, 2.0, 0.5, 0.5, 1.1])
    advantages, entropies = [1.0, -1.0, 1.0, -1.0, 2.0], [0.0, 0.0, 0.0, 0.0, 1.0]
    # min(r A, clip(r) A): 1.25, -2, 0.5, -0.75, 2.2.
    expected = ([-1.25, 2.0, -0.5, 0.75, -2.2 - 0.5], ratios)
    test.test("policy_loss", np.log(ratios), np.zeros(5), advantages, entropies, expected=expected)


def test_ppo_normalizes_advantages_over_batch_and_time(backend):
    test = built(PPOLoss(), backend, "TB", apis=["normalize"])
    # Mean 3, standard deviation of a sample sqrt((9 + 1 + 1 + 9) / 3) = 2.5819889.
    expected = [[-1.1618950, -0.3872983], [0.3872983, 1.1618950]]
    test.test("normalize", [[0.0, 2.0], [4.0, 6.0]], expected=expected)
    test.test("normalize", [[7.0, 7.0]], expected=[[0.0, 0.0]])
    test.test("normalize", [[7.0]], expected=[[0.0]])


def test_ppo_takes_the_larger_of_both_squares(backend):
    test = built(PPOLoss(clip_range_vf=0.5, vf_coef=2.0), backend, apis=["value_loss"])
    # Clipped values 0.5, 0.5, 0.2: away from the target, towards it, and not clipped at all.
    values, returns = [2.0, 2.0, 0.2], [3.0, 0.0, 1.2]
    expected = [2.0 * 2.5**2, 2.0 * 2.0**2, 2.0]
    test.test("value_loss", values, [0.0, 0.0, 0.0], returns, expected=expected)


def ppo_inputs(ratios):
    """log_probs, entropies, values, old_log_probs, old_values, advantages, returns."""
    n = len(ratios)
    return (
        np.log(ratios),
        np.full(n, 0.5),
        np.full(n, 1.0),
        np.zeros(n),
        np.zeros(n),
        np.linspace(-1, 1, n),
        np.full(n, 3.0),
    )


def test_ppo_gives_items_and_diagnostics(backend):
    ratios = np.array([0.5, 1.1, 2.0, 1.5])
    inputs = ppo_inputs(ratios)
    # A = -1, -1/3, 1/3, 1 by hand; the value loss is 0.5 * (1 - 3)^2 = 2.
    policy = np.array([0.8, 1.1 / 3, -0.4, -1.2]) - 0.01 * 0.5
    test = built(PPOLoss(0.2, None, 0.5, 0.01, False), backend)
    loss, items, means = test.call("loss", *inputs)
    np.testing.assert_allclose(items, policy + 2.0, rtol=1e-5)
    np.testing.assert_allclose(loss, np.mean(policy + 2.0), rtol=1e-5)
    expected = {
        "policy_loss": np.mean(policy) + 0.01 * 0.5,
        "value_loss": 4.0,
        "entropy": 0.5,
        # (-0.5 + ln 2) + (0.1 - ln 1.1) + (1 - ln 2) + (0.5 - ln 1.5)
        "approx_kl": (1.1 - np.log(1.65)) / 4,
        "clip_fraction": 0.75,
    }
    for name, value in expected.items():
        np.testing.assert_allclose(means[name], value, rtol=1e-4, err_msg=name)
    weights = [0.0, 1.0, 2.0, 0.5]
    _, weighted, _ = test.call("loss", *inputs, weights)
    np.testing.assert_allclose(weighted, weights * items, rtol=1e-5, atol=1e-6)


def test_ppo_loss_normalizes_if_told_to(backend):
    _, items, _ = built(PPOLoss(vf_coef=0.0), backend).call("loss", *ppo_inputs(np.ones(4)))
    np.testing.assert_allclose(items, [1.1618950, 0.3872983, -0.3872983, -1.1618950], rtol=1e-5)


LEFT_OUT = ("weights", "clip_range")


class Parameter(Component):
    """One number; a loss sees it as every tensor that a network would give."""

    def create_variables(self) -> None:
        self._w = self.variable("w", value=2.0, trainable=True)

    @api
    @graph_fn
    def times(self, x: Tensor) -> Tensor:
        return self._w * x


class Learner(Component):
    """Gradients of a loss with respect to a number in front of one of its arguments."""

    def __init__(self, loss: Any, learned: str) -> None:
        self.parameter = Parameter()
        self.loss = loss
        self.learned = learned
        self.optimizer = SGD()
        names = [p.name for p in loss.api_methods()["loss"].parameters if p.name not in LEFT_OUT]

        def gradients(self: Any, inputs: Any) -> Any:
            words = {name: inputs[name] for name in names}
            words[learned] = self.parameter.times(words[learned])
            loss, *_ = self.loss.loss(**words)
            return self.optimizer.gradients(loss, self.parameter.variables())

        self.register_api("gradients", gradients)
        self.names = names


def slope(loss, learned, inputs, backend, **spaces):
    learner = Learner(loss, learned)
    known = {name: spaces.get(name, FloatBox()) for name in learner.names}
    test = ComponentTest(learner, {"inputs": known}, backend)
    return float(test.call("gradients", dict(zip(learner.names, inputs, strict=True)))["w"])


@FRAMEWORKS
def test_a2c_learns_through_policy_values_and_entropies_only(backend):
    inputs = [np.array([x[0]], "float32") for x in (LOG_PROBS, ENTROPIES, VALUES, ADVANTAGES)]
    inputs.append(np.array([5.0], "float32"))
    slopes = {
        name: slope(A2CLoss(0.5, 0.1), name, inputs, backend)
        for name in ("log_probs", "entropies", "values", "advantages", "returns")
    }
    # d/dw: -A log pi = 3; -0.1 * H = -0.05; (w V - R) V = 2 - 5 = -3.
    assert slopes == pytest.approx(
        {"log_probs": 3.0, "entropies": -0.05, "values": -3.0, "advantages": 0, "returns": 0}
    )


@FRAMEWORKS
@pytest.mark.parametrize(
    ("advantage", "old", "expected"),
    [
        # log pi = w * -1 = -2, and d/dw -A exp(w * -1 - old) = A r.
        (1.0, -2.0, 1.0),  # ratio 1
        (1.0, -3.0, 0.0),  # ratio e, which A > 0 would gain by
        (-1.0, -3.0, -2.7182817),  # ratio e, which A < 0 loses by
        (-1.0, -1.0, 0.0),  # ratio 1 / e, which A < 0 would gain by
    ],
)
def test_ppo_learns_nothing_beyond_the_clip(advantage, old, expected, backend):
    inputs = [np.array([x], "float32") for x in (-1.0, 0.0, 0.0, old, 0.0, advantage, 0.0)]
    found = slope(PPOLoss(vf_coef=0.0, normalize_advantage=False), "log_probs", inputs, backend)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-7)


# -- IMPALA ---------------------------------------------------------------------------------------
def impala(loss, backend):
    spaces = {
        **dict.fromkeys(
            ["log_probs", "behaviour_log_probs", "entropies", "values", "rewards", "final_values"],
            FloatBox(ranks="TB"),
        ),
        **dict.fromkeys(["terminals", "truncations"], BoolBox(ranks="TB")),
        "bootstrap": FloatBox(),
        "weights": FloatBox(),
    }
    return ComponentTest(loss, spaces, backend)


def test_impala_sums_over_time(backend):
    log_probs = np.array([[-1.0], [-2.0]], "float32")  # On-policy: the targets are returns.
    rewards, values = np.array([[3.0], [0.5]], "float32"), np.array([[1.0], [2.0]], "float32")
    ends, no_ends = np.array([[False], [True]]), np.array([[False], [False]])
    test = impala(IMPALALoss(0.5, vf_coef=0.5, ent_coef=0.1, reward_clip=1.0), backend)
    # Rewards 1 and 0.5; targets 1.25 and 0.5; advantages 0.25 and -1.5.
    policy, value, entropy = 0.25 - 3.0, 0.5 * (0.0625 + 2.25), 1.0
    expected = policy + 0.5 * value - 0.1 * entropy
    inputs = (log_probs, log_probs, 0.5 * np.ones((2, 1)), values, [9.0], rewards, ends)
    loss, items, means = test.call("loss", *inputs)
    np.testing.assert_allclose(items, [expected], rtol=1e-5)
    np.testing.assert_allclose(loss, expected, rtol=1e-5)
    np.testing.assert_allclose(means["policy_loss"], policy / 2, rtol=1e-5)
    np.testing.assert_allclose(means["value_loss"], value / 2, rtol=1e-5)
    # The same end by a time limit, in a state worth 0; then in one worth 4.
    for worth, last in ((0.0, 0.5), (4.0, 2.5)):
        final = np.full((2, 1), worth, "float32")
        _, _, means = test.call("loss", *inputs[:-1], no_ends, ends, final)
        found = 0.5 * ((1.0 + 0.5 * last - 1.0) ** 2 + (last - 2.0) ** 2)
        np.testing.assert_allclose(means["value_loss"], found / 2, rtol=1e-5)


def test_impala_takes_sequences_in_both_orders(backend):
    def space(ranks, kind=FloatBox):
        return kind(ranks=ranks)

    rng = np.random.default_rng(0)
    numbers = [rng.normal(size=(5, 3)).astype("float32") for _ in range(5)]
    ends = [rng.random((5, 3)) < 0.3 for _ in range(2)]
    final, bootstrap = rng.normal(size=(2, 5, 3)).astype("float32")
    log_probs, behaviour, entropies, values, rewards = numbers
    found = {}
    for ranks in ("TB", "BT"):
        names = ("log_probs", "behaviour_log_probs", "entropies", "values", "rewards")
        spaces = {
            **dict.fromkeys((*names, "final_values"), space(ranks)),
            **dict.fromkeys(("terminals", "truncations"), space(ranks, BoolBox)),
            "bootstrap": FloatBox(),
        }
        test = ComponentTest(IMPALALoss(0.9, ent_coef=0.1), spaces, backend)
        order = (lambda x: x) if ranks == "TB" else (lambda x: x.T)
        found[ranks] = test.call(
            "loss",
            *map(order, (log_probs, behaviour, entropies, values)),
            bootstrap[0],
            *map(order, (rewards, *ends, final)),
        )
    (loss, items, means), (same, others, equal) = found["TB"], found["BT"]
    assert items.shape == others.shape == (3,)
    np.testing.assert_allclose(same, loss, rtol=1e-5)
    np.testing.assert_allclose(others, items, rtol=1e-5)
    for name, value in means.items():
        np.testing.assert_allclose(equal[name], value, rtol=1e-5, err_msg=name)


# -- errors ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("loss", "message"),
    [
        (A2CLoss(vf_coef=-1.0), "a2c-loss: vf_coef must be at least 0, got -1.0"),
        (A2CLoss(ent_coef=-0.1), "ent_coef must be at least 0, got -0.1"),
        (PPOLoss(clip_range=0.0), "ppo-loss: clip_range must be positive, got 0.0"),
        (PPOLoss(clip_range_vf=-1.0), "clip_range_vf must be positive, got -1.0"),
    ],
)
def test_numbers_out_of_range_are_refused(loss, message):
    with pytest.raises(ComponentError, match=message):
        built(loss, "numpy")


def test_a_bound_of_rewards_must_be_positive():
    with pytest.raises(ComponentError, match=r"reward_clip must be positive or None, got 0\.0"):
        impala(IMPALALoss(reward_clip=0.0), "numpy")


@pytest.mark.parametrize("name", ["log_probs", "entropies", "values"])
def test_one_number_for_each_item(name):
    with pytest.raises(SpaceError, match=f"`{name}` is .*one float for each item. Sum it"):
        built(A2CLoss(), "numpy", **{name: FloatBox(shape=(2,))})
