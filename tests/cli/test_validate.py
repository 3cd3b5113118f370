"""`validate`: what it accepts, converts and completes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import pytest
import yaml
from hydra import compose, initialize_config_module
from omegaconf import DictConfig, OmegaConf

from rlg.api.config.signatures import converted
from rlg.api.config.validate import validate
from rlg.errors import SpecError
from rlg.graph.limits import PositiveFloat, PositiveInt

# change of the packaged configuration -> what its error must say
REFUSED = {
    # types
    "seed=1.5": ["seed: expected an integer, got 1.5"],
    "total_timesteps=many": ["total_timesteps: expected", "got 'many'", "total_timesteps=50000"],
    "agent.double=maybe": ["agent.double: expected true or false, got 'maybe'"],
    "network.units=64": ["network.units: expected a list", "got 64", "network.units=[64,64]"],
    "network.units=[64,wide]": ["network.units: expected a list", "integer, got [64, 'wide']"],
    # ranges
    "seed=-1": ["seed: must be at least 0, got -1"],
    "total_timesteps=0": ["total_timesteps: must be at least 1, got 0"],
    "agent.batch_size=0": ["agent.batch_size: must be at least 1, got 0"],
    "optimizer.learning_rate=0": ["optimizer.learning_rate: must be positive, got 0"],
    "env.num_envs=0": ["env.num_envs: must be at least 1, got 0"],
    "evaluation.episodes=0": ["evaluation.episodes: must be at least 1, got 0"],
    "backend.replicas=0": ["backend.replicas: must be at least 1, got 0"],
    "checkpoint.keep=0": ["checkpoint.keep: must be at least 1, got 0"],
    "logger.interval=-1": ["logger.interval: must be at least 0, got -1"],
    "network.units=[64,0]": ["network.units: must be at least 1, got 0"],
    "optimizer.learning_rate=.inf": ["optimizer.learning_rate: must be finite, got inf"],
    "agent.batch_size=1000000": ["agent.batch_size: must be at most 50000, got 1000000"],
    "memory.buffer_size=10": ["agent.batch_size: must be at most 10", "memory.buffer_size=10"],
    "network.units=[]": ["network", "no layers"],
    # names
    "optimizer.type=adm": ["optimizer.type", "Did you mean 'adam'?"],
    "agent.type=dqm": ["agent.type", "Did you mean 'dqn'?"],
    "backend.type=pytorch": ["backend.type", "Did you mean 'torch'?"],
    "executor.type=mpi": ["executor.type: there is no engine 'mpi'", "local, threads"],
    "executor.type=thread": ["executor.type", "Did you mean 'threads'?"],
    # keys that were added by force
    "agnt=dqn": ["agnt", "Did you mean 'agent'?"],
    "env.max_episode_step=9": ["Did you mean 'max_episode_steps'?"],
    "env.seed=3": ["env.seed", "seed=3"],
    "agent.memory=replay": ["agent.memory", "memory=..."],
}


# agent -> why its updates can't be shared by replicas
WHOLE = {
    "sac": "its update is several steps that build on each other",
    "td3": "its update is several steps that build on each other",
    "ddpg": "its update is several steps that build on each other",
    "random": "it learns nothing",
    "impala": "agent.normalize_advantage=true takes means over the whole batch",
}


def config(**changes: Any) -> dict[str, Any]:
    smallest = {"agent": {"type": "dqn"}, "env": {"name": "cartpole"}, "network": {"type": "mlp"}}
    return {**smallest, **changes}


@pytest.mark.parametrize(
    ("value", "annotation", "expected"),
    [
        (3, int, 3),
        (1e5, int, 100_000),
        ("1e5", int, 100_000),
        (3, float, 3.0),
        ("1e-3", float, 0.001),
        (None, float | None, None),
        ("2.5e-4", float | None, 0.00025),
        (7, int | None, 7),
        (True, bool, True),
        ("relu", str | None, "relu"),
        ((1, 2.0), Sequence[int], [1, 2]),
        (4, int | Sequence[int], 4),
        (4, float | int, 4),
        ("4", int | str, "4"),
        (4, PositiveFloat | None, 4.0),
        (4, PositiveFloat | PositiveInt, 4),
        ([4, 4], int | Sequence[int], [4, 4]),
        ({"type": "zeros"}, str | Mapping[str, Any], {"type": "zeros"}),
        ("a", Literal["a", "b"], "a"),
        ((1, {"a": (2,)}), Any, [1, {"a": [2]}]),
    ],
)
def test_values_are_converted_to_what_the_signature_says(value, annotation, expected):
    found = converted(value, annotation, "key")
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.parametrize(
    ("value", "annotation"),
    [
        (True, int),
        (False, float),
        (1.5, int),
        ("1.5", int),
        ("fast", float),
        (float("nan"), float),
        (None, int),
        (1, bool),
        ("true", bool),
        (3, str),
        ("ab", Sequence[int]),
        ([1, "x"], Sequence[int]),
        ([], Mapping[str, Any]),
        ("c", Literal["a", "b"]),
        ([1], int | None),
    ],
)
def test_other_values_are_refused_with_key_and_example(value, annotation):
    with pytest.raises(SpecError, match=r"^some\.key: .* Write for example some\.key="):
        converted(value, annotation, "some.key")


def test_the_smallest_configuration_is_completed_and_plain():
    found = validate(config())
    assert found == yaml.safe_load(yaml.safe_dump(found))
    assert validate(found) == found
    assert found["memory"] == {"type": "replay", "buffer_size": 100_000}
    assert found["network"]["units"] == [64, 64]
    assert found["optimizer"]["learning_rate"] == 0.001
    assert found["backend"]["type"] == "torch"
    assert found["env"]["num_envs"] == 1
    assert found["checkpoint"] == {"interval": 25_000, "keep": 2, "memory": True, "best": True}


def test_numbers_written_as_text_or_floats_are_numbers_afterwards():
    found = validate(
        config(total_timesteps=1e5, optimizer={"type": "adam", "learning_rate": "1e-3"})
    )
    assert found["total_timesteps"] == 100_000
    assert isinstance(found["total_timesteps"], int)
    assert found["optimizer"]["learning_rate"] == 0.001


def test_specs_inside_of_specs_are_checked_and_completed():
    layers = [{"type": "dense", "units": "16"}, {"type": "stack", "layers": [{"type": "flatten"}]}]
    found = validate(config(network={"type": "stack", "layers": layers}))
    assert found["network"]["layers"][0]["units"] == 16
    assert found["network"]["layers"][0]["bias"] is True
    layers[1]["layers"][0]["unit"] = 3
    with pytest.raises(SpecError, match=r"^network\.layers\[1\]\.layers\[0\]\.unit: there is no"):
        validate(config(network={"type": "stack", "layers": layers}))


def test_a_component_may_be_named_alone():
    assert validate(config(memory="replay"))["memory"]["buffer_size"] == 100_000


def test_the_ids_of_gymnasium_keep_their_own_defaults():
    found = validate(config(env={"name": "Acrobot-v1", "num_envs": 2}))
    assert found["env"] == {"name": "Acrobot-v1", "num_envs": 2}


def test_a_batch_may_be_as_large_as_the_memory_and_no_larger():
    for room, agent, network in (
        (64, {"batch_size": 64}, "mlp"),
        (1_000, {"batch_size": 50, "sequence_length": 20}, "lstm"),
    ):
        parts = {"network": network, "memory": {"type": "replay", "buffer_size": room}}
        batch = agent["batch_size"]
        validate(config(agent={"type": "dqn", **agent}, **parts))
        with pytest.raises(SpecError, match=rf"^agent\.batch_size: must be at most {batch}, got"):
            validate(config(agent={"type": "dqn", **agent, "batch_size": batch + 1}, **parts))


def test_a_run_without_an_agent_is_refused():
    with pytest.raises(SpecError, match=r"^agent: the section is missing"):
        validate({"env": {"name": "cartpole"}})


@pytest.mark.parametrize("value", [[1], "dqn", 3])
def test_a_section_that_is_no_mapping_is_refused(value):
    with pytest.raises(SpecError, match=r"^agent: .* a section of keys"):
        validate(config(agent=value))


@pytest.fixture(scope="module")
def packaged() -> DictConfig:
    """The configuration of `rlg train` without any words."""
    with initialize_config_module("rlg.conf", version_base="1.3"):
        return compose("train")


@pytest.mark.parametrize("change", REFUSED)
def test_a_wrong_value_is_refused_with_its_key_and_the_way_out(packaged, change):
    changed = OmegaConf.merge(
        OmegaConf.to_container(packaged, resolve=True), OmegaConf.from_dotlist([change])
    )
    with pytest.raises(SpecError) as refused:
        validate(OmegaConf.to_container(changed, resolve=True))
    message = str(refused.value)
    assert [part for part in REFUSED[change] if part not in message] == [], message


def test_a_loop_that_an_engine_does_not_offer_is_refused_with_those_that_it_does(monkeypatch):
    from rlg.api.agents.dqn import DQNAgent

    monkeypatch.setattr(DQNAgent, "loops", ("sharded_replay",))
    offered = "local offers the loops replay, batches, actor_learner, gradients, but agent dqn"
    with pytest.raises(SpecError, match=offered):
        validate(config())


@pytest.mark.parametrize("kind", WHOLE)
def test_replicas_of_an_agent_that_learns_from_whole_batches_are_refused(kind):
    agent = {"type": kind} | ({"normalize_advantage": True} if kind == "impala" else {})
    changes = {"agent": agent, "env": {"name": "pendulum"}, "memory": {"type": "replay"}}
    validate(config(**changes, backend={"type": "torch", "replicas": 1}))
    with pytest.raises(SpecError) as error:
        validate(config(**changes, backend={"type": "torch", "replicas": 2}))
    assert str(error.value).startswith(
        f"backend.replicas: must be 1 for agent {kind}, got 2: {WHOLE[kind]}"
    )
    assert str(error.value).endswith("Write backend.replicas=1.")


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            {"replica_devices": ["cpu", "gpu:7"]},
            "backend.replica_devices[1]: no device 'gpu:7' here",
        ),
        ({"replica_devices": "cpu"}, "backend.replica_devices: expected a list, each item text or"),
        ({"replica_devices": ["cpu", "cpu"], "replicas": 3}, "backend.replicas: there is one for"),
        ({"device": "gpu:7"}, "backend.device: no device 'gpu:7' here; available: "),
    ],
)
@pytest.mark.parametrize("backend", ["torch", "tf"])
def test_devices_of_replicas_that_can_not_be_get_a_line(words, line, backend):
    with pytest.raises(SpecError) as error:
        validate(config(backend={"type": backend, **words}))
    assert str(error.value).startswith(line)
    assert "CPU:1" not in str(error.value)


@pytest.mark.parametrize(
    ("backend", "words"),
    [
        ("torch", {"replica_devices": ["cpu", "cpu"]}),
        ("torch", {"replica_devices": "auto", "device": "auto"}),
        ("tf", {"replica_devices": ["CPU:0", "CPU:1"], "replicas": 2}),
        ("tf-graph", {"device": "CPU:3", "devices": {"agent/policy": {"variables": "cpu:2"}}}),
    ],
)
def test_devices_of_replicas_are_accepted(backend, words):
    found = validate(config(backend={"type": backend, **words}))["backend"]
    assert {key: found[key] for key in words} == words


def test_devices_of_replicas_count_as_replicas():
    changes = {"agent": {"type": "sac"}, "env": {"name": "pendulum"}, "memory": {"type": "replay"}}
    with pytest.raises(SpecError, match="must be 1 for agent sac, got 2"):
        validate(config(**changes, backend={"type": "torch", "replica_devices": ["cpu", "cpu"]}))


@pytest.mark.parametrize("kind", ["ppo", "a2c", "a3c", "impala", "dqn", "pqn"])
def test_replicas_of_other_agents_are_accepted(kind):
    engine = {"a3c": "ray"}.get(kind, "local")
    changes = {"agent": {"type": kind}, "executor": {"type": engine}}
    found = validate(config(**changes, backend={"type": "torch", "replicas": 2}))
    assert found["backend"]["replicas"] == 2
