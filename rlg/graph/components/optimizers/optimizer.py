"""What all optimizers share: gradients, clipping, slots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, TypedDict

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, Variable, api, graph_fn
from rlg.graph.components.schedules.factory import make_schedule
from rlg.graph.components.schedules.schedule import Schedule
from rlg.graph.limits import PositiveFloat, Scheduled
from rlg.graph.registry import make
from rlg.graph.spaces import Box, Dict, Space

# A constant, or a schedule's spec: see make_schedule.
LearningRate = Annotated[float | Mapping[str, Any] | Sequence[Any], Scheduled(PositiveFloat)]


class Options(TypedDict, total=False):
    """What every optimizer hands on to the constructor of `Optimizer`."""

    max_grad_norm: PositiveFloat | None
    clip_value: PositiveFloat | None
    average: Any
    clip_norm: PositiveFloat | None


class Optimizer(Component):
    """Changes variables against the gradients of a loss.

    loss: one number; variables: a Dict of variables, from `component.variables()`; gradients: a
    Dict of equal keys and shapes; learning_rate: one number, from a schedule or the host (None: the
    constant of the constructor). If the constructor is given a schedule, whoever knows the time
    asks `schedule` and hands the rate in; else it stays where the schedule begins.

    Clipping is part of `apply`: `max_grad_norm` bounds the norm of all gradients together (Pascanu
    et al., 2013, by torch's formula), `clip_norm` that of each variable's gradient, `clip_value`
    each number. `average` is a component with `average(values)`: processes that learn together put
    theirs between the two, see Average.
    """

    variable_kind = "slot"

    def __init__(
        self,
        learning_rate: LearningRate,
        max_grad_norm: PositiveFloat | None = None,
        clip_value: PositiveFloat | None = None,
        average: Any = None,
        clip_norm: PositiveFloat | None = None,
    ) -> None:
        self.learning_rate = learning_rate
        self.max_grad_norm = max_grad_norm
        self.clip_value = clip_value
        self.clip_norm = clip_norm
        self.average = None if average is None else make(average)
        _ = self.schedule  # A wrong spec is known here.

    @property
    def schedule(self) -> Schedule | None:
        """What the learning rate follows; None if it is constant."""
        is_number = isinstance(self.learning_rate, (int, float))
        return None if is_number else make_schedule(self.learning_rate)

    def create_variables(self, *, variables: Space, learning_rate: Space | None = None) -> None:
        if isinstance(self.learning_rate, (int, float)) and self.learning_rate < 0:
            raise ComponentError(
                f"{self.path}: learning_rate must be at least 0, got {self.learning_rate}."
            )
        limits = {
            name: getattr(self, name) for name in ("max_grad_norm", "clip_norm", "clip_value")
        }
        chosen = {name: limit for name, limit in limits.items() if limit is not None}
        if len(chosen) > 1 or any(limit <= 0 for limit in chosen.values()):
            said = " and ".join(f"{name} is {limit}" for name, limit in chosen.items())
            raise ComponentError(f"{self.path}: {said}. Choose one of them, above 0.")
        if not isinstance(variables, Dict):
            raise SpaceError(
                f"{self.path}: `variables` is {variables}; hand in a component's variables: "
                "optimizer.step(loss, self.policy.variables())."
            )
        if learning_rate is not None and not _is_number(learning_rate):
            raise SpaceError(
                f"{self.path}: `learning_rate` is {learning_rate}; give one float: "
                "FloatBox(ranks='')."
            )
        self._boxes = {key: box for key, box in variables.items() if isinstance(box, Box)}
        self.create_slots()

    def create_slots(self) -> None:
        """Makes what an optimizer remembers."""

    def slot(self, name: str, value: float = 0.0) -> dict[str, Variable]:
        """One variable beside each variable, in its layout, that starts from one value."""
        return {
            key: self.variable(
                f"{name}/{key}",
                box.shape,
                dtype=box.dtype,
                value=value,
                kernel=len(box.shape) == 4,
            )
            for key, box in self._boxes.items()
        }

    @api
    def step(self, loss: Any, variables: Any, learning_rate: Any = None) -> Any:
        """Descends once; returns the global norm of the gradients before clipping."""
        gradients = self.averaged(self.gradients(loss, variables))
        return self.apply(variables, gradients, learning_rate)

    def averaged(self, values: Any) -> Any:
        """In API methods: gradients, and what else processes have to agree on, averaged over all
        that learn together, if there are others.
        """
        return values if self.average is None else self.average.average(values)

    @api
    @graph_fn
    def gradients(self, loss: Tensor, variables: Tensor) -> Tensor:
        """d loss / d variable for each."""
        return self.ops.gradients(loss, variables)

    @api
    def apply(self, variables: Any, gradients: Any, learning_rate: Any = None) -> Any:
        """Clips and descends; returns the global norm before clipping."""
        norm = self.global_norm(gradients)
        if self.max_grad_norm is not None:
            gradients = self.clip_global_norm(gradients, norm)
        elif self.clip_norm is not None:
            gradients = self.clip_norms(gradients)
        elif self.clip_value is not None:
            gradients = self.clip_values(gradients)
        self.descend(variables, gradients, learning_rate)
        return norm

    @api
    def norm(self, gradients: Any) -> Any:
        """The global norm of gradients."""
        return self.global_norm(gradients)

    @graph_fn
    def global_norm(self, gradients: Tensor) -> Tensor:
        return self.ops.global_norm(list(gradients.values()))

    @graph_fn
    def clip_global_norm(self, gradients: Tensor, norm: Tensor) -> Tensor:
        factor = self.ops.clip(self.max_grad_norm / (norm + 1e-6), 0.0, 1.0)
        return dict(
            zip(gradients, self.ops.scale_all(list(gradients.values()), factor), strict=True)
        )

    @graph_fn
    def clip_norms(self, gradients: Tensor) -> Tensor:
        ops, limit = self.ops, self.clip_norm
        clipped = {}
        for key, gradient in gradients.items():
            norm = ops.sqrt(ops.sum(ops.square(gradient)))
            clipped[key] = gradient * ops.clip(limit / (norm + 1e-6), 0.0, 1.0)
        return clipped

    @graph_fn
    def clip_values(self, gradients: Tensor) -> Tensor:
        ops, limit = self.ops, self.clip_value
        assert limit is not None
        return {key: ops.clip(gradient, -limit, limit) for key, gradient in gradients.items()}

    @graph_fn
    def descend(
        self, variables: Tensor, gradients: Tensor, learning_rate: Tensor | None = None
    ) -> None:
        """Changes the variables; each optimizer has its own way."""
        raise NotImplementedError

    def rate(self, learning_rate: Tensor | None, like: Tensor) -> Tensor:
        """The rate to multiply gradients like this one with."""
        if learning_rate is None:
            return self.constant_rate()
        return self.ops.cast(learning_rate, self.ops.dtype_of(like))

    def constant_rate(self) -> float:
        """The rate of the constructor, or where its schedule begins."""
        if isinstance(self.learning_rate, (int, float)):
            return self.learning_rate
        return make_schedule(self.learning_rate).at(0.0)


def _is_number(space: Space) -> bool:
    is_float = isinstance(space, Box) and space.kind == "float"
    return is_float and not space.ranks and not space.shape  # type: ignore[attr-defined]
