"""What all agents share: a root component, built on a backend, behind the paper's agent API."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.errors import ExecutionError
from rlg.graph import Component
from rlg.graph.core.build.builder import BuildStatistics
from rlg.graph.spaces import Space, map_leaves


@dataclass(frozen=True)
class BuildOptions:
    """Where and how an agent is built."""

    backend: str = "torch"
    seed: int = 0
    device: str | None = None
    devices: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)


class Agent:
    """Acts, observes and updates; everything numerical happens in its root component."""

    # Whether it remembers earlier steps of an episode, and so wants to know where episodes end.
    is_recurrent: bool = False
    # Variables below these scopes (relative to the root) are experience, not knowledge.
    experience: ClassVar[tuple[str, ...]] = ("memory",)

    def __init__(self, observation_space: Space, action_space: Space) -> None:
        self.observation_space = observation_space
        self.action_space = action_space
        self.timesteps = 0
        self.updates = 0
        # Transitions observed since the memory was empty.
        self.stored = 0
        self._executor: GraphExecutor | None = None
        self._root: Component | None = None

    # -- what each agent says ---------------------------------------------------------------------
    def make_root(self) -> Component:
        """The root component, newly composed."""
        raise NotImplementedError

    def input_spaces(self) -> Mapping[str, Any]:
        """The spaces that the root is built from."""
        raise NotImplementedError

    # -- build ------------------------------------------------------------------------------------
    def build(self, options: BuildOptions | None = None) -> BuildStatistics:
        """Composes, assembles and builds the graph."""
        options = options or BuildOptions()
        self._root = self.make_root()
        self._executor = make_executor(
            options.backend,
            seed=options.seed,
            device=options.device,
            devices=options.devices,
            **options.options,
        )
        return self._executor.build(self._root, self.input_spaces())

    @property
    def executor(self) -> GraphExecutor:
        """The graph executor behind the agent."""
        if self._executor is None:
            raise ExecutionError("the agent is not built yet: call agent.build(options) first.")
        return self._executor

    # -- the paper's API --------------------------------------------------------------------------
    def get_actions(self, states: Any, explore: bool = True, preprocess: bool = True) -> Any:
        """Actions for a batch of states, or for one state (without the batch axis)."""
        raise NotImplementedError

    def forget(self, ended: Any = None, explore: bool = True) -> None:
        """Recurrent agents forget what they remember of episodes that ended, bool [B], or of all.

        Actions with and without exploration are those of different environments.
        """

    def observe(
        self,
        states: Any,
        actions: Any,
        rewards: Any,
        terminals: Any,
        next_states: Any,
        env_id: str | None = None,
        truncations: Any = None,
    ) -> None:
        """Remembers one transition, a step of B environments [B, ...], or T steps [T, B, ...].

        `truncations` are episodes that a time limit ended; `env_id` names the environment.
        """
        raise NotImplementedError

    def update(self, batch: Any = None, sequence_indices: Any = None) -> dict[str, Any]:
        """Learns once, from memory or from `batch`; gives what there is to log."""
        raise NotImplementedError

    def get_weights(self) -> dict[str, NDArray[Any]]:
        """The trainable variables by path."""
        return self.executor.get_weights()

    def set_weights(self, weights: Mapping[str, NDArray[Any]]) -> None:
        """Overwrites trainable variables by path."""
        self.executor.set_weights(weights)

    def export_model(self, path: str | Path) -> None:
        """Writes the weights into a safetensors file."""
        from safetensors.numpy import save_file

        save_file({k: np.ascontiguousarray(v) for k, v in self.get_weights().items()}, str(path))

    def import_model(self, path: str | Path) -> None:
        """Reads the weights from a safetensors file, of any backend."""
        from safetensors.numpy import load_file

        self.set_weights(load_file(str(path)))

    # -- state ------------------------------------------------------------------------------------
    def get_model(self) -> dict[str, Any]:
        """All variables but the experience: what acting and learning go by."""
        variables = self.executor.builder.binding.variables
        return {
            path: self.executor.read(info.variable)
            for path, info in variables.items()
            if not self._is_experience(path)
        }

    def get_state(self) -> dict[str, Any]:
        """Everything to go on from: weights, slots, experience, random streams, counters."""
        state = self.executor.get_state()
        memory = {p: v for p, v in state["variables"].items() if self._is_experience(p)}
        model = {p: v for p, v in state["variables"].items() if p not in memory}
        counters = {
            "timesteps": self.timesteps,
            "updates": self.updates,
            "stored": self.stored,
        }
        return {
            "model": model,
            "memory": memory,
            "streams": state["streams"],
            "counters": counters,
        }

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Puts back what `get_state` gave; without `memory` the experience starts empty."""
        variables = {**state["model"], **state.get("memory", {})}
        self.executor.set_state({"variables": variables, "streams": state["streams"]})
        self.timesteps = int(state["counters"]["timesteps"])
        self.updates = int(state["counters"]["updates"])
        self.stored = int(state["counters"]["stored"]) if "memory" in state else 0

    def _is_experience(self, path: str) -> bool:
        root = self.executor.builder.roots[0].path
        return any(path.startswith(f"{root}/{scope}/") for scope in self.experience)

    def _batched(self, states: Any) -> tuple[Any, bool]:
        """States with a batch axis, and whether it had to be added."""
        box = next(iter(self.observation_space.flatten().values()))
        leaf = states
        while isinstance(leaf, (Mapping, tuple)):
            leaf = next(iter(leaf.values() if isinstance(leaf, Mapping) else leaf))
        if np.ndim(leaf) > len(box.shape):
            return states, False
        return map_leaves(lambda x: np.asarray(x)[None], states), True
