"""The section `env`: a name, a number of environments, and options of the environment itself."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any, Literal

from rlg.api.config.signatures import (
    Argument,
    Arguments,
    arguments_of,
    blaming,
    check_keys,
    checked,
)
from rlg.envs import env_names, make_env
from rlg.envs.registry import SHORT_NAMES, register_known
from rlg.errors import RLGError, SpecError
from rlg.graph.limits import PositiveFloat, PositiveInt
from rlg.graph.spaces import Space

_OWN = ("name", "num_envs", "seed")
# What `make_env` takes for every environment, but for the seed.
COMMON: Arguments = {
    name: Argument(kind, inspect.signature(make_env).parameters[name].default)
    for name, kind in (("name", str), ("num_envs", PositiveInt))
}


def spaces_of(env: Mapping[str, Any]) -> tuple[Space, Space]:
    """Those of observations and actions, from an environment of a checked section."""
    with blaming(f"env.name={env['name']}"), make_env(**{**env, "num_envs": 1}) as made:
        return made.observation_space, made.action_space


def check_env_keys(section: Mapping[str, Any]) -> dict[str, Any]:
    """The section alone: other sections refer to it, and its mistakes are not theirs."""
    if "seed" in section:
        raise SpecError("env.seed: a run has one seed, for everything. Write seed=3.")
    head = checked({k: section[k] for k in COMMON if k in section}, COMMON, "env", "env")
    name = head["name"]
    if not name:
        raise SpecError("env.name: empty. Write for example env=cartpole.")
    options, is_own = env_arguments(name)
    words = {key: value for key, value in section.items() if key not in COMMON}
    if options is not None:
        check_keys(words, [*COMMON, *options], "env", f"env (name {name})")
        words = checked(words, options, "env", f"env (name {name})", complete=is_own)
    return {**head, **words}


def env_arguments(name: str) -> tuple[Arguments | None, bool]:
    """The options of an environment (None: unknown), and whether its class is one of ours.

    Only then are defaults the environment's own: gymnasium's registry changes them by id.
    """
    if SHORT_NAMES.get(name, name) == "CartPole-v1":
        from rlg.envs.cartpole import CartPoleEnv

        return arguments_of(CartPoleEnv, without=_OWN), True
    if name.startswith("ALE/") or (name not in SHORT_NAMES and name in env_names()):
        from rlg.envs.atari import AtariEnv

        return arguments_of(AtariEnv, without=_OWN), not name.startswith("ALE/")
    return _of_gymnasium(name), False


def _of_gymnasium(name: str) -> Arguments | None:
    import gymnasium

    env_id = SHORT_NAMES.get(name, name)
    try:
        register_known(env_id, name)
        spec = gymnasium.spec(env_id)
        entry = spec.entry_point
        cls = (
            gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
        )
    except (gymnasium.error.Error, RLGError, ImportError, AttributeError, ValueError):
        return None  # making it says what is wrong
    if not isinstance(cls, type):
        return None
    own: Arguments = {
        "max_episode_steps": Argument(PositiveInt, spec.max_episode_steps),
        "fresh_envs": Argument(bool, False),
        "reward_scale": Argument(PositiveFloat, 1.0),
        "vectorization": Argument(Literal["async", "own"] | None, None),
    }
    known = arguments_of(cls)
    return {**{name: Argument(a.annotation, None) for name, a in known.items()}, **own}
