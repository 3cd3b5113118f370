"""Names of functions in a configuration: activations and initializers, by the last word of the key.

Layers look them up while they are built; here a wrong one is refused before, under its key.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rlg.errors import SpecError
from rlg.spelling import suggestion


def check_name(path: str, value: Any) -> None:
    """Refuses a name that no function has; `null` and what is no name are not its business."""
    key = path.rpartition(".")[2]
    name = value.get("type") if isinstance(value, Mapping) else value
    if not isinstance(name, str):
        return
    if key == "activation":
        from rlg.graph.components.layers.activation import ACTIVATIONS

        if name not in ACTIVATIONS:
            raise SpecError(
                f"{path}: there is no activation {name!r}.{suggestion(name, ACTIVATIONS)} "
                f"Known: {', '.join(ACTIVATIONS)}."
            )
    elif key.endswith("_init"):
        from rlg.graph.components.initializers import initializer

        try:
            initializer(value)
        except SpecError as error:
            raise SpecError(f"{path}: {error}") from error
