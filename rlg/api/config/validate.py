"""Checks a resolved configuration before anything is built.

Every key is checked against the constructor it is passed to, so a new component, agent or option is
known here as soon as it is written. Cheap checks come first; a framework is loaded at the end, once
everything else is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rlg.api.agents.agent import Agent
from rlg.api.agents.factory import agent_class, make_agent
from rlg.api.config.components import check_component, check_schedules, component_arguments
from rlg.api.config.environments import COMMON, check_env_keys, env_arguments, spaces_of
from rlg.api.config.plugins import load_plugins
from rlg.api.config.sections import (
    EXECUTORS,
    SECTIONS,
    backend_arguments,
    check_backend,
    check_devices,
    check_section,
    replica_count,
    section_class,
)
from rlg.api.config.signatures import (
    TYPE,
    Argument,
    Arguments,
    arguments_of,
    blaming,
    check_keys,
    checked,
    mapping,
)
from rlg.errors import RLGError, SpecError
from rlg.execution.engines import check_backend_of, choose_loop
from rlg.graph.limits import NonNegativeInt, PositiveInt
from rlg.graph.spaces import Box, Space

TOP: Arguments = {
    "seed": Argument(NonNegativeInt, 0),
    "total_timesteps": Argument(PositiveInt, 50_000),
    "schedule_timesteps": Argument(PositiveInt | None, None),
    "plugins": Argument(list[str], []),
}
# Sections that are component specs and reach the agent's constructor.
PARTS = ("network", "memory", "optimizer")
_GIVEN = ("observation_space", "action_space", "total_timesteps", "num_envs", *PARTS)
KEYS = (*TOP, "agent", *PARTS, "env", "backend", *SECTIONS)


def validate(config: Mapping[str, Any], *, loads_backend: bool = True) -> dict[str, Any]:
    """The configuration, plain and complete, or an error that says where, what and what to do.

    Without `loads_backend` no framework is imported, and devices are taken as they are.
    """
    config = mapping(config, "the configuration", "seed, total_timesteps, agent, env...")
    check_keys(config, KEYS, "", "a configuration")
    top = checked({k: config[k] for k in TOP if k in config}, TOP, "", "a run")
    plugins = top.pop("plugins")
    load_plugins(plugins)
    backend = mapping(config.get("backend", {}), "backend", "backend.type=torch")
    backend = check_backend(backend)
    sections = {name: check_section(name, config.get(name, {})) for name in SECTIONS}
    agent = _agent(config)
    env = mapping(_needed(config, "env"), "env", "env.name=cartpole")
    env = check_env_keys(env)
    # Sections that the agent doesn't consume (a memory for PPO) are left out.
    own = agent_class(agent["type"]).parts
    parts = {name: check_component(_part(config, agent, name), name) for name in own}
    observations, actions = spaces_of(env)
    _check_network(parts.get("network"), env["name"], observations)
    # Constructed for what only the constructor can say; nothing is built.
    with blaming(
        f"agent={agent['type']} with env={env['name']}",
        lambda error: f"its constructor raised {error}. See rlg list agent.",
    ):
        timed = {**agent, "total_timesteps": top["total_timesteps"]}
        made = make_agent(timed, observations, actions, **parts)
    choose_loop(sections["executor"]["type"], agent["type"], made.loops)
    check_backend_of(sections["executor"]["type"], backend["type"])
    _check_batch(agent, parts.get("memory"), made)
    _check_replicas(agent["type"], replica_count(backend), made)
    if loads_backend:
        check_devices(backend)
    # A run may be resumed from another folder.
    named = {k: str(Path(agent[k]).absolute()) for k in made.files if agent[k] is not None}
    fixed = {"agent": {**agent, **named}, "env": env, **parts, "backend": backend}
    return {**top, **fixed, **sections, "plugins": plugins}


# -- keys ------------------------------------------------------------------------------------------
def known_keys(section: str, content: Mapping[str, Any]) -> list[str]:
    """The keys of a section that is filled like this ("" is the top level); [] where unknown."""
    if not section:
        return list(KEYS)
    try:
        return list(arguments_in(section, content))
    except RLGError:  # its type or name is unknown too
        return []


def arguments_in(section: str, content: Mapping[str, Any]) -> Arguments:
    """The same with types and defaults; an unknown type or name is an error."""
    name = str(content.get("name" if section == "env" else "type", ""))
    if not section:
        return TOP
    if section in SECTIONS:
        return arguments_of(section_class(section, content))
    if section == "env":
        return {**COMMON, **(env_arguments(name)[0] or {})}
    if section == "agent":
        found = agent_arguments(name)
    elif section == "backend":
        found = backend_arguments(name) if name in EXECUTORS else {}
    elif section in PARTS or "." in section or "[" in section:
        found = component_arguments(name)
    else:
        return {key: Argument() for key in content}
    return {**TYPE, **found}


def agent_arguments(name: str) -> Arguments:
    """The keys of an agent, without its parts and what the environment says."""
    return arguments_of(agent_class(name), without=_GIVEN)


# -- the agent and its parts -----------------------------------------------------------------------
def _agent(config: Mapping[str, Any]) -> dict[str, Any]:
    section = mapping(_needed(config, "agent"), "agent", "agent.type=dqn")
    name = section.get("type")
    if not isinstance(name, str):
        raise SpecError(f"agent.type: expected a name, got {name!r}. Write agent.type=dqn.")
    with blaming("agent.type"):
        arguments = {**TYPE, **agent_arguments(name)}
    for part in PARTS:
        if part in section:
            raise SpecError(
                f"agent.{part}: this is a section of its own. Write {part}=..., {part}.type=..."
            )
    result = checked(section, arguments, "agent", f"agent {name}")
    check_schedules(result, arguments, "agent")
    return result


def _part(config: Mapping[str, Any], agent: Mapping[str, Any], name: str) -> Any:
    """The section, or the agent's own default."""
    if config.get(name) is not None:
        return config[name]
    known = arguments_of(agent_class(agent["type"]))
    default = known[name].default if name in known else None
    return default if isinstance(default, (str, Mapping)) else _needed(config, name)


