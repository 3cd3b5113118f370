"""Distributions against torch.distributions and scipy, on every backend."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
import scipy.stats
import torch
import torch.distributions as td

from rlg.errors import ComponentError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.distributions.bernoulli import Bernoulli
from rlg.graph.components.distributions.beta import Beta
from rlg.graph.components.distributions.categorical import MASKED, Categorical
from rlg.graph.components.distributions.mixture import NormalMixture
from rlg.graph.components.distributions.normal import DiagNormal, Normal
from rlg.graph.components.distributions.squashed_normal import SquashedNormal
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.spaces import Box, Dict, flatten, map_leaves
from rlg.testing import ComponentTest

LOW, HIGH = np.array([-2.0, 0.0, 1.0]), np.array([1.0, 0.5, 5.0])
BOUNDS = {"low": LOW.tolist(), "high": HIGH.tolist()}


def normal(p):
    return td.Normal(p["mean"], p["log_std"].exp())


def squashed(p):
    scale = torch.tensor(HIGH - LOW, dtype=torch.float64) / 2
    affine = td.AffineTransform(torch.tensor(HIGH + LOW) / 2, scale)
    return td.TransformedDistribution(normal(p), [td.TanhTransform(cache_size=1), affine])


def beta(p):
    affine = td.AffineTransform(torch.tensor(LOW), torch.tensor(HIGH - LOW))
    return td.TransformedDistribution(td.Beta(p["alpha"], p["beta"]), [affine])


def mixture(p):
    return td.MixtureSameFamily(td.Categorical(logits=p["logits"]), normal(p))


def rows(seed, *shape, low=-2.0, high=2.0):
    return np.random.default_rng(seed).uniform(low, high, (5, *shape)).astype("float32")


def normals(seed, *shape):
    return {"mean": rows(seed, *shape), "log_std": rows(seed + 1, *shape, low=-1.5, high=0.5)}


def shapes(seed):
    return {"alpha": rows(seed, 3, low=0.5, high=5.0), "beta": rows(seed + 1, 3, low=1.2, high=5.0)}


INSIDE = (LOW + (HIGH - LOW) * rows(3, 3, low=0.05, high=0.95)).astype("float32")
# name: component, oracle, parameters by seed, values
CASES: dict[str, Any] = {
    "categorical": (
        Categorical,
        lambda p: td.Categorical(logits=p),
        lambda seed: rows(seed, 2, 4),
        np.random.default_rng(0).integers(0, 4, (5, 2)),
    ),
    "bernoulli": (
        Bernoulli,
        lambda p: td.Bernoulli(logits=p),
        lambda seed: rows(seed, 3, low=-4.0, high=4.0),
        rows(7, 3) > 0,
    ),
    "normal": (Normal, normal, lambda seed: normals(seed, 3), rows(3, 3)),
    "diag_normal": (
        DiagNormal,
        lambda p: td.Independent(normal(p), 1),
        lambda seed: normals(seed, 3),
        rows(3, 3),
    ),
    "squashed_normal": (
        lambda: SquashedNormal(**BOUNDS),
        squashed,
        lambda seed: normals(seed, 3),
        INSIDE,
    ),
    "beta": (lambda: Beta(**BOUNDS), beta, shapes, INSIDE),
    "normal_mixture": (
        NormalMixture,
        mixture,
        lambda seed: {"logits": rows(seed + 9, 3, 2), **normals(seed, 3, 2)},
        rows(3, 3),
    ),
}
NO_CLOSED_ENTROPY = ("squashed_normal", "normal_mixture")
each = pytest.mark.parametrize("name", CASES)


def box(values: Any) -> Box:
    return Box(values.shape[1:], str(values.dtype))


@cache
def built(name: str, backend: str) -> ComponentTest:
    make, _, parameters, values = CASES[name]
    sample = parameters(0)
    space = (
        Dict({k: box(v) for k, v in sample.items()}) if isinstance(sample, dict) else box(sample)
    )
    spaces = {"parameters": space, "other": space, "values": box(values)}
    return ComponentTest(make(), spaces, backend)


def oracle(name: str, seed: int) -> Any:
    """In float64."""
    _, distribution, parameters, _ = CASES[name]
    return distribution(
        map_leaves(lambda x: torch.tensor(x, dtype=torch.float64), parameters(seed))
    )


@each
def test_log_probs_are_those_of_torch(name, backend):
    _, _, parameters, values = CASES[name]
    as_float = torch.tensor(values, dtype=torch.float64)
    expected = oracle(name, 0).log_prob(as_float).numpy()
    built(name, backend).test("log_prob", parameters(0), values, expected=expected, tolerance=2e-5)


@pytest.mark.parametrize("name", [name for name in CASES if name != "normal_mixture"])
def test_entropies_and_divergences_are_those_of_torch(name, backend):
    test, parameters = built(name, backend), CASES[name][2]
    p, q = oracle(name, 0), oracle(name, 20)
    if name in ("squashed_normal", "beta"):  # Both are changed alike.
        kl = td.kl_divergence(p.base_dist, q.base_dist).numpy()
    else:
        kl = td.kl_divergence(p, q).numpy()
    test.test("kl", parameters(0), parameters(20), expected=kl, tolerance=2e-5)
    if name not in NO_CLOSED_ENTROPY:
        is_beta = name == "beta"
        entropy = (
            p.base_dist.entropy() + torch.tensor(np.log(HIGH - LOW)) if is_beta else p.entropy()
        )
        test.test("entropy", parameters(0), expected=entropy.numpy(), tolerance=2e-5)


def test_modes(backend):
    logits = np.array([[[0.0, 2.0, 1.0, 2.0], [5.0, 0.0, 0.0, 0.0]]], "float32")
    np.testing.assert_array_equal(built("categorical", backend).call("mode", logits), [[1, 0]])
    logits = np.array([[-0.1, 0.0, 0.1]], "float32")
    np.testing.assert_array_equal(
        built("bernoulli", backend).call("mode", logits), [[False, False, True]]
    )
    one = {"mean": [[0.0, 0.5, -0.5]], "log_std": np.zeros((1, 3))}
    one = map_leaves(lambda x: np.asarray(x, "float32"), one)
    built("normal", backend).test("mode", one, expected=one["mean"])
    # tanh(0.5) = 0.4621172
    expected = [[-0.5, 0.25 + 0.25 * 0.4621172, 3.0 - 2.0 * 0.4621172]]
    built("squashed_normal", backend).test("mode", one, expected=expected)
    # Beta(3, 2) has its peak at 2/3, Beta(1/2, 3/2) none: its mean is 1/4.
    p = {"alpha": [[3.0, 0.5, 2.0]], "beta": [[2.0, 1.5, 2.0]]}
    p = map_leaves(lambda x: np.asarray(x, "float32"), p)
    built("beta", backend).test("mode", p, expected=[[0.0, 0.125, 3.0]])


def draws(name, parameters, n=4000, backend="numpy"):
    """The same parameters n times."""
    many = map_leaves(lambda x: np.repeat(x[:1], n, 0), parameters)
    return built(name, backend).call("sample", many), many


@each
def test_draws_are_equal_on_every_backend(name, backend):
    parameters = map_leaves(lambda x: np.tile(x, (200, *[1] * (x.ndim - 1))), CASES[name][2](0))
    streams = []
    for one in ("numpy", backend):
        executor = built(name, one).executor
        executor.set_state(first_state(name, one))
        streams.append(executor.execute("sample", parameters))
    if streams[0].dtype.kind == "f":
        close = np.isclose(*streams, rtol=1e-4, atol=1e-5)
    else:
        close = streams[0] == streams[1]
    assert close.mean() > 0.999  # A last bit may decide a comparison otherwise.


@cache
def first_state(name: str, backend: str) -> Any:
    test = built(name, backend)
    fresh = ComponentTest(CASES[name][0](), test.executor.builder.spaces, backend)
    return fresh.executor.get_state()


@pytest.mark.parametrize("name", ["normal", "squashed_normal", "beta", "normal_mixture"])
def test_draws_follow_their_distribution(name):
    values, _ = draws(name, CASES[name][2](0))
    q = CASES[name][2](0)
    for column in range(3):
        if name == "beta":
            width = HIGH[column] - LOW[column]
            cdf = scipy.stats.beta(
                q["alpha"][0, column], q["beta"][0, column], LOW[column], width
            ).cdf
        else:

            def cdf(x, column=column):
                grid = torch.zeros(len(x), 3, dtype=torch.float64) + torch.tensor((LOW + HIGH) / 2)
                grid[:, column] = torch.tensor(x, dtype=torch.float64)
                clones = map_leaves(lambda t: torch.tensor(t[:1], dtype=torch.float64), q)
                return CASES[name][1](clones).cdf(grid)[:, column].numpy()

        result = scipy.stats.kstest(values[:, column].astype("float64"), cdf)
        assert result.pvalue > 0.01, (column, result)


def test_beta_draws_with_small_shapes_and_large_ones():
    shapes = {"alpha": [[0.3, 0.9, 30.0]], "beta": [[0.6, 4.0, 1.0]]}
    values, _ = draws("beta", map_leaves(lambda x: np.asarray(x, "float32"), shapes))
    for column, (a, b) in enumerate(zip(shapes["alpha"][0], shapes["beta"][0], strict=True)):
        known = scipy.stats.beta(a, b, LOW[column], HIGH[column] - LOW[column])
        result = scipy.stats.kstest(values[:, column].astype("float64"), known.cdf)
        assert result.pvalue > 0.01, (column, result)


def test_choices_are_drawn_by_their_probabilities():
    logits = np.array([[[0.0, 1.0, -2.0, MASKED], [MASKED, 3.0, 3.0, MASKED]]], "float32")
    values, _ = draws("categorical", logits, 20_000)
    for row, (chosen, logit) in enumerate(zip(values.T, logits[0], strict=True)):
        counts = np.bincount(chosen, minlength=4)
        p = scipy.special.softmax(logit.astype("float64"))
        assert (counts[p == 0] == 0).all()
        result = scipy.stats.chisquare(counts[p > 0], p[p > 0] * len(chosen))
        assert result.pvalue > 0.01, row


def test_coins_fall_by_their_probabilities():
    logits = np.array([[-3.0, 0.0, 1.0]], "float32")
    values, _ = draws("bernoulli", logits, 20_000)
    np.testing.assert_allclose(values.mean(0), scipy.special.expit(logits[0]), atol=0.012)


@pytest.mark.parametrize("name", NO_CLOSED_ENTROPY)
def test_estimated_entropies_have_no_bias(name):
    n = 40_000
    _, many = draws(name, CASES[name][2](0), n)
    estimates = built(name, "numpy").call("entropy", many)
    torch.manual_seed(0)
    p = oracle(name, 0)
    x = p.sample((n,))
    expected = -p.log_prob(x)[:, 0].numpy()
    error = np.sqrt(estimates.var(0) / n + expected.var(0) / n)
    assert (np.abs(estimates.mean(0) - expected.mean(0)) < 4 * error).all()


def test_the_divergence_of_mixtures_is_estimated(backend):
    test, parameters = built("normal_mixture", backend), CASES["normal_mixture"][2]
    np.testing.assert_allclose(test.call("kl", parameters(0), parameters(0)), 0.0, atol=1e-6)
    p, q = (map_leaves(lambda x: np.repeat(x[:1], 4000, 0), parameters(s)) for s in (0, 20))
    assert (test.call("kl", p, q).mean(0) > 0.0).all()


@each
def test_a_draw_comes_with_its_log_probability(name, backend):
    test, parameters = built(name, backend), CASES[name][2](0)
    values, log_probs = test.call("sample_log_prob", parameters)
    test.test("log_prob", parameters, values, expected=log_probs, tolerance=2e-3)


@pytest.mark.parametrize("mean", [-30.0, 12.0, 30.0])
def test_a_saturated_draw_has_an_exact_log_probability(mean, backend):
    test = built("squashed_normal", backend)
    p = {
        "mean": np.full((50, 3), mean, "float32"),
        "log_std": np.full((50, 3), -2.0, "float32"),
    }
    values, log_probs = test.call("sample_log_prob", p)
    assert (values >= LOW).all()
    assert (values <= HIGH).all()
    # log p = log N(u) + 2 |u| - log 4 - log((high - low) / 2), with u near the mean.
    expected = 2 * abs(mean) - np.log(4) - np.log((HIGH - LOW) / 2) + 2.0 - 0.9189385 - 0.5
    np.testing.assert_allclose(log_probs.mean(0), expected, atol=0.7)


# -- gradients ------------------------------------------------------------------------------------
class Model(Component):
    """Parameters as variables."""

    def __init__(self, values: Any) -> None:
        self.values = {"/".join(map(str, k)) or "logits": v for k, v in flatten(values).items()}
        self.is_nested = isinstance(values, dict)

    def create_variables(self) -> None:
        self._parts = {
            name: self.variable(name, value.shape, value=value, trainable=True)
            for name, value in self.values.items()
        }

    @api
    @graph_fn
    def parameters(self) -> Tensor:
        parts = {name: part + 0.0 for name, part in self._parts.items()}
        return parts if self.is_nested else parts["logits"]


class Learner(Component):
    def __init__(self, distribution: Any, parameters: Any) -> None:
        self.model = Model(parameters)
        self.distribution = distribution
        self.optimizer = SGD()

    @api
    def log_prob_gradients(self, values: Any) -> Any:
        total = self.total(self.distribution.log_prob(self.model.parameters(), values))
        return self.optimizer.gradients(total, self.model.variables())

    @api
    def entropy_gradients(self) -> Any:
        total = self.total(self.distribution.entropy(self.model.parameters()))
        return self.optimizer.gradients(total, self.model.variables())

    @api
    def sample_gradients(self) -> Any:
        _, log_probs = self.distribution.sample_log_prob(self.model.parameters())
        return self.optimizer.gradients(self.total(log_probs), self.model.variables())

    @api
    def apply(self, gradients: Any) -> Any:
        return self.optimizer.apply(self.model.variables(), gradients)

    @graph_fn
    def total(self, log_probs: Tensor) -> Tensor:
        return self.ops.sum(log_probs)


def learner(distribution, parameters, values, backend, apis):
    test_parameters = map_leaves(lambda x: x.astype("float32"), parameters)
    learner = Learner(distribution, test_parameters)
    gradients = Dict({name: Box(v.shape, ranks="") for name, v in learner.model.values.items()})
    spaces = {"values": Box(values.shape, str(values.dtype), ranks=""), "gradients": gradients}
    return ComponentTest(learner, spaces, backend, apis=[*apis, "apply"])


@each
@pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
def test_gradients_of_log_probs_are_those_of_torch(name, backend):
    make, distribution, parameters, values = CASES[name]
    leaves = map_leaves(
        lambda x: torch.tensor(x, dtype=torch.float64, requires_grad=True), parameters(0)
    )
    distribution(leaves).log_prob(torch.tensor(values, dtype=torch.float64)).sum().backward()
    test = learner(make(), parameters(0), values, backend, ["log_prob_gradients"])
    got = test.call("log_prob_gradients", values)
    for path, leaf in flatten(leaves).items():
        key = path[0] if path else "logits"
        np.testing.assert_allclose(got[key], leaf.grad.numpy(), rtol=2e-4, atol=2e-4)


@pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
def test_masks_and_saturation_leave_gradients_finite(backend):
    logits = np.array([[0.5, MASKED, 1.0], [MASKED, MASKED, 2.0]], "float32")
    apis = ["log_prob_gradients", "entropy_gradients", "sample_gradients"]
    values = np.array([0, 2])
    test = learner(Categorical(), logits, values, backend, apis)
    p = scipy.special.softmax([0.5, 1.0])
    expected = [[1 - p[0], 0.0, -p[1]], [0.0, 0.0, 0.0]]
    got = test.call("log_prob_gradients", values)["logits"]
    np.testing.assert_allclose(got, expected, atol=1e-6)
    for name in apis[1:]:
        assert np.isfinite(test.call(name)["logits"]).all()
    far = {"mean": np.full((2, 3), 40.0), "log_std": np.full((2, 3), -5.0)}
    test = learner(SquashedNormal(**BOUNDS), far, INSIDE[:2], backend, apis)
    for name in apis[1:]:
        assert all(np.isfinite(g).all() for g in test.call(name).values())
    # d log p / d mean = d 2u / d u where tanh saturates: the noise cancels in log N.
    np.testing.assert_allclose(test.call("sample_gradients")["mean"], 2.0, rtol=1e-5)


@pytest.mark.parametrize(
    ("low", "high"), [(1.0, 1.0), (0.0, np.inf), (-3e38, 3e38), ([0.0, 1.0], [1.0, 0.5])]
)
@pytest.mark.parametrize("make", [SquashedNormal, Beta])
def test_bounds_must_be_finite_and_in_order(make, low, high):
    spaces = {"parameters": Dict(mean=Box((2,)), log_std=Box((2,)))}
    with pytest.raises(ComponentError, match="give finite ones with low < high"):
        ComponentTest(make(low, high), spaces, apis=["mode"])


def test_values_outside_of_the_bounds_are_taken_to_be_inside(backend):
    p = {k: np.ones((1, 3), "float32") * 2.0 for k in ("alpha", "beta")}
    log_probs = built("beta", backend).call("log_prob", p, (HIGH[None] + 1).astype("float32"))
    assert np.isfinite(log_probs).all()
