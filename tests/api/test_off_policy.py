"""SAC, TD3, DDPG and the random agent: acting, units, what is stored, exact resumes, learning."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.random import RandomAgent
from rlg.api.agents.sac import SACAgent
from rlg.api.agents.td3 import DDPGAgent, TD3Agent
from rlg.api.run import resume, train
from rlg.envs import register_env
from rlg.errors import ComponentError
from rlg.execution.types import Action, Batch, Clock
from rlg.graph.components.explorations.noise import ClippedNoise
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Tuple, map_leaves
from rlg.testing import ComponentTest
from rlg.tracking.metrics import read_metrics
from tests.api.runs import config, course

MLP = {"type": "mlp", "units": [8]}
SMALL = {"type": "replay", "buffer_size": 64}
TORQUES = FloatBox(low=(-2.0, 0.0), high=(2.0, 0.5), shape=(2,))
AGENTS = {"sac": SACAgent, "td3": TD3Agent, "ddpg": DDPGAgent}


def made(
    kind: str, actions: Any = TORQUES, states: Any = None, backend: str = "torch", **more: Any
):
    settings = {"network": MLP, "memory": SMALL, "batch_size": 4, "learning_starts": 10, **more}
    agent = AGENTS[kind](states or Box((3,)), actions, **settings)
    agent.build(BuildOptions(backend, seed=1))
    return agent


def acted(agent: Any, count: int = 200, steps: int = 100, explore: bool = True) -> Action:
    states = np.float32(np.random.default_rng(0).normal(size=(count, 3)))
    return agent.act(states, None, None, Clock(steps=steps), explore=explore)


# -- acting ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", AGENTS)
def test_the_environment_gets_its_own_units_and_learning_those_from_minus_1_to_1(kind):
    agent = made(kind)
    for action in (acted(agent), acted(agent, steps=0), acted(agent, explore=False)):
        unit = action.columns["actions"]
        assert TORQUES.contains(action.env)
        assert agent.columns["actions"].contains(unit)
        expected = [-2.0, 0.0] + (unit + 1.0) / 2.0 * [4.0, 0.5]
        np.testing.assert_allclose(action.env, expected, atol=1e-6)


@pytest.mark.parametrize("kind", AGENTS)
def test_actions_are_uniform_until_learning_starts_and_never_in_evaluations(kind):
    agent = made(kind)
    early = acted(agent, 4000, steps=9).columns["actions"]
    # A fourth in each part of the range, of each float by itself.
    shares = [np.histogram(early[:, i], 4, (-1, 1))[0] / 4000 for i in range(2)]
    np.testing.assert_allclose(shares, 0.25, atol=0.03)
    assert abs(np.corrcoef(early.T)[0, 1]) < 0.05
    greedy = acted(agent, steps=0, explore=False).columns["actions"]
    np.testing.assert_array_equal(greedy, acted(agent, explore=False).columns["actions"])
    later = acted(agent, 4000, steps=10).columns["actions"]
    assert np.histogram(later[:, 0], 4, (-1, 1))[0].max() > 1400


@pytest.mark.parametrize("kind", AGENTS)
def test_uniform_actions_repeat_and_go_on_from_a_saved_state(kind):
    first, second = made(kind), made(kind)
    np.testing.assert_array_equal(acted(first, steps=0).env, acted(second, steps=0).env)
    state, expected = first.get_state(), acted(first, steps=0).env
    second.set_state(state)
    np.testing.assert_array_equal(acted(second, steps=0).env, expected)


def test_noise_has_the_deviation_that_was_asked_for():
    agent = made("td3", action_noise=0.05)
    noise = (
        acted(agent, 2000).columns["actions"] - acted(agent, 2000, explore=False).columns["actions"]
    )
    assert noise.std() == pytest.approx(0.05, rel=0.05)
    quiet = made("ddpg", action_noise=0.0)
    np.testing.assert_array_equal(acted(quiet).env, acted(quiet, explore=False).env)


# -- what is stored and learned -------------------------------------------------------------------
def step(agent: Any, **changes: Any) -> dict[str, Any]:
    states = np.zeros((2, 3), "float32")
    return {
        "states": states,
        "actions": np.float32([[-2.0, 0.5], [1.0, 0.125]]),
        "rewards": np.float32([1.0, 2.0]),
        "terminals": np.array([False, True]),
        "next_states": states + 1,
        "truncations": np.array([True, False]),
        **changes,
    }


def test_observed_actions_are_stored_in_units_and_truncations_are_no_ends():
    agent = made("sac")
    agent.observe(**step(agent))
    ((records, _),) = agent._root.memory.export()
    np.testing.assert_allclose(records["actions"], [[-1.0, 1.0], [0.5, -0.5]])
    np.testing.assert_array_equal(records["terminals"], [False, True])
    assert (agent.timesteps, agent.stored, agent.is_ready) == (2, 2, False)


def test_windows_end_where_a_time_limit_cuts_and_bootstrap_from_there():
    agent = made("td3", n_step=3, gamma=0.5)
    for number in range(3):
        cut = np.array([number == 1, False])
        agent.observe(**step(agent, terminals=cut & False, truncations=cut), env_id="here")
    ((records, _),) = agent._root.memory.export()
    # Two steps until the cut; three without one.
    np.testing.assert_allclose(records["rewards"], [1.5, 3.5])
    np.testing.assert_allclose(records["discounts"], [0.25, 0.125])
    assert not records["terminals"].any()


def test_prepared_records_are_replayed_by_the_largest_priority_so_far():
    """As in one process, where the memory gives it; who prepares them elsewhere can't know it."""
    memory = {"type": "prioritized_replay", "buffer_size": 64, "alpha": 1.0}
    actor, learner = (made("td3", memory=memory, n_step=2) for _ in range(2))
    steps = {name: np.stack([x] * 3) for name, x in step(actor).items()}
    batch = actor.prepare(Batch(steps, 4))
    learner.insert(batch)
    assert learner.update_priorities([0, 1, 2, 3], np.float32([0.5, 7.0, 0.25, 2.0])) == 0
    learner.insert(batch)
    errors = learner._root.memory.errors_of(np.arange(8))
    np.testing.assert_allclose(errors, [0.5, 7.0, 0.25, 2.0, 7.0, 7.0, 7.0, 7.0], rtol=1e-5)


