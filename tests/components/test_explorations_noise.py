"""Noise on continuous actions, and how much the actors of Ape-X explore."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.stats

from rlg.errors import ComponentError, SpaceError
from rlg.graph.components.explorations.apex import apex_epsilons
from rlg.graph.components.explorations.epsilon_greedy import EpsilonGreedy
from rlg.graph.components.explorations.noise import GaussianNoise, OrnsteinUhlenbeckNoise
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox
from rlg.testing import ComponentTest

FREE = FloatBox(shape=(2,))
TIGHT = FloatBox([-1.0, 0.0], [1.0, 0.5], (2,))


def noisy(component, backend, **spaces):
    return ComponentTest(component, {"actions": FREE, **spaces}, backend)


def test_gaussian_noise_is_normal(backend):
    test = noisy(GaussianNoise(FREE, mean=1.0, sigma=0.5), backend)
    actions = np.full((2000, 2), 3.0, "float32")
    noise = test.call("explore", actions) - 3.0
    for column in noise.T:
        assert scipy.stats.kstest((column - 1.0) / 0.5, "norm").pvalue > 0.01
    assert abs(np.corrcoef(noise.T)[0, 1]) < 0.05
    assert (test.call("explore", actions) - 3.0 != noise).any()


@pytest.mark.parametrize(
    "make", [GaussianNoise, lambda space, **o: OrnsteinUhlenbeckNoise(space, 100, **o)]
)
def test_noisy_actions_stay_in_the_action_space(make, backend):
    test = noisy(make(TIGHT, sigma=2.0), backend)
    actions = test.call("explore", np.zeros((100, 2), "float32"))
    assert TIGHT.why_not(actions) is None
    assert set(np.unique(actions[:, 1])) >= {0.0, 0.5}


def test_bounds_may_be_on_one_side(backend):
    space = FloatBox(0.0, None, (2,))
    actions = noisy(GaussianNoise(space), backend).call("explore", np.zeros((100, 2), "float32"))
    assert actions.min() == 0.0
    assert actions.max() > 0.1


@pytest.mark.parametrize(
    ("scale", "space"),
    [(0.0, FloatBox(ranks="")), ([1.0, 0.0, 2.0], FloatBox())],
)
def test_a_scale_is_for_all_environments_or_for_each(scale, space, backend):
    test = noisy(GaussianNoise(FREE, sigma=1.0), backend, scale=space)
    state, actions = test.executor.get_state(), np.zeros((3, 2), "float32")
    plain = test.call("explore", actions)
    test.executor.set_state(state)
    scaled = test.call("explore", actions, np.asarray(scale, "float32"))
    np.testing.assert_allclose(scaled, plain * np.reshape(scale, (-1, 1)), rtol=1e-6)


def test_ornstein_uhlenbeck_noise_by_hand(backend):
    noise = OrnsteinUhlenbeckNoise(FREE, 3, mean=2.0, sigma=0.0, theta=0.5)
    test = noisy(noise, backend, resets=BoolBox())
    zeros = np.zeros((3, 2), "float32")
    test.write({"x": [[0.0, 4.0], [2.0, 2.0], [8.0, 0.0]]})
    test.test("explore", zeros + 10.0, expected=[[11.0, 13.0], [12.0, 12.0], [15.0, 11.0]])
    np.testing.assert_allclose(test.read("x"), [[1.0, 3.0], [2.0, 2.0], [5.0, 1.0]])
    resets = np.array([False, False, True])
    test.test("explore", zeros, resets, expected=[[1.5, 2.5], [2.0, 2.0], [2.0, 2.0]])
    test.call("reset")
    np.testing.assert_allclose(test.read("x"), np.full((3, 2), 2.0))


def test_a_smaller_step_in_time_drifts_less(backend):
    noise = OrnsteinUhlenbeckNoise(FREE, 2000, sigma=1.0, theta=0.5, dt=0.25)
    test = noisy(noise, backend)
    test.write({"x": np.full((2000, 2), 8.0)})
    x = test.call("explore", np.zeros((2000, 2), "float32"))
    np.testing.assert_allclose(x.mean(0), 8.0 - 0.5 * 0.25 * 8.0, atol=0.05)
    np.testing.assert_allclose(x.std(0), 0.5, atol=0.03)


def test_environments_that_are_not_stepped_keep_their_noise(backend):
    test = noisy(OrnsteinUhlenbeckNoise(FREE, 3), backend)
    test.call("explore", np.zeros((3, 2), "float32"))
    before = test.read("x")
    test.call("explore", np.zeros((1, 2), "float32"))
    after = test.read("x")
    assert (after[0] != before[0]).all()
    np.testing.assert_array_equal(after[1:], before[1:])


def test_scaling_does_not_change_the_state_of_the_noise(backend):
    test = noisy(
        OrnsteinUhlenbeckNoise(FREE, 2), backend, scale=FloatBox(ranks=""), resets=BoolBox()
    )
    actions = np.zeros((2, 2), "float32")
    got = test.call("explore", actions, np.array([False, False]), 0.5)
    np.testing.assert_allclose(got, 0.5 * test.read("x"), rtol=1e-6)


@pytest.mark.parametrize(
    ("component", "spaces", "error", "message"),
    [
        (GaussianNoise(FREE), {"actions": Box((3,))}, SpaceError, "one batch of floats of shape"),
        (GaussianNoise(FREE), {"scale": Box((2,))}, SpaceError, "`scale` is .*give one float"),
        (GaussianNoise(FREE, sigma=-1.0), {}, ComponentError, "sigma is -1.0"),
        (OrnsteinUhlenbeckNoise(FREE, 0), {}, ComponentError, "n_envs is 0"),
        (OrnsteinUhlenbeckNoise(FREE, 1, theta=3.0), {}, ComponentError, "grows without end"),
        (
            OrnsteinUhlenbeckNoise(FREE, 1),
            {"resets": FloatBox()},
            SpaceError,
            r"Give a BoolBox\(\)",
        ),
    ],
)
def test_what_does_not_fit_is_refused(component, spaces, error, message):
    with pytest.raises(error, match=message):
        noisy(component, "numpy", **spaces)


@pytest.mark.parametrize("space", [IntBox(3), Dict(a=FREE)])
def test_noise_is_for_floats(space):
    with pytest.raises(SpaceError, match="Use epsilon_greedy for choices"):
        GaussianNoise(space)


# -- Ape-X ----------------------------------------------------------------------------------------
def test_actors_explore_less_and_less():
    np.testing.assert_allclose(apex_epsilons(3), [0.4, 0.4**4.5, 0.4**8], rtol=1e-6)
    assert apex_epsilons(1).tolist() == [np.float32(0.4)]
    np.testing.assert_allclose(apex_epsilons(2, 0.5, 1.0), [0.5, 0.25])
    assert (np.diff(apex_epsilons(256)) < 0).all()


def test_each_environment_explores_by_its_epsilon(backend):
    workers, times, choices = 3, 1500, 50
    spaces = {"q_values": Box((choices,)), "epsilon": FloatBox(0.0, 1.0)}
    test = ComponentTest(EpsilonGreedy(IntBox(choices)), spaces, backend)
    q_values = np.eye(1, choices, dtype="float32").repeat(workers * times, 0)
    epsilons = apex_epsilons(workers, 0.8, 2.0)  # 0.8, 0.64, 0.512
    actions = test.call("explore", q_values, np.repeat(epsilons, times))
    rates = (actions != 0).reshape(workers, times).mean(1) / (1 - 1 / choices)
    np.testing.assert_allclose(rates, [0.8, 0.64, 0.512], atol=0.04)


@pytest.mark.parametrize("options", [(0,), (2, 1.5), (2, 0.4, -1.0)])
def test_actors_that_make_no_sense_are_refused(options):
    with pytest.raises(ComponentError, match="give one worker or more"):
        apex_epsilons(*options)
