"""IMPALA whose data never leaves the graph: see FusedRoot."""

from __future__ import annotations

from typing import Any

from rlg.graph import Tensor, graph_fn
from rlg.graph.components.algorithms.fused import ENDS, FusedRecurrentRoot, FusedRoot
from rlg.graph.components.algorithms.impala import IMPALA, RecurrentIMPALA
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, Space


class FusedIMPALA(FusedRoot, IMPALA):
    """IMPALA with the environments' steps, a queue and the learner's data inside of the graph.

    Rollouts go through the queue; the learner makes one update from `count` of them side by side.
    The value of a truncated episode is that of its true last state, by the weights that learn.
    """

    def _record_space(self) -> dict[str, Any]:
        drawn = self.action_space.map(lambda x: Box(x.shape) if x.kind == "float" else x)
        numbers = dict.fromkeys((*self.acted, "rewards"), FloatBox())
        ends = dict.fromkeys(("terminals", "truncations"), BoolBox())
        steps = Dict(self._seen_columns(), actions=drawn, **numbers, **ends)
        return {
            "steps": steps.with_ranks("TB"),
            "last_states": self.seen["states"],  # type: ignore[index]
            "report": self.stepper.report_space,
        }

    def _seen_columns(self) -> dict[str, Space]:
        return dict(self.seen.items())  # type: ignore[attr-defined]

    def _record(self, carry: Any, after: Any, steps: Any, report: Any) -> dict[str, Any]:
        return {"steps": steps, "last_states": after["seen"]["states"], "report": report}

    def _learned(self, found: Any, learning_rate: Any) -> Any:
        steps = found["steps"]
        with self.no_gradient():
            values = self._bootstrap_values(self.policy, steps["truncations"], found["report"])
        batch = {name: steps[name] for name in ("states", "actions", *self.acted, *ENDS)}
        batch["bootstrap_values"] = values
        return self._updated(batch, found, learning_rate)

    def _updated(self, batch: Any, found: Any, learning_rate: Any) -> Any:
        masks = self._masks(found["steps"])
        return self.update(batch, found["last_states"], masks, learning_rate)


class FusedRecurrentIMPALA(FusedRecurrentRoot, FusedIMPALA, RecurrentIMPALA):
    """The same with a recurrent policy; rollouts hold what it remembered at first."""

    @property
    def remembered(self) -> Space | None:
        return self.hidden_space

    def _record_space(self) -> dict[str, Any]:
        return {**super()._record_space(), "hidden": self.remembered}

    def _seen_columns(self) -> dict[str, Space]:
        return {**super()._seen_columns(), "resets": BoolBox()}

    def _record(self, carry: Any, after: Any, steps: Any, report: Any) -> dict[str, Any]:
        return {**super()._record(carry, after, steps, report), "hidden": carry["hidden"]}

    def _acted(self, carry: Any) -> tuple[dict[str, Any], Any]:
        seen, resets = carry["seen"], carry["resets"]
        states, before = self._with_previous(seen["states"], carry["hidden"], resets)
        *found, after = self.actor.act(states, before, resets, True, self._masks(seen))
        acted = self._named(found)
        if self.previous_inputs:
            after = self.remember(after, acted["actions"], self.nothing(acted["log_probs"]))
        return acted, after

    def _carried(self, seen: Any, hidden: Any, rewards: Any, *ends: Any) -> dict[str, Any]:
        if self.previous_inputs:
            hidden = self.remember(hidden["policy"], hidden["actions"], rewards)
        return super()._carried(seen, hidden, rewards, *ends)

    @graph_fn
    def remember(self, policy: Tensor, actions: Tensor, rewards: Tensor) -> Tensor:
        """What is remembered of a step, as one value."""
        return {"policy": policy, "actions": actions, "rewards": rewards}

    def _values(self, policy: Any, states: Any, hidden: Any) -> Any:
        never = self.never(hidden)
        states, before = self._with_previous(states, hidden, never)
        return policy.values(states, before, never)

    def _updated(self, batch: Any, found: Any, learning_rate: Any) -> Any:
        batch["resets"] = found["steps"]["resets"]
        masks, hidden = self._masks(found["steps"]), found["hidden"]
        return self.update(batch, found["last_states"], hidden, masks, learning_rate)
