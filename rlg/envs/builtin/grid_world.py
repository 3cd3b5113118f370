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
    walker where it is. `actions` are the four "moves", or "turns": three choices at once, forward
    (0: back, 1: stay, 2: ahead), turn (0: left, 1: no, 2: right; before the step) and jump (1: over
    the next cell, whatever it is, if the walker goes ahead or back). It looks up at first, and the
    observation is 4 * the cell + where it looks: up, right, down, left.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 4}  # noqa: RUF012

    def __init__(
        self,
        world: str | Sequence[str] = "4x4",
        actions: str = "moves",
        render_mode: str | None = None,
    ) -> None:
        self.render_mode = render_mode
        if actions not in ("moves", "turns"):
            raise SpecError(f"grid_world: actions must be moves or turns, got {actions!r}.")
        self._turns = actions == "turns"
        self._looks = 0  # an index of _MOVES
        self._map = _read(world)
        self._rows, self._columns = len(self._map), len(self._map[0])
        cells = self._rows * self._columns
        self.observation_space = spaces.Discrete(cells * (len(_MOVES) if self._turns else 1))
        self.action_space: spaces.Space[Any] = spaces.Discrete(len(_MOVES))
        if self._turns:
            self.action_space = spaces.MultiDiscrete([3, 3, 2])
        starts = [(x, y) for y, row in enumerate(self._map) for x, c in enumerate(row) if c == "S"]
        self._start = self._at = starts[0]

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[int, dict[str, Any]]:
        super().reset(seed=seed)
        self._at, self._looks = self._start, 0
        return self._cell(), {}

    def step(self, action: Any) -> tuple[int, float, bool, bool, dict[str, Any]]:
        dx, dy = self._move(action) if self._turns else _MOVES[action]
        x, y = self._at[0] + dx, self._at[1] + dy
        inside = 0 <= x < self._columns and 0 <= y < self._rows
        if inside and self._map[y][x] != "W":
            self._at = x, y
        ground = self._map[self._at[1]][self._at[0]]
        return self._cell(), _REWARDS.get(ground, -0.1), ground in _REWARDS, False, {}

    def _move(self, action: Any) -> tuple[int, int]:
        forward, turn, jump = (int(part) for part in action)
        self._looks = (self._looks + turn - 1) % len(_MOVES)
        cells = (forward - 1) * (1 + jump)
        dx, dy = _MOVES[self._looks]
        return cells * dx, cells * dy

    def render(self) -> NDArray[np.uint8]:
        """Goal green, holes dark, walls gray, the walker red."""
        cells = np.array([[_COLORS[c] for c in row] for row in self._map], np.uint8)
        cells[self._at[1], self._at[0]] = _WALKER
        return cells.repeat(_CELL, 0).repeat(_CELL, 1)

    def _cell(self) -> int:
        cell = self._at[0] * self._rows + self._at[1]
        return len(_MOVES) * cell + self._looks if self._turns else cell


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
