"""Demonstrations in files: steps of whole episodes, for agents that learn from others.

A file is NumPy's .npz with one array for each of `states`, `actions`, `rewards`, `terminals`,
`truncations` and `next_states`, step after step and episode after episode, [N, ...]; nested
observations have a name for each leaf, `states/position`.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.envs import Step
from rlg.errors import SpecError
from rlg.graph.spaces import Space, flatten, map_leaves, path_name, unflatten
from rlg.tracking.files import moved_into_place, writing

NAMES = ("states", "actions", "rewards", "terminals", "truncations", "next_states")
Steps = dict[str, Any]


class Recorder:
    """Notes the steps of one environment, to be written into a file."""

    max_steps: int | None = None  # after which an evaluation cuts episodes

    def __init__(self, path: Path) -> None:
        if path.suffix != ".npz":
            raise SpecError(f"{path}: demonstrations are .npz files. Write {path.stem}.npz.")
        if not path.parent.is_dir():
            raise SpecError(f"{path}: there is no folder {path.parent}. Make it first.")
        self.path = path
        self._steps: list[Steps] = []
        self._length = 0  # of the episode under way

    def add(self, observations: Any, actions: Any, step: Step) -> None:
        """Notes a step; one that an evaluation ends an episode with counts as truncated."""
        self._length += 1
        ended = step.terminals | step.truncations
        cut = self._length == self.max_steps
        self._steps.append(
            {
                "states": observations,
                "actions": actions,
                "rewards": step.rewards,
                "terminals": step.terminals,
                "truncations": step.truncations | (~ended & cut),
                "next_states": step.final_observations,
            }
        )
        if ended.any() or cut:
            self._length = 0

    def save(self) -> int:
        """Writes the file and returns how many steps it has."""
        steps = {
            name: map_leaves(lambda *x: np.concatenate(x), *[one[name] for one in self._steps])
            for name in NAMES
        }
        arrays = {path_name(path): x for path, x in flatten(steps).items()}
        with writing(self.path, "--record"), moved_into_place(self.path) as aside:
            np.savez_compressed(aside, **arrays)
        return len(steps["rewards"])


def read_demonstrations(path: str | Path, states: Space, actions: Space) -> Steps:
    """The steps of a file, [N, ...], in these spaces; the last one ends an episode.

    A file without `truncations` has none.
    """
    try:
        with np.load(path) as file:
            arrays = {name: file[name] for name in file.files}
    except FileNotFoundError:
        raise SpecError(
            f"{path}: there is no such file. `rlg eval RUN --record FILE` writes one."
        ) from None
    except (OSError, ValueError, zipfile.BadZipFile):
        raise SpecError(f"{path}: not a .npz file of numbers. See docs/agents.md.") from None
    spaces = {"states": states, "actions": actions, "next_states": states}
    if "rewards" not in arrays:
        raise _without(path, "rewards")
    rewards = arrays["rewards"]
    arrays.setdefault("truncations", np.zeros(np.shape(rewards), np.bool_))
    found: Steps = {}
    for name in NAMES:
        boxes = spaces[name].flatten() if name in spaces else {(): None}
        leaves = {}
        for key, box in boxes.items():
            kind = np.float32 if name == "rewards" else np.bool_ if box is None else box.dtype
            leaf = path_name((name, *key))
            shape = () if box is None else box.shape
            leaves[key] = _checked(path, leaf, arrays.get(leaf), len(rewards), shape, kind)
        found[name] = unflatten(leaves, spaces[name]) if name in spaces else leaves[()]
    _check_actions(path, found["actions"], actions)
    if not found["terminals"][-1]:
        found["truncations"][-1] = True
    return found


def _without(path: Any, name: str) -> SpecError:
    return SpecError(f"{path}: it has no array {name!r}. See docs/agents.md for what it needs.")


def _checked(
    path: Any, name: str, found: NDArray[Any] | None, count: int, shape: Any, dtype: Any
) -> NDArray[Any]:
    if found is None:
        raise _without(path, name)
    if not count or found.shape != (count, *shape):
        raise SpecError(
            f"{path}: {name} is of shape {found.shape}, but {count} steps of this environment "
            f"have {(count, *shape)}. Record them in the environment that you train in."
        )
    return np.ascontiguousarray(found, dtype)


def _check_actions(path: Any, actions: Any, space: Space) -> None:
    for leaf, box in zip(flatten(actions).values(), space.flatten().values(), strict=True):
        choices = getattr(box, "num_categories", None)
        if choices is not None and (leaf.min() < 0 or leaf.max() >= choices):
            raise SpecError(
                f"{path}: actions go from {leaf.min()} to {leaf.max()}, but the environment's go "
                f"from 0 to {choices - 1}. Record them in the environment that you train in."
            )
