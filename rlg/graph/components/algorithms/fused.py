"""What roots share whose data never leaves the graph: actors and the learner meet in a queue.

Such a root is an actor-critic's own with a few API methods more, for processes that share variables
and queues (tasks of a TensorFlow cluster, or threads on one graph). Paths are those of the
actor-critic, so that checkpoints move.
"""

from __future__ import annotations

from typing import Any

from rlg.graph import Static, Tensor, api, graph_fn
from rlg.graph.components.algorithms.actor_critic import ActorCriticRoot
from rlg.graph.components.common.sync import TargetSync
from rlg.graph.components.common.version import Version
from rlg.graph.components.environments.stepper import Stepper
from rlg.graph.components.memories.rollout_queue import RolloutQueue
from rlg.graph.spaces import BoolBox, Dict, IntBox, Space, flatten, space_from_spec

# What comes back of a step.
ENDS = ("rewards", "terminals", "truncations")


class FusedRoot(ActorCriticRoot):
    """An actor-critic with the environments' steps and a queue inside of the graph.

    `rollout` takes a carry (`seen`: a Dict of states [N] and, where actions have them, masks) and
    the number of the actor [1]. It copies the learner's weights once, acts and steps for `n_steps`
    steps by that copy, puts what came of them into the queue (it waits while there is no room) and
    returns the carry to go on from. `learn` takes `count` of these out (it waits until they are
    there) and makes one update; it returns metrics, notes on what it took (versions and actors
    [count], returns and lengths of the episodes that ended) and how much still waits.

    `seen` is the space of what is seen, `num_envs` the environments of one actor, `queue`
    how much may wait. A subclass says what is put into the queue and how it is learned from.
    """

    # What acting returns for learning, one number each, beside the actions.
    acted: tuple[str, ...] = ("log_probs",)

    def __init__(
        self,
        *args: Any,
        seen: Any,
        n_steps: int = 20,
        num_envs: int = 1,
        queue: int = 8,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.seen = space_from_spec(seen)
        self.n_steps = n_steps
        self.actor = self.policy.copy("actor")
        self.sync = TargetSync()
        self.stepper = Stepper(self.seen, self.remembered)
        space = Dict(self._record_space(), versions=IntBox(), actors=IntBox())
        self.rollouts = RolloutQueue(space, queue, n_steps, num_envs)
        self.version = Version()

    @property
    def remembered(self) -> Space | None:
        """What a recurrent policy remembers."""
        return None

    @property
    def carry_space(self) -> Dict:
        """What one rollout hands to the next one."""
        return Dict(seen=self.seen)

    # -- what a subclass says ---------------------------------------------------------------------
    def _record_space(self) -> dict[str, Any]:
        """Of what `_record` returns; `report` has the returns and lengths of episodes."""
        raise NotImplementedError

    def _record(self, carry: Any, after: Any, steps: Any, report: Any) -> dict[str, Any]:
        """In the actor: what the learner gets of a rollout."""
        raise NotImplementedError

    def _learned(self, found: Any, learning_rate: Any) -> Any:
        """In the learner: one update from several of these, side by side; metrics."""
        raise NotImplementedError

    # -- actors -----------------------------------------------------------------------------------
    @api
    def rollout(self, carry: Any, actors: Any) -> Any:
        """Acts for one rollout by the learner's weights of this moment; returns the next carry."""
        version = self.version.value()
        self.sync.sync(self.policy.variables(None), self.actor.variables(None))
        parts = {name: carry[name] for name in self.carry_space.keys()}  # noqa: SIM118 a Space
        with self.no_gradient():  # What was drawn is a constant to whoever differentiates.
            after, steps = self.scan(self._step, parts, self.ticks())
        report = self.stepper.report(steps["truncations"])
        self.rollouts.put(
            {
                **self._record(carry, after, steps, report),
                "versions": self.repeated(version, actors),
                "actors": actors,
            }
        )
        return after

    @api
    def _step(self, carry: Any, tick: Any) -> Any:
        """One step of all environments."""
        acted, hidden = self._acted(carry)
        actions = acted["actions"]
        given = self.actor.clip(actions) if self.clips else actions
        seen, *ends = self.stepper.step(given, hidden)
        steps = {**self._columns(carry), **acted, **dict(zip(ENDS, ends, strict=True))}
        return self._carried(seen, hidden, *ends), steps

    def _acted(self, carry: Any) -> tuple[dict[str, Any], Any]:
        """What the policy did, and what to remember."""
        seen = carry["seen"]
        found = self.actor.act(seen["states"], True, self._masks(seen))
        return self._named(found), None

    def _named(self, found: Any) -> dict[str, Any]:
        """Actions, log-probabilities and values as far as they are learned from."""
        return dict(zip(("actions", *self.acted), found, strict=False))

    def _columns(self, carry: Any) -> dict[str, Any]:
        return {name: carry["seen"][name] for name in self.seen.keys()}  # type: ignore[attr-defined]  # noqa: SIM118 a Space

    def _carried(self, seen: Any, hidden: Any, rewards: Any, *ends: Any) -> dict[str, Any]:
        """The carry after a step."""
        return {"seen": seen}

    def _masks(self, seen: Any) -> Any:
        return seen["masks"] if "masks" in self.seen else None  # type: ignore[operator]

    def _ticks(self) -> Space:
        return IntBox(ranks="T")

    def _length(self) -> dict[str, Any]:
        return {"T": self.n_steps}

    @graph_fn(spaces=_ticks, lengths=_length)
    def ticks(self) -> Tensor:
        """The steps of a rollout, [T]."""
        return self.ops.arange(self.n_steps)

    @graph_fn
    def repeated(self, version: Tensor, actors: Tensor) -> Tensor:
        """The version for each of the actors, [1]."""
        return self.ops.zeros_like(actors) + version

    # -- values of truncated episodes, for whoever learns from steps -------------------------------
    def _bootstrap_values(self, policy: Any, truncations: Any, report: Any) -> Any:
        """Values of truncated episodes' true last states by this policy, at their places [T, B]."""
        hidden = None if self.remembered is None else self.padded(report["final_hidden"])
        values = self._values(policy, self.padded(report["final_states"]), hidden)
        return self.placed(truncations, values)

    def _values(self, policy: Any, states: Any, hidden: Any) -> Any:
        """Values [B] of states inside of episodes."""
        return policy.values(states)

    @graph_fn(split=True)
    def padded(self, rows: Tensor) -> Tensor:
        """Zeros before the others: TensorFlow's fused convolutions don't take empty batches."""
        ops = self.ops
        shape = (1, *ops.shape_of(rows)[1:])
        return ops.concat([ops.zeros(shape, ops.dtype_of(rows)), rows], 0)

    @graph_fn
    def placed(self, truncations: Tensor, values: Tensor) -> Tensor:
        """Values [1 + E] of truncated steps, by environment and then by time, at their places
        [T, B]; zeros elsewhere. The first value is nobody's.
        """
        ops = self.ops
        counts = ops.cumsum(ops.cast(truncations, "int64"), 0)  # [T, B]: of the environment so far
        before = ops.cumsum(counts[-1], 0) - counts[-1]  # [B]: of earlier environments
        rows = ops.where(truncations, counts + before, ops.zeros_like(counts))
        return ops.where(truncations, ops.take_rows(values, rows), 0.0)

    # -- the learner ------------------------------------------------------------------------------
    @api
    def learn(self, count: Static[int] = 1, learning_rate: Any = None) -> Any:
        """One update from the oldest in the queue; metrics, notes, and how many others wait."""
        found = self.rollouts.get(count)
        metrics = self._learned(found, learning_rate)
        self.version.count()
        notes = {name: found[name] for name in ("versions", "actors")}
        notes |= {name: found["report"][name] for name in ("returns", "lengths")}
        return metrics, notes, self.rollouts.size()

    # -- what both see ----------------------------------------------------------------------------
    @api
    def publish(self, number: Any) -> Any:
        """Lets actors begin, by the learner's weights of this moment."""
        return self.version.publish(number)

    @api
    def published(self) -> Any:
        """The version of the learner's weights; -1: there are none yet."""
        return self.version.value()

    @api
    def waiting(self) -> Any:
        """How many wait for the learner."""
        return self.rollouts.size()

    @api
    def close(self) -> Any:
        """Tells actors that nothing more is learned."""
        return self.rollouts.close()


class FusedRecurrentRoot(FusedRoot):
    """The same with a recurrent policy: the carry has `hidden` and `resets` too."""

    @property
    def remembered(self) -> Space | None:
        hidden: Space = self.policy.hidden_space
        return hidden

    @property
    def carry_space(self) -> Dict:
        hidden: Any = self.remembered
        return Dict(seen=self.seen, hidden=hidden, resets=BoolBox())

    def _acted(self, carry: Any) -> tuple[dict[str, Any], Any]:
        seen = carry["seen"]
        *found, after = self.actor.act(
            seen["states"], carry["hidden"], carry["resets"], True, self._masks(seen)
        )
        return self._named(found), after

    def _columns(self, carry: Any) -> dict[str, Any]:
        return {**super()._columns(carry), "resets": carry["resets"]}

    def _carried(self, seen: Any, hidden: Any, rewards: Any, *ends: Any) -> dict[str, Any]:
        # In the order of the carry's space.
        return {"hidden": self.kept(hidden), "resets": self.ended(*ends), "seen": seen}

    def _values(self, policy: Any, states: Any, hidden: Any) -> Any:
        return policy.values(states, hidden, self.never(hidden))

    @graph_fn
    def kept(self, hidden: Tensor) -> Tensor:
        """What is remembered, as one value; separate networks return several."""
        return hidden

    @graph_fn
    def ended(self, terminals: Tensor, truncations: Tensor) -> Tensor:
        """Where the next step begins an episode."""
        return self.ops.logical_or(terminals, truncations)

    @graph_fn
    def never(self, hidden: Tensor) -> Tensor:
        """False for each of the states."""
        count = self.ops.batch_size(next(iter(flatten(hidden).values())))
        return self.ops.zeros((count,), "bool")
