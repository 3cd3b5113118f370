"""Atari games on ALE's own vector environment: N emulators on native threads.

Why not a seed for every episode: ALE takes a seed only by loading the ROM again, which costs as
much as 250 steps (130 ms against 0.5) and halts all environments: Breakout would run at less than
half its speed. So a seed opens a stretch of episodes; the later ones of a stretch begin by plain
resets, whose no-ops come from its generator. From the seed on the emulator is a deterministic
machine, with sticky actions too, and a replay of the stretch ends where it ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rlg.envs.actions import Actions
from rlg.envs.episodes import Ages
from rlg.envs.layout import marks
from rlg.envs.log import ActionLog
from rlg.envs.vector import Step, VectorEnv
from rlg.errors import EnvironmentFailure, SpecError
from rlg.graph.limits import Decay, NonNegativeInt, PositiveInt
from rlg.graph.spaces import Box

ENLARGED = 4  # times, of pictures
Mask = NDArray[np.bool_]
Frames = NDArray[np.uint8]  # [N, stack, height, width], as ALE returns them


class AtariEnv(VectorEnv):
    """N games: gray frames, resized, skipped and stacked, [N, height, width, stack] uint8.

    Observations are transposed views, not copies (40 us a stack): networks read them as fast, and a
    memory of single frames reads `observations[..., -1]` in one piece, 7 times faster than from a
    copy; a memory of whole stacks copies first. Stacks begin with zeros.

    Args:
        max_episode_steps: Truncates a game; 27,000 steps of 4 frames are half an hour of play.
        noop_max: A game begins after a random number of frames below this one.
        episodic_life: A lost life is a terminal for the learner, and its stack begins anew; but the
            game goes on, and `ended`, returns and lengths are those of whole games. (ALE's own
            option of this name starts the game over at every life.)
        reward_clipping: Rewards become their signs; `episode_returns` stay as they are.
        repeat_action_probability: Sticky actions; 0.25 in the ids `ALE/...-v5`.
        num_threads: 0 is one for each core, at most one for each environment.
        steps_per_seed: Steps after which the next episode of an environment gets a seed of its own;
            0 for each episode. More of them make `restore` longer, which replays them.
    """

    kind = "atari"

    def __init__(
        self,
        name: str,
        num_envs: PositiveInt = 1,
        seed: int = 0,
        *,
        max_episode_steps: PositiveInt = 27_000,
        frame_skip: PositiveInt = 4,
        frame_stack: PositiveInt = 4,
        image_size: PositiveInt = 84,
        noop_max: NonNegativeInt = 30,
        episodic_life: bool = False,
        reward_clipping: bool = False,
        repeat_action_probability: Decay = 0.0,
        full_action_space: bool = False,
        num_threads: NonNegativeInt = 0,
        steps_per_seed: NonNegativeInt = 5_000,
    ) -> None:
        options = {
            "max_episode_steps": max_episode_steps,
            "frame_skip": frame_skip,
            "frame_stack": frame_stack,
            "image_size": image_size,
            "noop_max": noop_max,
            "episodic_life": episodic_life,
            "reward_clipping": reward_clipping,
            "repeat_action_probability": repeat_action_probability,
            "full_action_space": full_action_space,
            "steps_per_seed": steps_per_seed,
        }
        if not 0 <= repeat_action_probability < 1:
            raise SpecError(
                f"{name}: repeat_action_probability is {repeat_action_probability}; give a "
                "probability below 1: 0.0, or 0.25 for sticky actions."
            )
        self.frame_skip = frame_skip
        self.fps = 60.0 / frame_skip
        self._max_episode_steps = max_episode_steps
        self._episodic_life = episodic_life
        self._reward_clipping = reward_clipping
        self._steps_per_seed = steps_per_seed
        self._frame_stack = frame_stack
        self._native = _native(name, num_envs, options, num_threads)
        self._actions = Actions(name, num_envs, self._native.single_action_space)
        space = Box((image_size, image_size, frame_stack), "uint8", 0, 255)
        super().__init__(name, num_envs, seed, options, space, self._actions.space)
        self._log = ActionLog([np.empty(num_envs, np.uint8)])
        self._opened = np.zeros(num_envs, np.int64)  # episode with which the stretch began
        self._since = Ages(num_envs)  # steps since
        self._lives = np.zeros(num_envs, np.int32)
        self._ages = Ages(num_envs)  # steps since a game or life began

    def picture(self, observations: Any) -> NDArray[np.uint8]:
        """What the agent sees, enlarged: ALE's vector environment shows nothing else."""
        gray = np.asarray(observations)[0, :, :, -1].repeat(ENLARGED, 0).repeat(ENLARGED, 1)
        return np.stack([gray] * 3, axis=-1)

    def reset(self) -> Any:
        self._episodes.begin()
        everywhere = np.ones(self.num_envs, np.bool_)
        return _nhwc(self._begin(everywhere, seeded=everywhere))

    def step(self, actions: Any) -> Step:
        self._require_start("step")
        (chosen,) = self._actions.columns(actions)  # ALE hangs on an action that doesn't exist
        self._log.append([chosen], self._since.longest)
        return self._advance(chosen)

    def snapshot(self) -> dict[str, Any]:
        self._require_start("snapshot")
        (actions,) = self._log.tail(self._since.longest)
        return {
            **self._identity(),
            **self._episodes.snapshot(),
            "opened": self._opened.copy(),
            "since": self._since.values,
            "actions": actions,  # [T, N], aligned at their ends
            "marks": marks([self._current()]),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> Any:
        self._check_identity(snapshot)
        self._episodes.restore(snapshot)
        since, actions = np.asarray(snapshot["since"]), np.asarray(snapshot["actions"])
        self._log.load([actions])
        steps = len(actions)
        self._since.load(0)
        everywhere = np.ones(self.num_envs, np.bool_)
        for step in range(steps + 1):
            # Environments whose stretch begins later run along, with actions of the one before.
            opening = since == steps - step
            if opening.any():
                self._episodes.numbers[opening] = np.asarray(snapshot["opened"])[opening] - 1
                self._episodes.begin(np.flatnonzero(opening))
                self._begin(opening if step else everywhere, seeded=opening)
            if step < steps:
                self._advance(actions[step].astype(np.int64))
        frames = self._current()
        self._check_replay(snapshot, frames)
        return _nhwc(frames)

    def close(self) -> None:
        self._native = None  # its threads end with it

    def _advance(self, actions: NDArray[np.int64]) -> Step:
        frames, raw, terminals, _, info = self._call("step", actions)
        self._episodes.add(raw)
        self._since.tick()
        self._ages.tick()
        truncations = np.zeros(self.num_envs, np.bool_)
        if self._episodes.longest >= self._max_episode_steps:
            truncations = (self._episodes.lengths >= self._max_episode_steps) & ~terminals
        over = terminals | truncations
        lost = self._lose_lives(info["lives"], over) if self._episodic_life else None
        self._blank(frames)
        final = frames
        (ended,) = over.nonzero()
        returns, lengths = self._episodes.finish(ended)
        if ended.size:
            frames = self._begin(over, over & (self._since.values >= self._steps_per_seed))
        if lost is not None and lost.any():
            frames = final.copy() if frames is final else frames
            terminals = terminals | lost
            self._ages.load(0, lost)
            self._blank(frames)
        last = _nhwc(final)
        rewards = np.sign(raw) if self._reward_clipping else raw
        return Step(
            last if frames is final else _nhwc(frames),
            rewards.astype(np.float32),
            terminals,
            truncations,
            last,
            returns,
            lengths,
            ended,
        )

    def _begin(self, mask: Mask, seeded: Mask) -> Frames:
        """Resets the masked environments, some of them by the seeds of their running episodes."""
        self._opened[seeded] = self._episodes.numbers[seeded]
        self._since.load(0, seeded)
        rows = np.flatnonzero(mask)
        seeds = [self._episodes.seed_of(row) if seeded[row] else -1 for row in rows.tolist()]
        frames: Frames
        frames, info = self._call("reset", seed=np.array(seeds), options={"reset_mask": mask})
        self._lives[mask] = info["lives"][mask]
        self._ages.load(0, mask)
        self._blank(frames)
        return frames

    def _lose_lives(self, lives: NDArray[np.int32], over: Mask) -> Mask:
        """Tells where a life was lost in a game that goes on."""
        lost: Mask = (lives < self._lives) & (lives > 0) & ~over
        self._lives[:] = lives
        return lost

    def _blank(self, frames: Frames) -> None:
        """Clears the frames of a life that has ended from the stacks; after a reset ALE does."""
        if self._episodic_life:
            missing = self._frame_stack - 1 - self._ages.values
            for row in np.flatnonzero(missing > 0):
                frames[row, : missing[row]] = 0

    def _current(self) -> Frames:
        nowhere = np.zeros(self.num_envs, np.bool_)
        frames: Frames
        frames, _ = self._call("reset", seed=np.empty(0, int), options={"reset_mask": nowhere})
        self._blank(frames)
        return frames

    def _call(self, method: str, *args: Any, **words: Any) -> Any:
        try:
            return getattr(self._native, method)(*args, **words)
        except Exception as error:
            raise self._failure_of_all(method, error) from error

    def _check_replay(self, snapshot: Mapping[str, Any], frames: Frames) -> None:
        same = np.array(marks([frames])) == np.array(snapshot["marks"])
        same &= self._episodes.numbers == snapshot["episodes"]
        if not same.all():
            row = int(np.flatnonzero(~same)[0])
            raise EnvironmentFailure(
                f"{self.name}: environment {row}, episode {snapshot['episodes'][row]}: the replay "
                "of its actions ends elsewhere than the snapshot. Restore it with the version of "
                "ale-py that took it."
            )


def _native(name: str, num_envs: int, options: Mapping[str, Any], num_threads: int) -> Any:
    """ALE's environment, with what it does differently from us switched off."""
    from ale_py.vector_env import AtariVectorEnv

    return AtariVectorEnv(
        name,
        num_envs,
        num_threads=num_threads,
        max_num_frames_per_episode=2**30,  # its own truncation would lose the last frame
        repeat_action_probability=options["repeat_action_probability"],
        full_action_space=options["full_action_space"],
        img_height=options["image_size"],
        img_width=options["image_size"],
        stack_num=options["frame_stack"],
        frameskip=options["frame_skip"],
        noop_max=options["noop_max"],
        episodic_life=False,
        reward_clipping=False,
    )


def _nhwc(frames: Frames) -> Frames:
    return frames.transpose(0, 2, 3, 1)