@pytest.mark.parametrize(("bounds", "shape"), [(2.0, (1,)), (0.1, (4,)), (50.0, (2, 3))])
def test_the_automatic_target_entropy_is_minus_one_per_float_whatever_its_range(bounds, shape):
    agent = made("sac", FloatBox(-bounds, bounds, shape))
    assert agent._root.temperature._target == -float(np.prod(shape))
    chosen = made("sac", IntBox(4))
    assert chosen._root.temperature._target == pytest.approx(0.98 * np.log(4))


@pytest.mark.parametrize("kind", AGENTS)
def test_targets_begin_as_copies_and_follow_by_tau(kind):
    agent = made(
        kind, tau=0.25, learning_starts=1, **({} if kind == "sac" else {"policy_delay": 1})
    )
    agent.insert(Batch(agent.record_space().sample(0, batch=8), 8))

    def critics(scope: str) -> Any:
        return agent.get_model()[f"agent/{scope}/heads-0/output/dense-0/bias"]

    before = critics("target_critics")
    np.testing.assert_array_equal(before, critics("critics"))
    agent.update()
    assert (critics("critics") != before).all()
    expected = 0.25 * critics("critics") + 0.75 * before
    np.testing.assert_allclose(critics("target_critics"), expected, rtol=1e-5)


def test_critics_of_an_ensemble_begin_apart():
    weights = made("sac", n_critics=3).get_weights()
    kernels = [weights[f"agent/critics/networks-{i}/dense-0/kernel"] for i in range(3)]
    assert (kernels[0] != kernels[1]).any()
    assert (kernels[1] != kernels[2]).any()


def test_a_constant_temperature_stays():
    agent = made("sac", ent_coef=0.3, learning_starts=1)
    agent.insert(Batch(agent.record_space().sample(0, batch=8), 8))
    assert agent.update()["ent_coef"] == pytest.approx(0.3)
    notes = agent.update()
    assert notes["ent_coef"] == pytest.approx(0.3)
    assert "ent_coef_loss" not in notes


STATES = {
    "numbers": FloatBox(),
    "choice": IntBox(5),
    "dict": Dict(a=Box((2,)), b=IntBox(3)),
    "image": Box((36, 36, 1), "uint8", 0, 255),
}


@pytest.mark.parametrize("kind", AGENTS)
@pytest.mark.parametrize("name", STATES)
def test_every_kind_of_state_is_acted_on_and_learned_from(kind, name):
    network = {"type": "auto", "units": [8], "features_dim": 8}
    actions = IntBox(3) if (kind, name) == ("sac", "choice") else FloatBox(-1.0, 3.0)
    agent = made(kind, actions, STATES[name], network=network, batch_size=2)
    states = STATES[name].sample(0, batch=5)
    assert actions.contains(agent.get_actions(states))
    agent.insert(Batch(agent.record_space().sample(0, batch=5), 5))
    before = agent.get_weights()
    agent.update()
    figures = agent.update()
    assert all(np.isfinite(value) for value in figures.values())
    for scope in ("policy", "critics"):
        mine = [path for path in before if path.startswith(f"agent/{scope}/")]
        assert any((agent.get_weights()[path] != before[path]).any() for path in mine)


