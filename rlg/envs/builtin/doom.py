"""Doom seen through a player's eyes, on ViZDoom (Kempka et al., 2016): the extra `vizdoom`."""

from __future__ import annotations

import itertools
import math
import os
from contextlib import suppress
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from rlg.envs.builtin import DOOM
from rlg.errors import SpecError
from rlg.graph.limits import PositiveInt

TICS_PER_SECOND = 35
ENLARGED = 3  # times, of pictures


class Doom(gymnasium.Env[NDArray[np.uint8], Any]):
    """One game: gray frames, skipped, resized and stacked, [image_size, image_size, frame_stack].

    As Atari games are played here: the newest frame is the last one of a stack, stacks begin with
    zeros, and actions are choices. Rewards are the scenario's, summed over the skipped tics. A
    scenario's time limit truncates and shows a last frame; the player's end is a terminal and has
    none (zeros).

    Args:
        frame_skip: Tics per step.
        max_buttons_pressed: An action is nothing, or up to so many of the scenario's buttons at
            once; how far to turn or look (delta buttons) is left out.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": TICS_PER_SECOND}  # noqa: RUF012

    def __init__(
        self,
        scenario: str = "basic",
        frame_skip: PositiveInt = 4,
        frame_stack: PositiveInt = 4,
        image_size: PositiveInt = 84,
        max_buttons_pressed: PositiveInt = 1,
        render_mode: str | None = None,
    ) -> None:
        if scenario not in DOOM:
            raise SpecError(f"doom: there is no scenario {scenario!r}; use {', '.join(DOOM)}.")
        self.render_mode = render_mode
        self.metadata = {**self.metadata, "render_fps": TICS_PER_SECOND / frame_skip}
        self.frames_per_step = frame_skip
        self._size = (image_size, image_size)
        self._game, tics = _game(scenario)
        self._limit = math.ceil(tics / frame_skip) if tics else None  # in steps
        self._choices = _choices(self._game.get_available_buttons_size(), max_buttons_pressed)
        self._steps = 0
        self._screen = np.zeros((120, 160), np.uint8)
        self.observation_space = spaces.Box(0, 255, (*self._size, frame_stack), np.uint8)
        self.action_space = spaces.Discrete(len(self._choices))

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.uint8], dict[str, Any]]:
        super().reset(seed=seed)
        self._game.set_seed(int(self.np_random.integers(2**31)))
        if self._game.is_running():
            self._game.new_episode()
        else:
            _start(self._game)
        self._steps = 0
        self._stack = np.zeros(self.observation_space.shape or (), np.uint8)
        return self._observe(), {}

    def step(self, action: int) -> tuple[NDArray[np.uint8], float, bool, bool, dict[str, Any]]:
        reward = self._game.make_action(self._choices[action], self.frames_per_step)
        self._steps += 1
        terminal = self._game.is_episode_finished()
        truncated = not terminal and self._steps == self._limit
        return self._observe(), reward, terminal, truncated, {}

    def render(self) -> NDArray[np.uint8]:
        """The screen as it is before it is resized, gray as the agent sees it, enlarged."""
        gray = self._screen.repeat(ENLARGED, 0).repeat(ENLARGED, 1)
        return np.stack([gray] * 3, axis=-1)

    def close(self) -> None:
        self._game.close()

    def _observe(self) -> NDArray[np.uint8]:
        """The stack with the newest frame at its end."""
        import cv2

        state = self._game.get_state()
        frame = np.zeros(self._size, np.uint8)
        if state is not None:  # there is none after the end
            self._screen = state.screen_buffer
            frame[:] = cv2.resize(self._screen, self._size, interpolation=cv2.INTER_AREA)
        self._stack = np.concatenate([self._stack[..., 1:], frame[..., None]], axis=-1)
        return self._stack


def _game(scenario: str) -> tuple[Any, int]:
    """A game that is not started yet, and the tics after which its scenario ends an episode."""
    import vizdoom

    game = vizdoom.DoomGame()
    game.load_config(str(Path(vizdoom.scenarios_path, f"{scenario}.cfg")))
    game.set_mode(vizdoom.Mode.PLAYER)  # which waits for actions: equal seeds, equal games
    game.set_window_visible(False)
    game.set_sound_enabled(False)
    game.set_screen_format(vizdoom.ScreenFormat.GRAY8)
    game.set_screen_resolution(vizdoom.ScreenResolution.RES_160X120)
    buttons = [b for b in game.get_available_buttons() if not vizdoom.is_delta_button(b)]
    game.set_available_buttons(buttons)
    limit: int = game.get_episode_timeout()
    game.set_episode_timeout(0)  # its own truncation would lose the last frame
    return game, limit


def _start(game: Any) -> None:
    """Starts the game's process, without what it leaves behind: its settings, an empty folder."""
    game.set_doom_config_path(os.devnull)
    game.init()
    with suppress(OSError):
        Path("_vizdoom").rmdir()


def _choices(buttons: int, pressed: int) -> list[list[bool]]:
    """Nothing, then single buttons, then pairs..."""
    return [
        [button in chosen for button in range(buttons)]
        for count in range(min(pressed, buttons) + 1)
        for chosen in itertools.combinations(range(buttons), count)
    ]
