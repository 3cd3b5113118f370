"""IMPALA whose data never leaves the graph: rollouts of actors and updates meet in a queue.

The roots are IMPALA's own with two more API methods, for processes that share variables and queues
(tasks of a TensorFlow cluster, or threads on one graph). Paths are those of IMPALA, so that
checkpoints move.
"""

from __future__ import annotations

from typing import Any

from rlg.graph import Static, Tensor, api, graph_fn
from rlg.graph.components.algorithms.impala import IMPALA, RecurrentIMPALA
from rlg.graph.components.common.sync import TargetSync
from rlg.graph.components.common.version import Version
from rlg.graph.components.environments.stepper import Stepper
from rlg.graph.components.memories.rollout_queue import RolloutQueue
from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, IntBox, Space, flatten, space_from_spec

# What a rollout holds of each step for learning, beside what is seen.
STEPS = ("actions", "log_probs", "rewards", "terminals", "truncations")


class FusedIMPALA(IMPALA):
    """IMPALA with the environments' steps, a queue and the learner's data inside of the graph.

    `rollout` takes a carry (`seen`: a Dict of states [N] and, where actions have them, masks) and
    the number of the actor [1]. It copies the learner's weights once, acts and steps for `n_steps`
    steps by that copy, puts the rollout into the queue (it waits while there is no room) and
    returns the carry to go on from. `learn` takes `count` rollouts out (it waits until they are
    there) and makes one update from them side by side; it returns metrics, the notes of these
    rollouts (versions and actors [count], returns and lengths of the episodes that ended in them)
    and how many rollouts still wait.

    `observations` is the space of what is seen, `num_envs` the environments of one actor, `queue`
    the rollouts that may wait. The value of a truncated episode is that of its true last state, by
    the weights that learn.
    """

    def __init__(
        self,
        *args: Any,
        observations: Any,
        n_steps: int = 20,
        num_envs: int = 1,
        queue: int = 8,
        **options: Any,
    ) -> None:
        super().__init__(*args, **options)
        self.observations = space_from_spec(observations)
        self.n_steps = n_steps
        self.actor = self.policy.copy("actor")
        self.sync = TargetSync()
        self.stepper = Stepper(self.observations, self.remembered)
        self.rollouts = RolloutQueue(self._rollout_space(), queue, n_steps, num_envs)
        self.version = Version()

    @property
    def remembered(self) -> Space | None:
        """What a recurrent policy remembers."""
        return None

    @property
    def carry_space(self) -> Dict:
        """What one rollout hands to the next one."""
        return Dict(seen=self.observations)

    def _rollout_space(self) -> Dict:
        drawn = self.action_space.map(lambda x: Box(x.shape) if x.kind == "float" else x)
        numbers = (drawn, FloatBox(), FloatBox(), BoolBox(), BoolBox())
        steps = Dict(self._step_columns(), **dict(zip(STEPS, numbers, strict=True)))
        return Dict(
            steps=steps.with_ranks("TB"),
            last_states=self.observations["states"],  # type: ignore[index]
            report=self.stepper.report_space,
            versions=IntBox(),
            actors=IntBox(),
            **self._first(self.carry_space),
        )

    def _step_columns(self) -> dict[str, Space]:
        return dict(self.observations.items())  # type: ignore[attr-defined]

    def _first(self, carry: Any) -> dict[str, Any]:
        """What a rollout holds of the carry that it began with."""
        return {}

    # -- actors -----------------------------------------------------------------------------------
    @api
    def rollout(self, carry: Any, actors: Any) -> Any:
        """Acts for one rollout by the learner's weights of this moment; returns the next carry."""
        version = self.version.value()
        self.sync.sync(self.policy.variables(None), self.actor.variables(None))
        parts = {name: carry[name] for name in self.carry_space.keys()}  # noqa: SIM118 a Space
        after, steps = self.scan(self._step, parts, self.ticks())
        self.rollouts.put(
            {
                "steps": steps,
                "last_states": after["seen"]["states"],
                "report": self.stepper.report(steps["truncations"]),
                "versions": self.repeated(version, actors),
                "actors": actors,
                **self._first(carry),
            }
        )
        return after

    @api
    def _step(self, carry: Any, tick: Any) -> Any:
        """One step of all environments."""
        actions, log_probs, hidden = self._acted(carry)
        given = self.actor.clip(actions) if self.clips else actions
        seen, rewards, terminals, truncations = self.stepper.step(given, hidden)
        columns = (actions, log_probs, rewards, terminals, truncations)
        steps = {**self._columns(carry), **dict(zip(STEPS, columns, strict=True))}
        return self._carried(seen, hidden, rewards, terminals, truncations), steps

    def _acted(self, carry: Any) -> tuple[Any, Any, Any]:
        """Actions, log-probabilities and what to remember."""
        seen = carry["seen"]
        actions, log_probs, _ = self.actor.act(seen["states"], True, self._masks(seen))
        return actions, log_probs, None

    def _columns(self, carry: Any) -> dict[str, Any]:
        return {name: carry["seen"][name] for name in self.observations.keys()}  # type: ignore[attr-defined]  # noqa: SIM118 a Space

    def _carried(self, seen: Any, hidden: Any, rewards: Any, *ends: Any) -> dict[str, Any]:
        """The carry after a step."""
        return {"seen": seen}

    def _masks(self, seen: Any) -> Any:
        return seen["masks"] if "masks" in self.observations else None  # type: ignore[operator]

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

    # -- the learner ------------------------------------------------------------------------------
    @api
    def learn(self, count: Static[int] = 1, learning_rate: Any = None) -> Any:
        """One update from the oldest rollouts; metrics, notes, and how many others wait."""
        found = self.rollouts.get(count)
        steps, report = found["steps"], found["report"]
        with self.no_gradient():
            values = self._final_values(report)
        batch = {name: steps[name] for name in ("states", *STEPS)}
        batch["bootstrap_values"] = self.placed(steps["truncations"], values)
        metrics = self._updated(batch, found, learning_rate)
        self.version.count()
        notes = {name: found[name] for name in ("versions", "actors")}
        notes |= {name: report[name] for name in ("returns", "lengths")}
        return metrics, notes, self.rollouts.size()

    def _final_values(self, report: Any) -> Any:
        return self.policy.values(self.padded(report["final_states"]))

    def _updated(self, batch: Any, found: Any, learning_rate: Any) -> Any:
        masks = self._masks(found["steps"])
        return self.update(batch, found["last_states"], masks, learning_rate)

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
        """How many rollouts wait for the learner."""
        return self.rollouts.size()

    @api
    def close(self) -> Any:
        """Tells actors that nothing more is learned."""
        return self.rollouts.close()


