"""What all agents share: a root component, built on a backend for some roles.

An agent plays the roles of `rlg.execution.roles` (actor, learner) in whichever process it is built,
and is the paper's agent API (`get_actions`, `observe`, `update`...) for those who drive it
themselves. Counters are the loop's: only the paper's API has a clock of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from rlg.backends.executor import GraphExecutor, make_executor
from rlg.errors import ComponentError, ExecutionError
from rlg.execution.cadence import Cadence
from rlg.execution.recurrent_state import RecurrentState
from rlg.execution.roles import Role
from rlg.execution.types import Action, Batch, Clock, LearnResult, Sample, SavedBatches, Weights
from rlg.graph import Component
from rlg.graph.components.layers.conv2d import Conv2D
from rlg.graph.components.optimizers.average import Average, Averaging
from rlg.graph.components.optimizers.optimizer import Optimizer
from rlg.graph.components.policies.masked import MASK
from rlg.graph.core.build.binding import KINDS
from rlg.graph.core.build.builder import BuildStatistics
from rlg.graph.core.component.component import walk
from rlg.graph.spaces import Dict, Space, flatten, map_leaves

# Kinds of variables: replay data, and what acting and learning go by.
RECORDS = "record"
MODEL = tuple(kind for kind in KINDS if kind not in (RECORDS, "shared"))


@dataclass(frozen=True)
class BuildOptions:
    """Where and how an agent is built."""

    backend: str = "torch"
    seed: int = 0
    device: str | None = None
    devices: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    others: Averaging | None = None  # processes that gradients are averaged with


class Agent:
    """Acts and learns; everything numerical happens in its root component."""

    name: ClassVar[str]  # the option of conf/agent, in messages
    # The loops that it can run on, the first one by default, and the sections of a configuration
    # that it is made from.
    loops: ClassVar[tuple[str, ...]] = ("replay",)
    parts: ClassVar[tuple[str, ...]] = ("network", "memory", "optimizer")
    files: ClassVar[tuple[str, ...]] = ()  # keys that name files
    # The root's API methods that each role calls.
    apis: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    # Whether replicas share the batch of an update, see Component.replicate; if not, why.
    replicates: ClassVar[bool] = False
    learns_whole: ClassVar[str] = "its update does not share out a batch"
    # Whether it never takes actions that the observations forbid.
    takes_masks: ClassVar[bool] = False
    # Variables below these scopes (relative to the root) travel from learner to actors.
    acting_scopes: ClassVar[tuple[str, ...]] = ("policy",)

    def __init__(
        self, observation_space: Space, action_space: Space, total_timesteps: int = 50_000
    ) -> None:
        if isinstance(observation_space, Dict) and MASK in observation_space:
            self._check_masks()
        self.observation_space = observation_space
        self.action_space = action_space
        self.total_timesteps = total_timesteps
        # Transitions inserted since the memory was empty.
        self.stored = 0
        self.place = (0, 1)  # which actor it is, of how many
        self.clock = Clock(horizon=total_timesteps)  # of the paper's API
        self._recurrent: dict[bool, RecurrentState] = {}
        self._executor: GraphExecutor | None = None
        self._root: Component | None = None

    def _refusal(self, why: str) -> ComponentError:
        return ComponentError(f"agent {self.name}: {why}")

    def _check_masks(self) -> None:
        """Refuses masks that would be looked at like any number, and disobeyed."""
        if not self.takes_masks:
            raise ComponentError(
                f"{type(self).__name__}: the observations have an {MASK!r}, but it would choose "
                "forbidden actions all the same. Use an agent that obeys masks: dqn, rainbow, "
                "qr_dqn, r2d2, dqfd, apex, pqn, ppo, a2c, a3c or impala; or an environment that "
                "gives the key another name."
            )

    # -- what each agent says ---------------------------------------------------------------------
    def make_root(self) -> Component:
        """The root component, newly composed."""
        raise NotImplementedError

    def input_spaces(self) -> Mapping[str, Any]:
        """The spaces that the root is built from."""
        raise NotImplementedError

    def record_space(self) -> Space | None:
        """What its memory stores; None: it has none."""
        return self.input_spaces().get("records")

    def make_adder(self) -> Any:
        """What turns a sampler's steps into batches; see `rlg.execution.adders`."""
        raise NotImplementedError

    @property
    def cadence(self) -> Cadence:
        """How often it learns."""
        raise NotImplementedError

    def task_steps(self, num_envs: int) -> int:
        """Steps of each environment between two looks at the cadence."""
        return max(1, self.cadence.train_freq // num_envs)

    @property
    def has_convolutions(self) -> bool:
        """Whether its policy has layers that are slow on NumPy."""
        return any(isinstance(part, Conv2D) for part in walk(self.make_root()))

    # -- build ------------------------------------------------------------------------------------
    def build(
        self,
        options: BuildOptions | None = None,
        roles: Sequence[Role] = (),
        executor: GraphExecutor | None = None,
    ) -> BuildStatistics:
        """Composes, assembles and builds the graph, or the part of it that these roles need.

        On an `executor` that somebody made already, or on one of the options' backend.
        """
        options = options or BuildOptions()
        self._root = self.make_root()
        if options.others is not None:
            for part in walk(self._root):
                if isinstance(part, Optimizer):
                    part.average = Average(options.others)
        self._executor = executor or make_executor(
            options.backend,
            seed=options.seed,
            device=options.device,
            devices=options.devices,
            **options.options,
        )
        apis = list(dict.fromkeys(name for role in roles for name in self.apis_of(role))) or None
        return self._executor.build(self._root, self.input_spaces(), apis=apis)

    def apis_of(self, role: Role) -> tuple[str, ...]:
        """The root's API methods that this role calls with these settings."""
        return self.apis[role]

    @property
    def executor(self) -> GraphExecutor:
        """The graph executor behind the agent."""
        if self._executor is None:
            raise ExecutionError("the agent is not built yet: call agent.build(options) first.")
        return self._executor

    def __getstate__(self) -> dict[str, Any]:
        if self._executor is not None:
            raise ExecutionError(
                f"{type(self).__name__} is built and can't be pickled: its variables would travel "
                "along. Pickle its factory or its weights instead."
            )
        return self.__dict__

    # -- actor ------------------------------------------------------------------------------------
    @property
    def columns(self) -> Mapping[str, Space]:
        """What `act` returns for learning, by name."""
        return {"actions": self.action_space}

    @property
    def state_space(self) -> Space | None:
        """Of a recurrent policy's state."""
        return None

    def act(
        self, observations: Any, state: Any, resets: Any, clock: Clock, *, explore: bool = True
    ) -> Action:
        """Actions for N environments; without exploration nothing of the agent changes."""
        raise NotImplementedError

    def rollout_metrics(self, clock: Clock) -> dict[str, float]:
        """Figures of acting at this time, such as the exploration rate."""
        return {}

    def load_weights(self, weights: Weights) -> None:
        """Acts by a learner's weights from now on."""
        self.executor.set_variables(weights.arrays, scope=self._acting_paths())

    def prepare(self, batch: Batch) -> Batch:
        """What a memory in another process stores of this batch."""
        return batch

    def get_streams(self) -> dict[str, Any]:
        """The states of the graph's random streams, by path."""
        streams = self.executor.builder.binding.streams
        return {path: stream.state for path, stream in streams.items()}

    def set_streams(self, streams: Mapping[str, Any]) -> None:
        """Continues from these states; another role's streams are not this graph's."""
        mine = self.executor.builder.binding.streams
        for path in mine.keys() & streams.keys():
            mine[path].state = streams[path]

    # -- learner ----------------------------------------------------------------------------------
    def insert(self, batch: Batch) -> None:
        """Stores records in the memory."""
        raise NotImplementedError

    def learn(self, batch: Batch | Sample | None, clock: Clock) -> LearnResult:
        """One update, from a batch or (None) from the memory."""
        raise NotImplementedError

    def learn_due(self, due: int, clock: Clock) -> LearnResult:
        """Of `due` updates from the memory one, or several in one call: the result says."""
        return self.learn(None, clock)

    def weights(self, version: int) -> Weights:
        """What actors act by, and not the target network, slots or memory."""
        return Weights(version, self.executor.get_variables(scope=self._acting_paths()))

    def _acting_paths(self) -> list[str]:
        root = self.executor.builder.roots[0].path
        return [f"{root}/{scope}" for scope in self.acting_scopes]

    # -- the paper's API --------------------------------------------------------------------------
    @property
    def timesteps(self) -> int:
        """Environment steps observed by the paper's API."""
        return self.clock.steps

    @property
    def updates(self) -> int:
        """Updates made by the paper's API."""
        return self.clock.updates

    def get_actions(self, states: Any, explore: bool = True, preprocess: bool = True) -> Any:
        """Actions for a batch of states, or for one state (without the batch axis)."""
        states, is_single = self._batched(states)
        action = self._act(states, explore)
        return map_leaves(lambda x: x[0], action.env) if is_single else action.env

    def _act(self, states: Any, explore: bool) -> Action:
        if self.state_space is None:
            return self.act(states, None, None, self.clock, explore=explore)
        # Actions with and without exploration are those of different environments.
        recurrent = self._recurrent.setdefault(explore, RecurrentState(self.state_space))
        hidden, resets = recurrent.before_step(len(next(iter(flatten(states).values()))))
        action = self.act(states, hidden, resets, self.clock, explore=explore)
        recurrent.after_step(action.state)
        return action

    def reset(self, ended: Any = None, explore: bool = True) -> None:
        """Tells a recurrent agent which episodes ended, bool [B], or that all did."""
        if explore in self._recurrent:
            self._recurrent[explore].reset(ended)

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
        """Learns once, from memory or from `batch`; returns what there is to log."""
        if sequence_indices is not None:
            raise ExecutionError(
                f"{type(self).__name__}: it learns from records as they are, not from sequences "
                "within a batch."
            )
        records = None if batch is None else Batch(batch, 0)
        result = self.learn(records, self.clock)
        self.clock = self.clock.after(updates=1)
        return dict(result.metrics)

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
        """All variables but the replay data: what acting and learning go by."""
        return self.executor.get_variables(MODEL)

    def set_model(self, model: Mapping[str, Any]) -> None:
        """Puts back what `get_model` returned, all of it."""
        self.executor.set_variables(self.fitted(model), MODEL)

    def fitted(self, model: Mapping[str, Any]) -> Mapping[str, Any]:
        """A saved model for this number of environments: if it was another one, what is remembered
        of single environments starts anew.
        """
        known = self.executor.builder.binding.variables
        anew = {
            path: self.executor.read(known[path].variable)
            for path, value in model.items()
            if path in known
            and known[path].kind == "env"
            and np.shape(value) != known[path].space.shape
        }
        return {**model, **anew} if anew else model

    def get_state(self, *, memory: bool = True) -> dict[str, Any]:
        """Sections of a checkpoint: model, memory, random streams, and the learner's own."""
        state = {
            "model": self.get_model(),
            "streams": self.get_streams(),
            "learner": {"stored": self.stored, "clock": asdict(self.clock)},
        }
        if memory:
            state["memory"] = self.executor.get_variables(RECORDS)
        return state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Puts back what `get_state` returned; without `memory` the replay data starts empty."""
        self.set_model(state["model"])
        memory = state.get("memory")
        self.stored = 0 if memory is None else int(state["learner"]["stored"])
        if isinstance(memory, SavedBatches):
            self.stored = 0
            for batch in memory:
                self.insert(batch)
        elif memory is not None:
            self.executor.set_variables(memory, RECORDS)
        self.set_streams(state["streams"])
        self.clock = Clock(**state["learner"]["clock"])

    @property
    def memory_nbytes(self) -> int:
        """What the replay data takes."""
        return self.executor.nbytes(RECORDS)

    def records(self) -> dict[str, NDArray[Any]]:
        """The replay data: where it is on the host its own arrays, which change with the memory.

        A checkpoint is saved from them and read into them, so that a large memory exists once.
        """
        variables = self.executor.builder.binding.variables
        return {
            path: info.variable
            if isinstance(info.variable, np.ndarray)
            else self.executor.read(info.variable)
            for path, info in variables.items()
            if info.kind == RECORDS
        }

    def _batched(self, states: Any) -> tuple[Any, bool]:
        """States with a batch axis, and whether it had to be added."""
        path, box = next(iter(self.observation_space.flatten().items()))
        leaf = flatten(states).get(path)
        if leaf is None or np.ndim(leaf) > len(box.shape):
            return states, False
        return map_leaves(lambda x: np.asarray(x)[None], states), True
