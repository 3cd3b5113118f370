"""What on-policy agents share that bootstrap from values: PPO, A2C, PQN."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rlg.api.agents.masks import parted
from rlg.api.agents.on_policy import OnPolicyAgent
from rlg.execution.types import Action, Batch, Clock, LearnResult, Sample, Segment
from rlg.graph.components.networks.auto import for_observations
from rlg.graph.components.policies.masked import MASK
from rlg.graph.components.schedules.schedule import Schedule
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Dict, FloatBox, Space, map_leaves


class BootstrappingAgent(OnPolicyAgent):
    """Acting, values behind the steps of a segment, schedules, masks.

    Where observations are a Dict with the key `action_mask`, that one masks actions, and the rest
    is what the network sees.
    """

    apis: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "actor": ("act",),
        "learner": ("update", "value"),
    }
    acting_scopes: ClassVar[tuple[str, ...]] = ("policy", "observations")
    replicates = True
    # What the root's `act` returns for learning behind the actions, one number each.
    acted_numbers: ClassVar[tuple[str, ...]] = ("values",)
    # Of rewards for what it could not foresee; above 0, batches have what followed each step.
    curiosity: float = 0.0

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        optimizer: Any,
        total_timesteps: int,
        n_steps: int,
    ) -> None:
        super().__init__(observation_space, action_space, total_timesteps, n_steps)
        self._states, self._masks = parted(observation_space)
        self.network = for_observations(network, self._states)
        self.optimizer = optimizer
        self.is_recurrent = hasattr(make(self.network), "unroll")
        self._learning_rates: Schedule | None = getattr(make(optimizer), "schedule", None)
        self._clips = False

    # -- spaces -----------------------------------------------------------------------------------
    @cached_property
    def columns(self) -> Mapping[str, Space]:
        # Floats are learnt from as they were drawn: before they are squashed or clipped.
        drawn = self.action_space.map(
            lambda box: FloatBox(shape=box.shape) if box.kind == "float" else box
        )
        return {"actions": drawn, **{name: FloatBox() for name in self.acted_numbers}}

    @property
    def state_space(self) -> Space | None:
        return self._root.policy.hidden_space if self.is_recurrent else None  # type: ignore[union-attr]

    def input_spaces(self) -> Mapping[str, Any]:
        batch: dict[str, Space] = {
            "states": self._states,
            **self.columns,
            "rewards": FloatBox(),
            "terminals": BoolBox(),
            "truncations": BoolBox(),
            "bootstrap_values": FloatBox(),
        }
        if self.curiosity:
            batch["next_states"] = self._states
        spaces: dict[str, Any] = {"states": self._states, "last_values": FloatBox()}
        if self.is_recurrent:
            batch["resets"] = BoolBox()
            spaces |= {"hidden": self.state_space, "resets": BoolBox()}
        if self._masks is not None:
            spaces |= {"masks": self._masks, "update.masks": self._masks.with_ranks("TB")}
        numbers = self.schedules(Clock())
        return {
            **spaces,
            "batch": Dict(batch).with_ranks("TB"),
            **{name: FloatBox(ranks="") for name in numbers},
        }

    def schedules(self, clock: Clock) -> dict[str, float]:
        """What `update` takes beside the batch, at this time."""
        rates = self._learning_rates
        return {} if rates is None else {"learning_rate": rates.at(clock.progress)}

    # -- actor ------------------------------------------------------------------------------------
    def act(
        self, observations: Any, state: Any, resets: Any, clock: Clock, *, explore: bool = True
    ) -> Action:
        states, masks = self._split(observations)
        inputs = (states,) if state is None else (states, state, resets)
        optional = () if masks is None else (masks,)
        found = self.executor.execute("act", *inputs, explore, *optional)
        columns = dict(zip(self.columns, found, strict=False))
        after = found[-1] if self.is_recurrent else None
        env = found[len(columns)] if self._clips else columns["actions"]
        return Action(env, columns, after)

    def _split(self, observations: Any) -> tuple[Any, Any]:
        """What the network sees, and masks."""
        if self._masks is None:
            return observations, None
        states = {key: value for key, value in observations.items() if key != MASK}
        alone = next(iter(states.values())) if len(states) == 1 else states
        return alone, np.asarray(observations[MASK], np.bool_)

    # -- learner ----------------------------------------------------------------------------------
    def learn(self, batch: Batch | Sample | None, clock: Clock) -> LearnResult:
        assert batch is not None
        settings = self.schedules(clock)
        numbers = {name: np.float32(value) for name, value in settings.items()}
        inputs, optional = self._inputs(batch.records["segment"])
        metrics = self.executor.execute("update", *inputs, **optional, **numbers)
        return LearnResult({**metrics, **settings})

    def _inputs(self, segment: Segment) -> tuple[list[Any], dict[str, Any]]:
        """A segment as the root learns from it: batch, last values (and state), masks by name."""
        states, masks = self._split(segment.states)
        last_values, bootstrap_values = self._values_after(segment)
        records = {
            "states": states,
            **segment.columns,
            "rewards": segment.rewards,
            "terminals": segment.terminals,
            "truncations": segment.truncations,
            "bootstrap_values": bootstrap_values,
        }
        if self.curiosity:
            records["next_states"] = self._split(segment.next_states())[0]
        inputs = [records, last_values]
        if self.is_recurrent:
            records["resets"] = segment.resets
            inputs.append(segment.first_hidden)
        return inputs, {} if masks is None else {"masks": masks}

    def _values_after(self, segment: Segment) -> tuple[Any, Any]:
        """Values of what followed the last steps [B], and of truncated steps [T, B], in one call.

        A truncated step led to an observation that is in no row of the segment.
        """
        cut = np.flatnonzero(segment.truncations[segment.ends])
        last, _ = self._split(segment.last_states)
        final, _ = self._split(segment.final_states)
        inputs = [_behind(last, final, cut)]
        if self.is_recurrent:
            inputs.append(_behind(segment.last_hidden, segment.final_hidden, cut))
            inputs.append(np.zeros(len(segment.rewards[0]) + len(cut), np.bool_))
        values = self.executor.execute("value", *inputs)
        count = segment.rewards.shape[1]
        bootstrap = np.zeros_like(segment.rewards)
        bootstrap[tuple(index[cut] for index in segment.ends)] = values[count:]
        return values[:count], bootstrap


def _behind(first: Any, second: Any, rows: Any) -> Any:
    """Some rows of the second behind the first."""
    return map_leaves(lambda x, y: np.concatenate([x, y[rows]]), first, second)