KEYS = {"gamma": 0.9, "tau": 0.02, "n_step": 2, "n_critics": 3}
OWN = {
    "sac": {"ent_coef": "auto_0.2", "target_entropy": -3.0},
    "td3": {"policy_delay": 3, "target_policy_noise": 0.3, "target_noise_clip": 0.4},
    "ddpg": {"policy_delay": 2, "target_policy_noise": 0.1, "target_noise_clip": 0.2},
}


@pytest.mark.parametrize("kind", AGENTS)
def test_keys_that_differ_from_the_default_reach_the_root(kind):
    keys = KEYS | OWN[kind]
    root = AGENTS[kind](Box((3,)), TORQUES, network=MLP, memory=SMALL, **keys).make_root()
    assert {name: getattr(root, name) for name in keys} == keys


def test_ddpg_is_td3_with_all_its_changes_off():
    root = DDPGAgent(Box((3,)), TORQUES, network=MLP).make_root()
    assert (root.n_critics, root.policy_delay, root.target_policy_noise) == (1, 1, 0.0)
    root = TD3Agent(Box((3,)), TORQUES, network=MLP).make_root()
    assert (root.n_critics, root.policy_delay, root.target_policy_noise) == (2, 2, 0.2)


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_smoothing_noise_is_clipped_and_so_are_the_actions(backend):
    noise = ClippedNoise(FloatBox(-1.0, 1.0, (2,)), sigma=1000.0, limit=0.25)
    test = ComponentTest(noise, {"actions": FloatBox(-1.0, 1.0, (2,))}, backend, apis=["explore"])
    found = test.test("explore", np.float32([[0.0, 0.9]] * 50))
    np.testing.assert_allclose(np.unique(found[:, 0]), [-0.25, 0.25])
    np.testing.assert_allclose(np.unique(found[:, 1]), [0.65, 1.0], atol=1e-6)


# -- refusals -------------------------------------------------------------------------------------
UNBOUNDED, CHOICES = FloatBox(shape=(2,)), IntBox([3, 4], shape=(2,))


@pytest.mark.parametrize(
    ("kind", "actions", "options", "said"),
    [
        ("sac", UNBOUNDED, {}, "finite bounds, or one choice.*RescaleAction"),
        ("sac", CHOICES, {}, "one choice, but the environment's actions are.*agent=dqn"),
        ("sac", Dict(a=TORQUES, b=TORQUES), {}, "one choice, but the environment's actions are"),
        ("td3", IntBox(3), {}, "agent td3: it takes floats with finite bounds.*agent=dqn"),
        ("ddpg", FloatBox(1.0, 1.0), {}, "agent ddpg: it takes floats with finite bounds"),
        ("sac", TORQUES, {"network": {"type": "lstm", "units": 4}}, "no recurrent networks"),
        ("td3", TORQUES, {"memory": {"type": "frame_replay"}}, "memory=replay"),
    ],
)
def test_what_they_can_not_do_is_refused_with_a_reason(kind, actions, options, said):
    with pytest.raises(ComponentError, match=said):
        AGENTS[kind](Box((3,)), actions, **{"network": MLP, "memory": SMALL, **options})


# -- the random agent -----------------------------------------------------------------------------
ANY = {
    "choice": IntBox(3),
    "choices": IntBox([2, 5], shape=(2,)),
    "bits": BoolBox(shape=(2,)),
    "floats": TORQUES,
    "nested": Tuple(IntBox(2), Dict(a=FloatBox(0.0, 1.0))),
}


@pytest.mark.parametrize("backend", ["numpy", "torch", "tf"])
def test_random_actions_are_those_of_any_space_on_every_backend(backend):
    for space in ANY.values():
        agent = RandomAgent(Box((3,)), space)
        agent.build(BuildOptions(backend))
        assert space.contains(agent.get_actions(np.zeros((50, 3), "float32")))
        one = agent.get_actions(np.zeros(3, "float32"))
        assert space.contains(map_leaves(lambda x: np.asarray(x)[None], one))


def test_random_actions_are_uniform():
    agent = RandomAgent(Box((3,)), ANY["choices"])
    agent.build(BuildOptions("numpy"))
    found = agent.get_actions(np.zeros((5000, 3), "float32"))
    np.testing.assert_allclose(np.bincount(found[:, 0]) / 5000, [0.5] * 2, atol=0.03)
    np.testing.assert_allclose(np.bincount(found[:, 1]) / 5000, [0.2] * 5, atol=0.03)


def test_random_evaluations_change_nothing_of_what_a_random_run_does():
    agents = [RandomAgent(Box((3,)), TORQUES) for _ in range(2)]
    for agent in agents:
        agent.build(BuildOptions("numpy"))
    evaluated = [acted(agents[0], explore=False).env for _ in range(2)]
    assert (evaluated[0] != evaluated[1]).any()
    np.testing.assert_array_equal(acted(agents[0]).env, acted(agents[1]).env)


