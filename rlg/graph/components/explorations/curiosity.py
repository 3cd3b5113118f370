"""Rewards for what an agent can't foresee yet."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.layers.dense import Dense
from rlg.graph.components.layers.vectors import Vectors
from rlg.graph.components.networks.stack import Stack
from rlg.graph.limits import Fraction, NonNegativeFloat, PositiveInt
from rlg.graph.registry import make
from rlg.graph.spaces import Box, space_from_spec


class CuriosityModels(Component):
    """Features of states, and two models of them: what follows an action, and which one it was.

    Their losses for each item, [B]: see Curiosity.
    """

    def __init__(self, action_space: Box, network: Any, features: int, units: int) -> None:
        self.is_choice = action_space.kind == "int"
        size = action_space.num_categories if self.is_choice else math.prod(action_space.shape)
        assert isinstance(size, int)
        self.network = Stack([make(network), Dense(features)])
        self.vectors = Vectors()
        self.forward = Stack([Dense(units, "relu"), Dense(features)])
        self.inverse = Stack([Dense(units, "relu"), Dense(size)])

    @api
    def losses(self, states: Any, actions: Any, next_states: Any) -> Any:
        """Of the forward and of the inverse model."""
        before, after = self.network.call(states), self.network.call(next_states)
        taken = self.vectors.call(actions)
        foreseen = self.forward.call(self.beside(before, taken))
        guessed = self.inverse.call(self.beside(before, after))
        return self.distances(foreseen, after), self.surprises(guessed, taken)

    @graph_fn(fold_time=True)
    def beside(self, x: Tensor, y: Tensor) -> Tensor:
        return self.ops.concat([x, y], -1)

    @graph_fn(fold_time=True)
    def distances(self, x: Tensor, y: Tensor) -> Tensor:
        """Half the squared distance."""
        return 0.5 * self.ops.sum(self.ops.square(x - y), -1)

    @graph_fn(fold_time=True)
    def surprises(self, guessed: Tensor, taken: Tensor) -> Tensor:
        """Of choices, by their logits, -log p; of floats half the squared distance."""
        ops = self.ops
        if self.is_choice:
            return -ops.sum(taken * ops.log_softmax(guessed, -1), -1)
        return 0.5 * ops.sum(ops.square(guessed - taken), -1)


class Curiosity(Component):
    """Rewards transitions by how badly they were foreseen: Pathak et al. (2017), "ICM".

    A network makes `features` of states; the inverse model guesses from those of two states which
    action lay between, the forward model foresees those of the next state from state and action.
    The reward is eta * 0.5 * |foreseen - found|^2; the loss is (1 - beta) * L_inverse + beta *
    L_forward, equations 6 and 7. So what actions have no influence on is no part of the features
    and earns nothing.

    states, next_states: what `network` takes, [B] or [T, B]; actions: one choice, or floats;
    rewards: [B] or [T, B], constants for gradients. `update` learns once and returns rewards as
    they were before, and the loss.
    """

    def __init__(
        self,
        action_space: Any,
        network: str | Mapping[str, Any] = "mlp",
        features: PositiveInt = 64,
        units: PositiveInt = 256,
        eta: NonNegativeFloat = 0.01,
        beta: Fraction = 0.2,
        optimizer: Any = "adam",
    ) -> None:
        self.action_space = space_from_spec(action_space)
        self.network = network  # a spec: the models make it, and own its variables
        self.features = features
        self.units = units
        self.eta = eta
        self.beta = beta
        box = self.action_space
        if not isinstance(box, Box) or not (box.kind == "float" or _is_choice(box)):
            raise ComponentError(
                f"Curiosity: it takes one choice or floats, but the action space is {box}. Use an "
                "environment with such actions."
            )
        self.models = CuriosityModels(box, network, features, units)
        self.optimizer = make(optimizer)

    @api
    def reward(self, states: Any, actions: Any, next_states: Any) -> Any:
        forward, _ = self.models.losses(states, actions, next_states)
        return self.rewards_of(forward)

    @api
    def update(self, states: Any, actions: Any, next_states: Any) -> Any:
        """Rewards and the loss, from before the step."""
        forward, inverse = self.models.losses(states, actions, next_states)
        loss = self.total(forward, inverse)
        self.optimizer.step(loss, self.models.variables())
        return self.rewards_of(forward), loss

    @graph_fn
    def rewards_of(self, forward: Tensor) -> Tensor:
        return self.ops.stop_gradient(self.eta * forward)

    @graph_fn(fold_time=True)
    def total(self, forward: Tensor, inverse: Tensor) -> Tensor:
        return self.ops.mean((1.0 - self.beta) * inverse + self.beta * forward)


def _is_choice(box: Box) -> bool:
    return box.kind == "int" and not box.shape and isinstance(box.num_categories, int)
