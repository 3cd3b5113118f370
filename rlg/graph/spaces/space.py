"""What every space promises, whether it describes one tensor or a nest of them.

A space is a frozen value: equal by value, hashable, picklable, checked at birth. It says nothing
about backends or devices; values are numpy arrays in plain dicts and tuples.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlg.errors import SpaceError

if TYPE_CHECKING:
    from rlg.graph.spaces.box import Box

Path: TypeAlias = tuple[str | int, ...]  # dict keys and tuple positions, from the root to a leaf
Seed: TypeAlias = int | np.random.Generator | None
Sizes: TypeAlias = dict[str, tuple[int, Path]]  # size of each rank, and the leaf that set it

RANKS = ("", "B", "T", "BT", "TB", "F")  # "F": batch and time folded into one axis


def path_name(path: Path) -> str:
    """Writes a path as in variable names: `(0, "c", "d")` is "0/c/d", the root is ""."""
    return "/".join(map(str, path))


def located(path: Path, reason: str) -> str:
    """Puts the path of a leaf before a reason; a root needs none."""
    return f"{path_name(path)}: {reason}" if path else reason


def listed(keys: Iterable[object]) -> str:
    """Keys in a message: sorted, quoted, between commas."""
    return ", ".join(sorted(map(repr, keys)))


def check_ranks(ranks: object) -> None:
    if not isinstance(ranks, str) or ranks not in RANKS:
        options = ", ".join(map(repr, RANKS))
        raise SpaceError(f"Box ranks are {ranks!r}; use one of {options}.")


def leading(ranks: str, batch: int, time: int) -> tuple[int, ...]:
    """Sizes of the leading axes for `batch` rows of `time` steps."""
    sizes = {"B": batch, "T": time, "F": batch * time}
    return tuple([sizes[rank] for rank in ranks])


class Space(ABC):
    """A set of values: a `Box` of tensors, or a `Dict` or `Tuple` of spaces."""

    __slots__ = ()

    @property
    @abstractmethod
    def ranks(self) -> str | None:
        """Leading axes of unknown size; None if the leaves differ."""

    @property
    @abstractmethod
    def is_container(self) -> bool: ...

    @property
    def flat_dim(self) -> int:
        """Number of values in one element, over all leaves; categories count as one."""
        return sum(box.flat_dim for box in self.flatten().values())

    @abstractmethod
    def map(self, fn: Callable[[Box], Space]) -> Space:
        """Replaces each leaf by `fn(leaf)`."""

    @abstractmethod
    def like(self, other: Space) -> bool:
        """Tells whether structure, shapes and dtypes are equal; ranks and bounds don't matter."""

    @abstractmethod
    def zeros(self, batch: int = 1, time: int = 1) -> Any:
        """Zeros, inside the bounds or not."""

    @abstractmethod
    def to_spec(self) -> dict[str, Any]:
        """Plain form for YAML and JSON, read back by `space_from_spec`."""

    def with_ranks(self, ranks: str) -> Space:
        """The same space with these ranks on every leaf."""
        check_ranks(ranks)
        return self.map(lambda box: box.with_ranks(ranks))

    def flatten(self) -> dict[Path, Box]:
        """Leaves by path, depth first, dict keys sorted; a Box is `{(): box}`."""
        leaves: dict[Path, Box] = {}
        self._collect((), leaves)
        return leaves

    def sample(self, rng: Seed = None, batch: int = 1, time: int = 1) -> Any:
        """Random numpy values, each row drawn on its own; a folded axis has `batch * time` rows.

        Uniform between two bounds, exponential beside one, standard normal without any.
        """
        return self._draw(np.random.default_rng(rng), batch, time)

    def contains(self, value: object) -> bool:
        return self.why_not(value) is None

    def why_not(self, value: object) -> str | None:
        """Says in one line, with the path of the leaf, why `value` isn't contained; None if it is.

        Ranks may have any size, but the same one in all leaves. The kind of the dtype counts, not
        its width: a float32 Box contains float64 values, but no integers.
        """
        return self._misfit(value, (), {})

    @abstractmethod
    def _collect(self, path: Path, leaves: dict[Path, Box]) -> None: ...

    @abstractmethod
    def _draw(self, rng: np.random.Generator, batch: int, time: int) -> Any: ...

    @abstractmethod
    def _misfit(self, value: object, path: Path, sizes: Sizes) -> str | None: ...
