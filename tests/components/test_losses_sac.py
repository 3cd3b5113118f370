"""The losses of soft actor-critic and its temperature by literal numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.losses.sac import DiscreteSACLoss, SACLoss
from rlg.graph.components.losses.temperature import Temperature
from rlg.graph.components.optimizers.sgd import SGD
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple
from rlg.testing import ComponentTest

FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf", "tf-graph"])
TWINS = Tuple(FloatBox(), FloatBox())


def built(loss, backend, q=TWINS, log_probs=None, ranks="B", **changes):
    log_probs = log_probs or FloatBox(ranks=ranks)
    spaces = {
        **dict.fromkeys(["q", "q_next", "q_pi"], q),
        **dict.fromkeys(["log_probs", "log_probs_next"], log_probs),
        "rewards": FloatBox(ranks=ranks),
        "terminals": BoolBox(ranks=ranks),
        "actions": IntBox(2, ranks=ranks, dtype="int32"),
        "alpha": FloatBox(ranks=""),
        "weights": FloatBox(ranks=ranks),
        **changes,
    }
    names = {p.name for m in loss.api_methods().values() for p in m.parameters}
    return ComponentTest(loss, {k: v for k, v in spaces.items() if k in names}, backend)


CRITIC = (
    ([1.0, 2.0], [3.0, 0.0]),  # q
    [1.0, 1.0],  # rewards
    [False, True],
    ([8.0, 5.0], [6.0, 5.0]),  # q_next
    [2.0, 2.0],  # log_probs_next
    0.5,  # alpha
)


def test_critics_share_the_smaller_target(backend):
    test = built(SACLoss(0.5), backend)
    # Targets 1 + 0.5 * (6 - 0.5 * 2) = 3.5 and 1.
    items = [0.5 * (2.5**2 + 0.5**2), 0.5 * (1.0 + 1.0)]
    td = [1.5, 0.0]
    test.test("critic_loss", *CRITIC, expected=(np.mean(items), items, td))
    weighted = [2.0 * items[0], 0.5 * items[1]]
    expected = (np.mean(weighted), weighted, td)
    test.test("critic_loss", *CRITIC, [2.0, 0.5], expected=expected)


def test_one_critic_is_enough(backend):
    test = built(SACLoss(0.5), backend, q=Tuple(FloatBox()))
    q, rewards, terminals, q_next, log_probs, alpha = CRITIC
    inputs = (q[:1], rewards, terminals, q_next[:1], log_probs, alpha)
    # Targets 1 + 0.5 * (8 - 1) = 4.5 and 1.
    expected = (0.5 * (12.25 + 1.0) / 2, [6.125, 0.5], [3.5, -1.0])
    test.test("critic_loss", *inputs, expected=expected)


def test_the_actor_trusts_the_smaller_critic(backend):
    test = built(SACLoss(), backend)
    inputs = ([-1.0, 2.0], ([3.0, 4.0], [5.0, 1.0]), 0.5)
    test.test("actor_loss", *inputs, expected=(-1.75, [-3.5, 0.0]))
    test.test("actor_loss", *inputs, [1.0, 0.0], expected=(-1.75, [-3.5, 0.0]))


def test_batch_and_time(backend):
    pair = Tuple(FloatBox(ranks="TB"), FloatBox(ranks="TB"))
    test = built(SACLoss(0.5), backend, q=pair, ranks="TB")

    def timed(x: Any) -> Any:
        return tuple(map(timed, x)) if isinstance(x, tuple) else [x] * 3

    _, items, td = test.call("critic_loss", *map(timed, CRITIC[:-1]), CRITIC[-1])
    np.testing.assert_allclose(items, [[3.25, 1.0]] * 3, rtol=1e-5)
    assert td.shape == (3, 2)


# -- discrete -------------------------------------------------------------------------------------
ROWS = Tuple(Box((2,)), Box((2,)))
PROBS = np.array([[0.25, 0.75]], "float32")


def test_discrete_losses_are_expectations(backend):
    test = built(DiscreteSACLoss(0.5), backend, q=ROWS, log_probs=Box((2,)))
    q, q_next = ([[1.0, 2.0]], [[3.0, 0.0]]), ([[4.0, 8.0]], [[6.0, 2.0]])
    entropy = -(PROBS * np.log(PROBS)).sum()
    target = 1.0 + 0.5 * (0.25 * 4.0 + 0.75 * 2.0 + 0.1 * entropy)
    expected = 0.5 * ((target - 2.0) ** 2 + target**2)
    log_probs = np.log(PROBS)
    test.test(
        "critic_loss", q, [1], [1.0], [False], q_next, log_probs, 0.1,
        expected=(expected, [expected], [target - 1.0]),
    )  # fmt: skip
    actor = -0.1 * entropy - 2.5
    test.test("actor_loss", log_probs, q_next, 0.1, expected=(actor, [actor]))


# -- temperature ----------------------------------------------------------------------------------
ARM = FloatBox(-1.0, 1.0, shape=(3,))


def warm(temperature, backend, log_probs=None):
    spaces = {"log_probs": log_probs or FloatBox(), "weights": FloatBox()}
    return ComponentTest(temperature, spaces, backend)


@pytest.mark.parametrize(("ent_coef", "alpha"), [("auto", 1.0), ("auto_0.25", 0.25), (0.2, 0.2)])
def test_alpha_starts_where_it_is_told(ent_coef, alpha, backend):
    test = warm(Temperature(ARM, ent_coef), backend)
    test.test("alpha", expected=alpha)
    is_learned = isinstance(ent_coef, str)
    assert bool(test.executor.get_weights(trainable=True)) == is_learned


def test_the_loss_aims_at_minus_the_dimension(backend):
    test = warm(Temperature(ARM, "auto_0.5"), backend)
    items = [np.log(2.0) * (1.0 - 3.0), np.log(2.0) * (4.0 - 3.0)]
    test.test("loss", [1.0, 4.0], expected=(np.mean(items), items))
    weighted = [0.0, 2.0 * items[1]]
    test.test("loss", [1.0, 4.0], [0.0, 2.0], expected=(np.mean(weighted), weighted))


@pytest.mark.parametrize(
    ("space", "target"),
    [
        (FloatBox(-0.1, 0.1, shape=(4,)), -4.0 + 4.0 * np.log(0.1)),
        (FloatBox(0.0, [2.0, 6.0], shape=(2,)), -2.0 + np.log(1.0) + np.log(3.0)),
        (FloatBox(shape=(2,)), -2.0),
        (FloatBox(low=0.0, shape=(2,)), -2.0),
    ],
)
def test_the_target_is_in_units_of_the_actions_range(space, target):
    """Else alpha would grow without end where actions are narrow."""
    test = warm(Temperature(space, "auto_0.5"), "numpy")
    test.test(
        "loss", [1.0], expected=(np.log(2.0) * (1.0 + target), [np.log(2.0) * (1.0 + target)])
    )


def test_discrete_actions_aim_at_most_of_the_highest_entropy(backend):
    test = warm(Temperature(IntBox(2), "auto_0.5"), backend, Box((2,)))
    entropy = -(PROBS * np.log(PROBS)).sum()
    item = np.log(2.0) * (0.98 * np.log(2.0) - entropy)
    test.test("loss", np.log(PROBS), expected=(item, [item]))


class Tuned(Component):
    """A temperature that an optimizer tunes, by log-probabilities that depend on a variable."""

    def __init__(self) -> None:
        self.temperature = Temperature(ARM, "auto_0.5", target_entropy=-1.0)
        self.optimizer = SGD(0.1)

    @api
    def tune(self, log_probs: Any) -> Any:
        loss, _ = self.temperature.loss(log_probs)
        self.optimizer.step(loss, self.temperature.variables())
        return loss, self.temperature.alpha()


@FRAMEWORKS
def test_alpha_grows_while_entropy_is_too_low(backend):
    test = ComponentTest(Tuned(), {"log_probs": FloatBox()}, backend)
    # d loss / d log alpha = -(3 - 1): the entropy, -3, is below its target, -1.
    _, alpha = test.call("tune", [3.0])
    np.testing.assert_allclose(alpha, 0.5 * np.exp(0.2), rtol=1e-5)
    _, alpha = test.call("tune", [-9.0])
    np.testing.assert_allclose(alpha, 0.5 * np.exp(0.2 - 1.0), rtol=1e-5)


class Networks(Component):
    """One number as policy, critic and target critic."""

    def create_variables(self) -> None:
        self._w = self.variable("w", value=1.0, trainable=True)

    @api
    @graph_fn
    def times(self, x: Tensor) -> Tensor:
        return self._w * x


class Learner(Component):
    def __init__(self) -> None:
        self.networks = Networks()
        self.temperature = Temperature(ARM, "auto_0.5")
        self.loss = SACLoss(0.5)
        self.optimizer = SGD()
        self.alpha_optimizer = SGD()
        self.scale = Networks()
        self.scale_optimizer = SGD()

    @api
    def gradients(self, x: Any, rewards: Any, terminals: Any) -> Any:
        y, alpha = self.networks.times(x), self.scale.times(self.temperature.alpha())
        critic, *_ = self.loss.critic_loss((y,), rewards, terminals, (y,), y, alpha)
        actor, _ = self.loss.actor_loss(y, (y,), alpha)
        variables = self.networks.variables()
        return (
            self.optimizer.gradients(critic, variables),
            self.optimizer.gradients(actor, variables),
            self.scale_optimizer.gradients(actor, self.scale.variables()),
            self.alpha_optimizer.gradients(alpha, self.temperature.variables()),
        )


@FRAMEWORKS
def test_targets_and_alpha_are_constants_for_gradients(backend):
    spaces = {"x": FloatBox(), "rewards": FloatBox(), "terminals": BoolBox()}
    test = ComponentTest(Learner(), spaces, backend)
    critic, actor, scale, alpha = test.call("gradients", [2.0], [1.0], [False])
    # Target 1 + 0.5 * (2 - 0.5 * 2) = 1.5: d/dw 0.5 * (2 w - 1.5)^2 = 2 * 0.5.
    np.testing.assert_allclose(critic["w"], 1.0, rtol=1e-5)
    np.testing.assert_allclose(actor["w"], 0.5 * 2.0 - 2.0, rtol=1e-5)
    assert scale["w"] == 0.0
    assert alpha["log_alpha"] == 0.0


class DiscreteLearner(Component):
    """A number before the policy's logits and one before the critic's Q-values."""

    def __init__(self) -> None:
        self.policy, self.critic = Networks(), Networks()
        self.loss = DiscreteSACLoss(0.5)
        self.optimizer, self.critic_optimizer = SGD(), SGD()

    @api
    def gradients(self, logits: Any, q: Any, alpha: Any) -> Any:
        log_probs = self.logs(self.policy.times(logits))
        loss, _ = self.loss.actor_loss(log_probs, (self.critic.times(q),), alpha)
        return (
            self.optimizer.gradients(loss, self.policy.variables()),
            self.critic_optimizer.gradients(loss, self.critic.variables()),
        )

    @graph_fn
    def logs(self, logits: Tensor) -> Tensor:
        return self.ops.log_softmax(logits, -1)


@FRAMEWORKS
def test_the_discrete_actor_learns_by_its_probabilities_and_leaves_the_critics_alone(backend):
    spaces = {"logits": Box((2,)), "q": Box((2,)), "alpha": FloatBox(ranks="")}
    test = ComponentTest(DiscreteLearner(), spaces, backend)
    policy, critic = test.call("gradients", [[0.0, 1.0]], [[3.0, 1.0]], np.float32(0.5))
    # p = sigmoid(w) is the second action's: d/dw of p (0.5 log p - 1) + (1 - p) (0.5 log(1-p) - 3)
    p = 1.0 / (1.0 + np.exp(-1.0))
    slope = (0.5 * np.log(p / (1.0 - p)) - 1.0 + 3.0) * p * (1.0 - p)
    np.testing.assert_allclose(policy["w"], slope, rtol=1e-5)
    assert critic["w"] == 0.0


# -- errors ---------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("loss", "changes", "error", "message"),
    [
        (SACLoss(2.0), {}, ComponentError, "sac-loss: gamma must be between 0 and 1, got 2.0"),
        (SACLoss(), {"q": FloatBox()}, SpaceError, r"`q` is .*one entry for each critic: \(q1"),
        (SACLoss(), {"q": ROWS}, SpaceError, r"`q\[0\]` is .*one float for each item"),
        (SACLoss(), {"terminals": FloatBox()}, SpaceError, r"`terminals` is .*BoolBox\(\)"),
        (DiscreteSACLoss(), {"q": TWINS}, SpaceError, "`q` holds .*one number for each action"),
    ],
)
def test_what_does_not_fit_is_refused(loss, changes, error, message):
    with pytest.raises(error, match=message):
        built(loss, "numpy", **changes)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ent_coef": "often"}, "ent_coef is 'often'; give a positive number, 'auto', or"),
        ({"ent_coef": "auto_x"}, "ent_coef is 'auto_x'"),
        ({"ent_coef": -1.0}, "ent_coef is -1.0"),
        ({"action_space": IntBox(2, shape=(2,))}, "takes a FloatBox, or an IntBox of one choice"),
        ({"action_space": Dict(a=FloatBox())}, "takes a FloatBox"),
        ({"action_space": IntBox()}, r"bound it: IntBox\(3\)"),
    ],
)
def test_temperatures_that_can_not_be_are_refused(options, message):
    with pytest.raises(ComponentError, match=f"temperature: .*{message}"):
        warm(Temperature(**{"action_space": ARM, **options}), "numpy")
