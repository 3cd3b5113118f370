"""Curiosity by literal numbers: rewards, losses, and what repeated transitions still earn."""

from __future__ import annotations

import numpy as np
import pytest

from rlg.errors import ComponentError
from rlg.graph.components.explorations.curiosity import Curiosity
from rlg.graph.spaces import Box, FloatBox, IntBox
from rlg.testing import ComponentTest

STATES = Box((2,))
IDENTITY = {"type": "stack", "layers": [{"type": "scale", "factor": 1.0}]}


def made(backend, actions, **options):
    component = Curiosity(actions.to_spec(), **options)
    spaces = {"states": STATES, "actions": actions, "next_states": STATES}
    return ComponentTest(component, spaces, backend, seed=1)


def constants(test, **values):
    """Sets weights: all that are not named are 0."""
    weights = {path: 0.0 * x for path, x in test.executor.get_weights().items()}
    for path in weights:
        for name, value in values.items():
            if path.endswith(name.replace("__", "/")):
                weights[path] = np.asarray(value, "float32")
    test.executor.set_weights(weights)


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_the_reward_is_half_the_squared_distance_from_what_was_foreseen(backend):
    network = {"type": "mlp", "units": [2], "activation": "relu"}
    test = made(backend, IntBox(3), network=network, features=2, units=1, eta=0.5)
    eye = np.eye(2)
    constants(test, **{"mlp-0__dense-0__kernel": eye, "network__dense-1__kernel": eye})
    # Features are the states themselves; the forward model foresees 0 everywhere.
    states, following = [[1.0, 2.0], [0.0, 3.0]], [[3.0, 4.0], [1.0, 0.0]]
    found = test.call("reward", states, [0, 2], following)
    np.testing.assert_allclose(found, [0.5 * 12.5, 0.5 * 0.5], rtol=1e-6)


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize(
    ("actions", "taken", "inverse"),
    [(IntBox(3), [0, 2], np.log(3.0)), (FloatBox(shape=(2,)), [[1.0, 2.0], [0.0, 1.0]], 1.5)],
    ids=["choices", "floats"],
)
def test_the_loss_weighs_both_models_by_beta(backend, actions, taken, inverse):
    network = {"type": "mlp", "units": [2], "activation": "relu"}
    test = made(backend, actions, network=network, features=2, units=1, eta=1.0, beta=0.25)
    eye = np.eye(2)
    constants(test, **{"mlp-0__dense-0__kernel": eye, "network__dense-1__kernel": eye})
    states, following = [[1.0, 2.0], [0.0, 3.0]], [[3.0, 4.0], [1.0, 0.0]]
    rewards, loss = test.call("update", states, taken, following)
    np.testing.assert_allclose(rewards, [12.5, 0.5], rtol=1e-6)
    # Guesses are equal logits, or zeros: log 3, or (2.5 + 0.5) / 2 on average.
    assert loss == pytest.approx(0.75 * inverse + 0.25 * 6.5, rel=1e-5)


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_one_model_looks_ahead_from_state_and_action_and_the_other_at_both_states(backend):
    network = {"type": "mlp", "units": [2], "activation": "relu"}
    test = made(backend, IntBox(3), network=network, features=2, units=2, eta=1.0, beta=0.5)
    eye = np.eye(2)
    constants(
        test,
        **{
            "mlp-0__dense-0__kernel": eye,
            "network__dense-1__kernel": eye,
            # Foreseen is the state itself, and one more of its first number behind action 2.
            "forward__dense-0__kernel": [[1, 0], [0, 1], [0, 0], [0, 0], [1, 0]],
            "forward__dense-1__kernel": eye,
            # Logits: the first number before, the second one afterwards, 0.
            "inverse__dense-0__kernel": [[1, 0], [0, 0], [0, 0], [0, 1]],
            "inverse__dense-1__kernel": [[1, 0, 0], [0, 1, 0]],
        },
    )
    states, following = [[1.0, 2.0], [0.0, 3.0]], [[3.0, 4.0], [1.0, 0.0]]
    rewards, loss = test.call("update", states, [0, 2], following)
    np.testing.assert_allclose(rewards, [0.5 * (4.0 + 4.0), 0.5 * 9.0], rtol=1e-6)
    surprises = np.log(np.e + np.exp(4.0) + 1.0) - 1.0, np.log(3.0)
    assert loss == pytest.approx(0.5 * np.mean(surprises) + 0.5 * np.mean(rewards), rel=1e-5)


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_repeated_transitions_earn_less_and_less_and_new_ones_more(backend):
    network = {"type": "mlp", "units": [16], "activation": "tanh"}
    test = made(backend, IntBox(2), network=network, features=4, units=16, optimizer=ADAM)
    rng = np.random.default_rng(0)
    states = rng.normal(size=(32, 2)).astype("float32")
    actions = rng.integers(0, 2, 32)
    following = (states + 0.5 * (2.0 * actions[:, None] - 1.0)).astype("float32")
    first = test.call("reward", states, actions, following).mean()
    for _ in range(150):
        test.call("update", states, actions, following)
    last = test.call("reward", states, actions, following).mean()
    assert last < 0.1 * first
    # Where an action leads elsewhere than ever before, the agent looks again.
    elsewhere = test.call("reward", states, actions, -3.0 * following).mean()
    assert elsewhere > 10.0 * last


ADAM = {"type": "adam", "learning_rate": 0.01}


def test_several_choices_at_once_are_refused():
    with pytest.raises(ComponentError, match="one choice or floats"):
        Curiosity(IntBox(3, shape=(2,)).to_spec())
