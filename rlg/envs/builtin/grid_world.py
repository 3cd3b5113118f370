"""Walking on a map of characters, as in RLgraph's GridWorld."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlg.errors import SpecError

WORLDS = {
    "chain": ["G    S  H G"],
    "long-chain": [" " * 33 + "S" + " " * 33 + "G"],
    "2x2": ["SH", " G"],
    "4x4": ["S   ", " H H", "   H", "H  G"],
    "8x8": [
        "S       ",
        "        ",
        "   H    ",
        "     H  ",
        "   H    ",
        " HH   H ",
        " H  H H ",
        "   H   G",
    ],
}

_MOVES = ((0, -1), (1, 0), (0, 1), (-1, 0))  # up, right, down, left, as (x, y)
_REWARDS = {"G": 1.0, "H": -5.0}  # goal and hole, which end the episode
_COLORS = {"S": (200, 220, 255), "G": (80, 200, 120), "H": (30, 30, 30), "W": (130, 130, 130)}
_COLORS[" "] = (240, 240, 240)
_WALKER, _CELL = (220, 60, 60), 48  # pixels


class GridWorld(gymnasium.Env[Any, Any]):
    """From start `S` to goal `G` (reward 1), around holes `H` (-5); each other step gives -0.1.

    The observation is the index of the cell, `x * rows + y`. Walls (`W`) and borders keep the
    walker where it is.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(self, world: str | Sequence[str] = "4x4", render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self._map = _read(world)
        self._rows, self._columns = len(self._map), len(self._map[0])
        self.observation_space = spaces.Discrete(self._rows * self._columns)
        self.action_space = spaces.Discrete(len(_MOVES))
        starts = [(x, y) for y, row in enumerate(self._map) for x, c in enumerate(row) if c == "S"]
        self._start = self._at = starts[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self._at = self._start
        return self._cell(), {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        x, y = self._at[0] + _MOVES[action][0], self._at[1] + _MOVES[action][1]
        inside = 0 <= x < self._columns and 0 <= y < self._rows
        if inside and self._map[y][x] != "W":
            self._at = x, y
        ground = self._map[self._at[1]][self._at[0]]
        return self._cell(), _REWARDS.get(ground, -0.1), ground in _REWARDS, False, {}

    def render(self) -> NDArray[np.uint8]:
        """Goal green, holes dark, walls gray, the walker red."""
        cells = np.array([[_COLORS[c] for c in row] for row in self._map], np.uint8)
        cells[self._at[1], self._at[0]] = _WALKER
        return cells.repeat(_CELL, 0).repeat(_CELL, 1)

    def _cell(self) -> int:
        return self._at[0] * self._rows + self._at[1]


def _read(world: str | Sequence[str]) -> list[str]:
    if isinstance(world, str) and world not in WORLDS:
        raise SpecError(f"grid_world: there is no world {world!r}; use {', '.join(WORLDS)}.")
    rows = WORLDS[world] if isinstance(world, str) else list(world)
    letters = "".join(rows)
    if not letters or len({len(row) for row in rows}) > 1 or set(letters) - set("SGHW "):
        raise SpecError(
            f"grid_world: rows are of one length, made of S, G, H, W and ' ': {rows!r}."
        )
    if letters.count("S") != 1:
        raise SpecError(f"grid_world: a world has one start S; this one {letters.count('S')}.")
    return rows
