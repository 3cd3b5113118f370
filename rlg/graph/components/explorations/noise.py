"""Noise on continuous actions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.limits import NonNegativeFloat
from rlg.graph.spaces import Box, Space, space_from_spec


class ActionNoise(Component):
    """What noises share: they add to actions and keep the sum inside of the action space.

    actions: float [B, *shape], the sum float32; scale: a factor for the noise, a number or [B].
    """

    def __init__(self, action_space: Any, mean: float = 0.0, sigma: float = 0.1) -> None:
        self.action_space = _floats(type(self).__name__, action_space)
        self.mean = mean
        self.sigma = sigma

    def create_variables(self, *, actions: Space, scale: Space | None = None) -> None:
        space = self.action_space
        if not isinstance(actions, Box) or actions.shape != space.shape or actions.ranks != "B":
            raise SpaceError(
                f"{self.path}: `actions` is {actions}, but the action space asks for one batch of "
                f"floats of shape {space.shape}. Give policy and noise the same action_space."
            )
        if scale is not None and not (isinstance(scale, Box) and not scale.shape):
            raise SpaceError(
                f"{self.path}: `scale` is {scale}; give one float, or one for each environment."
            )
        if self.sigma < 0.0:
            raise ComponentError(f"{self.path}: sigma is {self.sigma}; it can't be negative.")

    def _add(self, actions: Tensor, noise: Tensor, scale: Tensor | None) -> Tensor:
        ops, space = self.ops, self.action_space
        if scale is not None:
            if ops.shape_of(scale):
                for _ in space.shape:
                    scale = ops.expand_dims(scale, -1)
            noise = scale * noise
        noisy = ops.cast(actions, "float32") + noise
        if space.low is not None:
            noisy = ops.maximum(noisy, ops.constant(np.array(space.low), "float32"))
        if space.high is not None:
            noisy = ops.minimum(noisy, ops.constant(np.array(space.high), "float32"))
        return noisy


class GaussianNoise(ActionNoise):
    """Adds independent normal noise: Fujimoto et al., "Addressing function approximation" (2018).

    actions: float [B, *shape]; scale: a factor for the noise, one number or [B].
    """

    @api
    @graph_fn
    def explore(self, actions: Tensor, scale: Tensor | None = None) -> Tensor:
        ops = self.ops
        normal = ops.random_normal((ops.batch_size(actions), *self.action_space.shape))
        return self._add(actions, self.mean + self.sigma * normal, scale)


class ClippedNoise(ActionNoise):
    """Adds normal noise of at most `limit`, as on the actions that TD3's targets judge: Fujimoto et
    al. (2018), equation 14, so that critics can't follow sharp peaks.

    actions: float [B, *shape]; scale: a factor for the noise, one number or [B].
    """

    def __init__(
        self, action_space: Any, sigma: NonNegativeFloat = 0.2, limit: NonNegativeFloat = 0.5
    ) -> None:
        super().__init__(action_space, 0.0, sigma)
        self.limit = limit

    @api
    @graph_fn
    def explore(self, actions: Tensor, scale: Tensor | None = None) -> Tensor:
        ops, limit = self.ops, self.limit
        normal = ops.random_normal((ops.batch_size(actions), *self.action_space.shape))
        return self._add(actions, ops.clip(self.sigma * normal, -limit, limit), scale)


class OrnsteinUhlenbeckNoise(ActionNoise):
    """Adds noise that drifts back to its mean: Uhlenbeck and Ornstein (1930), in DDPG (2016).

    x += theta * (mean - x) * dt + sigma * sqrt(dt) * normal, one x for each of `n_envs`
    environments: row i of a batch is environment i (if there are more rows, they share). actions:
    float [B, *shape]; scale: a factor, one number or [B]; resets: bool [B], where an episode
    begins: there x starts from the mean again.
    """

    def __init__(
        self,
        action_space: Any,
        n_envs: int,
        mean: float = 0.0,
        sigma: float = 0.2,
        theta: float = 0.15,
        dt: float = 1.0,
    ) -> None:
        super().__init__(action_space, mean, sigma)
        self.n_envs = n_envs
        self.theta = theta
        self.dt = dt

    def create_variables(
        self, *, actions: Space, scale: Space | None = None, resets: Space | None = None
    ) -> None:
        super().create_variables(actions=actions, scale=scale)
        if self.n_envs < 1 or self.dt <= 0.0 or not 0.0 <= self.theta * self.dt <= 2.0:
            raise ComponentError(
                f"{self.path}: n_envs is {self.n_envs}, theta {self.theta} and dt {self.dt}; give "
                "one environment or more, a positive dt, and theta * dt from 0 to 2 (beyond, the "
                "noise grows without end)."
            )
        if resets is not None and not (isinstance(resets, Box) and resets.kind == "bool"):
            raise SpaceError(f"{self.path}: `resets` is {resets}; it is a mask. Give a BoolBox().")
        shape = (self.n_envs, *self.action_space.shape)
        self._x = self.variable("x", shape, value=self.mean, kind="env")

    @api
    @graph_fn
    def explore(
        self, actions: Tensor, resets: Tensor | None = None, scale: Tensor | None = None
    ) -> Tensor:
        ops, shape = self.ops, self.action_space.shape
        n = ops.batch_size(actions)
        rows = ops.arange(n) % self.n_envs
        x = ops.take_rows(self._x, rows)
        if resets is not None:
            for _ in shape:
                resets = ops.expand_dims(resets, -1)
            x = ops.where(resets, self.mean, x)
        step = self.sigma * math.sqrt(self.dt) * ops.random_normal((n, *shape))
        x = x + self.theta * self.dt * (self.mean - x) + step
        ops.scatter_rows(self._x, rows, x)
        return self._add(actions, x, scale)

    @api
    @graph_fn
    def reset(self) -> None:
        """Starts all environments from the mean again."""
        ops = self.ops
        ops.assign(self._x, ops.zeros_like(self._x) + self.mean)


def _floats(owner: str, action_space: Any) -> Box:
    space = space_from_spec(action_space)
    if isinstance(space, Box) and space.kind == "float":
        return space
    raise SpaceError(
        f"{owner}: action_space is {space}; noise is for one Box of floats. Use epsilon_greedy for "
        "choices."
    )
