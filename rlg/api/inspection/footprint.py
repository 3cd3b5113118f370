"""How many bytes a memory takes, before it is made.

Measured on small ones instead of computed: what a memory keeps (frames once, priorities, flags) is
its own business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.api.agents.factory import agent_of
from rlg.api.config.environments import check_env
from rlg.backends.numpy.executor import NumpyExecutor
from rlg.errors import RLGError
from rlg.graph import registry

_PROBES = (256, 512)  # records; the bytes grow in a straight line from one to the other


def memory_bytes(config: Mapping[str, Any]) -> int | None:
    """Bytes of all its variables; None where the agent has no memory of records."""
    size = config["memory"].get("buffer_size")
    if size is None:
        return None
    try:
        _, observations, actions = check_env(config["env"])
        records = agent_of(config, observations, actions).input_spaces().get("records")
        small, large = (_measured({**config["memory"], "buffer_size": n}, records) for n in _PROBES)
    except RLGError:
        return None
    slope = (large - small) / (_PROBES[1] - _PROBES[0])
    return int(small + slope * (size - _PROBES[0]))


def _measured(spec: Mapping[str, Any], records: Any) -> int:
    executor = NumpyExecutor()
    executor.build(registry.make(spec), {"records": records}, apis=["insert"])
    return executor.nbytes()
