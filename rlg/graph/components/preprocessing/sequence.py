"""Frames together with those before them."""

from __future__ import annotations

from rlg.errors import ComponentError, ExecutionError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.limits import PositiveInt
from rlg.graph.spaces import Box, Space, flatten, path_name, unflatten


class FrameSequence(Component):
    """Stacks the last `length` inputs of each environment on the last axis, the newest last.

    Row b of every call belongs to environment b, and there are at most `num_envs`. The first input
    of an episode is repeated: after `reset()`, and in rows where `resets` is True. With `add_rank`
    the stack is a new axis, [B, ..., length]; without, it extends the last one, [B, ..., C *
    length]. inputs: one step, ranks B, nested spaces too; resets: bool [B].
    """

    def __init__(self, length: int, num_envs: PositiveInt = 1, add_rank: bool = True) -> None:
        self.length = length
        self.num_envs = num_envs
        self.add_rank = add_rank

    def create_variables(self, *, inputs: Space) -> None:
        if self.length < 1 or self.num_envs < 1:
            raise ComponentError(
                f"{self.path}: length is {self.length} and num_envs {self.num_envs}; give 1 or "
                "more."
            )
        boxes = inputs.flatten()
        if any(box.ranks != "B" for box in boxes.values()):
            raise SpaceError(
                f"{self.path}: FrameSequence takes one step of each environment, but `inputs` is "
                f"{inputs}. Give it ranks='B'."
            )
        if not self.add_rank and any(not box.shape for box in boxes.values()):
            raise SpaceError(
                f"{self.path}: `inputs` is {inputs}, and scalars have no axis to extend. Say "
                "add_rank=True."
            )
        self._started = self.variable("started", (self.num_envs,), dtype="bool", kind="env")
        self._frames = {
            path: self.variable(
                path_name(("frames", *path)),
                (self.num_envs, *self._stacked(box).shape),
                dtype=box.dtype,
                kind="env",
            )
            for path, box in boxes.items()
        }

    def _stacked(self, box: Box) -> Box:
        if self.add_rank:
            return Box((*box.shape, self.length), box.dtype)
        return Box((*box.shape[:-1], box.shape[-1] * self.length), box.dtype)

    def _spaces(self, inputs: Space, resets: Box | None) -> Space:
        """Declared: a dry run would have more rows than there are environments."""
        if resets is not None and (resets.dtype, resets.shape, resets.ranks) != ("bool", (), "B"):
            raise SpaceError(
                f"{self.path}: `resets` is {resets}; give BoolBox(), one for each row."
            )
        return inputs.map(self._stacked)

    @api
    @graph_fn(spaces=_spaces)
    def call(self, inputs: Tensor, resets: Tensor | None = None) -> Tensor:
        ops, outputs = self.ops, {}
        leaves = flatten(inputs)
        n = ops.batch_size(next(iter(leaves.values())))
        if isinstance(n, int) and n > self.num_envs:  # TensorFlow's own message has to do.
            raise ExecutionError(
                f"{self.path}: inputs have {n} rows, but num_envs is {self.num_envs}. Give "
                f"num_envs={n}, the number of environments that step together."
            )
        rows = ops.arange(n)
        is_old = ops.take_rows(self._started, rows)  # [B]
        if resets is not None:
            is_old = ops.logical_and(is_old, ops.logical_not(resets))
        for path, x in leaves.items():
            frame = ops.expand_dims(x, -1) if self.add_rank else x
            step = 1 if self.add_rank else ops.shape_of(x)[-1]
            before = ops.take_rows(self._frames[path], rows)[..., step:]
            mask = is_old
            for _ in ops.shape_of(frame)[1:]:
                mask = ops.expand_dims(mask, -1)  # [B, 1, ...]
            kept = ops.concat([before, frame], -1)
            filled = ops.concat([frame] * self.length, -1)
            outputs[path] = ops.where(mask, kept, filled)
            ops.scatter_rows(self._frames[path], rows, outputs[path])
        ops.scatter_rows(self._started, rows, ops.full([n], True, "bool"))
        return unflatten(outputs, inputs)

    @api
    @graph_fn
    def reset(self) -> None:
        """Lets every environment begin an episode."""
        self.ops.assign(self._started, self.ops.zeros((self.num_envs,), "bool"))
