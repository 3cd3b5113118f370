"""What pictures of a run show is what runs: its sizes, its networks, its summaries."""

from __future__ import annotations

from typing import Any

import pytest

from rlg.api.agents.agent import BuildOptions
from rlg.api.agents.dqn import DQNAgent
from rlg.api.picture import plan_sources
from rlg.graph.spaces import Box, IntBox

MLP = {"type": "mlp", "units": [8]}


def agent(**options: Any) -> DQNAgent:
    made = DQNAgent(Box((3,)), IntBox(2), network=MLP, memory="replay", batch_size=64)
    made.build(BuildOptions("torch", options=options))
    return made


def observed(made: DQNAgent) -> DQNAgent:
    records = made.executor.builder.spaces["records"]
    made.executor.execute("observe", records.sample(0, batch=100))
    return made


def test_the_plan_of_the_batch_size_that_runs_is_shown():
    made = observed(agent())
    shown = plan_sources(made.executor)["update"]
    assert "update(n=64" in shown
    assert "n=32" not in shown
    before = len(made.executor.builder.graphs)
    made.executor.execute("update", made.batch_size)
    assert len(made.executor.builder.graphs) == before
    assert made.executor.plan("update", n=64).source in shown


def test_summaries_are_in_the_plan_that_is_shown_if_they_run():
    assert "gradient_norm" not in plan_sources(agent().executor)["update"]
    made = agent(summaries=True)
    assert "gradient_norm" in plan_sources(made.executor)["update"]
    assert made.executor.plan("update", n=64).source in plan_sources(made.executor)["update"]


@pytest.mark.parametrize("memory", ["replay", "prioritized_replay"])
def test_categories_are_known_behind_the_memory(memory):
    """The target network sees only what the memory gives back; one-hot needs the categories."""
    network = {"type": "stack", "layers": ["flatten_one_hot", {"type": "dense", "units": 8}]}
    made = DQNAgent(IntBox(16), IntBox(2), network=network, memory=memory, batch_size=4)
    made.build(BuildOptions("torch"))
    shapes = {path: w.shape for path, w in made.executor.get_weights(trainable=None).items()}
    for scope in ("policy", "target_policy"):
        kernels = [s for path, s in shapes.items() if path.startswith(f"agent/{scope}/network")]
        assert (16, 8) in kernels
