"""What the roots of all actor-critics share: a policy with values, an optimizer, and acting."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Static, api
from rlg.graph.registry import make
from rlg.graph.spaces import space_from_spec


class ActorCriticRoot(Component):
    """A policy with values, and what changes it.

    `act` takes states [B] and returns actions as they are learned from, log_probs and values [B],
    and, if `clips`, the environment's actions (inside of its bounds, draws squashed). `value`
    returns values [B] of states.
    """

    is_recurrent = False

    def __init__(
        self, policy: Any, action_space: Any, optimizer: Any, max_grad_norm: float | None
    ) -> None:
        self.action_space = space_from_spec(action_space)
        self.policy = make(policy, action_space=self.action_space)
        name = type(self).__name__
        if not hasattr(self.policy, "value_head"):
            raise ComponentError(
                f"{name}: {type(self.policy).__name__} has no values. Give a policy of type "
                f"{'recurrent_actor_critic' if self.is_recurrent else 'actor_critic'}."
            )
        if hasattr(self.policy, "hidden_space") != self.is_recurrent:
            other = name.removeprefix("Recurrent") if self.is_recurrent else f"Recurrent{name}"
            raise ComponentError(f"{name}: for {type(self.policy).__name__} use {other}.")
        self.optimizer = make(optimizer, max_grad_norm=max_grad_norm)
        self.max_grad_norm = max_grad_norm

    @property
    def clips(self) -> bool:
        """Whether the environment's actions are others than those that are learned from."""
        return bool(self.policy.head.clips)

    @api
    def act(self, states: Any, explore: Static[bool] = True, masks: Any = None) -> Any:
        """Actions, log-probabilities and values, and the environment's actions if they differ."""
        actions, *others = self.policy.act(self._seen(states), explore, masks)
        return (actions, *others, *self._clipped(actions))

    @api
    def value(self, states: Any) -> Any:
        return self.policy.values(self._seen(states))

    def _clipped(self, actions: Any) -> tuple[Any, ...]:
        return (self.policy.clip(actions),) if self.clips else ()

    def _seen(self, states: Any) -> Any:
        """What the policy sees of states."""
        return states


class RecurrentRoot(ActorCriticRoot):
    """The same with a recurrent policy.

    `act` takes states, hidden (of the policy's `hidden_space`) and resets (bool, where episodes
    begin), all [B], and returns the next hidden last; `value` takes the same.
    """

    is_recurrent = True

    @api
    def act(  # type: ignore[override]
        self,
        states: Any,
        hidden: Any,
        resets: Any,
        explore: Static[bool] = True,
        masks: Any = None,
    ) -> Any:
        """Actions, log-probabilities, values (the environment's actions) and what to remember."""
        actions, log_probs, values, hidden = self.policy.act(
            self._seen(states), hidden, resets, explore, masks
        )
        return (actions, log_probs, values, *self._clipped(actions), hidden)

    @api
    def value(self, states: Any, hidden: Any, resets: Any) -> Any:  # type: ignore[override]
        return self.policy.values(self._seen(states), hidden, resets)
