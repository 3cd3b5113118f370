"""Randomness as data: one counter-based numpy stream per component path.

The same streams feed every backend, so agents can be compared number by number, and the state of a
stream is a handful of integers in a checkpoint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

KINDS = {"uniform": "float32", "normal": "float32", "uniform64": "float64"}
UNIFORMS = {"float32": "uniform", "float64": "uniform64"}


def dtype_of_kind(kind: str) -> str:
    """The dtype of a kind of draw."""
    return KINDS[kind]


def key_of(seed: int, path: str, role: Sequence[str | int] = ()) -> int:
    """A 128-bit key from root seed, role and path: neighbours share nothing.

    A role is a name with numbers, ("actor", 3): initial values are drawn by seed and path alone,
    so that all processes of a run begin alike, but what they draw later is their own.
    """
    owner = "".join(f"@{part}" for part in role)  # Paths have no "@".
    digest = hashlib.blake2b(f"{seed}{owner}:{path}".encode(), digest_size=16).digest()
    return int.from_bytes(digest, "little")


class Stream:
    """The random numbers of one component."""

    def __init__(self, seed: int, path: str, role: Sequence[str | int] = ()) -> None:
        self.path = path
        self._generator = np.random.Generator(np.random.Philox(key=key_of(seed, path, role)))

    def uniform(self, shape: Sequence[int]) -> NDArray[np.float32]:
        """float32 in [0, 1)."""
        return self._generator.random(shape, dtype=np.float32)

    def normal(self, shape: Sequence[int]) -> NDArray[np.float32]:
        """float32, standard normal."""
        return self._generator.standard_normal(shape, dtype=np.float32)

    def uniform64(self, shape: Sequence[int]) -> NDArray[np.float64]:
        """float64 in [0, 1), for rows and places in trees: float32 repeats above 2**24 of them."""
        return self._generator.random(shape)

    def draw(self, kind: str, shape: Sequence[int]) -> NDArray[Any]:
        """One of KINDS by name."""
        array: NDArray[Any] = getattr(self, kind)(shape)
        return array

    @property
    def state(self) -> list[int]:
        """The whole state as plain integers."""
        state = self._generator.bit_generator.state
        counter, key = state["state"]["counter"], state["state"]["key"]
        numbers = [*counter, *key, *state["buffer"], state["buffer_pos"]]
        return [int(n) for n in [*numbers, state["has_uint32"], state["uinteger"]]]

    @state.setter
    def state(self, numbers: Sequence[int]) -> None:
        n = [int(number) for number in numbers]
        words = np.array(n[:10], dtype=np.uint64)
        self._generator.bit_generator.state = {
            "bit_generator": "Philox",
            "state": {"counter": words[:4], "key": words[4:6]},
            "buffer": words[6:10],
            "buffer_pos": n[10],
            "has_uint32": n[11],
            "uinteger": n[12],
        }
