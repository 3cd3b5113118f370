"""What the tests of environments share: actions, comparisons, plain single environments."""

from __future__ import annotations

from typing import Any

import numpy as np

from rlg.envs import Step, VectorEnv
from rlg.graph.spaces import flatten


def random_actions(env: VectorEnv, steps: int, seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [env.action_space.sample(rng, batch=env.num_envs) for _ in range(steps)]


def assert_same(left: Any, right: Any) -> None:
    """Two value trees are equal bit by bit, dtypes included."""
    left, right = flatten(left), flatten(right)
    assert left.keys() == right.keys()
    for path, values in left.items():
        assert values.dtype == right[path].dtype, path
        assert np.array_equal(values, right[path]), path


def assert_same_steps(left: list[Step], right: list[Step]) -> None:
    assert len(left) == len(right)
    for one, other in zip(left, right, strict=True):
        assert_same(tuple(one), tuple(other))
