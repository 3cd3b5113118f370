"""Every packaged network, memory and optimizer makes a DQN agent that acts, observes and learns."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.dqn import DQNAgent
from rlg.api.config.components import check_component
from rlg.api.config.groups import groups
from rlg.graph.spaces import Box, Dict, IntBox, map_leaves

NUM_ENVS = 2
VECTOR, IMAGE = Box((4,)), Box((36, 36, 2), "uint8", 0, 255)
SMALL = {"units": 4, "features_dim": 4, "buffer_size": 64, "filters": 2}
PARTS = {"network": "mlp", "memory": "replay", "optimizer": "adam"}
OPTIONS = [(group, option) for group in PARTS for option in groups()[group]]
IMAGES = ("nature_cnn", "minatar_cnn", "impala_small", "impala_large", "frame_replay")
IMAGES += ("prioritized_frames",)
# TensorFlow takes seconds to trace each: what is particular to a backend is among these.
QUICK_ON_TF = ("mlp", "prioritized", "frame_replay", "lstm")


def part(group: str, option: str) -> Any:
    """A packaged option, made small."""
    text = (Path(str(files("rlg.conf"))) / group / f"{option}.yaml").read_text()
    text = text.replace("${oc.select:env.frame_stack,1}", str(IMAGE.shape[-1]))
    spec = yaml.safe_load(text.replace("${env.num_envs}", str(NUM_ENVS)))
    return small(check_component(spec, group))


def small(spec: Any) -> Any:
    if isinstance(spec, list):
        return [small(item) for item in spec]
    if not isinstance(spec, dict):
        return spec
    return {
        key: [SMALL[key] for _ in value]
        if key in SMALL and isinstance(value, list)
        else SMALL.get(key, small(value))
        for key, value in spec.items()
    }


def cases() -> list[Any]:
    return [
        pytest.param(
            backend,
            group,
            option,
            marks=[pytest.mark.slow] if backend == "tf" and option not in QUICK_ON_TF else [],
        )
        for backend in ("torch", "tf")
        for group, option in OPTIONS
    ]


@pytest.mark.parametrize(("backend", "group", "option"), cases())
def test_an_option_acts_observes_and_learns(backend, group, option):
    chosen = {**PARTS, group: option}
    if option in IMAGES and group == "memory":
        chosen["network"] = "impala_small"
    observations: Any = IMAGE if option in IMAGES else VECTOR
    if option == "multi_input":
        observations = Dict(image=IMAGE, vector=VECTOR)
    agent = DQNAgent(
        observations,
        IntBox(3),
        **{name: part(name, option) for name, option in chosen.items()},
        batch_size=4,
        sequence_length=4,
    )
    agent.build(BuildOptions(backend))
    before = agent.get_weights()
    rng = np.random.default_rng(0)
    for first in (0, 10):
        states = map_leaves(
            lambda x: x.reshape(5, NUM_ENVS, *x.shape[1:]), observations.sample(first, 10)
        )
        ends = rng.random((2, 5, NUM_ENVS)) < 0.2
        rewards = rng.random((5, NUM_ENVS)).astype("float32")
        actions = rng.integers(0, 3, (5, NUM_ENVS))
        agent.observe(states, actions, rewards, ends[0], states, truncations=ends[1] & ~ends[0])
    assert agent.timesteps == 20
    loss = agent.update()["loss"]
    assert np.isfinite(loss)
    assert loss > 0
    assert any(
        not np.array_equal(value, before[path]) for path, value in agent.get_weights().items()
    )
    actions = agent.get_actions(observations.sample(1, 3))
    assert actions.shape == (3,)
    assert set(actions.tolist()) <= {0, 1, 2}


def test_there_are_options_of_every_family():
    assert {"lstm", "gru", "impala_small", "impala_large", "multi_input"} <= set(
        groups()["network"]
    )
    assert {"prioritized", "frame_replay", "prioritized_frames"} <= set(groups()["memory"])
    assert {"adamw", "adagrad", "adadelta", "nadam", "radam"} <= set(groups()["optimizer"])
