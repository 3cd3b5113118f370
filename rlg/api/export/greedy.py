"""An agent's greedy actions as one function of named tensors, on whichever backend it is built.

Nothing is said here of any agent: `Agent.act` is called once and watched. What it hands to its
graph and what it returns are known by identity, so that the function does what acting does, with
all that agents put around the graph: masks, constants of exploration, the clipping of actions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.api.agents.agent import Agent
from rlg.errors import ExportError
from rlg.execution.types import Action, Clock
from rlg.graph.core.component.methods import TENSOR
from rlg.graph.core.plan.plan import Plan
from rlg.graph.spaces import BoolBox, Box, Path, Space, flatten, unflatten

OBSERVATIONS, STATE, RESETS = "observations", "state", "resets"
ACTIONS, NEXT_STATE = "actions", "next_state"
# Observations that say which actions are allowed; environments count them as integers too.
MASK = "action_mask"
ROWS = 3  # of the call that is watched


@dataclass(frozen=True, slots=True)
class _Leaf:
    """One tensor that the plan takes: an input by name, or (None) a constant."""

    path: Path
    box: Box
    name: str | None
    constant: NDArray[Any] | None = None  # a row of it, where the plan takes a batch


@dataclass(frozen=True, slots=True)
class _Result:
    """One tensor that the policy returns: where it is in what the plan returns, and its bounds."""

    name: str
    path: Path
    box: Box
    is_clipped: bool


class GreedyPolicy:
    """Actions without exploration: a function from named batches to named batches.

    Inputs are the leaves of the observations (`observations`, or `observations_KEY`), and of a
    recurrent policy `state_KEY` and `resets`; outputs are `actions` (or `actions_KEY`) and
    `next_state_KEY`. Each has the leading axis of the batch.
    """

    def __init__(self, agent: Agent) -> None:
        self._owner = type(agent).__name__
        self.executor = agent.executor
        names = _Names()
        trees = {OBSERVATIONS: agent.observation_space}
        if agent.state_space is not None:
            trees |= {STATE: agent.state_space, RESETS: BoolBox()}
        self.inputs = {
            name: box for part, space in trees.items() for name, box in names.of(part, space)
        }
        self.state_names = [name for name in self.inputs if name.startswith(f"{STATE}_")]
        if STATE in self.inputs:
            self.state_names = [STATE]
        arrays = {
            name: np.ones((ROWS, *box.shape), "bool") if _is_mask(name) else box.zeros(ROWS)
            for name, box in self.inputs.items()
        }
        self._watch(agent, {part: _tree(part, trees[part], arrays) for part in trees}, arrays)
        self.outputs = {result.name: result.box for result in self._results}

    # -- what acting does -------------------------------------------------------------------------
    def _watch(
        self, agent: Agent, given: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]
    ) -> None:
        before = agent.get_streams()
        with _Watched(agent) as watched:
            action = agent.act(
                given[OBSERVATIONS], given.get(STATE), given.get(RESETS), Clock(), explore=False
            )
        if agent.get_streams() != before:
            raise ExportError(
                f"{self._owner}: its actions are drawn at random, also without exploration. Export "
                "an agent that learns a policy."
            )
        if len(watched.calls) != 1:
            raise ExportError(
                f"{self._owner}: acting takes {len(watched.calls)} calls of its graph, and what "
                "can be exported is one. Put them into one API method."
            )
        api, args, words, found = watched.calls[0]
        self.plan = self._plan_of(api, args, words)
        owners = {id(array): name for name, array in arrays.items()}
        self._arguments = [
            [self._leaf(value, path, box, owners) for path, box in space.flatten().items()]
            for value, space in zip(self._tensors(api, args, words), self.plan.spaces, strict=True)
        ]
        self._results = list(self._returned(agent, action, found))

    def _bound(self, api: str, args: tuple[Any, ...], words: Mapping[str, Any]) -> Any:
        method = self.executor.builder.roots[0].api_methods()[api]
        return method, method.bind(api, args, dict(words))

    def _plan_of(self, api: str, args: tuple[Any, ...], words: Mapping[str, Any]) -> Plan:
        method, bound = self._bound(api, args, words)
        chosen = {
            p.name: bound[p.name] if p.kind != TENSOR else True
            for p in method.parameters
            if bound[p.name] is not None and not (p.kind == TENSOR and p.is_required)
        }
        plan = self.executor.plan(api, **chosen)
        if plan.writes:
            raise ExportError(
                f"{self._owner}: acting changes variables of its graph, which a file can't keep. "
                f"Look for what it assigns: rlg graph FOLDER --plan {api}"
            )
        return plan

    def _tensors(self, api: str, args: tuple[Any, ...], words: Mapping[str, Any]) -> list[Any]:
        _, bound = self._bound(api, args, words)
        return [bound[argument] for _, _, argument in self.plan.inputs]

    def _leaf(self, value: Any, path: Path, box: Box, owners: Mapping[int, str]) -> _Leaf:
        array = flatten(value)[path]
        name = owners.get(id(array))
        if name is not None:
            return _Leaf(path, box, name)
        constant = np.asarray(array, box.dtype)
        if box.ranks and (constant != constant[:1]).any():
            raise ExportError(
                f"{self._owner}: acting hands its graph something that differs between "
                "environments and is neither an observation nor a state. Let the graph compute it."
            )
        return _Leaf(path, box, None, constant[0] if box.ranks else constant)

    def _returned(self, agent: Agent, action: Action, found: Any) -> Iterable[_Result]:
        places = {id(leaf): path for path, leaf in flatten(found).items()}
        drawn = flatten(action.columns["actions"]) if "actions" in action.columns else {}
        names = _Names()
        for (name, box), (path, leaf) in zip(
            names.of(ACTIONS, agent.action_space), flatten(action.env).items(), strict=True
        ):
            is_new = id(leaf) not in places  # then it was clipped on the way out
            source = drawn.get(path) if is_new else leaf
            if id(source) not in places or (is_new and not _is_clipped(box, source, leaf)):
                raise ExportError(
                    f"{self._owner}: its actions are not those that its graph returns. Let the "
                    "graph compute what the environment gets."
                )
            yield _Result(name, places[id(source)], box, is_new)
        if agent.state_space is not None:
            leaves = flatten(action.state).values()
            after = names.of(NEXT_STATE, agent.state_space)
            for (name, box), leaf in zip(after, leaves, strict=True):
                yield _Result(name, places[id(leaf)], box, False)

    # -- the function -----------------------------------------------------------------------------
    def __call__(self, ops: Any, tensors: Mapping[str, Any]) -> dict[str, Any]:
        """Runs on tensors of the backend, or while it traces."""
        size = ops.batch_size(next(iter(tensors.values())))
        arguments = [
            unflatten({leaf.path: _argument(ops, leaf, tensors, size) for leaf in leaves})
            for leaves in self._arguments
        ]
        found = flatten(self.plan.function(*arguments))
        return {result.name: _clipped(ops, result, found[result.path]) for result in self._results}


class _Watched:
    """Notes the calls of an agent's graph."""

    def __init__(self, agent: Agent) -> None:
        self._agent = agent
        self._executor = agent.executor
        self.calls: list[tuple[Any, tuple[Any, ...], dict[str, Any], Any]] = []

    def __enter__(self) -> _Watched:
        self._agent._executor = self  # type: ignore[assignment]
        return self

    def __exit__(self, *_: object) -> None:
        self._agent._executor = self._executor

    def execute(self, api: Any, *args: Any, **words: Any) -> Any:
        found = self._executor.execute(api, *args, **words)
        self.calls.append((api, args, words, found))
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executor, name)


