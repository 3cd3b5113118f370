"""The queue between actors that roll out and the learner."""

from __future__ import annotations

from typing import Any

from rlg.errors import SpaceError
from rlg.graph import Component, Static, Tensor, api, graph_fn
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import Box, IntBox, Space, flatten, space_from_spec, unflatten


class RolloutQueue(Component):
    """Rollouts in the order of arrival; `put` waits while `capacity` of them are there.

    `space` is that of one rollout, any nested space with a batch rank in each leaf. `get` takes
    the oldest `count` of them and returns them as one, side by side along the batch; it waits
    until they have come. On TensorFlow this is a resource that tasks of a cluster share, elsewhere
    a channel between threads of one process; what waits in it belongs to no checkpoint.

    Random draws behind `get` need to know the size of what comes: `steps` and `num_envs` of each
    rollout, if all have the same.
    """

    def __init__(
        self,
        space: Any,
        capacity: PositiveInt = 8,
        steps: PositiveInt | None = None,
        num_envs: PositiveInt | None = None,
    ) -> None:
        self.space = space_from_spec(space)
        self.capacity = capacity
        self.steps = steps
        self.num_envs = num_envs

    def create_variables(self) -> None:
        self._boxes: dict[Any, Box] = self.space.flatten()
        alone = [box for box in self._boxes.values() if "B" not in box.ranks]
        if alone:
            raise SpaceError(
                f"{self.path}: rollouts are put side by side along their batch, but a leaf of them "
                f"is {alone[0]}. Give every leaf a batch rank."
            )
        self._queue = self.queue("queue", list(self._boxes.values()), self.capacity)

    def _nothing(self, **_: Any) -> tuple[()]:
        return ()

    def _rollouts(self, **_: Any) -> Space:
        return self.space

    def _sizes(self, count: int) -> dict[str, Any]:
        batch = None if self.num_envs is None else count * self.num_envs
        return {"T": self.steps, "B": batch}

    def _number(self) -> Space:
        return IntBox(ranks="")

    @api
    @graph_fn(spaces=_nothing)
    def put(self, rollout: Tensor) -> None:
        """Adds one rollout; waits while there is no room."""
        flat = flatten(rollout)
        if flat.keys() != self._boxes.keys():
            raise SpaceError(f"{self.path}.put: a rollout is {self.space}, got {list(flat)}.")
        self._queue.put([flat[path] for path in self._boxes])

    @api
    @graph_fn(spaces=_rollouts, lengths=_sizes)
    def get(self, count: Static[int] = 1) -> Tensor:
        """The oldest ones, side by side; waits until they have come."""
        items = [self._queue.get() for _ in range(count)]
        joined = {
            path: leaves[0] if count == 1 else self.ops.concat(leaves, box.ranks.index("B"))
            for (path, box), leaves in zip(
                self._boxes.items(), map(list, zip(*items, strict=True)), strict=True
            )
        }
        return unflatten(joined, self.space)

    @api
    @graph_fn(spaces=_number)
    def size(self) -> Tensor:
        """How many rollouts wait."""
        return self._queue.size()

    @api
    @graph_fn(spaces=_nothing)
    def close(self) -> None:
        """Whoever puts or waits from now on is told so."""
        self._queue.close()