def test_random_floats_without_bounds_are_refused():
    with pytest.raises(ComponentError, match=r"agent random: .*both bounds"):
        RandomAgent(Box((3,)), UNBOUNDED)


@pytest.mark.parametrize("executor", ["local", "threads"])
def test_a_random_run_ends_without_updates_and_resumes_exactly(executor, tmp_path):
    settings = config("torch", total_timesteps=1024, agent={"type": "random"})
    settings["executor"] = {"type": executor}
    outcome = train(settings, tmp_path)
    assert (outcome.exit_code, outcome.steps, outcome.updates) == (0, 1024, 0)
    expected = course(tmp_path)
    assert 10 < expected[2][-1]["eval/mean_reward"] < 60
    assert resume(tmp_path, checkpoint=512).resumed_at == 512
    assert course(tmp_path) == expected


def test_a_random_run_moves_to_an_engine_of_ranks_and_back(tmp_path):
    ranks = {"type": "ddp", "num_ranks": 2}
    settings = config("torch", total_timesteps=256, agent={"type": "random"}, executor=ranks)
    outcome = train(settings | {"evaluation": {"interval": 0}}, tmp_path)
    assert (outcome.exit_code, outcome.steps, outcome.updates) == (0, 256, 0)
    for steps, executor in ((512, {"type": "local"}), (768, ranks)):
        changes = {"executor": executor, "total_timesteps": steps}
        assert resume(tmp_path, changes=changes).steps == steps


# -- whole runs -----------------------------------------------------------------------------------
def run(kind: str, backend: str = "torch", env: str = "pendulum", **changes: Any) -> dict[str, Any]:
    agent = {"type": kind, "batch_size": 16, "learning_starts": 64}
    settings = config(backend, env)
    if backend == "torch":
        settings["backend"]["threads"] = 1
    checkpoint = {"interval": 128, "keep": None, "memory": True}
    evaluation = {"interval": 128, "episodes": 2}
    return {
        **settings,
        "total_timesteps": 256,
        "agent": agent,
        "checkpoint": checkpoint,
        "evaluation": evaluation,
        "logger": {"interval": 64, "tensorboard": False},
        **changes,
    }


def test_a_resumed_run_of_choices_equals_one_that_was_not_stopped(tmp_path):
    train(run("sac", env="cartpole"), tmp_path)
    expected = course(tmp_path)
    assert resume(tmp_path, checkpoint=128).resumed_at == 128
    assert course(tmp_path) == expected
    assert {"train/critic_loss", "train/actor_loss"} <= expected[2][-1].keys() | expected[2][
        -2
    ].keys()


def test_windows_priorities_schedules_and_a_thread_go_on_exactly(tmp_path):
    settings = run(
        "td3",
        executor={"type": "threads"},
        memory={"type": "prioritized_replay", "buffer_size": 100},
        optimizer={
            "type": "adam",
            "learning_rate": {"type": "linear", "initial": 1e-3, "final": 0.0},
        },
    )
    settings["agent"] |= {"n_step": 3, "train_freq": 8, "gradient_steps": 6}
    train(settings, tmp_path)
    expected = course(tmp_path)
    assert resume(tmp_path, checkpoint=128).resumed_at == 128
    assert course(tmp_path) == expected


class Hold(gymnasium.Env[Any, Any]):
    """A point on a line, pushed by -2 to 2, that pays for its distance from 0 in 20 steps."""

    observation_space = gymnasium.spaces.Box(-9, 9, (1,))
    action_space = gymnasium.spaces.Box(-2, 2, (1,))

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.steps, self.place = 0, self.np_random.uniform(-2, 2, 1)
        return np.float32(self.place), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.place = np.clip(self.place + 0.25 * action, -2, 2)
        self.steps += 1
        return np.float32(self.place), -float(abs(self.place[0])), False, self.steps == 20, {}


@pytest.mark.parametrize(
    ("kind", "backend"), [("sac", "torch"), ("sac", "tf"), ("td3", "torch"), ("ddpg", "tf")]
)
def test_they_learn(kind, backend, tmp_path):
    """A random policy returns -20 on average, and one that pushes as it should about -2."""
    register_env("hold", Hold)
    settings = run(kind, backend, total_timesteps=1200)
    settings["agent"] |= {"batch_size": 32, "learning_starts": 100, "gamma": 0.8, "tau": 0.02}
    settings["optimizer"] = {"type": "adam", "learning_rate": 3e-3}
    settings |= {"evaluation": {"interval": 1200, "episodes": 20}, "checkpoint": {"interval": 0}}
    settings["env"] = {"name": "hold", "num_envs": 4}
    train(settings, tmp_path)
    rows = read_metrics(tmp_path / "metrics.jsonl")
    assert [row["eval/mean_reward"] for row in rows if "eval/mean_reward" in row][-1] > -4.0
