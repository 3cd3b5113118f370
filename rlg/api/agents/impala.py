"""The IMPALA agent: rollouts of older weights, corrected by V-trace."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from rlg.api.agents.actor_critic import ActorCriticAgent
from rlg.api.agents.fused import FUSED, FusedRollouts
from rlg.execution.types import Segment
from rlg.graph import Component
from rlg.graph.components.algorithms.fused_impala import FusedIMPALA, FusedRecurrentIMPALA
from rlg.graph.components.algorithms.impala import IMPALA, RecurrentIMPALA
from rlg.graph.limits import FiniteFloat, Fraction, NonNegativeFloat, PositiveFloat, PositiveInt
from rlg.graph.spaces import Space, map_leaves


class IMPALAAgent(FusedRollouts):
    """Importance weighted actor-learner architecture (Espeholt et al., 2018).

    A rollout is `n_steps` steps of all environments of one sampler. An update learns from
    `batch_rollouts` of them; at most `queue` wait for the learner, and then samplers wait too. With
    a `clip_range` the policy's loss is PPO's clipped surrogate ("APPO"). `n_epochs` steps are made
    on the same rollouts. The optimizer's `learning_rate` may be a schedule.
    """

    name: ClassVar[str] = "impala"
    loops: ClassVar[tuple[str, ...]] = ("actor_learner", "fused_actor_learner")
    apis: ClassVar[Mapping[str, tuple[str, ...]]] = {**ActorCriticAgent.apis, **FUSED}
    acted_numbers: ClassVar[tuple[str, ...]] = ("log_probs",)
    learns_whole = "agent.normalize_advantage=true takes means over the whole batch"

    def __init__(
        self,
        observation_space: Space,
        action_space: Space,
        *,
        network: Any,
        optimizer: Any = "rmsprop",
        total_timesteps: int = 1_000_000,
        n_steps: PositiveInt = 20,
        batch_rollouts: PositiveInt = 4,
        queue: PositiveInt = 8,
        gamma: Fraction = 0.99,
        ent_coef: NonNegativeFloat = 0.01,
        vf_coef: NonNegativeFloat = 0.5,
        reward_clip: PositiveFloat | None = 1.0,
        rho_bar: PositiveFloat = 1.0,
        c_bar: PositiveFloat = 1.0,
        pg_rho_bar: PositiveFloat = 1.0,
        clip_range: PositiveFloat | None = None,
        n_epochs: PositiveInt = 1,
        normalize_advantage: bool = False,
        previous_inputs: bool = True,
        separate: bool = False,
        bounded: str = "squashed_normal",
        log_std_init: FiniteFloat = 0.0,
        num_envs: int = 1,
    ) -> None:
        self.num_envs = num_envs
        if queue < batch_rollouts:
            raise self._refusal(
                f"queue={queue} is less than batch_rollouts={batch_rollouts}, and an "
                "update would wait for ever. Raise queue."
            )
        self.batch_rollouts = batch_rollouts
        self.queue = queue
        self.gamma = gamma
        self.ent_coef = ent_coef
        self.vf_coef = vf_coef
        self.reward_clip = reward_clip
        self.rho_bar = rho_bar
        self.c_bar = c_bar
        self.pg_rho_bar = pg_rho_bar
        self.clip_range = clip_range
        self.n_epochs = n_epochs
        self.normalize_advantage = normalize_advantage
        self.previous_inputs = previous_inputs
        super().__init__(
            observation_space,
            action_space,
            network=network,
            optimizer=optimizer,
            total_timesteps=total_timesteps,
            n_steps=n_steps,
            separate=separate,
            bounded=bounded,
            log_std_init=log_std_init,
        )

    @property
    def replicates(self) -> bool:  # type: ignore[override]
        """Not where something is a mean over the whole batch and not over items."""
        return not self.normalize_advantage

    def make_root(self) -> Component:
        names = ("gamma", "ent_coef", "vf_coef", "reward_clip", "rho_bar", "c_bar", "pg_rho_bar")
        more = ("clip_range", "n_epochs", "normalize_advantage")
        words = {name: getattr(self, name) for name in (*names, *more)}
        cls: type[IMPALA] = IMPALA
        if self.is_recurrent:
            cls, words["previous_inputs"] = RecurrentIMPALA, self.previous_inputs
        if self.is_fused:
            cls = FusedRecurrentIMPALA if self.is_recurrent else FusedIMPALA
            words |= self.fused_settings()
        inputs = (self.policy_spec(), self.action_space, self.optimizer)
        root: Component = cls(*inputs, **words).configure(scope="agent")
        return root

    def policy_spec(self) -> dict[str, Any]:
        found = super().policy_spec()
        if not (self.is_recurrent and self.previous_inputs):
            return found
        spec = {"type": self.network} if isinstance(self.network, str) else self.network
        if not isinstance(spec, Mapping) or spec["type"] not in ("lstm", "gru"):
            raise self._refusal(
                "the action and reward before can be put in front of an lstm or a "
                "gru only. Use one of them, or agent.previous_inputs=false."
            )
        features = spec.get("network")
        networks = {"states": "vectors" if features is None else features, "previous": "vectors"}
        joined = {"type": "multi_input", "networks": networks}
        return {**found, "network": {**spec, "network": joined}}

    # -- spaces -----------------------------------------------------------------------------------
    @property
    def state_space(self) -> Space | None:
        return self._root.hidden_space if isinstance(self._root, RecurrentIMPALA) else None

    def input_spaces(self) -> Mapping[str, Any]:
        spaces = {**super().input_spaces(), "last_states": self._states}
        del spaces["last_values"]
        return {**spaces, **self.fused_spaces()} if self.is_fused else spaces

    # -- learner ----------------------------------------------------------------------------------
    def _inputs(self, segment: Segment) -> tuple[list[Any], dict[str, Any]]:
        """Rollouts as the root learns from them: batch, last states (and state), masks by name."""
        states, masks = self._split(segment.states)
        last, _ = self._split(segment.last_states)
        records = {
            "states": states,
            **segment.columns,
            "rewards": segment.rewards,
            "terminals": segment.terminals,
            "truncations": segment.truncations,
            "bootstrap_values": self._values_of_truncated(segment),
        }
        inputs = [records, last]
        if self.is_recurrent:
            records["resets"] = segment.resets
            inputs.append(segment.first_hidden)
        return inputs, {} if masks is None else {"masks": masks}

    def _values_of_truncated(self, segment: Segment) -> Any:
        """What truncated steps led to, [T, B], by the weights that learn; a recurrent policy judges
        from what it remembered when it acted.
        """
        bootstrap = np.zeros_like(segment.rewards)
        cut = np.flatnonzero(segment.truncations[segment.ends])
        if len(cut):
            final, _ = self._split(segment.final_states)
            inputs = [map_leaves(lambda x: x[cut], final)]
            if self.is_recurrent:
                hidden = map_leaves(lambda x: x[cut], segment.final_hidden)
                inputs += [hidden, np.zeros(len(cut), np.bool_)]
            values = self.executor.execute("value", *inputs)
            bootstrap[tuple(index[cut] for index in segment.ends)] = values
        return bootstrap
