"""Variables that follow others."""

from __future__ import annotations

from rlg.errors import ComponentError, SpaceError
from rlg.graph import Component, Tensor, api, graph_fn
from rlg.graph.limits import PositiveFraction
from rlg.graph.spaces import Dict, Space


class TargetSync(Component):
    """Moves the variables of a target network to, or (tau < 1) towards those of its source.

    source, target: Dicts of variables with equal keys, from `component.variables()`. With tau:
    target = tau * source + (1 - tau) * target, Lillicrap et al. (2016).
    """

    def __init__(self, tau: PositiveFraction = 1.0) -> None:
        self.tau = tau

    def create_variables(self, *, source: Space, target: Space) -> None:
        if not 0.0 < self.tau <= 1.0:
            raise ComponentError(f"{self.path}: tau must be above 0 and at most 1, got {self.tau}.")
        if not isinstance(source, Dict) or not isinstance(target, Dict):
            raise SpaceError(
                f"{self.path}: `source` and `target` are variables of components: "
                "sync(self.policy.variables(), self.target_policy.variables())."
            )
        alone = source.keys() ^ target.keys()
        if alone or not source.like(target):
            differing = alone or {key for key in source if not source[key].like(target[key])}
            raise SpaceError(
                f"{self.path}: `source` and `target` differ in {', '.join(sorted(differing))}. "
                "Make the target as a copy of its source: policy.copy(scope='target_policy')."
            )

    @api
    @graph_fn
    def sync(self, source: Tensor, target: Tensor) -> None:
        ops, tau = self.ops, self.tau
        copied = dict(target)
        for key, variable in target.items():
            if tau < 1.0 and ops.dtype_of(variable).startswith("float"):
                ops.assign(variable, tau * source[key] + (1.0 - tau) * copied.pop(key))
        ops.assign_all(list(copied.values()), [source[key] for key in copied])
