"""Any vector environment of gymnasium, whichever way it resets itself.

`AutoresetMode` has three: NEXT_STEP spends the step after an end on the reset and ignores its
action, SAME_STEP resets at once and hides the last observation in the infos, DISABLED waits for a
reset. Here all three come to the same: what ended is reset within the step, by a mask, with the
seed of its next episode. So no step is lost to a reset, none is counted twice, and no transition
leads from one episode into another.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from rlg.envs.actions import Actions
from rlg.envs.layout import Columns, Layout, as_float32, at, marks
from rlg.envs.log import ActionLog
from rlg.envs.vector import Step, VectorEnv
from rlg.errors import EnvironmentFailure
from rlg.graph.spaces import from_gymnasium

if TYPE_CHECKING:
    import gymnasium

Mask = NDArray[np.bool_]


class BatchedEnv(VectorEnv):
    """N environments that are stepped together by `make()`, with a seed for each episode.

    Its `reset` must know the option `reset_mask`. A snapshot is that of single environments: the
    seed and the actions of each running episode, to be replayed.
    """

    kind = "batched"

    def __init__(
        self,
        name: str,
        make: Callable[[], gymnasium.vector.VectorEnv[Any, Any, Any]],
        seed: int = 0,
        options: Mapping[str, Any] | None = None,
        reward_scale: float = 1.0,
    ) -> None:
        self._native: Any = make()
        num_envs = self._native.num_envs
        self._reward_scale = reward_scale
        self._mode = str(getattr(self._native.metadata.get("autoreset_mode"), "value", "unknown"))
        self._actions = Actions(name, num_envs, self._native.single_action_space)
        observations = as_float32(from_gymnasium(self._native.single_observation_space))
        words = {**(options or {}), "reward_scale": reward_scale}
        super().__init__(name, num_envs, seed, words, observations, self._actions.space)
        self._layout = Layout(observations)
        self._log = ActionLog(self._actions.empty())
        self._shown: Columns = []

    def reset(self) -> Any:
        self._episodes.begin()
        self._shown = self._columns(self._call("reset", seed=self._seeds())[0])
        return self._layout.tree(self._shown)

    def step(self, actions: Any) -> Step:
        self._require_start("step")
        chosen = self._actions.columns(actions)
        self._log.append(chosen, self._episodes.longest)
        final, rewards, terminals, truncations = self._advance(chosen)
        self._episodes.add(rewards)
        over = terminals | truncations
        ended = np.flatnonzero(over)
        returns, lengths = self._episodes.finish(ended)
        self._shown = self._begin(over, final) if ended.size else final
        last = self._layout.tree(final)
        return Step(
            self._layout.tree(self._shown) if ended.size else last,
            (rewards * self._reward_scale).astype(np.float32),
            terminals,
            truncations & ~terminals,
            last,
            returns,
            lengths,
            ended,
        )

    def snapshot(self) -> dict[str, Any]:
        self._require_start("snapshot")
        logs = self._log.tail(self._episodes.longest)
        return {
            **self._identity(),
            **self._episodes.snapshot(),
            **dict(zip(self._actions.names(), logs, strict=True)),  # [T, N, ...], aligned at ends
            "marks": marks(self._shown),
        }

    def restore(self, snapshot: Mapping[str, Any]) -> Any:
        self._check_identity(snapshot)
        self._episodes.restore(snapshot)
        logs = [np.asarray(snapshot[name]) for name in self._actions.names()]
        self._log.load(logs)
        steps, lengths = len(logs[0]), self._episodes.lengths
        shown = self._columns(self._call("reset", seed=self._seeds())[0])
        for step in range(steps):
            # Environments whose episodes begin later run along until then.
            opening = lengths == steps - step
            shown = self._begin(opening, shown) if step and opening.any() else shown
            shown, _, terminals, truncations = self._advance([log[step] for log in logs])
            over = (terminals | truncations) & (lengths < steps - step)
            shown = self._begin(over, shown) if over.any() else shown
        fresh = lengths == 0
        self._shown = self._begin(fresh, shown) if steps and fresh.any() else shown
        self._check_marks(snapshot)
        return self._layout.tree(self._shown)

    def close(self) -> None:
        try:
            self._native.close()
        except (EOFError, OSError):
            # One of its processes is gone, and gymnasium waits for its answer, at exit once more.
            for process in getattr(self._native, "processes", ()):
                process.terminate()
            self._native.closed = True

    def _advance(self, chosen: Columns) -> tuple[Columns, NDArray[np.float64], Mask, Mask]:
        """One step of all: true next observations, rewards, terminals, truncations."""
        observations, rewards, terminals, truncations, infos = self._call(
            "step", self._actions.batch(chosen)
        )
        columns = self._columns(observations)
        if self._mode == "SameStep":  # what it shows where an episode ended is the next one's
            for row in np.flatnonzero(terminals | truncations).tolist():
                self._layout.write(columns, row, infos["final_obs"][row])
        return columns, np.array(rewards, np.float64), np.array(terminals), np.array(truncations)

    def _begin(self, mask: Mask, before: Columns) -> Columns:
        """Resets some environments to their running episodes, and no other."""
        options = {"reset_mask": mask.copy()}
        columns = self._columns(self._call("reset", seed=self._seeds(mask), options=options)[0])
        rest = ~mask
        if any(not np.array_equal(x[rest], y[rest]) for x, y in zip(columns, before, strict=True)):
            raise EnvironmentFailure(
                f"{self.name}: its vector environment was to reset environments "
                f"{np.flatnonzero(mask).tolist()} and changed others too: it doesn't know "
                "`reset_mask`. Write env.vectorization=null."
            )
        return columns

    def _seeds(self, mask: Mask | None = None) -> list[int | None]:
        """Of the running episodes, None for environments that are not reset."""
        rows = range(self.num_envs)
        return [self._episodes.seed_of(r) if mask is None or mask[r] else None for r in rows]

    def _columns(self, observations: Any) -> Columns:
        """Copies: a vector environment may write to its own arrays again."""
        return [
            np.array(at(observations, path), box.dtype, order="C")
            for path, box in self._layout.leaves
        ]

    def _call(self, method: str, *args: Any, **words: Any) -> Any:
        try:
            return getattr(self._native, method)(*args, **words)
        except (EOFError, BrokenPipeError) as error:
            ended = EOFError("one of its processes has ended")
            raise self._failure_of_all(method, ended) from error
        except Exception as error:
            raise self._failure_of_all(method, error) from error

    def _check_marks(self, snapshot: Mapping[str, Any]) -> None:
        pairs = zip(marks(self._shown), snapshot["marks"], strict=True)
        for row, (mine, theirs) in enumerate(pairs):
            if mine != theirs:
                raise EnvironmentFailure(
                    f"{self.name}: environment {row}, episode {self._episodes.numbers[row]}: the "
                    "replay of its actions ends in another observation than the snapshot. It may "
                    "carry something over between episodes; write env.vectorization=null and "
                    "env.fresh_envs=true."
                )
