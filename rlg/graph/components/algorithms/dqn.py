"""Deep Q-learning as one graph."""

from __future__ import annotations

from functools import partial
from typing import Any

from rlg.graph import Component, Size, Static, Tensor, api, graph_fn
from rlg.graph.components.actions import discrete
from rlg.graph.components.common.sync import TargetSync
from rlg.graph.components.initializers import TORCH, recommend
from rlg.graph.components.memories.frame_transitions import FrameTransitions
from rlg.graph.components.memories.frames import FrameReplay
from rlg.graph.components.memories.prioritized import has_priorities
from rlg.graph.components.memories.transitions import NStepTransitions
from rlg.graph.components.networks.stack import accepted
from rlg.graph.limits import PositiveFraction, PositiveInt
from rlg.graph.registry import make
from rlg.graph.spaces import BoolBox, Space, map_leaves


class DQN(Component):
    """Deep Q-learning with a target network and a replay memory: Mnih et al. (2015).

    Double by its loss, dueling by the head of its policy, prioritized by its memory. records: a
    Dict of states, actions, rewards, terminals (bool) and next_states, all with a batch rank;
    epsilon: one number, or [B]; weights: [B]; beta, learning_rate: one number each, from schedules.
    With `n_step` above 1 `observe` takes segments of steps, see NStepTransitions, and records in
    the memory have `discounts`; for a FrameReplay it takes single frames, see FrameTransitions.
    """

    def __init__(
        self,
        policy: Any,
        action_space: Any,
        memory: Any = "replay",
        loss: Any = "dqn_loss",
        optimizer: Any = "adam",
        exploration: Any = "epsilon_greedy",
        tau: PositiveFraction = 1.0,
        n_step: PositiveInt = 1,
    ) -> None:
        self.action_space = discrete("DQN", action_space)
        self.policy = make(policy, action_space=self.action_space)
        recommend(TORCH, self.policy)
        self.target_policy = self.policy.copy(scope="target_policy")
        self.memory = make(memory)
        self.loss = make(loss)
        self.optimizer = make(optimizer)
        self.exploration = make(exploration, action_space=self.action_space)
        self.tau = tau
        self.n_step = n_step
        self.windows = self._windows(n_step)
        self.target_sync = TargetSync(tau)

    def _windows(self, n_step: int) -> Any:
        """What makes records of segments of steps; None: steps are records."""
        if isinstance(self.memory, FrameReplay):
            return FrameTransitions(n_step, self.loss.gamma)
        return NStepTransitions(n_step, self.loss.gamma) if n_step != 1 else None

    @property
    def is_prioritized(self) -> bool:
        """Whether the memory weighs its records and wants to know their TD errors."""
        return has_priorities(self.memory)

    @api
    def get_actions(self, states: Any, epsilon: Any, explore: Static[bool] = True) -> Any:
        if explore:
            words = accepted(self.policy, "q_values", update=True, noise=True)
            return self.exploration.explore(self.policy.q_values(states, **words), epsilon)
        return self.policy.greedy(states)

    @api
    def observe(self, records: Any) -> None:
        self.memory.insert(records if self.windows is None else self.windows.call(records))

    @api
    def insert(self, records: Any, priorities: Any = None) -> None:
        """Records as the memory keeps them, from another one; priorities: [B], where it has any."""
        self.memory.insert(*(x for x in (records, priorities) if x is not None))

    @api
    def update(self, n: Size = 32, beta: Any = None, learning_rate: Any = None) -> Any:
        """Learns from `n` records of the memory; returns the loss and the TD errors."""
        if not self.is_prioritized:
            records, *_ = self.memory.sample(n)
            loss, td_errors, _ = self.update_from(records, None, learning_rate)
            return loss, td_errors
        records, keys, weights = self.memory.sample(n, beta)
        loss, td_errors, priorities = self.update_from(records, weights, learning_rate)
        self.memory.update(keys, priorities)
        return loss, td_errors

    @api
    def updates(
        self,
        n: Size = 32,
        count: Static[int] = 2,
        syncs: Any = None,
        beta: Any = None,
        learning_rate: Any = None,
    ) -> Any:
        """The same as calling `update` `count` times, and `sync_target` after those for which
        `syncs`, bool [count], is true; returns the means of what they return.

        What is missing in `syncs` is false. Records of a memory without priorities are drawn
        before the first of these updates.
        """
        flags = self.flags(count, syncs)
        rates = {} if learning_rate is None else {"learning_rate": learning_rate}
        if self._draws_in_turn:
            carry = rates if beta is None else {**rates, "beta": beta}
            _, figures = self.scan(partial(self._sample_and_learn, n=n), carry, flags)
        else:
            records, *_ = self.memory.sample(n * count)
            steps = {"records": self.deal(records, count), "sync": flags}
            _, figures = self.scan(self._learn, rates, steps)
        return self.means(figures)

    @property
    def _draws_in_turn(self) -> bool:
        """Whether what an update draws depends on the updates before it."""
        return self.is_prioritized

    @api
    def _sample_and_learn(self, carry: Any, sync: Any, n: Size) -> Any:
        figures = self.update(n, **carry)
        self.cond(sync, self.sync_target, self._keep_target)
        return carry, self._noted(*figures)

    @api
    def _learn(self, carry: Any, step: Any) -> Any:
        loss, td_errors, *_ = self.update_from(step["records"], None, **carry)
        self.cond(step["sync"], self.sync_target, self._keep_target)
        return carry, self._noted(loss, td_errors)

    def _noted(self, *figures: Any) -> Any:
        """In API methods: what a loop over updates stacks."""
        return figures

    @api
    def _keep_target(self) -> None:
        """What happens where `sync_target` does not."""

    def _flags(self, count: int, syncs: Space | None = None) -> Space:
        return BoolBox(ranks="T")

    def _count(self, count: int, syncs: Space | None = None) -> dict[str, Any]:
        return {"T": count}

    @graph_fn(spaces=_flags, lengths=_count)
    def flags(self, count: Static[int], syncs: Tensor | None = None) -> Tensor:
        """bool [count]."""
        missing = self.ops.constant([False] * count, "bool")
        return missing if syncs is None else self.ops.concat([syncs, missing], 0)[:count]

    def _parts(self, records: Space, count: int) -> Space:
        return records.map(lambda box: box.with_ranks("TB"))

    def _lengths(self, records: Space, count: int) -> dict[str, Any]:
        return {"T": count, "B": ("quotient", "B", count)}

    @graph_fn(spaces=_parts, lengths=_lengths)
    def deal(self, records: Tensor, count: Static[int]) -> Tensor:
        """[count, n, ...] of [count * n, ...]."""
        ops = self.ops
        return map_leaves(lambda x: ops.reshape(x, (count, -1, *ops.shape_of(x)[1:])), records)

    @graph_fn(split=True)
    def means(self, figures: Tensor) -> Tensor:
        return self.ops.mean(figures)

    @api
    def update_from(self, records: Any, weights: Any = None, learning_rate: Any = None) -> Any:
        """Learns from these records; returns the loss, TD errors and new priorities [B].

        Priorities are plain TD errors: weights belong to the loss alone.
        """
        gradients, loss, td_errors, q, errors = self.replicate(
            self._differentiate, records, weights
        )
        self._descend(gradients, q, td_errors, learning_rate)
        return loss, td_errors, self.priorities(errors)

    def _descend(self, gradients: Any, q: Any, td_errors: Any, learning_rate: Any) -> None:
        """In API methods: a step of the optimizer, and what there is to see of it."""
        norm = self.optimizer.apply(
            self.policy.variables(), self.optimizer.averaged(gradients), learning_rate
        )
        self.summary("gradient_norm", norm)
        self.summary("q_values", q, "histogram")
        self.summary("td_errors", td_errors, "histogram")

    @api
    def _differentiate(self, records: Any, weights: Any = None) -> Any:
        """The gradients of the loss, the loss, TD errors, Q-values and what priorities are made of.

        Replicas share a batch. Each pass through noisy networks draws noise of its own, as
        Fortunato et al. (2018) do.
        """
        words = accepted(self.policy, "q_values", noise=True)
        raw = accepted(self.policy, "q_values", masked=False)
        q = self.policy.q_values(records["states"], **words, **raw)
        with self.no_gradient():
            q_next_target = self.target_policy.q_values(records["next_states"], **words)
            q_next = q_next_target
            if self.loss.double:
                q_next = self.policy.q_values(records["next_states"], **words)
        td_errors = self.loss.td_errors(
            q,
            records["actions"],
            records["rewards"],
            records["terminals"],
            q_next,
            q_next_target,
            records["discounts"] if self.n_step > 1 else None,
        )
        loss, _ = self.loss.loss(td_errors, weights)
        gradients = self.optimizer.gradients(loss, self.policy.variables())
        return gradients, loss, td_errors, q, td_errors

    @graph_fn
    def priorities(self, errors: Tensor) -> Tensor:
        """Sizes [B]; of sub-actions, [B, D], their mean."""
        sizes = self.ops.abs(errors)
        for _ in self.action_space.shape:
            sizes = self.ops.mean(sizes, -1)
        return sizes

    @api
    def sync_target(self) -> None:
        """Moves the target network to, or (tau < 1) towards the policy."""
        source = self.policy.variables(trainable=None)
        self.target_sync.sync(source, self.target_policy.variables(trainable=None))
