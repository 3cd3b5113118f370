"""What actor-critics with a replay memory share: acting, the memory, many updates in one plan."""

from __future__ import annotations

from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Component, Size, Static, Tensor, api, graph_fn
from rlg.graph.components.common.sync import TargetSync
from rlg.graph.components.explorations.uniform import UniformActions
from rlg.graph.components.memories.frames import FrameReplay
from rlg.graph.components.memories.prioritized import Prioritized, has_priorities
from rlg.graph.components.memories.transitions import NStepTransitions
from rlg.graph.components.policies.unit_actions import UnitActions, is_continuous
from rlg.graph.registry import make
from rlg.graph.spaces import FloatBox, Space, map_leaves, space_from_spec


class OffPolicy(Component):
    """An algorithm that learns from a memory: a subclass has a `policy`, and says how it learns.

    act: states [B, ...]; with `explore` actions are drawn, with `uniform` uniformly, by no policy.
    Returns the environment's actions and, where they are continuous, those that are learned from,
    scaled to [-1, 1]. records: a Dict of states, actions (as they are learned from), rewards,
    terminals (bool) and next_states, all [B, ...]; with `n_step` above 1 `observe` takes segments
    of steps, see NStepTransitions, and records in the memory have `discounts`. update: `count`
    updates from `n` records each, in one plan; a prioritized memory draws for all of them at once,
    and hears of their TD errors at the end. learning_rate, beta: one number each, from schedules.
    """

    policy: Any

    def __init__(
        self, action_space: Any, memory: Any, gamma: float, tau: float, n_step: int
    ) -> None:
        self.action_space = space_from_spec(action_space)
        self.memory = make(memory)
        self.gamma = gamma
        self.tau = tau
        self.n_step = n_step
        if isinstance(self.memory, FrameReplay):
            raise ComponentError(
                f"{type(self).__name__}: it keeps whole observations, but the memory is a "
                "frame_replay. Use replay or prioritized_replay."
            )
        self.units = UnitActions(self.action_space) if is_continuous(self.action_space) else None
        learned = self.action_space if self.units is None else self.units.unit_space
        self.uniform = UniformActions(learned)
        self.windows = NStepTransitions(n_step, gamma) if n_step != 1 else None
        self.target_sync = TargetSync(tau)

    @property
    def is_prioritized(self) -> bool:
        """Whether the memory weighs its records and wants to know their TD errors."""
        return has_priorities(self.memory)

    # -- what each algorithm says -----------------------------------------------------------------
    def _chosen(self, states: Any, explore: bool) -> Any:
        """In API methods: actions by the policy, as they are learned from."""
        raise NotImplementedError

    def _learned(self, records: Any, weights: Any, learning_rate: Any) -> tuple[Any, Any]:
        """In API methods: one update; figures by name, and TD errors [B]."""
        raise NotImplementedError

    # -- acting -----------------------------------------------------------------------------------
    @api
    def act(self, states: Any, explore: Static[bool] = True, uniform: Static[bool] = False) -> Any:
        actions = self.uniform.draw(states) if uniform else self._chosen(states, explore)
        return actions if self.units is None else (self.units.scale(actions), actions)

    # -- the memory -------------------------------------------------------------------------------
    @api
    def observe(self, records: Any) -> None:
        self.memory.insert(self._whole(records))

    @api
    def prepare(self, records: Any) -> Any:
        """Records as a memory in another process keeps them."""
        return self._whole(records)

    def _whole(self, records: Any) -> Any:
        return records if self.windows is None else self.windows.call(records)

    @api
    def insert(self, records: Any, priorities: Any = None) -> None:
        """Records as the memory keeps them, from another one; priorities: [B], if it keeps any."""
        if priorities is None or not isinstance(self.memory, Prioritized):
            self.memory.insert(records)
        else:
            self.memory.insert(records, priorities)

    @api
    def sample(self, n: Size = 256, beta: Any = None) -> Any:
        """Records, keys, and of a prioritized memory weights, the sum and the least of priorities;
        of another one, how many records there are.
        """
        if not self.is_prioritized:
            return (*self.memory.sample(n)[:2], self.memory.size())
        tree = self.memory.tree
        return (*self.memory.sample(n, beta), tree.total(), tree.least())

    @api
    def update_priorities(self, keys: Any, priorities: Any) -> Any:
        """Returns how many keys were stale, of records that are gone; none without priorities."""
        if self.is_prioritized:
            return self.memory.update(keys, priorities)
        return self.nothing()

    # -- learning ---------------------------------------------------------------------------------
    @api
    def update(
        self,
        n: Size = 256,
        count: Static[int] = 1,
        beta: Any = None,
        learning_rate: Any = None,
    ) -> Any:
        """Learns `count` times from `n` records of the memory; returns means of the figures."""
        weights = keys = None
        if self.is_prioritized:
            records, keys, weights = self.memory.sample(n * count, beta)
        else:
            records, *_ = self.memory.sample(n * count)
        if count == 1:
            figures, td_errors = self._learned(records, weights, learning_rate)
        else:
            inputs = {"records": records} | ({} if weights is None else {"weights": weights})
            carry = {} if learning_rate is None else {"learning_rate": learning_rate}
            _, (figures, td_errors) = self.scan(self._step, carry, self.deal(inputs, count))
            figures, td_errors = self.average(figures), self.gather(td_errors)
        if keys is not None:
            self.memory.update(keys, self.sizes(td_errors))
        return figures

    @api
    def _step(self, carry: Any, inputs: Any) -> Any:
        """One of several updates."""
        rate = carry.get("learning_rate")
        weights = inputs["weights"] if self.is_prioritized else None
        return carry, self._learned(inputs["records"], weights, rate)

    @api
    def update_from(self, records: Any, weights: Any = None, learning_rate: Any = None) -> Any:
        """Learns from these records; returns figures and new priorities [B]."""
        figures, td_errors = self._learned(records, weights, learning_rate)
        return figures, self.sizes(td_errors)

    def _columns(self, records: Any) -> tuple[Any, ...]:
        """Rewards, terminals, and discounts (None: of single steps)."""
        discounts = records["discounts"] if self.n_step > 1 else None
        return records["rewards"], records["terminals"], discounts

    # Draws of a prioritized memory are stratified and sorted: they are dealt out by stride.
    def _parts(self, inputs: Space, count: int) -> Space:
        return inputs.map(lambda box: box.with_ranks("TB"))

    def _lengths(self, inputs: Space, count: int) -> dict[str, Any]:
        return {"T": count, "B": ("quotient", "B", count)}

    @graph_fn(spaces=_parts, lengths=_lengths)
    def deal(self, inputs: Tensor, count: Static[int]) -> Tensor:
        """[count, n, ...] of [count * n, ...]."""
        ops = self.ops

        def parted(x: Tensor) -> Tensor:
            shape = ops.shape_of(x)[1:]
            if not self.is_prioritized:
                return ops.reshape(x, (count, -1, *shape))
            x = ops.reshape(x, (-1, count, *shape))
            return ops.transpose(x, (1, 0, *range(2, len(shape) + 2)))

        return map_leaves(parted, inputs)

    def _flat(self, td_errors: Space) -> Space:
        return FloatBox()

    @graph_fn(spaces=_flat)
    def gather(self, td_errors: Tensor) -> Tensor:
        """The order of `keys` again, [count * n] of [count, n]."""
        if self.is_prioritized:
            td_errors = self.ops.transpose(td_errors, (1, 0))
        return self.ops.reshape(td_errors, (-1,))

    @graph_fn(split=True)
    def average(self, figures: Tensor) -> Tensor:
        return self.ops.mean(figures, 0)

    @graph_fn
    def nothing(self) -> Tensor:
        return self.ops.constant(0, "int64")

    @graph_fn
    def sizes(self, td_errors: Tensor) -> Tensor:
        return self.ops.abs(td_errors)
