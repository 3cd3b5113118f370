"""Returns by literal numbers and by a loop in plain Python, on every backend."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.components.returns.discounted import DiscountedSum
from rlg.graph.components.returns.gae import GAE
from rlg.graph.components.returns.lambda_returns import LambdaReturns
from rlg.graph.components.returns.n_step import NStepReturns
from rlg.graph.components.returns.vtrace import VTrace
from rlg.graph.spaces import BoolBox, Box, FloatBox
from rlg.testing import ComponentTest

FLOATS = ("rewards", "values", "final_values", "log_probs", "behaviour_log_probs")


def spaces(component, ranks):
    names = {p.name for m in component.api_methods().values() for p in m.parameters}
    known = {
        **dict.fromkeys(FLOATS, FloatBox(ranks=ranks)),
        **dict.fromkeys(["terminals", "truncations"], BoolBox(ranks=ranks)),
        "bootstrap": FloatBox(ranks=ranks.replace("T", "")),
    }
    return {name: space for name, space in known.items() if name in names}


def built(component, backend, ranks="TB"):
    return ComponentTest(component, spaces(component, ranks), backend, apis=["call"])


# One column of four steps: truncated after the second (into a state worth 100), terminal at the
# third, open at the end (into a state worth 10).
REWARDS = np.array([[1.0], [2.0], [4.0], [8.0]], "float32")
VALUES = np.array([[16.0], [32.0], [64.0], [128.0]], "float32")
BOOTSTRAP = np.array([10.0], "float32")
TERMINALS = np.array([[False], [False], [True], [False]])
TRUNCATIONS = np.array([[False], [True], [False], [False]])
FINAL_VALUES = np.array([[-1.0], [100.0], [-1.0], [-1.0]], "float32")
EPISODES = (REWARDS, VALUES, BOOTSTRAP, TERMINALS, TRUNCATIONS, FINAL_VALUES)


@pytest.mark.parametrize(
    ("n_step", "expected"),
    [
        (1, [1 + 16, 2 + 50, 4, 8 + 5]),
        (2, [1 + 1 + 25, 2 + 50, 4, 8 + 5]),
        (5, [1 + 1 + 25, 2 + 50, 4, 8 + 5]),
        (None, [1 + 1 + 25, 2 + 50, 4, 8 + 5]),
    ],
)
def test_n_step_returns_stop_at_ends_and_bootstrap_after_truncations(n_step, expected, backend):
    test = built(NStepReturns(0.5, n_step), backend)
    test.test("call", *EPISODES, expected=np.array(expected)[:, None])


def test_without_truncations_rows_follow_each_other(backend):
    test = built(NStepReturns(0.5, 2), backend)
    expected = [[1 + 1 + 16], [2 + 2], [4], [8 + 5]]
    test.test("call", *EPISODES[:4], expected=expected)


def test_a_truncation_without_a_final_value_takes_the_value_before(backend):
    test = built(NStepReturns(0.5, 1), backend)
    test.test("call", *EPISODES[:5], expected=[[17.0], [2.0 + 16.0], [4.0], [13.0]])


def test_gae_tells_terminals_and_truncations_apart(backend):
    test = built(GAE(0.5, 0.5), backend)
    # TD errors: 1 + 16 - 16, 2 + 50 - 32, 4 - 64, 8 + 5 - 128; only the first sees a later one.
    advantages = np.array([[1 + 0.25 * 20], [20.0], [-60.0], [-115.0]])
    test.test("call", *EPISODES, expected=(advantages, advantages + VALUES))


def transposed(component, inputs, backend):
    """The result in batch-major order, brought into time-major order."""
    turned = [x.T if x.ndim == 2 else x for x in inputs]
    outputs = built(component, backend, "BT").call("call", *turned)
    return [x.T for x in (outputs if isinstance(outputs, tuple) else (outputs,))]


def random_episodes(t=5, b=3):
    rng = np.random.default_rng(3)
    ends = rng.random((t, b))
    floats = rng.standard_normal((4, t, b)).astype("float32")
    return (
        floats[0],
        floats[1],
        rng.standard_normal(b).astype("float32"),
        ends < 0.25,
        ends > 0.75,
        floats[2],
    )


def oracle_gae(rewards, values, bootstrap, terminals, truncations, final_values, gamma, lam):
    """The definition, item by item."""
    steps, batch = rewards.shape
    advantages = np.zeros((steps, batch))
    for b in range(batch):
        later = 0.0
        for t in reversed(range(steps)):
            following = values[t + 1, b] if t + 1 < steps else bootstrap[b]
            if truncations[t, b]:
                following, later = final_values[t, b], 0.0
            if terminals[t, b]:
                following, later = 0.0, 0.0
            later = rewards[t, b] + gamma * following - values[t, b] + gamma * lam * later
            advantages[t, b] = later
    return advantages


def test_gae_follows_its_definition_in_both_orders(backend):
    inputs = random_episodes()
    expected = oracle_gae(*inputs, 0.9, 0.8)
    advantages, returns = built(GAE(0.9, 0.8), backend).call("call", *inputs)
    np.testing.assert_allclose(advantages, expected, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(returns, expected + inputs[1], rtol=1e-5, atol=1e-5)
    advantages, returns = transposed(GAE(0.9, 0.8), inputs, backend)
    np.testing.assert_allclose(advantages, expected, rtol=1e-5, atol=1e-5)


def test_lambda_one_gives_the_longest_returns(backend):
    inputs = random_episodes()
    _, returns = built(GAE(0.9, 1.0), backend).call("call", *inputs)
    test = built(NStepReturns(0.9), backend)
    test.test("call", *inputs, expected=returns)
    np.testing.assert_allclose(
        transposed(NStepReturns(0.9, 5), inputs, backend)[0], returns, rtol=1e-5, atol=1e-5
    )


def oracle_vtrace(weights, rewards, values, bootstrap, *masks, gamma, rho_bar, c_bar, pg_rho_bar):
    """Espeholt et al. (2018), equation 1 as it stands there, for each step from scratch."""
    terminals, truncations, final_values = masks
    steps, batch = rewards.shape
    following = np.vstack([values[1:], bootstrap[None]])
    following = np.where(terminals, 0.0, np.where(truncations, final_values, following))
    delta = np.minimum(weights, rho_bar) * (rewards + gamma * following - values)
    targets = values.astype("float64")
    for b in range(batch):
        for s in range(steps):
            trace = 1.0
            for t in range(s, steps):
                targets[s, b] += gamma ** (t - s) * trace * delta[t, b]
                trace *= min(weights[t, b], c_bar)
                if terminals[t, b] or truncations[t, b]:
                    break
    after = np.vstack([targets[1:], bootstrap[None]])
    after = np.where(terminals, 0.0, np.where(truncations, final_values, after))
    advantages = np.minimum(weights, pg_rho_bar) * (rewards + gamma * after - values)
    return targets, advantages


def test_vtrace_follows_its_definition_in_both_orders(backend):
    inputs = random_episodes()
    log_probs = np.random.default_rng(4).uniform(-2, 0, (2, 5, 3)).astype("float32")
    bounds = {"rho_bar": 1.5, "c_bar": 0.9, "pg_rho_bar": 1.2}
    weights = np.exp(log_probs[0] - log_probs[1])
    targets, advantages = oracle_vtrace(weights, *inputs, gamma=0.9, **bounds)
    test = built(VTrace(0.9, **bounds), backend)
    test.test("call", *log_probs, *inputs, expected=(targets, advantages, weights))
    found = transposed(VTrace(0.9, **bounds), (*log_probs, *inputs), backend)
    for got, wanted in zip(found, (targets, advantages, weights), strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-5)


def test_discounted_sums_start_from_a_bootstrap(backend):
    shape = {"inputs": FloatBox(ranks="TB"), "ends": BoolBox(ranks="TB"), "bootstrap": FloatBox()}
    test = ComponentTest(DiscountedSum(0.5), shape, backend)
    ends = np.array([[False, False], [True, False]])
    ones = np.ones((2, 2), "float32")
    test.test("call", ones, ends, [8.0, 8.0], expected=[[1.5, 3.5], [1.0, 5.0]])
    test.test("call", ones, ends, expected=[[1.5, 1.5], [1.0, 1.0]])
    assert test.call("steps_left", ends).tolist() == [[2, 2], [1, 1]]
    assert test.call("steps_left", ends).dtype == "int64"


def test_decays_start_again_behind_each_end(backend):
    test = ComponentTest(
        DiscountedSum(0.5), {"ends": BoolBox(ranks="BT")}, backend, apis=["decays"]
    )
    ends = np.array([[False, False, True, False, False], [True, False, False, False, True]])
    expected = [[1.0, 0.5, 0.25, 1.0, 0.5], [1.0, 1.0, 0.5, 0.25, 0.125]]
    test.test("decays", ends, expected=expected)
    none = ComponentTest(
        DiscountedSum(0.0), {"ends": BoolBox(ranks="BT")}, backend, apis=["decays"]
    )
    none.test("decays", ends[:1], expected=[[1.0, 0.0, 0.0, 1.0, 0.0]])


@pytest.mark.parametrize(
    ("lambda_", "expected"),
    [
        # 3 + 0.9 * 30 = 30; 2 + 0 (an end); 1 + 0.5 * 2.
        (1.0, [2.0, 2.0, 30.0]),
        (0.0, [1.0 + 0.5 * 10.0, 2.0, 30.0]),
        (0.8, [1.0 + 0.5 * (0.2 * 10.0 + 0.8 * 2.0), 2.0, 30.0]),
    ],
)
def test_lambda_returns_have_a_discount_for_each_step(backend, lambda_, expected):
    names = ("rewards", "discounts", "next_values")
    spaces = dict.fromkeys(names, FloatBox(ranks="TB"))
    given = ([[1.0], [2.0], [3.0]], [[0.5], [0.0], [0.9]], [[10.0], [20.0], [30.0]])
    test = ComponentTest(LambdaReturns(lambda_), spaces, backend)
    test.test("call", *given, expected=np.array(expected)[:, None])
    swapped = ComponentTest(
        LambdaReturns(lambda_), dict.fromkeys(names, FloatBox(ranks="BT")), backend
    )
    swapped.test("call", *(np.transpose(x) for x in given), expected=[expected])


class Estimate(Component):
    """Values are w * states; the loss has w in it once more."""

    def create_variables(self) -> None:
        self._w = self.variable("w", value=2.0, trainable=True)

    @api
    @graph_fn
    def values(self, states: Tensor) -> Tensor:
        return self._w * states

    @api
    @graph_fn
    def total(self, advantages: Tensor, returns: Tensor) -> Tensor:
        return self.ops.sum(advantages) + self.ops.sum(returns) + 3.0 * self._w


class Critic(Component):
    def __init__(self) -> None:
        self.estimate = Estimate()
        self.gae = GAE(0.5, 0.5)
        self.optimizer = SGD()

    @api
    def gradients(self, states: Any, bootstrap: Any, terminals: Any) -> Any:
        values = self.estimate.values(states)
        loss = self.estimate.total(*self.gae.call(states, values, bootstrap, terminals))
        return self.optimizer.gradients(loss, self.estimate.variables())


@pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
def test_returns_are_constants_for_gradients(backend):
    test = ComponentTest(
        Critic(),
        {"states": Box(ranks="TB"), "bootstrap": Box(), "terminals": BoolBox(ranks="TB")},
        backend,
    )
    gradients = test.call("gradients", REWARDS, BOOTSTRAP, TERMINALS)
    assert gradients["w"] == 3.0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rewards": FloatBox()}, "without time. Give sequences"),
        ({"rewards": FloatBox(shape=(2,), ranks="TB")}, "one float for each step"),
        ({"terminals": FloatBox(ranks="TB")}, r"Give a BoolBox\(ranks='TB'\)"),
        ({"truncations": BoolBox(ranks="BT")}, "`truncations` is .* beside sequences of .*'TB'"),
        ({"bootstrap": FloatBox(ranks="TB")}, r"`bootstrap` is .*FloatBox\(ranks='B'\)"),
    ],
)
def test_spaces_that_are_no_sequences_are_refused(changes, message):
    gae = GAE()
    with pytest.raises(SpaceError, match=f"gae: .*{message}"):
        ComponentTest(gae, {**spaces(gae, "TB"), **changes}, "numpy")


def test_numbers_out_of_range_are_refused():
    with pytest.raises(ComponentError, match=r"gamma must be between 0 and 1, got 1\.5"):
        built(GAE(1.5), "numpy")
    shape = {"inputs": FloatBox(ranks="T"), "ends": BoolBox(ranks="T")}
    with pytest.raises(ComponentError, match="gamma must be between 0 and 1, got -1"):
        ComponentTest(DiscountedSum(-1), shape)
    with pytest.raises(ComponentError, match=r"gae_lambda must be between 0 and 1, got 2\.0"):
        GAE(gae_lambda=2.0)
    with pytest.raises(ComponentError, match="n_step must be at least 1, or None for all, got 0"):
        NStepReturns(n_step=0)
    with pytest.raises(ComponentError, match="c_bar <= rho_bar"):
        VTrace(c_bar=2.0)
