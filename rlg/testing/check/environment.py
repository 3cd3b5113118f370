"""Input spaces of a component from those of an environment, by the names of its arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rlg.graph.spaces import BoolBox, Box, Dict, FloatBox, Space

Spaces = Mapping[str, Any]

OBSERVATIONS = ("states", "inputs", "observations", "next_states")
Q_VALUES = ("q", "q_values", "q_next", "q_next_target")
# They look like actions: spaces made for other actions don't fit.
ACTION_SHAPED = ("masks", "parameters", *Q_VALUES)


def spaces_of_env(observations: Space, actions: Space, defaults: Spaces) -> dict[str, Any]:
    """The defaults with what the environment knows better; what it makes wrong is left out."""
    states = observations.with_ranks("B")
    known: dict[str, Space] = {
        **dict.fromkeys(OBSERVATIONS, states),
        "actions": actions.with_ranks("B"),
        "rewards": FloatBox(),
        "terminals": BoolBox(),
        "truncations": BoolBox(),
    }
    columns = ("states", "actions", "rewards", "terminals", "next_states")
    transition = Dict({name: known[name] for name in columns})

    def better(name: str, default: Any) -> Any:
        if name != "records":
            return known.get(name, default)
        is_known = isinstance(default, Dict) and set(default) <= set(known)
        return Dict({key: known[key] for key in default}) if is_known else transition

    found = _replaced({**dict.fromkeys([*known, "records"]), **defaults}, better)
    return spaces_of_actions(actions, found)


def spaces_of_actions(actions: Space, defaults: Spaces) -> dict[str, Any]:
    """The defaults with those that look like actions made for these."""
    number = actions.num_categories if isinstance(actions, Box) else None
    known: dict[str, Space] = {"actions": actions.with_ranks("B")}
    if isinstance(actions, Box) and isinstance(number, int):
        shape = (*actions.shape, number)  # one number for each choice
        known.update({"masks": BoolBox(shape), **dict.fromkeys(ACTION_SHAPED[1:], Box(shape))})

    def better(name: str, default: Any) -> Any:
        return known.get(name, None if name in ACTION_SHAPED else default)

    return _replaced({**dict.fromkeys(known), **defaults}, better)


def _replaced(spaces: Spaces, better: Callable[[str, Any], Any]) -> dict[str, Any]:
    """Better spaces with the ranks of the ones before; keys may name a method: `act.states`."""
    found: dict[str, Any] = {}
    for key, before in spaces.items():
        space = better(key.rpartition(".")[2], before)
        has_ranks = isinstance(before, Space) and before.ranks is not None
        if isinstance(space, Space) and has_ranks:
            space = space.with_ranks(str(before.ranks))
        if space is not None:
            found[key] = space
    return found