class _Names:
    """Names of leaves that are identifiers in every format, and different ones."""

    def __init__(self) -> None:
        self._taken: set[str] = set()

    def of(self, part: str, space: Space) -> Iterable[tuple[str, Box]]:
        for path, box in space.flatten().items():
            name = leaf_name(part, path)
            while name in self._taken:
                name += "_"
            self._taken.add(name)
            yield name, box


def leaf_name(part: str, path: Path) -> str:
    """`observations`, or `observations_camera_0` for a leaf of nested ones."""
    return "_".join([part, *(re.sub(r"\W", "_", str(key)) for key in path)])


def named(part: str, names: Iterable[str], tree: Any) -> dict[str, Any]:
    """The leaves of a nested value by the names that a policy has for them."""
    mine = [name for name in names if name == part or name.startswith(f"{part}_")]
    return dict(zip(mine, flatten(tree).values(), strict=True))


def _tree(part: str, space: Space, arrays: Mapping[str, Any]) -> Any:
    names = (name for name, _ in _Names().of(part, space))
    return unflatten(
        {path: arrays[name] for path, name in zip(space.flatten(), names, strict=True)}
    )


def _is_mask(name: str) -> bool:
    return name == f"{OBSERVATIONS}_{MASK}"


def _argument(ops: Any, leaf: _Leaf, tensors: Mapping[str, Any], size: Any) -> Any:
    if leaf.name is not None:
        tensor = tensors[leaf.name]
        return (
            tensor if ops.dtype_of(tensor) == leaf.box.dtype else ops.cast(tensor, leaf.box.dtype)
        )
    assert leaf.constant is not None
    constant = ops.constant(leaf.constant, leaf.box.dtype)
    if not leaf.box.ranks:
        return constant
    return ops.broadcast_to(constant, (size, *leaf.constant.shape))


def _is_clipped(box: Box, before: Any, after: Any) -> bool:
    """Whether an action is what the bounds made of another."""
    has_bounds = box.kind == "float" and (box.low is not None or box.high is not None)
    return has_bounds and bool(np.array_equal(np.clip(before, box.low, box.high), after))


def _clipped(ops: Any, result: _Result, tensor: Any) -> Any:
    box = result.box
    if result.is_clipped and box.low is not None:
        tensor = ops.maximum(tensor, ops.constant(np.asarray(box.low, box.dtype), box.dtype))
    if result.is_clipped and box.high is not None:
        tensor = ops.minimum(tensor, ops.constant(np.asarray(box.high, box.dtype), box.dtype))
    return tensor