def _needed(config: Mapping[str, Any], name: str) -> Any:
    if config.get(name) is None:
        raise SpecError(
            f"{name}: the section is missing. Choose an option of its group: {name}=..."
        )
    return config[name]


# -- compatibility ---------------------------------------------------------------------------------
def _check_network(network: Any, env: str, observations: Space) -> None:
    """Refuses the common mistakes; what it doesn't know the build will say, by component."""
    kind = network.get("type") if isinstance(network, dict) else None
    axes = len(observations.shape) if isinstance(observations, Box) else None
    if kind == "mlp" and axes == 3:
        raise SpecError(
            f"network, env: an mlp takes vectors, but the observations of {env} are images, "
            f"{observations}. Write network=auto or network=nature_cnn, or choose another env."
        )
    if kind == "nature_cnn" and axes != 3:
        raise SpecError(
            f"network, env: nature_cnn takes images, but the observations of {env} are "
            f"{observations}. Write network=mlp, or choose another env."
        )


def _check_batch(agent: Mapping[str, Any], memory: Any, made: Agent) -> None:
    """Refuses a batch that the memory never holds; of a recurrent agent records are sequences."""
    size = memory.get("buffer_size") if isinstance(memory, dict) else None
    batch = agent.get("batch_size")
    if size is None or batch is None:
        return
    is_recurrent = getattr(made, "is_recurrent", False)
    length = agent.get("sequence_length", 1) if is_recurrent else 1
    room = max(1, size // length)
    if batch > room:
        of = "sequences" if is_recurrent else "transitions"
        raise SpecError(
            f"agent.batch_size: must be at most {room}, got {batch}: memory.buffer_size={size} "
            f"holds no more {of}. Choose a smaller batch or a larger memory."
        )


def _check_replicas(name: str, replicas: int, made: Agent) -> None:
    """Refuses replicas for an agent whose update they would not share."""
    if replicas > 1 and not made.replicates:
        raise SpecError(
            f"backend.replicas: must be 1 for agent {name}, got {replicas}: {made.learns_whole}. "
            "Write backend.replicas=1."
        )
