"""Independent distributions side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.errors import ComponentError
from rlg.graph import Tensor, api, graph_fn
from rlg.graph.components.distributions.distribution import Distribution
from rlg.graph.registry import make
from rlg.graph.spaces import Path, unflatten


class Joint(Distribution):
    """One distribution for each leaf of nested values: log-probabilities and entropies add up.

    distributions: specs in nested dicts and lists, or one spec. parameters: for each leaf, in the
    same structure, what its distribution takes; values: nested the same way; log_prob, entropy and
    kl: [B], the sums over all leaves and all elements of each.
    """

    def __init__(self, distributions: Any) -> None:
        parts = _leaves(distributions, ())
        self.paths = list(parts)
        self.distributions = {name_of(path): make(part) for path, part in parts.items()}
        if len(self.distributions) < len(parts):
            raise ComponentError(
                f"Joint: two of its leaves have the same name: {', '.join(map(name_of, parts))}. "
                "Rename one; '.' and '/' in keys count as nesting."
            )

    @api
    def sample(self, parameters: Any) -> Any:
        return self._nested(lambda part, p: part.sample(p), parameters)

    @api
    def mode(self, parameters: Any) -> Any:
        return self._nested(lambda part, p: part.mode(p), parameters)

    @api
    def log_prob(self, parameters: Any, values: Any) -> Any:
        return self.total(self._each(lambda part, p, v: part.log_prob(p, v), parameters, values))

    @api
    def sample_log_prob(self, parameters: Any) -> Any:
        """A draw and its log-probability."""
        pairs = self._each(lambda part, p: part.sample_log_prob(p), parameters)
        values = dict(zip(self.paths, (value for value, _ in pairs), strict=True))
        return unflatten(values), self.total(tuple([log_prob for _, log_prob in pairs]))

    @api
    def entropy(self, parameters: Any) -> Any:
        return self.total(self._each(lambda part, p: part.entropy(p), parameters))

    @api
    def kl(self, parameters: Any, other: Any) -> Any:
        return self.total(self._each(lambda part, p, q: part.kl(p, q), parameters, other))

    @graph_fn(fold_time=True)
    def total(self, parts: Tensor) -> Tensor:
        ops = self.ops
        sums = []
        for part in parts:
            axes = tuple(range(1, len(ops.shape_of(part))))
            sums.append(ops.sum(part, axes) if axes else part)
        result = sums[0]
        for more in sums[1:]:
            result = result + more
        return result

    def _each(self, call: Any, *trees: Any) -> tuple[Any, ...]:
        """Calls each distribution with its own leaves of the trees."""
        return tuple(
            [
                call(self.distributions[name_of(path)], *(at(tree, path) for tree in trees))
                for path in self.paths
            ]
        )

    def _nested(self, call: Any, *trees: Any) -> Any:
        return unflatten(dict(zip(self.paths, self._each(call, *trees), strict=True)))


def name_of(path: Path) -> str:
    """A leaf's name within a component's path."""
    return ".".join(map(str, path)).replace("/", ".") or "all"


def at(tree: Any, path: Path) -> Any:
    """The part of a tree (or of a record that will be one) at a path."""
    for key in path:
        tree = tree[key]
    return tree


def _leaves(specs: Any, path: Path) -> dict[Path, Any]:
    """Specs by path; a mapping whose `type` is a word is a spec."""
    if isinstance(specs, Mapping) and not isinstance(specs.get("type"), str):
        entries = [((*path, key), specs[key]) for key in sorted(specs)]
    elif isinstance(specs, (list, tuple)):
        entries = [((*path, place), item) for place, item in enumerate(specs)]
    else:
        return {path: specs}
    return {p: spec for place, item in entries for p, spec in _leaves(item, place).items()}
