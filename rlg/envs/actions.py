"""Actions on their way from a policy into environments: checked, cast, shifted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rlg.envs.layout import Columns, Layout, at
from rlg.errors import EnvironmentFailure
from rlg.graph.spaces import Box, Path, from_gymnasium, path_name

if TYPE_CHECKING:
    from gymnasium import spaces as gym


class Actions:
    """The action space of one environment, for N of them.

    Policies count discrete actions from 0; environments may count from elsewhere.
    """

    def __init__(self, name: str, num_envs: int, space: gym.Space[Any]) -> None:
        self.name = name
        self.num_envs = num_envs
        self.space = from_gymnasium(_from_zero(space))
        self._layout = Layout(self.space)
        self._starts = [_start(at(space, path)) for path, _ in self._layout.leaves]

    def empty(self) -> Columns:
        return self._layout.empty(self.num_envs)

    def names(self) -> list[str]:
        """A key per leaf, for snapshots."""
        return ["/".join(("actions", *map(str, path))) for path, _ in self._layout.leaves]

    def columns(self, actions: Any) -> Columns:
        """Fresh arrays in the dtypes of the environment, [N, ...] for each leaf."""
        return [
            self._column(self._leaf(actions, path), path, box, start)
            for (path, box), start in zip(self._layout.leaves, self._starts, strict=True)
        ]

    def row(self, columns: Columns, row: int) -> Any:
        """The action of one environment."""
        if len(columns) == 1 and not self.space.is_container:
            return columns[0][row]
        return self._layout.tree([column[row] for column in columns])

    def batch(self, columns: Columns) -> Any:
        """The actions of all environments, in the structure of the space."""
        return self._layout.tree(columns)

    def _leaf(self, actions: Any, path: Path) -> Any:
        try:
            return at(actions, path)
        except (IndexError, KeyError, TypeError):
            raise self._refusal(path, f"are missing; give {self.space}") from None

    def _column(self, values: Any, path: Path, box: Box, start: Any) -> NDArray[Any]:
        given = np.asarray(values)
        if given.shape != (self.num_envs, *box.shape):
            wanted = (self.num_envs, *box.shape)
            raise self._refusal(path, f"have shape {given.shape}; give {wanted}")
        if box.kind == "float":
            return self._floats(given, path, box)
        if given.dtype.kind not in "iub":
            raise self._refusal(path, f"are {given.dtype}; give integers, as in {box}")
        column = given.astype(box.dtype)
        if box.low is not None and box.high is not None:
            outside = (given < box.low) | (given > box.high)
            if np.count_nonzero(outside):
                row = int(np.argwhere(outside)[0, 0])
                raise self._refusal(path, f"of environment {row} are {given[row]}; give {box}")
        return column if start is None else column + start

    def _floats(self, given: NDArray[Any], path: Path, box: Box) -> NDArray[Any]:
        column = given.astype(box.dtype)
        invalid = np.isnan(column)
        if invalid.any():
            row = int(np.argwhere(invalid)[0, 0])
            raise self._refusal(
                path,
                f"of environment {row} are {column[row].tolist()}; NaN comes from the policy: "
                "look at its weights and losses",
            )
        return column

    def _refusal(self, path: Path, what: str) -> EnvironmentFailure:
        leaf = f" {path_name(path)}" if path else ""
        return EnvironmentFailure(f"{self.name}: actions{leaf} {what}.")


def _start(space: gym.Space[Any]) -> Any:
    """Where a discrete space begins; None if that is 0, or it isn't discrete."""
    start = getattr(space, "start", 0)
    return start if np.any(start) else None


def _from_zero(space: gym.Space[Any]) -> gym.Space[Any]:
    from gymnasium import spaces as gym

    if isinstance(space, gym.Dict):
        return gym.Dict({key: _from_zero(child) for key, child in space.items()})
    if isinstance(space, gym.Tuple):
        return gym.Tuple([_from_zero(child) for child in space.spaces])
    if isinstance(space, gym.Discrete):
        return gym.Discrete(int(space.n), dtype=space.dtype)
    if isinstance(space, gym.MultiDiscrete):
        return gym.MultiDiscrete(space.nvec, dtype=space.dtype)
    return space
