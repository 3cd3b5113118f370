"""Exploration by a coin."""

from __future__ import annotations

from typing import Any

from rlg.errors import SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.actions import discrete, num_choices
from rlg.graph.components.distributions.categorical import MASKED
from rlg.graph.spaces import Box, Space


class EpsilonGreedy(Component):
    """Replaces greedy actions by uniform ones with probability `epsilon`: one coin per environment.

    q_values: [B, A], or [B, D, A] for D sub-actions; epsilon: one number, or [B] (Horgan et al.,
    2018, give each environment its own); actions: int64 [B], or [B, D]. With `masked` those whose
    Q-value is MASKED are never drawn, see MaskedQ.
    """

    def __init__(self, action_space: Any, masked: bool = False) -> None:
        self.action_space = discrete("EpsilonGreedy", action_space)
        self.masked = masked

    def create_variables(self, *, q_values: Space, epsilon: Space) -> None:
        wanted = (*self.action_space.shape, num_choices(self.action_space))
        if not isinstance(q_values, Box) or q_values.shape != wanted or q_values.ranks != "B":
            raise SpaceError(
                f"{self.path}: `q_values` is {q_values}, but the action space asks for one batch "
                f"of shape {wanted}. Give the policy and the exploration the same action_space."
            )
        if not isinstance(epsilon, Box) or epsilon.shape or epsilon.kind != "float":
            raise SpaceError(
                f"{self.path}: `epsilon` is {epsilon}; give one float, or one for each "
                "environment: FloatBox(0.0, 1.0, ranks='') or FloatBox(0.0, 1.0)."
            )

    @api
    @graph_fn
    def explore(self, q_values: Tensor, epsilon: Tensor) -> Tensor:
        ops, space = self.ops, self.action_space
        n = ops.batch_size(q_values)
        greedy = ops.argmax(q_values, -1)  # [B] or [B, D]
        if self.masked:
            draws = ops.random_uniform((n, *space.shape, num_choices(space)))
            uniform = ops.argmax(ops.where(q_values > 0.5 * MASKED, draws, -1.0), -1)
        else:
            uniform = ops.random_rows((n, *space.shape), num_choices(space))
        explores = ops.random_uniform((n,)) < epsilon  # [B]
        for _ in space.shape:
            explores = ops.expand_dims(explores, -1)
        return ops.where(explores, uniform, greedy)
