"""Agents by name: the table behind the key `agent.type`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

from rlg.api.agents.agent import Agent
from rlg.errors import SpecError
from rlg.graph.spaces import Space
from rlg.spelling import suggestion

# Dotted paths, imported on use; plugins add classes.
AGENTS: dict[str, str | type[Agent]] = {"dqn": "rlg.api.agents.dqn:DQNAgent"}


def register_agent(name: str, cls: type[Agent]) -> None:
    """Adds an agent under a name: `agent.type` in a configuration."""
    known = AGENTS.get(name)
    if known is not None and getattr(known, "__qualname__", known) != cls.__qualname__:
        raise SpecError(f"the agent name {name!r} is taken by {known}; choose another name.")
    AGENTS[name] = cls


def agent_class(name: str) -> type[Agent]:
    """The class behind a name."""
    if name not in AGENTS:
        raise SpecError(
            f"there is no agent {name!r}.{suggestion(name, AGENTS)} Known: {', '.join(AGENTS)}."
        )
    target = AGENTS[name]
    if isinstance(target, type):
        return target
    module, _, attribute = target.partition(":")
    cls: type[Agent] = getattr(import_module(module), attribute)
    return cls


def make_agent(
    spec: Mapping[str, Any], observation_space: Space, action_space: Space, **parts: Any
) -> Agent:
    """An agent from its spec and the specs of its parts (network, memory, optimizer...)."""
    words = dict(spec)
    cls = agent_class(words.pop("type"))
    return cls(observation_space, action_space, **parts, **words)


def agent_of(config: Mapping[str, Any], observation_space: Space, action_space: Space) -> Agent:
    """The agent of a run's whole configuration."""
    spec = {**config["agent"], "total_timesteps": int(config["total_timesteps"])}
    parts = {name: config[name] for name in ("network", "memory", "optimizer")}
    return make_agent(spec, observation_space, action_space, **parts)
