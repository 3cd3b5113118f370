"""Agents that learn Q-values obey action masks: acting, learning, resumes, engines, refusals."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rlg.api.agents.agent import Agent, BuildOptions
from rlg.api.agents.apex import ApexAgent
from rlg.api.agents.dqn import DQNAgent
from rlg.api.agents.pqn import PQNAgent
from rlg.api.agents.random import RandomAgent
from rlg.api.config.validate import validate
from rlg.api.run import resume, train
from rlg.errors import RLGError
from rlg.execution.types import Clock
from rlg.graph.spaces import BoolBox, Box, Dict, IntBox, map_leaves
from tests.api import masked
from tests.api.runs import config, course
from tests.api.test_agent_options import composed

STATES = Dict(seen=Box((3,)), action_mask=IntBox(2, shape=(4,), dtype="int8"))
MLP = {"type": "mlp", "units": [8], "activation": "tanh"}
LSTM = {"type": "lstm", "units": 4, "network": None}
PRIORITIES = {"type": "prioritized_replay", "buffer_size": 64}
CATEGORICAL = {"distributional": "categorical", "n_atoms": 11, "v_min": -2.0, "v_max": 4.0}
KINDS: dict[str, tuple[type[Agent], dict[str, Any]]] = {
    "dqn": (DQNAgent, {}),
    "plain": (DQNAgent, {"double": False, "dueling": False}),
    "rainbow": (
        DQNAgent,
        {**CATEGORICAL, "noisy": True, "network": {**MLP, "noisy": True}, "n_step": 3}
        | {"memory": PRIORITIES},
    ),
    "qr_dqn": (DQNAgent, {"distributional": "quantile", "n_quantiles": 7, "double": False}),
    "recurrent": (DQNAgent, {"network": LSTM, "sequence_length": 4}),
    "apex": (ApexAgent, {"memory": PRIORITIES, "actor_epsilon": 0.0}),
    "pqn": (PQNAgent, {}),
}
TOTAL = 100


def made(kind: str, backend: str = "torch", states: Any = STATES, **options: Any) -> Any:
    """An agent whose epsilon is 1, 0.5 and 0 after 0, 50 and 100 steps."""
    cls, settings = KINDS[kind]
    epsilons = {"exploration_final_eps": 0.0, "exploration_fraction": 1.0}
    words = {"network": MLP, "total_timesteps": TOTAL, **epsilons, **settings, **options}
    agent = cls(states, IntBox(4), **words)
    agent.build(BuildOptions(backend, seed=3), roles=["actor"] if backend == "numpy" else ())
    return agent


def some_states(count: int, seed: int = 0) -> dict[str, Any]:
    """States that allow one action or more."""
    rng = np.random.default_rng(seed)
    masks = (rng.random((count, 4)) < 0.4).astype(np.int8)
    masks[np.arange(count), rng.integers(0, 4, count)] = 1
    return {"seen": np.float32(rng.normal(size=(count, 3))), "action_mask": masks}


# -- acting ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
@pytest.mark.parametrize("kind", KINDS)
def test_forbidden_actions_are_never_chosen_at_any_epsilon(kind, backend):
    agent = made(kind, backend)
    states = some_states(600)
    hidden = None if agent.state_space is None else agent.state_space.zeros(600)
    resets = None if hidden is None else np.ones(600, bool)
    for steps, explore in ((0, True), (50, True), (100, True), (100, False)):
        clock = Clock(steps, 0, TOTAL)
        actions = agent.act(states, hidden, resets, clock, explore=explore).env
        assert states["action_mask"][np.arange(600), actions].all()
        assert len(np.unique(actions)) == 4


@pytest.mark.parametrize("backend", ["torch", "tf"])
@pytest.mark.parametrize("name", ["dqn", "pqn"])
def test_hundreds_of_steps_and_evaluations_take_no_forbidden_action(name, backend, tmp_path):
    masked.register()  # it raises on a forbidden action
    settings = composed(name, "env=plain/Masked-v0", f"backend={backend}", "network=mlp")
    settings["total_timesteps"] = 540
    settings["backend"]["threads"] = None
    settings["evaluation"] |= {"interval": 180, "episodes": 2}
    assert train(settings, tmp_path).steps == 540


def test_dqfd_obeys_them_and_learns_from_demonstrations_that_do(tmp_path):
    masked.register()
    rng, n = np.random.default_rng(0), 14
    masks = np.ones((n + 1, 4), np.int8)
    masks[:, 3] = 0
    places = rng.random((n + 1, 3), np.float32)
    ends = np.arange(n) % 7 == 6
    np.savez(
        tmp_path / "d.npz",
        **{"states/action_mask": masks[:-1], "next_states/action_mask": masks[1:]},
        **{"states/place": places[:-1], "next_states/place": places[1:]},
        actions=np.arange(n) % 3,
        rewards=np.ones(n, np.float32),
        terminals=ends,
    )
    words = [f"agent.demonstrations={tmp_path / 'd.npz'}", "agent.pretrain_updates=2"]
    settings = composed("dqfd", "env=plain/Masked-v0", "network=mlp", *words)
    outcome = train(settings, tmp_path / "run")
    assert (outcome.steps, outcome.updates > 2) == (60, True)


# -- learning -------------------------------------------------------------------------------------
def observe(agent: DQNAgent) -> None:
    """Steps of four environments, some of which end in states that allow nothing."""
    rng = np.random.default_rng(0)
    for number in range(16):
        states, after = some_states(4, 2 * number), some_states(4, 2 * number + 1)
        actions = np.array([rng.choice(np.flatnonzero(row)) for row in states["action_mask"]])
        ends, cut = rng.random(4) < 0.2, rng.random(4) < 0.2
        after["action_mask"][ends | (number == 7)] = 0
        rewards = rng.random(4).astype("float32")
        agent.observe(states, actions, rewards, ends, after, truncations=cut & ~ends)


@cache
def learned(kind: str, backend: str) -> tuple[list[float], dict[str, Any]]:
    agent = made(kind, backend, batch_size=16)
    observe(agent)
    return [float(agent.update()["loss"]) for _ in range(40)], agent.get_weights()


@pytest.mark.parametrize("kind", ["dqn", "plain", "rainbow", "qr_dqn", "recurrent"])
def test_torch_and_tensorflow_learn_the_same_from_masks(kind):
    (losses, weights), (other, others) = learned(kind, "torch"), learned(kind, "tf")
    assert np.isfinite(losses).all()
    assert max(losses) < 100.0  # No forbidden action's -1e9 is in it.
    np.testing.assert_allclose(losses, other, rtol=2e-3, atol=1e-5)
    for path, value in weights.items():
        np.testing.assert_allclose(value, others[path], rtol=5e-3, atol=5e-4, err_msg=path)


def test_updates_in_one_call_are_those_of_single_calls():
    single, burst = (made("dqn", batch_size=16, gradient_steps=steps) for steps in (1, 4))
    for agent in (single, burst):
        observe(agent)
    for _ in range(4):
        single.learn(None, Clock(horizon=TOTAL))
    assert burst.learn_due(4, Clock(horizon=TOTAL)).updates == 4
    for path, value in single.get_weights().items():
        np.testing.assert_allclose(value, burst.get_weights()[path], atol=1e-6, err_msg=path)


@pytest.mark.parametrize("name", ["dqn", "pqn"])
def test_networks_learn_nothing_from_the_mask(name):
    first, *_ = (box for path, box in made(name).get_weights().items() if "kernel" in path)
    assert first.shape == (3, 8)


def test_a_network_chosen_by_observations_knows_them_without_the_mask():
    states = Dict(kind=IntBox(3), place=Box((2,)), action_mask=BoolBox((4,)))
    agent = made("dqn", states=states, network={"type": "auto", "units": [8]})
    assert agent.network["observation_space"] == Dict(kind=IntBox(3), place=Box((2,)))
    first, *_ = (x for path, x in agent.get_weights().items() if "kernel" in path)
    assert first.shape == (5, 8)  # one-hot, and two numbers


class Priced(masked.Masked):
    """Shows what each action earns: the best allowed one is to be found."""

    def __init__(self) -> None:
        super().__init__()
        self.observation_space["place"] = masked.spaces.Box(0.0, 1.0, (4,), np.float32)
        self._prices = np.zeros(4, np.float32)

    def step(self, action: int) -> Any:
        earned = float(self._prices[action])
        found, _, *rest = super().step(action)
        return found, earned, *rest

    def _observe(self) -> dict[str, Any]:
        self._prices = self.np_random.random(4).astype(np.float32)
        return {"action_mask": self._allowed.copy(), "place": self._prices}


@pytest.mark.parametrize("name", ["dqn", "pqn"])
def test_agents_learn_to_take_the_best_of_what_is_allowed(name):
    env, rng = Priced(), np.random.default_rng(0)
    states = Dict(place=Box((4,)), action_mask=IntBox(2, shape=(4,), dtype="int8"))
    adam = {"type": "adam", "learning_rate": 5e-3}
    words = {"network": {"type": "mlp", "units": [32]}, "optimizer": adam, "batch_size": 64}
    words |= {"gamma": 0.5, "total_timesteps": 3_000}
    words |= {"n_steps": 32} if name == "pqn" else {"target_update_interval": 100}
    agent = made(name, states=states, **words)
    state, _ = env.reset(seed=1)
    for number in range(1, 3_001):
        action = int(agent.get_actions(state))
        after, reward, ends, *_ = env.step(action)
        one = [map_leaves(lambda x: np.asarray(x)[None], x) for x in (state, after)]
        agent.observe(one[0], np.array([action]), np.float32([reward]), np.array([ends]), one[1])
        state = env.reset()[0] if ends else after
        if number > 200 and number % (32 if name == "pqn" else 4) == 0:
            agent.update()
    masks = some_states(400, seed=9)["action_mask"]
    prices = rng.random((400, 4), np.float32)
    actions = agent.get_actions({"place": prices, "action_mask": masks}, explore=False)
    best = np.where(masks, prices, -1.0).max(-1)
    assert np.mean(best - prices[np.arange(400), actions]) < 0.02


@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_a_resumed_run_with_masks_equals_one_that_was_not_stopped(backend, tmp_path):
    masked.register()
    settings = config(backend, "plain/Masked-v0")
    settings["total_timesteps"] = 512
    settings["agent"]["n_step"] = 2
    settings["memory"] = {"type": "prioritized_replay", "buffer_size": 300}
    settings["checkpoint"]["interval"] = settings["evaluation"]["interval"] = 128
    settings["backend"]["threads"] = None
    train(validate(settings), tmp_path / "run")
    expected = course(tmp_path / "run")
    assert resume(tmp_path / "run", checkpoint=256).resumed_at == 256
    assert course(tmp_path / "run") == expected


# -- refusals -------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (BoolBox((5,)), r"has the shape \(5,\), but the actions are .* Give it the shape \(4,\)"),
        (Dict(move=BoolBox((4,))), "'action_mask' in the observations must be one array"),
    ],
)
@pytest.mark.parametrize("cls", [DQNAgent, PQNAgent])
def test_masks_that_do_not_fit_the_actions_are_refused_in_one_line(cls, mask, message):
    with pytest.raises(RLGError, match=message) as caught:
        cls(Dict(seen=Box((3,)), action_mask=mask), IntBox(4), network=MLP)
    assert "\n" not in str(caught.value)


def test_a_memory_of_frames_still_refuses_observations_with_masks():
    pictures = Dict(seen=Box((36, 36, 4), "uint8"), action_mask=BoolBox((4,)))
    agent = DQNAgent(
        pictures,
        IntBox(4),
        network="nature_cnn",
        memory={"type": "frame_replay", "buffer_size": 64, "frame_stack": 4},
    )
    with pytest.raises(RLGError, match="Use another memory"):
        agent.input_spaces()


def test_agents_that_disobey_name_those_that_obey(tmp_path: Path):
    with pytest.raises(RLGError, match=r"dqn, rainbow, qr_dqn, r2d2, dqfd, apex, pqn, ppo, a2c, "):
        RandomAgent(STATES, IntBox(4))
