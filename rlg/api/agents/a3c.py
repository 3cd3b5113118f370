"""The A3C agent: A2C whose workers send gradients instead of segments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from rlg.api.agents.actor_critic import A2CAgent
from rlg.api.agents.fused import FUSED, FusedRollouts
from rlg.backends.numpy.executor import NumpyExecutor
from rlg.execution.types import Batch, Clock, Gradients, LearnResult
from rlg.graph import Component
from rlg.graph.components.algorithms.a3c import A3C, RecurrentA3C
from rlg.graph.components.algorithms.fused_a3c import FusedA3C, FusedRecurrentA3C
from rlg.graph.limits import FiniteFloat, Fraction, NonNegativeFloat
from rlg.graph.spaces import Dict, Space


class A3CAgent(FusedRollouts, A2CAgent):
    """Asynchronous advantage actor-critic (Mnih et al., 2016): workers sample and differentiate,
    the learner descends by their gradients as they arrive.

    Keys are A2C's, but for normalization.
    """

    name: ClassVar[str] = "a3c"
    loops: ClassVar[tuple[str, ...]] = ("gradients", "fused_actor_learner")
    apis: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "actor": ("act",),
        "gradient_worker": ("gradients", "value"),
        "learner": ("apply", "act"),  # Weights are there if something sees states.
        **FUSED,
    }
    # Of a fused learner: gradients are applied one by one, and a few may wait for it.
    batch_rollouts = 1
    queue = 4

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        optimizer: Any = "rmsprop",
        total_timesteps: int = 500_000,
        n_steps: int = 5,
        gamma: Fraction = 0.99,
        gae_lambda: Fraction = 1.0,
        normalize_advantage: bool = False,
        ent_coef: NonNegativeFloat = 0.0,
        vf_coef: NonNegativeFloat = 0.5,
        separate: bool = True,
        bounded: str = "squashed_normal",
        log_std_init: FiniteFloat = 0.0,
        num_envs: int = 1,
    ) -> None:
        super().__init__(
            observation_space,
            action_space,
            network=network,
            optimizer=optimizer,
            total_timesteps=total_timesteps,
            n_steps=n_steps,
            gamma=gamma,
            gae_lambda=gae_lambda,
            normalize_advantage=normalize_advantage,
            ent_coef=ent_coef,
            vf_coef=vf_coef,
            separate=separate,
            bounded=bounded,
            log_std_init=log_std_init,
            num_envs=num_envs,
        )

    def make_root(self) -> Component:
        if not self.is_fused:
            return self._made(RecurrentA3C if self.is_recurrent else A3C)
        weights = sum(math.prod(box.shape) for box in self._gradient_space.flatten().values())
        cls = FusedRecurrentA3C if self.is_recurrent else FusedA3C
        return self._made(cls, weights=weights, **self.fused_settings())

    def _made(self, cls: type[A3C], **more: Any) -> Component:
        words = {**self.loss_settings(), **more}
        made = cls(self.policy_spec(), self.action_space, self.optimizer, **words)
        root: Component = made.configure(scope="agent")
        return root

    def input_spaces(self) -> Mapping[str, Any]:
        spaces = {**super().input_spaces(), "gradients": self._gradient_space}
        if self._masks is not None:
            spaces["gradients.masks"] = spaces["update.masks"]
        return {**spaces, **self.fused_spaces()} if self.is_fused else spaces

    @cached_property
    def _gradient_space(self) -> Space:
        """That of the policy's weights, which are known only when they are made: once on NumPy."""
        executor, root = NumpyExecutor(), self._made(RecurrentA3C if self.is_recurrent else A3C)
        executor.build(root, super().input_spaces(), apis=["act"])
        found = executor.builder.binding.variables_of(root.policy, True)
        return Dict({name: info.space for name, info in found.items()})

    # -- gradient worker --------------------------------------------------------------------------
    def gradients(self, batch: Batch) -> Gradients:
        """Of the loss on a segment; nothing changes by it."""
        inputs, optional = self._inputs(batch.records["segment"])
        return Gradients(*self.executor.execute("gradients", *inputs, **optional))

    # -- learner ----------------------------------------------------------------------------------
    def apply(self, gradients: Gradients, clock: Clock) -> LearnResult:
        """One update by a worker's gradients."""
        settings = self.schedules(clock)
        numbers = {name: np.float32(value) for name, value in settings.items()}
        norm = self.executor.execute("apply", gradients.arrays, **numbers)
        return LearnResult({**gradients.metrics, "gradient_norm": norm, **settings})
