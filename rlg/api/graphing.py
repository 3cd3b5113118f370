"""The use case behind `rlg graph`: a configuration's agent, built and not trained."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.api.agents.factory import agent_of, build_options
from rlg.api.config.validate import validate
from rlg.backends.executor import GraphExecutor
from rlg.envs import make_env


def built_graph(config: Mapping[str, Any]) -> GraphExecutor:
    """The executor of the agent that `rlg train` would train with this configuration."""
    checked = validate(config)
    with make_env(**{**checked["env"], "num_envs": 1}) as example:
        spaces = example.observation_space, example.action_space
    agent = agent_of(checked, *spaces)
    agent.build(build_options(checked))
    return agent.executor
