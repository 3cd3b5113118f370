"""PPO and A2C as roots: every number against a second computation, and what acting promises."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from rlg.errors import ComponentError
from rlg.graph.components.algorithms.a2c import A2C, RecurrentA2C
from rlg.graph.components.algorithms.ppo import PPO, RecurrentPPO
from rlg.graph.components.returns.scaling import ReturnScaling
from rlg.graph.core.component.randomness import Stream
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple, flatten
from rlg.testing import ComponentTest
from rlg.testing.goldens.on_policy import batch_of
from tests.components import on_policy_oracle as oracle

# The goldens compare the other mode of TensorFlow with this one.
FRAMEWORKS = pytest.mark.parametrize("backend", ["torch", "tf"])
T, B = 6, 4
STATES = Box((3,))
MLP = {"type": "mlp", "units": [5], "activation": "tanh"}
SHARED = {"type": "actor_critic", "network": MLP}
SEPARATE = {**SHARED, "separate": True}
LSTM = {"type": "recurrent_actor_critic", "network": {"type": "lstm", "units": 3, "network": MLP}}
HIDDEN = Dict(c=Box((3,)), h=Box((3,)))
CHOICE, TORQUE = IntBox(3), FloatBox(oracle.LOW, oracle.HIGH, (2,))
NUMBER = FloatBox(ranks="")


def drawn(space):
    """The space of actions as they are learned from."""
    return space.map(lambda box: Box(box.shape) if box.kind == "float" else box)


def built(root, backend, masks=None, apis=None, states=STATES):
    more = {"resets": BoolBox(ranks="TB")} if root.is_recurrent else {}
    spaces = {
        "states": states,
        "batch": batch_of(states, drawn(root.action_space), **more),
        "last_values": FloatBox(),
        "learning_rate": NUMBER,
    }
    if isinstance(root, PPO):
        spaces["clip_range"] = NUMBER
    if root.is_recurrent:
        spaces |= {"hidden": root.policy.hidden_space, "resets": BoolBox()}
    if masks is not None:
        spaces |= {"act.masks": masks, "update.masks": masks.with_ranks("TB")}
    return ComponentTest(root, spaces, backend, apis=apis)


def segment(test, seed=0, masks=None, hidden=None):
    """A batch as a run would make it, with ends of both kinds, and what else `update` takes."""
    rng = np.random.default_rng(seed)
    ends = rng.random((2, T, B)) < 0.2
    ends[:, 2, 1] = True, False
    ends[:, 3, 2] = False, True
    rows = {"states": [], "actions": [], "log_probs": [], "values": [], "resets": []}
    resets, first = np.ones(B, bool), hidden
    for t in range(T):
        states = rng.normal(size=(B, 3)).astype("float32")
        inputs = (states,) if hidden is None else (states, hidden, resets)
        words = {} if masks is None else {"masks": masks[t]}
        actions, log_probs, values, *more = test.call("act", *inputs, **words)
        hidden = hidden if hidden is None else more[-1]
        values_of_step = (states, actions, log_probs, values, resets)
        for column, value in zip(rows.values(), values_of_step, strict=True):
            column.append(value)
        resets = ends[0, t] | ends[1, t]
    stacked = {name: stack(column) for name, column in rows.items()}
    if first is None:
        del stacked["resets"]
    batch = {
        **stacked,
        "rewards": rng.normal(size=(T, B)).astype("float32"),
        "terminals": ends[0],
        "truncations": ends[1],
        "bootstrap_values": rng.normal(size=(T, B)).astype("float32"),
    }
    return batch, rng.normal(size=B).astype("float32"), *(() if first is None else (first,))


def stack(column):
    if isinstance(column[0], dict):
        return {key: stack([row[key] for row in column]) for key in column[0]}
    if isinstance(column[0], tuple):
        return tuple(stack(list(parts)) for parts in zip(*column, strict=True))
    return np.stack(column)


def weights_of(test):
    lead = f"{test.component.path}/policy/"
    return {path.removeprefix(lead): value for path, value in test.executor.get_weights().items()}


def records_of(batch, last_values, gamma, lam, **more):
    """Flat records [T * B, ...] with advantages and returns."""
    adv = oracle.advantages(batch, last_values, gamma, lam)
    names = ("states", "actions", "log_probs", "values")
    found = {**{name: batch[name] for name in names}, **more}
    found |= {"advantages": adv, "returns": adv + batch["values"]}
    return {name: np.asarray(x).reshape(T * B, *np.shape(x)[2:]) for name, x in found.items()}


def rows_of(test, n, n_epochs, size):
    """The minibatches of an update, drawn from the stream of the component that draws them."""
    stream = Stream(0, f"{test.component.path}/learner/minibatches")
    order = np.argsort(stream.uniform((n, n_epochs)), 0, kind="stable")
    return (
        order[start : start + size, epoch]
        for epoch in range(n_epochs)
        for start in range(0, n // size * size, size)
    )


def adam(weights):
    return torch.optim.Adam(weights, lr=3e-3, eps=1e-5)


def agrees(test, judge, metrics, names):
    for name in names:
        np.testing.assert_allclose(
            metrics[name], judge.mean(name), rtol=2e-5, atol=1e-5, err_msg=name
        )
    for path, value in weights_of(test).items():
        np.testing.assert_allclose(
            value, judge.weights[path].detach().numpy(), atol=1e-5, err_msg=path
        )


PPO_FIGURES = (
    "loss", "policy_loss", "value_loss", "entropy", "approx_kl", "clip_fraction", "gradient_norm",
)  # fmt: skip
PPO_CASES = {
    "choices": (CHOICE, SEPARATE, oracle.discrete, {"ent_coef": 0.05}),
    "one-network": (CHOICE, SHARED, oracle.discrete, {"ent_coef": 0.01, "gae_lambda": 0.5}),
    "values-clipped": (CHOICE, SEPARATE, oracle.discrete, {"ent_coef": 0.01, "clip_range_vf": 0.1}),
    "as-they-are": (
        CHOICE,
        SHARED,
        oracle.discrete,
        {"normalize_advantage": False, "ent_coef": 1.0},
    ),
    "squashed": (TORQUE, SHARED, oracle.squashed, {"ent_coef": 0.05}),
}


@FRAMEWORKS
@pytest.mark.parametrize("name", PPO_CASES)
def test_an_update_of_ppo_is_that_of_its_paper(name, backend):
    space, policy, evaluate, options = PPO_CASES[name]
    root = PPO(policy, space, n_epochs=3, batch_size=8, gamma=0.9, **options)
    test = built(root, backend)
    batch, last = segment(test)
    judge = oracle.Oracle(
        weights_of(test),
        evaluate,
        adam,
        clip_range=0.15,
        clip_range_vf=root.clip_range_vf,
        ent_coef=root.ent_coef,
        vf_coef=0.5,
        normalize_advantage=root.normalize_advantage,
    )
    records = records_of(batch, last, 0.9, root.gae_lambda)
    judge.update(records, rows_of(test, T * B, 3, 8))
    metrics = test.call(
        "update", batch, last, learning_rate=np.float32(3e-3), clip_range=np.float32(0.15)
    )
    assert len(judge.figures) == 9
    agrees(test, judge, metrics, PPO_FIGURES)
    returns = records["returns"]
    explained = 1.0 - np.var(returns - records["values"]) / np.var(returns)
    np.testing.assert_allclose(metrics["explained_variance"], explained, rtol=1e-4)


@FRAMEWORKS
def test_masked_choices_are_learned_from_as_they_were_masked(backend):
    masks = np.ones((T, B, 3), bool)
    masks[::2, :, 0] = False
    test = built(
        PPO(SHARED, CHOICE, n_epochs=1, batch_size=24, ent_coef=0.1), backend, BoolBox((3,))
    )
    batch, last = segment(test, masks=masks)
    assert (batch["actions"][::2] > 0).all()
    options = {"clip_range": 0.2, "ent_coef": 0.1, "vf_coef": 0.5, "normalize_advantage": True}
    judge = oracle.Oracle(weights_of(test), oracle.discrete, adam, **options)
    records = records_of(batch, last, 0.99, 0.95, masks=masks)
    judge.update(records, iter([np.arange(T * B)]))
    metrics = test.call(
        "update", batch, last, masks, learning_rate=np.float32(3e-3), clip_range=np.float32(0.2)
    )
    agrees(test, judge, metrics, PPO_FIGURES)
    assert metrics["approx_kl"] == pytest.approx(0.0, abs=1e-6)


@FRAMEWORKS
@pytest.mark.parametrize(("share", "stops"), [(0.05, True), (0.6, True), (0.8, False)])
def test_learning_ends_where_the_divergence_goes_beyond_its_target(share, stops, backend):
    """At 1.5 times the target, which is this share of the largest divergence without one."""

    def judged(test, target_kl=None):
        judge = oracle.Oracle(
            weights_of(test),
            oracle.discrete,
            lambda weights: torch.optim.Adam(weights, lr=3e-2, eps=1e-5),
            target_kl=target_kl,
            clip_range=0.2,
            ent_coef=0.01,
            vf_coef=0.5,
            normalize_advantage=True,
        )
        judge.update(records_of(batch, last, 0.99, 0.95), rows_of(test, T * B, 4, 8))
        return judge

    options = {"n_epochs": 4, "batch_size": 8, "ent_coef": 0.01}
    batch, last = segment(free := built(PPO(SHARED, CHOICE, **options), backend))
    target_kl = share * max(figures["approx_kl"] for figures in judged(free).figures)
    test = built(PPO(SHARED, CHOICE, target_kl=target_kl, **options), backend)
    judge = judged(test, target_kl)
    metrics = test.call(
        "update", batch, last, learning_rate=np.float32(3e-2), clip_range=np.float32(0.2)
    )
    steps = sum("gradient_norm" in figures for figures in judge.figures)
    assert metrics["n_updates"] == steps
    assert 0 < steps < 12 if stops else steps == 12
    agrees(test, judge, metrics, [name for name in PPO_FIGURES if name != "gradient_norm"])


@FRAMEWORKS
def test_a_recurrent_ppo_learns_from_whole_sequences(backend):
    root = RecurrentPPO(LSTM, CHOICE, n_steps=T, n_epochs=2, batch_size=2 * T, ent_coef=0.01)
    test = built(root, backend)
    hidden = HIDDEN.sample(1, B)
    batch, last, hidden = segment(test, hidden=hidden)
    options = {"clip_range": 0.2, "ent_coef": 0.01, "vf_coef": 0.5, "normalize_advantage": True}
    judge = oracle.Oracle(weights_of(test), oracle.recurrent, adam, **options)
    flat = records_of(batch, last, 0.99, 0.95, resets=batch["resets"])
    records = {name: x.reshape(T, B, *x.shape[1:]).swapaxes(0, 1) for name, x in flat.items()}
    records |= {f"hidden/{key}": value for key, value in hidden.items()}
    judge.update(records, rows_of(test, B, 2, 2))
    metrics = test.call(
        "update", batch, last, hidden, learning_rate=np.float32(3e-3), clip_range=np.float32(0.2)
    )
    assert len(judge.figures) == 4
    agrees(test, judge, metrics, PPO_FIGURES)


A2C_FIGURES = ("loss", "policy_loss", "value_loss", "entropy", "gradient_norm")


@FRAMEWORKS
@pytest.mark.parametrize("normalize", [False, True])
def test_an_update_of_a2c_is_one_step_on_the_whole_batch(normalize, backend):
    root = A2C(SEPARATE, CHOICE, gamma=0.9, ent_coef=0.05, normalize_advantage=normalize)
    test = built(root, backend)
    batch, last = segment(test)
    judge = oracle.Oracle(
        weights_of(test),
        oracle.discrete,
        lambda weights: torch.optim.RMSprop(weights, lr=3e-3, alpha=0.99, eps=1e-5),
        ent_coef=0.05,
        vf_coef=0.5,
        normalize_advantage=normalize,
    )
    judge.update(records_of(batch, last, 0.9, 1.0), iter([np.arange(T * B)]))
    metrics = test.call("update", batch, last, learning_rate=np.float32(3e-3))
    agrees(test, judge, metrics, A2C_FIGURES)


@FRAMEWORKS
def test_an_update_of_a_recurrent_a2c_is_one_step_on_all_sequences(backend):
    test = built(RecurrentA2C(LSTM, CHOICE, gamma=0.9, ent_coef=0.05), backend)
    batch, last, hidden = segment(test, hidden=HIDDEN.sample(1, B))
    judge = oracle.Oracle(
        weights_of(test),
        oracle.recurrent,
        lambda weights: torch.optim.RMSprop(weights, lr=3e-3, alpha=0.99, eps=1e-5),
        ent_coef=0.05,
        vf_coef=0.5,
        normalize_advantage=False,
    )
    flat = records_of(batch, last, 0.9, 1.0, resets=batch["resets"])
    records = {name: x.reshape(T, B, *x.shape[1:]).swapaxes(0, 1) for name, x in flat.items()}
    records |= {f"hidden/{key}": value for key, value in hidden.items()}
    judge.update(records, iter([np.arange(B)]))
    metrics = test.call("update", batch, last, hidden, learning_rate=np.float32(3e-3))
    agrees(test, judge, metrics, A2C_FIGURES)


# -- both frameworks ------------------------------------------------------------------------------
ROOTS = {
    "ppo": lambda: PPO(SEPARATE, CHOICE, n_epochs=1, batch_size=12, ent_coef=0.01),
    "a2c": lambda: A2C(SEPARATE, CHOICE, ent_coef=0.01, normalize_observations=True),
}


@pytest.mark.parametrize("name", ROOTS)
def test_torch_and_tensorflow_agree_after_100_updates(name):
    one, two = (built(ROOTS[name](), backend) for backend in ("torch", "tf"))
    words = {"clip_range": np.float32(0.2)} if name == "ppo" else {}
    for seed in range(100):
        batch, last = segment(one, seed)
        rate = np.float32(1e-3)
        for test in (one, two):
            test.call("update", batch, last, learning_rate=rate, **words)
    others = weights_of(two)
    for path, value in weights_of(one).items():
        np.testing.assert_allclose(others[path], value, atol=1e-4, err_msg=path)


# -- acting ---------------------------------------------------------------------------------------
ACTIONS = {
    "choice": CHOICE,
    "choices": IntBox([2, 3], shape=(2,)),
    "bounded": TORQUE,
    "half-bounded": FloatBox(low=0.0, shape=(2,)),
    "unbounded": FloatBox(shape=(2,)),
    "flags": BoolBox((2,)),
    "dict": Dict(choice=CHOICE, torque=TORQUE),
    "tuple": Tuple(TORQUE, IntBox(2)),
}


@FRAMEWORKS
@pytest.mark.parametrize("name", ACTIONS)
def test_every_action_space_acts_inside_of_its_bounds_and_learns(name, backend):
    space = ACTIONS[name]
    root = PPO(SHARED, space, n_epochs=1, batch_size=8, ent_coef=0.01)
    test = built(root, backend)
    states = 100.0 * STATES.sample(0, 50)
    for explore in (True, False):
        actions, _, _, *env = test.call("act", states, explore=explore)
        assert bool(env) == root.clips == (name not in ("choice", "choices", "unbounded", "flags"))
        assert space.why_not(env[0] if env else actions) is None
    before = weights_of(test)
    batch, last = segment(test)
    words = {"learning_rate": np.float32(1e-2), "clip_range": np.float32(0.2)}
    metrics = test.call("update", batch, last, **words)
    assert all(np.isfinite(value) for value in metrics.values())
    assert all((value != before[path]).any() for path, value in weights_of(test).items())
    # As the policy was when it acted: ratios of 1.
    test.executor.set_weights({f"{test.component.path}/policy/{p}": v for p, v in before.items()})
    words = {"learning_rate": np.float32(0.0), "clip_range": np.float32(0.2)}
    metrics = test.call("update", batch, last, **words)
    assert abs(metrics["approx_kl"]) < 1e-6


@FRAMEWORKS
def test_saturated_actions_are_learned_from_exactly(backend):
    """Of tanh(9) float32 keeps nothing; of the draw it keeps all."""
    test = built(PPO(SHARED, TORQUE, n_epochs=1, batch_size=24), backend)
    lead = f"{test.component.path}/policy/head/outputs-all/mean/bias"
    test.executor.set_weights({**test.executor.get_weights(), lead: np.float32([9.0, -9.0])})
    batch, last = segment(test)
    metrics = test.call(
        "update", batch, last, learning_rate=np.float32(0.0), clip_range=np.float32(0.2)
    )
    assert abs(metrics["approx_kl"]) < 1e-5
    assert metrics["clip_fraction"] == 0.0
    *_, env = test.call("act", STATES.sample(0, 9))
    assert TORQUE.why_not(env) is None
    np.testing.assert_allclose(env, np.tile([oracle.HIGH, oracle.LOW], (9, 1)), atol=1e-3)


def test_acting_without_exploration_changes_nothing(backend):
    root = PPO(SHARED, CHOICE, normalize_observations=True)
    test = built(root, backend, apis=["act"])
    before = test.executor.get_state()
    states = STATES.sample(0, 5)
    first = test.call("act", states, explore=False)
    again = test.call("act", states, explore=False)
    for one, two in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, two)
    after = test.executor.get_state()
    assert after["streams"] == before["streams"]
    for path, value in before["variables"].items():
        np.testing.assert_array_equal(after["variables"][path], value)


def test_values_are_those_of_acting(backend):
    test = built(PPO(SEPARATE, CHOICE), backend, apis=["act", "value"])
    states = STATES.sample(0, 5)
    np.testing.assert_allclose(test.call("value", states), test.call("act", states)[2], rtol=1e-5)


def test_it_starts_with_the_authors_gains():
    big = {"type": "actor_critic", "separate": True, "network": {**MLP, "units": [8]}}
    found = weights_of(built(PPO(big, CHOICE), "numpy", apis=["act", "value"]))
    for path, gain in (
        ("network/dense-0/kernel", np.sqrt(2.0)),
        ("value_network/dense-0/kernel", np.sqrt(2.0)),
        ("head/outputs-all/output/kernel", 0.01),
        ("value_head/output/dense-0/kernel", 1.0),
    ):
        norms = np.linalg.svd(found[path], compute_uv=False)
        np.testing.assert_allclose(norms, gain, rtol=1e-5, err_msg=path)
    assert not any(value.any() for path, value in found.items() if path.endswith("bias"))
    plain = weights_of(built(PPO(big, CHOICE, ortho_init=False), "numpy", apis=["act", "value"]))
    assert 0.4 < np.abs(plain["network/dense-0/bias"]).max() <= 1.0 / np.sqrt(3)


# -- normalisation --------------------------------------------------------------------------------
@FRAMEWORKS
def test_observations_are_standardized_by_all_batches_before(backend):
    root = PPO(SHARED, CHOICE, n_epochs=1, batch_size=24, normalize_observations=True)
    test = built(root, backend)
    words = {"learning_rate": np.float32(0.0), "clip_range": np.float32(0.2)}
    seen = []
    for seed in range(3):
        batch, last = segment(test, seed)
        metrics = test.call("update", batch, last, **words)
        # Acting and learning saw the same numbers.
        assert abs(metrics["approx_kl"]) < 1e-6
        seen.append(batch["states"].reshape(-1, 3))
        everything = np.concatenate(seen).astype("float64")
        assert test.read("observations/count") == len(everything)
        np.testing.assert_allclose(test.read("observations/mean"), everything.mean(0), rtol=1e-5)
        np.testing.assert_allclose(test.read("observations/variance"), everything.var(0), rtol=1e-5)
    plain = built(PPO(SHARED, CHOICE), backend, apis=["act", "value"])
    plain.executor.set_weights(test.executor.get_weights())
    states = STATES.sample(5, 4)
    scaled = (states - everything.mean(0)) / np.sqrt(everything.var(0) + 1e-8)
    expected = plain.call("value", scaled.astype("float32"))
    np.testing.assert_allclose(test.call("value", states), expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("cls", [A2C, RecurrentA2C, RecurrentPPO])
def test_every_update_counts_the_observations_of_its_batch(cls):
    recurrent = cls is not A2C
    size = {"n_steps": T, "n_epochs": 1, "batch_size": T * B} if cls is RecurrentPPO else {}
    root = cls(LSTM if recurrent else SHARED, CHOICE, normalize_observations=True, **size)
    test = built(root, "torch")
    words = {"learning_rate": np.float32(0.0)}
    words |= {"clip_range": np.float32(0.2)} if cls is RecurrentPPO else {}
    seen = []
    for seed in range(2):
        batch, *more = segment(test, seed, hidden=HIDDEN.sample(1, B) if recurrent else None)
        test.call("update", batch, *more, **words)
        seen.append(batch["states"].reshape(-1, 3))
    everything = np.concatenate(seen).astype("float64")
    assert test.read("observations/count") == 2 * T * B
    np.testing.assert_allclose(test.read("observations/mean"), everything.mean(0), rtol=1e-5)
    np.testing.assert_allclose(test.read("observations/variance"), everything.var(0), rtol=1e-5)


@pytest.mark.parametrize("ranks", ["TB", "BT"])
def test_rewards_are_scaled_as_vecnormalize_does(ranks, backend):
    scaling = ReturnScaling(0.9, num_envs=B)
    spaces = {"rewards": FloatBox(ranks=ranks), **dict.fromkeys(ENDS, BoolBox(ranks=ranks))}
    test, judge = ComponentTest(scaling, spaces, backend), oracle.VecNormalize(B, 0.9)
    rng = np.random.default_rng(0)
    for _ in range(3):
        rewards = (10.0 * rng.normal(size=(T, B)) + 3.0).astype("float32")
        ends = rng.random((2, T, B)) < 0.2
        expected = np.stack([judge.step(r, a | b) for r, a, b in zip(rewards, *ends, strict=True)])
        inputs = [x if ranks == "TB" else x.T for x in (rewards, *ends)]
        found = test.call("call", *inputs)
        np.testing.assert_allclose(found if ranks == "TB" else found.T, expected, rtol=1e-5)
    np.testing.assert_allclose(test.read("variance"), judge.var, rtol=1e-9)
    np.testing.assert_allclose(test.read("returns"), judge.returns, rtol=1e-9)


ENDS = ("terminals", "truncations")


@FRAMEWORKS
def test_scaled_rewards_are_learned_from(backend):
    options = {"n_epochs": 1, "batch_size": 24, "gamma": 0.9}
    scaled = built(PPO(SHARED, CHOICE, normalize_rewards=True, num_envs=B, **options), backend)
    plain = built(PPO(SHARED, CHOICE, **options), backend)
    batch, last = segment(plain)
    judge = oracle.VecNormalize(B, 0.9)
    ended = batch["terminals"] | batch["truncations"]
    rows = zip(batch["rewards"], ended, strict=True)
    rewards = np.stack([judge.step(*row) for row in rows]).astype("float32")
    words = {"learning_rate": np.float32(1e-3), "clip_range": np.float32(0.2)}
    one = scaled.call("update", batch, last, **words)
    two = plain.call("update", {**batch, "rewards": rewards}, last, **words)
    for name, value in two.items():
        np.testing.assert_allclose(one[name], value, rtol=1e-4, atol=1e-6, err_msg=name)


# -- refusals -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("cls", "policy", "message"),
    [
        (PPO, {"type": "policy", "network": MLP}, r"Policy has no values. Give .* actor_critic\."),
        (PPO, LSTM, "PPO: for RecurrentActorCritic use RecurrentPPO"),
        (RecurrentA2C, SHARED, "RecurrentA2C: for ActorCritic use A2C"),
    ],
)
def test_policies_that_do_not_fit_are_refused(cls, policy, message):
    with pytest.raises(ComponentError, match=message):
        cls(policy, CHOICE)


def test_more_environments_than_said_are_refused(backend):
    spaces = {"rewards": FloatBox(ranks="TB"), **dict.fromkeys(ENDS, BoolBox(ranks="TB"))}
    test = ComponentTest(ReturnScaling(num_envs=2), spaces, backend)
    with pytest.raises(Exception, match="num_envs is 2, but the segment has more of them"):
        test.call(
            "call", np.zeros((T, B), "float32"), np.zeros((T, B), bool), np.zeros((T, B), bool)
        )


def test_recurrent_actors_return_what_they_remember(backend):
    root = RecurrentPPO(LSTM, TORQUE)
    test = built(root, backend, apis=["act", "value"])
    states, hidden = STATES.sample(0, 4), HIDDEN.zeros(4)
    actions, log_probs, values, env, after = test.call("act", states, hidden, np.ones(4, bool))
    assert actions.shape == env.shape == (4, 2)
    assert log_probs.shape == values.shape == (4,)
    assert {path: x.shape for path, x in flatten(after).items()} == {("c",): (4, 3), ("h",): (4, 3)}
    same = test.call("value", states, hidden, np.ones(4, bool))
    np.testing.assert_allclose(same, values, rtol=1e-5)
