"""Checks a resolved configuration before anything is built.

Every key is held against the signature that it ends up in, so a new component, agent or option is
known here as soon as it is written. Cheap checks come first; a framework is loaded at the end, once
everything else is right.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.api.agents.factory import agent_class, make_agent
from rlg.api.config.backends import check_backend, check_devices
from rlg.api.config.components import check_component, check_part
from rlg.api.config.environments import check_env_keys, spaces_of
from rlg.api.config.fitting import check_fit
from rlg.api.config.plugins import load_plugins
from rlg.api.config.schedules import check_schedules
from rlg.api.config.sections import SECTIONS, check_section
from rlg.api.config.signatures import (
    Argument,
    Arguments,
    arguments_of,
    check_keys,
    checked,
    mapping,
)
from rlg.errors import RLGError, SpecError
from rlg.graph.spaces import Space

TOP: Arguments = {
    "seed": Argument(int, 0),
    "total_timesteps": Argument(int, 50_000),
    "schedule_timesteps": Argument(int | None, None),
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
    load_plugins(top["plugins"])
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
    check_fit(parts["network"], env["name"], observations)
    _try_agent(
        {**agent, "total_timesteps": top["total_timesteps"]}, env, observations, actions, parts
    )
    if loads_backend:
        check_devices(backend)
    return {
        "seed": top["seed"],
        "total_timesteps": top["total_timesteps"],
        "schedule_timesteps": top["schedule_timesteps"],
        "agent": agent,
        "env": env,
        **parts,
        "backend": backend,
        **sections,
        "plugins": top["plugins"],
    }


def agent_arguments(name: str) -> Arguments:
    """The keys of an agent, without its parts and what the environment says."""
    return arguments_of(agent_class(name), without=_GIVEN)


def _agent(config: Mapping[str, Any]) -> dict[str, Any]:
    section = mapping(_needed(config, "agent"), "agent", "agent.type=dqn")
    name = section.get("type")
    if not isinstance(name, str):
        raise SpecError(f"agent.type: {name!r} is given, but it is a name. Write agent.type=dqn.")
    try:
        arguments = agent_arguments(name)
    except SpecError as error:
        raise SpecError(f"agent.type: {error}") from error
    words = {key: value for key, value in section.items() if key != "type"}
    for part in PARTS:
        if part in words:
            raise SpecError(
                f"agent.{part}: it is a section of its own. Write {part}=..., {part}.type=..."
            )
    check_keys(words, ["type", *arguments], "agent", f"agent {name}")
    result = checked(words, arguments, "agent", f"agent {name}")
    check_schedules(result, "agent", check_part)
    return {"type": name, **result}


def _try_agent(
    spec: Mapping[str, Any],
    env: Mapping[str, Any],
    observations: Space,
    actions: Space,
    parts: Mapping[str, Any],
) -> None:
    """Constructs it, for what only the constructor can say; nothing is built."""
    try:
        make_agent(spec, observations, actions, **parts)
    except RLGError as error:
        raise SpecError(f"agent={spec['type']} with env={env['name']}: {error}") from error
    except Exception as error:
        raise SpecError(
            f"agent={spec['type']} with env={env['name']}: its constructor raised "
            f"{type(error).__name__}: {error}. See rlg list agent."
        ) from error


def _part(config: Mapping[str, Any], agent: Mapping[str, Any], name: str) -> Any:
    """The section, or the agent's own default."""
    if config.get(name) is not None:
        return config[name]
    known = arguments_of(agent_class(agent["type"]))
    default = known[name].default if name in known else None
    if not isinstance(default, (str, Mapping)):
        return _needed(config, name)
    return default


def _needed(config: Mapping[str, Any], name: str) -> Any:
    if config.get(name) is None:
        raise SpecError(
            f"{name}: the section is missing. Choose an option of its group: {name}=..."
        )
    return config[name]
