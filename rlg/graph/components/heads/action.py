"""The head of a stochastic policy, chosen from the action space."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.components.distributions.categorical import MASKED
from rlg.graph.components.distributions.joint import at, name_of
from rlg.graph.components.distributions.squashed_normal import SquashedNormal
from rlg.graph.components.heads.leaves import (
    Concentrations,
    Logits,
    MeanAndStd,
    choices,
    is_binary,
    is_bounded,
)
from rlg.graph.components.initializers import InitializerSpec
from rlg.graph.spaces import Box, Path, Space, flatten, path_name, space_from_spec, unflatten

BOUNDED = ("squashed_normal", "beta", "normal")


class ActionHead(Component):
    """Parameters of a distribution over actions, one leaf of the action space at a time.

    | leaf | distribution | parameters |
    |---|---|---|
    | IntBox(4), IntBox([3, 5], shape=(2,)) | categorical | logits [B, *shape, A] |
    | BoolBox, int8 of 0 and 1 (MultiBinary) | bernoulli | logits [B, *shape] |
    | floats with both bounds | `bounded`: squashed_normal, beta or normal | as it takes them |
    | other floats | normal | {mean, log_std}, each [B, *shape] |

    inputs: features [B, F], also with time. masks: bool [B, *shape, A], True where a choice is
    allowed (at least one must be); for nested spaces a Dict of the leaves to mask, by their keys or
    by their positions ("0", "1") in a Tuple. A normal distribution knows no bounds: `clip` puts its
    actions inside, for the environment only, since the log-probability is that of the action
    before. With `keeps_draw` actions of a squashed_normal are draws before the squashing, from
    which on-policy algorithms learn exactly; `clip` squashes them. log_std is a variable that
    starts at `log_std_init`, or with `state_dependent_std` a layer's output, kept from -20 to 2.
    Actions of floats are float32 for every space of floats.
    """

    def __init__(
        self,
        action_space: Any,
        bounded: str = "squashed_normal",
        state_dependent_std: bool = False,
        log_std_init: float = 0.0,
        kernel_init: InitializerSpec | None = None,
        keeps_draw: bool = False,
    ) -> None:
        self.action_space = space_from_spec(action_space)
        self.bounded = bounded
        self.state_dependent_std = state_dependent_std
        self.log_std_init = log_std_init
        self.kernel_init = kernel_init
        self.keeps_draw = keeps_draw
        if bounded not in BOUNDED:
            raise ComponentError(
                f"ActionHead: bounded is {bounded!r}; use one of {', '.join(BOUNDED)}."
            )
        self.boxes = self.action_space.flatten()
        self.outputs = {name_of(path): self._output(path, box) for path, box in self.boxes.items()}
        self.squashers = {
            name_of(path): SquashedNormal(box.low, box.high)
            for path, box in self.boxes.items()
            if self._squashes(box)
        }

    @property
    def distributions(self) -> Any:
        """What a Joint distribution takes: a spec for each leaf."""
        return unflatten({path: self._distribution(box) for path, box in self.boxes.items()})

    def create_variables(self, *, masks: Space | None = None) -> None:
        can = {name_of(path): box for path, box in self.boxes.items() if _is_choice(box)}
        for path, given in ({} if masks is None else masks.flatten()).items():
            if name_of(path) not in can:
                raise SpaceError(
                    f"{self.path}: `masks` has a leaf {name_of(path)!r}, which is not a choice. "
                    f"Leaves that can be masked: {', '.join(can) or 'none'}."
                )
            shape = choices(can[name_of(path)]).shape
            if given.kind != "bool" or given.shape != shape:
                raise SpaceError(
                    f"{self.path}: `masks` is {given} at '{path_name(path)}'; give "
                    f"BoolBox({shape}), True where a choice is allowed."
                )

    @property
    def clips(self) -> bool:
        """Whether actions may lie outside of the action space, so that `clip` changes them."""
        return any(self._clips(box) or self._squashes(box) for box in self.boxes.values())

    @api
    def parameters(self, inputs: Any, masks: Any = None) -> Any:
        found = {path: self.outputs[name_of(path)].call(inputs) for path in self.boxes}
        parameters = unflatten(found)
        return parameters if masks is None else self.mask(parameters, masks)

    @api
    def clip(self, actions: Any) -> Any:
        """Actions for the environment: those of normal distributions put inside of the bounds."""
        parts = {path: at(actions, path) for path in self.boxes}
        for path, part in parts.items():
            if name_of(path) in self.squashers:
                parts[path] = self.squashers[name_of(path)].squash(part)
        actions = unflatten(parts)
        return self.bound(actions) if any(map(self._clips, self.boxes.values())) else actions

    @graph_fn(fold_time=True)
    def bound(self, actions: Tensor) -> Tensor:
        """Clips what has bounds and no distribution that keeps them."""
        ops, flat = self.ops, flatten(actions)
        for path, box in self.boxes.items():
            if self._clips(box):
                dtype = ops.dtype_of(flat[path])
                if box.low is not None:
                    flat[path] = ops.maximum(flat[path], ops.constant(np.array(box.low), dtype))
                if box.high is not None:
                    flat[path] = ops.minimum(flat[path], ops.constant(np.array(box.high), dtype))
        return unflatten(flat)

    @graph_fn(fold_time=True)
    def mask(self, parameters: Tensor, masks: Tensor) -> Tensor:
        ops, flat = self.ops, flatten(parameters)
        paths = {name_of(path): path for path in self.boxes}
        for name, allowed in flatten(masks).items():
            path = paths[name_of(name)]
            flat[path] = ops.where(allowed, flat[path], MASKED)
        return unflatten(flat)

    def _clips(self, box: Box) -> bool:
        has_bound = box.low is not None or box.high is not None
        normal = not is_bounded(box) or self.bounded == "normal"
        return box.kind == "float" and has_bound and normal

    def _squashes(self, box: Box) -> bool:
        bounded = box.kind == "float" and is_bounded(box) and self.bounded == "squashed_normal"
        return bounded and self.keeps_draw

    def _output(self, path: Path, box: Box) -> Component:
        if is_binary(box):
            return Logits(box.shape, kernel_init=self.kernel_init)
        if _is_choice(box):
            exists = choices(box)
            return Logits(exists.shape, exists, self.kernel_init)
        if box.kind != "float":
            raise SpaceError(
                f"ActionHead: the action space is {box} at '{path_name(path)}'; choices count "
                "from 0 and have an end, as in IntBox(4). Shift them in the environment."
            )
        if is_bounded(box) and self.bounded == "beta":
            return Concentrations(box.shape, self.kernel_init)
        return MeanAndStd(box.shape, self.state_dependent_std, self.log_std_init, self.kernel_init)

    def _distribution(self, box: Box) -> dict[str, Any]:
        if is_binary(box):
            return {"type": "bernoulli", "dtype": box.dtype}
        if _is_choice(box):
            return {"type": "categorical", "dtype": box.dtype}
        if is_bounded(box) and self.bounded != "normal":
            keeps = {"keeps_draw": True} if self._squashes(box) else {}
            return {"type": self.bounded, "low": box.low, "high": box.high, **keeps}
        return {"type": "normal"}


def _is_choice(box: Box) -> bool:
    return box.num_categories is not None and not is_binary(box)
