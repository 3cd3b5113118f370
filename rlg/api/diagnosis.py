"""Why a loss or a weight is not a number: which component, which variable, on which batch.

Nothing is kept for this while a run is well. Afterwards the update is made again, graph function
by graph function, from what it learnt from and from weights that are finite: those of the last
checkpoint, or the first ones. The first output that is not finite then names its component; if
there is none, it was the weights that had grown too large.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.api.agents.agent import Agent, BuildOptions
from rlg.api.agents.factory import agent_of
from rlg.backends.watching import watching
from rlg.execution.types import Batch, Clock, Gradients, segment_to_tree
from rlg.graph.spaces import flatten, path_name
from rlg.tracking.checkpoints.store import CheckpointStore

FILE = "nan_batch.npz"
# Batches that are drawn from a memory, since the one that failed is not kept.
DRAWS = 20
# Engines whose updates take place in this process, without others.
ENGINES = ("local", "threads")
ADVICE = (
    "Lower optimizer.learning_rate or set optimizer.max_grad_norm; if it persists, look at what "
    "the component computes."
)


@dataclass(frozen=True, slots=True)
class Failed:
    """A run that has met a number that is not finite."""

    config: Mapping[str, Any]
    folder: Path
    agent: Agent
    latest: Batch | Gradients | None  # what was learnt from, None: records of the memory
    clock: Clock
    store: CheckpointStore


def explain(failed: Failed, what: str) -> str:
    """One line: what is not finite, where that comes from, and what to do."""
    line = f"{what} at step {failed.clock.steps}"
    if failed.config["executor"]["type"] not in ENGINES:
        return f"{line}. {ADVICE}"
    try:
        found, batch = _found(failed)
        file = failed.folder / FILE
        np.savez(file, allow_pickle=False, **batch)
    except Exception as error:  # noqa: BLE001 - whatever it is, the failure itself must be told
        text = " ".join(str(error).split())
        return f"{line}. {ADVICE} (Where it comes from was not found: {text})"
    return f"{line}: {found} The batch is in {file}. {ADVICE}"


def not_finite(values: Mapping[str, Any]) -> list[str]:
    """The names of arrays of floats that hold NaN or infinity."""
    return [
        name
        for name, value in values.items()
        if np.asarray(value).dtype.kind == "f" and not np.isfinite(value).all()
    ]


def _found(failed: Failed) -> tuple[str, dict[str, NDArray[Any]]]:
    agent, latest = failed.agent, failed.latest
    if isinstance(latest, Gradients):
        batch = {str(name): np.asarray(value) for name, value in latest.arrays.items()}
        bad = not_finite(batch)
        named = f"the gradient of {bad[0]} is not finite." if bad else _diverged(agent, "")
        return named, batch
    batch = {} if latest is None else _arrays(latest)
    if bad := not_finite(batch):
        return f"{bad[0]} in the batch is not finite.", batch
    since, model = _repaired(failed)
    spoilt = _diverged(agent, since)
    for _ in range(DRAWS if latest is None else 1):
        agent.set_model(model)
        search = _Search(agent)
        result = search.learn(latest, failed.clock)
        batch = search.records or batch
        if search.label and (not_finite(result) or not_finite(agent.get_model())):
            if bad := not_finite(batch):
                return f"{bad[0]} in the batch is not finite.", batch
            return f"{search.label} is the first component whose output is not finite.", batch
    return spoilt, batch


def _diverged(agent: Agent, since: str) -> str:
    bad = not_finite(agent.get_model())
    if not bad:
        return "no variable is, and the same update is finite now: it depends on what is drawn."
    others = f" and {len(bad) - 1} other variables are" if len(bad) > 1 else " is"
    return f"{bad[0]}{others} not finite, while every output{since} is: the weights grew too large."


def _repaired(failed: Failed) -> tuple[str, dict[str, Any]]:
    """The model with finite weights, and where these come from.

    Statistics and counters stay as they are now, if they can: a component may depend on them.
    """
    agent = failed.agent
    model, kinds = agent.get_model(), agent.executor.kinds()
    bad = set(not_finite(model))
    if not bad:
        return "", model
    since, before = _before(failed)
    learnt = any(kinds[path] == "weight" for path in bad)
    return since, {
        path: before[path]
        if path in bad or (learnt and kinds[path] in ("weight", "slot"))
        else value
        for path, value in model.items()
    }


def _before(failed: Failed) -> tuple[str, Mapping[str, Any]]:
    """The model of the last checkpoint, or that of the beginning."""
    if failed.store.latest() is not None:
        saved = failed.store.load(None, fallback=True, sections=["model"])
        if not not_finite(saved.tree["model"]):
            return f" with the weights of step {saved.step}", saved.tree["model"]
    agent = failed.agent
    first = agent_of(failed.config, agent.observation_space, agent.action_space)
    first.build(BuildOptions("numpy", seed=int(failed.config["seed"])))
    return " with the initial weights", first.get_model()


@dataclass(eq=False, slots=True)
class _Search:
    """One update, watched."""

    agent: Agent
    label: str = ""  # of the first graph function whose output is not finite
    records: dict[str, NDArray[Any]] = field(default_factory=dict)  # what a memory returned

    def learn(self, batch: Batch | None, clock: Clock) -> dict[str, Any]:
        """The figures of the update."""
        with watching(self.agent.executor, self._watch):
            result = self.agent.learn(batch, clock)
        return {name: np.asarray(value) for name, value in result.metrics.items()}

    def _watch(self, label: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **words: Any) -> Any:
            outputs = function(*args, **words)
            if not self.label:
                self._look(label, outputs)
            return outputs

        return call

    def _look(self, label: str, outputs: Any) -> None:
        found = dict(enumerate(map(self.agent.executor.to_host, _leaves(outputs))))
        records = next(_with_rewards(outputs), None)
        if "/memory" in label and records is not None:
            host = self.agent.executor.to_host
            flat = flatten(dict(records)).items()
            self.records = {path_name(path): host(leaf) for path, leaf in flat}
        elif not_finite({str(index): value for index, value in found.items()}):
            self.label = label.removesuffix(".call")


def _leaves(tree: Any) -> Iterator[Any]:
    if isinstance(tree, Mapping):
        tree = list(tree.values())
    if isinstance(tree, (tuple, list)):
        for value in tree:
            yield from _leaves(value)
    elif tree is not None:
        yield tree


def _with_rewards(tree: Any) -> Iterator[Mapping[str, Any]]:
    """The records in what a memory's function returned."""
    if isinstance(tree, Mapping) and "rewards" in tree:
        yield tree
    elif isinstance(tree, (tuple, list)):
        for value in tree:
            yield from _with_rewards(value)


def _arrays(batch: Batch) -> dict[str, NDArray[Any]]:
    """The arrays of a batch by name; those of a segment are its fields."""
    records = dict(batch.records)
    if "segment" in records:
        records = segment_to_tree(records["segment"])
    flat = {path_name(path): leaf for path, leaf in flatten(_trees(records)).items()}
    return {name: np.asarray(leaf) for name, leaf in flat.items() if leaf is not None}


def _trees(tree: Any) -> Any:
    """Nested dicts and tuples of arrays; lists of numbers are arrays."""
    if isinstance(tree, Mapping):
        return {str(key): _trees(value) for key, value in tree.items()}
    if isinstance(tree, tuple):
        return tuple(_trees(value) for value in tree)
    return None if tree is None else np.asarray(tree)
