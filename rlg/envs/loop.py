"""Any environment of gymnasium, N times, one after the other in one thread."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rlg.envs.actions import Actions
from rlg.envs.layout import Columns, Layout, as_float32, marks
from rlg.envs.log import ActionLog
from rlg.envs.vector import Step, VectorEnv
from rlg.errors import EnvironmentFailure, SpecError, pip_install
from rlg.graph.spaces import from_gymnasium

if TYPE_CHECKING:
    import gymnasium


def missing_extra(name: str, extra: str) -> SpecError:
    """What to install for an environment."""
    return SpecError(
        f"environment {name!r} needs a package that isn't installed: {pip_install(extra)}"
    )


class LoopEnv(VectorEnv):
    """N environments made by `make`, with a seed for each episode.

    A snapshot is the seed and the actions of each running episode; new environments replay them.
    Exact if an episode depends on its seed and actions alone: if not, `restore` says so.

    Args:
        fresh_envs: Makes a new environment for each episode, for those that carry something over
            from one episode to the next.
        reward_scale: A factor of rewards; `episode_returns` stay as they are.
    """

    kind = "replay"

    def __init__(
        self,
        name: str,
        make: Callable[[], gymnasium.Env[Any, Any]],
        num_envs: int = 1,
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
        fresh_envs: bool = False,
        reward_scale: float = 1.0,
    ) -> None:
        self._make = make
        self._reward_scale = reward_scale
        self._fresh_envs = fresh_envs
        self._envs = [make() for _ in range(num_envs)]
        first = self._envs[0]
        self._actions = Actions(name, num_envs, first.action_space)
        observations = as_float32(from_gymnasium(first.observation_space))
        options = {**(options or {}), "fresh_envs": fresh_envs}
        if reward_scale != 1.0:  # snapshots from before there was one go on
            options["reward_scale"] = reward_scale
        super().__init__(name, num_envs, seed, options, observations, self._actions.space)
        self.frame_skip = getattr(first.unwrapped, "frames_per_step", self.frame_skip)
        self.fps = float(first.metadata.get("render_fps", self.fps))
        self._layout = Layout(observations)
        self._log = ActionLog(self._actions.empty())
        self._last: list[Any] = [None] * num_envs  # what each environment showed last

    def picture(self, observations: Any) -> NDArray[np.uint8]:
        import gymnasium

        try:
            frame = self._envs[0].render()
        except gymnasium.error.DependencyNotInstalled as error:
            raise missing_extra(self.name, "render") from error
        if not isinstance(frame, np.ndarray):
            raise SpecError(
                f"environment {self.name!r} draws no pictures: it needs render_mode='rgb_array'."
            )
        return frame

    def reset(self) -> Any:
        self._episodes.begin()
        columns = self._layout.empty(self.num_envs)
        for row in range(self.num_envs):
            self._begin(row, columns)
        return self._layout.tree(columns)

    def step(self, actions: Any) -> Step:
        self._require_start("step")
        chosen = self._actions.columns(actions)
        self._log.append(chosen, self._episodes.longest)
        columns = self._layout.empty(self.num_envs)
        rewards = np.empty(self.num_envs, np.float64)
        terminals = np.zeros(self.num_envs, np.bool_)
        truncations = np.zeros(self.num_envs, np.bool_)
        ended = []
        for row in range(self.num_envs):
            rewards[row], terminal, truncated = self._advance(row, chosen, columns)
            if terminal or truncated:
                terminals[row] = terminal
                truncations[row] = truncated and not terminal
                ended.append(row)
        self._episodes.add(rewards)
        rows = np.array(ended, np.int64)
        returns, lengths = self._episodes.finish(rows)
        observations = final = self._layout.tree(columns)
        if ended:
            columns = [column.copy() for column in columns]
            for row in ended:
                self._begin(row, columns)
            observations = self._layout.tree(columns)
        return Step(
            observations,
            (rewards * self._reward_scale).astype(np.float32),
            terminals,
            truncations,
            final,
            returns,
            lengths,
            rows,
        )

    def snapshot(self) -> dict[str, Any]:
        self._require_start("snapshot")
        logs = self._log.tail(self._episodes.longest)
        return {
            **self._identity(),
            **self._episodes.snapshot(),
            **dict(zip(self._actions.names(), logs, strict=True)),  # [T, N, ...], aligned at ends
            "marks": marks(self._columns()),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> Any:
        self._check_identity(snapshot)
        self._episodes.restore(snapshot)
        logs = [np.asarray(snapshot[name]) for name in self._actions.names()]
        self._log.load(logs)
        columns = self._layout.empty(self.num_envs)
        for row, length in enumerate(self._episodes.lengths.tolist()):
            self._begin(row, columns, fresh=True)
            for step in range(len(logs[0]) - length, len(logs[0])):
                self._advance(row, [log[step] for log in logs], columns)
        self._check_marks(snapshot)
        return self._layout.tree(columns)

    def close(self) -> None:
        for env in self._envs:
            env.close()

    def _begin(self, row: int, columns: Columns, fresh: bool = False) -> None:
        """Resets one environment to its running episode."""
        try:
            if (fresh or self._fresh_envs) and self._last[row] is not None:
                self._envs[row].close()
                self._envs[row] = self._make()
            self._last[row], _ = self._envs[row].reset(seed=self._episodes.seed_of(row))
            self._layout.check(self._last[row])
            self._layout.write(columns, row, self._last[row])
        except Exception as error:
            raise self._failure(row, "reset", error) from error

    def _advance(self, row: int, actions: Columns, columns: Columns) -> tuple[float, bool, bool]:
        """Steps one environment: reward, terminated, truncated."""
        try:
            result = self._envs[row].step(self._actions.row(actions, row))
            self._last[row], reward, terminal, truncated, _ = result
            self._layout.write(columns, row, self._last[row])
            return float(reward), terminal, truncated
        except Exception as error:
            raise self._failure(row, "step", error) from error

    def _columns(self) -> Columns:
        columns = self._layout.empty(self.num_envs)
        for row, value in enumerate(self._last):
            self._layout.write(columns, row, value)
        return columns

    def _check_marks(self, snapshot: Mapping[str, Any]) -> None:
        pairs = zip(marks(self._columns()), snapshot["marks"], strict=True)
        for row, (mine, theirs) in enumerate(pairs):
            if mine != theirs:
                raise EnvironmentFailure(
                    f"{self.name}: environment {row}, episode {self._episodes.numbers[row]}: the "
                    "replay of its actions ends in another observation than the snapshot. It may "
                    "carry something over between episodes; make it with fresh_envs=true."
                )