class FusedRecurrentIMPALA(FusedIMPALA, RecurrentIMPALA):
    """The same with a recurrent policy: the carry has `hidden` and `resets` too."""

    @property
    def remembered(self) -> Space | None:
        return self.hidden_space

    @property
    def carry_space(self) -> Dict:
        return Dict(seen=self.observations, hidden=self.hidden_space, resets=BoolBox())

    def _step_columns(self) -> dict[str, Space]:
        return {**super()._step_columns(), "resets": BoolBox()}

    def _first(self, carry: Any) -> dict[str, Any]:
        return {"hidden": carry["hidden"]}

    def _acted(self, carry: Any) -> tuple[Any, Any, Any]:
        seen, resets = carry["seen"], carry["resets"]
        states, before = self._with_previous(seen["states"], carry["hidden"], resets)
        actions, log_probs, _, after = self.actor.act(
            states, before, resets, True, self._masks(seen)
        )
        if self.previous_inputs:
            after = self.remember(after, actions, self.nothing(log_probs))
        return actions, log_probs, after

    def _columns(self, carry: Any) -> dict[str, Any]:
        return {**super()._columns(carry), "resets": carry["resets"]}

    def _carried(self, seen: Any, hidden: Any, rewards: Any, *ends: Any) -> dict[str, Any]:
        if self.previous_inputs:
            hidden = self.remember(hidden["policy"], hidden["actions"], rewards)
        # In the order of the carry's space.
        return {"hidden": hidden, "resets": self.ended(*ends), "seen": seen}

    @graph_fn
    def remember(self, policy: Tensor, actions: Tensor, rewards: Tensor) -> Tensor:
        """What is remembered of a step, as one value."""
        return {"policy": policy, "actions": actions, "rewards": rewards}

    @graph_fn
    def ended(self, terminals: Tensor, truncations: Tensor) -> Tensor:
        """Where the next step begins an episode."""
        return self.ops.logical_or(terminals, truncations)

    def _final_values(self, report: Any) -> Any:
        states, hidden = self.padded(report["final_states"]), self.padded(report["final_hidden"])
        return self.value(states, hidden, self.never(hidden))

    @graph_fn
    def never(self, hidden: Tensor) -> Tensor:
        """False for each of the states."""
        count = self.ops.batch_size(next(iter(flatten(hidden).values())))
        return self.ops.zeros((count,), "bool")

    def _updated(self, batch: Any, found: Any, learning_rate: Any) -> Any:
        batch["resets"] = found["steps"]["resets"]
        masks, hidden = self._masks(found["steps"]), found["hidden"]
        return self.update(batch, found["last_states"], hidden, masks, learning_rate)
