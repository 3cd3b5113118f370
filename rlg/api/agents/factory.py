"""Agents by name: the table behind the key `agent.type`."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from importlib import import_module
from inspect import signature
from typing import Any

from rlg.api.agents.agent import Agent, BuildOptions
from rlg.api.config.plugins import load_plugins
from rlg.api.summaries import are_wanted
from rlg.envs import VectorEnv, make_env
from rlg.errors import ComponentError, SpecError
from rlg.execution.engines import choose_loop
from rlg.execution.roles import Role
from rlg.graph.components.optimizers.average import Averaging
from rlg.graph.core.component.randomness import key_of
from rlg.graph.limits import first_violation
from rlg.graph.registry import parameters_of
from rlg.graph.spaces import Space
from rlg.spelling import suggestion

# Dotted paths, imported on use; plugins add classes.
AGENTS: dict[str, str | type[Agent]] = {
    "a2c": "rlg.api.agents.actor_critic:A2CAgent",
    "a3c": "rlg.api.agents.a3c:A3CAgent",
    "apex": "rlg.api.agents.apex:ApexAgent",
    "ddpg": "rlg.api.agents.td3:DDPGAgent",
    "dqfd": "rlg.api.agents.dqfd:DQfDAgent",
    "dqn": "rlg.api.agents.dqn:DQNAgent",
    "impala": "rlg.api.agents.impala:IMPALAAgent",
    "ppo": "rlg.api.agents.actor_critic:PPOAgent",
    "pqn": "rlg.api.agents.pqn:PQNAgent",
    "random": "rlg.api.agents.random:RandomAgent",
    "sac": "rlg.api.agents.sac:SACAgent",
    "td3": "rlg.api.agents.td3:TD3Agent",
}


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
    name = words.pop("type")
    cls = agent_class(name)
    wrong = first_violation(words, {key: p.annotation for key, p in parameters_of(cls).items()})
    if wrong is not None:
        raise ComponentError(f"agent {name}: {wrong}.")
    return cls(observation_space, action_space, **parts, **words)


def agent_of(
    config: Mapping[str, Any],
    observation_space: Space,
    action_space: Space,
    num_envs: int | None = None,
) -> Agent:
    """The agent of a run's whole configuration; it learns from `num_envs` environments, or (None)
    from those of one sampler.
    """
    cls = agent_class(config["agent"]["type"])
    # Schedules may be longer than the run, or go on from a shorter one.
    horizon = config.get("schedule_timesteps") or config["total_timesteps"]
    spec = {**config["agent"], "total_timesteps": int(horizon)}
    if "num_envs" in signature(cls).parameters:
        spec["num_envs"] = num_envs or int(config["env"]["num_envs"])
    parts = {name: config[name] for name in cls.parts}
    return make_agent(spec, observation_space, action_space, **parts)


class ConfiguredAgents:
    """Makes a run's agents and environments, for any role and in any process.

    It can be pickled: what it holds is a configuration and the spaces of the environment.
    """

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.config = config
        # The first environments are made at once: their spaces are what agents are made from.
        self._env: VectorEnv | None = self._new_env(0)
        self.spaces = (self._env.observation_space, self._env.action_space)
        self.frame_skip = self._env.frame_skip
        try:
            agent, engine = self._agent(), config["executor"]["type"]
            self.loop = choose_loop(engine, config["agent"]["type"], agent.loops)
            self.cadence = agent.cadence
        except BaseException:
            self.close()
            raise

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_env": None, "_paths": list(sys.path)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        # In another process plugins are found where this one finds them.
        sys.path += [path for path in state.pop("_paths") if path not in sys.path]
        self.__dict__ |= state

    def _agent(self, num_envs: int | None = None) -> Agent:
        load_plugins(self.config.get("plugins") or ())
        return agent_of(self.config, *self.spaces, num_envs)

    def task_steps(self, num_envs: int) -> int:
        """Steps of each environment in one task of a sampler."""
        return self._agent().task_steps(num_envs)

    def make(
        self,
        *roles: Role,
        index: int = 0,
        count: int = 1,
        stream: str | None = None,
        backend: str | None = None,
        num_envs: int | None = None,
        others: Averaging | None = None,
        place: Mapping[str, Any] | None = None,
    ) -> Agent:
        """An agent that is built for these roles."""
        agent = self._agent(num_envs)
        agent.place = (index, count)
        options = replace(build_options(self.config), others=others)
        if backend is not None and backend != options.backend:
            # Devices and options are those of the run's own backend.
            options = BuildOptions(backend, options.seed)
        if stream is not None:
            role = {"role": (stream, index)}
            options = replace(options, options={**options.options, **role})
        if place is not None:
            where = {name: place[name] for name in ("device", "devices")}
            words = {name: value for name, value in place.items() if name not in where}
            options = replace(options, **where, options={**options.options, **words})
        agent.build(options, roles)
        return agent

    def make_rank(self, index: int, count: int, others: Averaging, salt: int = 0) -> Agent:
        """One of `count` agents that learn together, with its part of the memory."""
        rank = copy(self)
        rank.config = {**self.config, "backend": _one_thread(self.config["backend"])}
        if "memory" in self.config:
            rank.config["memory"] = _share(self.config["memory"], count)
        stream = f"rank/{salt}" if index else None  # The first one has those of a run by itself.
        return rank.make("actor", "learner", index=index, count=count, stream=stream, others=others)

    def make_adder(self) -> Any:
        """What turns a sampler's steps into batches."""
        return self._agent().make_adder()

    def make_memory(self, index: int, count: int, num_envs: int) -> Agent:
        """One of `count` shards of the memory, on NumPy, for that many environments."""
        memory = _share(self.config["memory"], count)
        if "num_envs" in memory:
            memory["num_envs"] = num_envs
        shard = copy(self)
        shard.config = {**self.config, "memory": memory}
        return shard.make("memory", index=index, stream="memory", backend="numpy")

    def make_env(self, index: int = 0, salt: int = 0) -> VectorEnv:
        """The environments of one sampler; different samplers (and salts) share no episode."""
        if index == 0 and not salt and self._env is not None:
            env, self._env = self._env, None
            return env
        return self._new_env(index, salt)

    def close(self) -> None:
        """Frees the first environments, unless a sampler has them."""
        if self._env is not None:
            self._env.close()
            self._env = None

    def _new_env(self, index: int, salt: int = 0) -> VectorEnv:
        seed = int(self.config["seed"])
        if index or salt:
            seed = key_of(seed, f"environments/{index}/{salt}") % 2**31
        return make_env(**self.config["env"], seed=seed)

    @property
    def backend(self) -> str:
        """That of the run, by name."""
        return str(self.config["backend"]["type"])

    @property
    def threads(self) -> int | None:
        """Those of one operation of the learner; None: the framework decides."""
        found: int | None = self.config["backend"].get("threads")
        return found

    @property
    def num_envs(self) -> int:
        """Environments of one sampler."""
        return int(self.config["env"]["num_envs"])

    def actor_backend(self, wanted: str | None) -> str:
        """The backend of actors in other processes: NumPy, where the policy has no convolutions."""
        return wanted or (self.backend if self._agent().has_convolutions else "numpy")

    def memory_nbytes(self) -> int:
        """What the replay data of all shards together takes."""
        from rlg.api.inspection.estimate import memory_bytes

        return memory_bytes(self.config["memory"], self._agent()) or 0


def _share(memory: Mapping[str, Any], count: int) -> dict[str, Any]:
    """One of `count` parts of a memory."""
    if "buffer_size" not in memory:
        return dict(memory)
    return {**memory, "buffer_size": max(1, memory["buffer_size"] // count)}


def _one_thread(backend: Mapping[str, Any]) -> dict[str, Any]:
    """Ranks share the cores. TensorFlow can be told before it is used only."""
    if backend["type"] == "torch" or "tensorflow" not in sys.modules:
        return {**backend, "threads": backend.get("threads") or 1}
    return dict(backend)


def build_options(config: Mapping[str, Any]) -> BuildOptions:
    """Backend, seed and devices from the configuration."""
    backend = dict(config["backend"])
    options = BuildOptions(
        backend=backend.pop("type"),
        seed=int(config["seed"]),
        device=backend.pop("device", None),
        devices=backend.pop("devices", None) or {},
    )
    words = {k: v for k, v in backend.items() if v is not None}
    if are_wanted(config["logger"]):
        words["summaries"] = True
    return replace(options, options=words)
