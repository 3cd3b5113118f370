"""Environments by name: short names, Atari games, and every id that gymnasium knows."""

from __future__ import annotations

import inspect
import logging
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rlg.envs.builtin import BUILTIN, DOOM_IDS, register_builtin
from rlg.envs.loop import missing_extra
from rlg.envs.vector import VectorEnv
from rlg.errors import EnvironmentFailure, RLGError, SpecError
from rlg.graph.limits import PositiveInt
from rlg.spelling import suggestion

if TYPE_CHECKING:
    import gymnasium

_MINATAR = ("asterix", "breakout", "freeway", "seaquest", "space_invaders")

SHORT_NAMES: dict[str, str] = {
    # for tests
    "counter": "rlg/Counter-v0",
    "grid_world": "rlg/GridWorld-v0",
    "random_env": "rlg/Random-v0",
    # needs a memory
    "recall": "rlg/Recall-v0",
    # classic control
    "acrobot": "Acrobot-v1",
    "cartpole": "CartPole-v1",
    "cartpole_positions": "rlg/CartPolePositions-v0",
    "mountain_car": "MountainCar-v0",
    "mountain_car_continuous": "MountainCarContinuous-v0",
    "pendulum": "Pendulum-v1",
    # Box2D
    "bipedal_walker": "BipedalWalker-v3",
    "bipedal_walker_hardcore": "BipedalWalkerHardcore-v3",
    "car_racing": "CarRacing-v3",
    "lunar_lander": "LunarLander-v3",
    "lunar_lander_continuous": "LunarLanderContinuous-v3",
    # MuJoCo
    "ant": "Ant-v5",
    "half_cheetah": "HalfCheetah-v5",
    "hopper": "Hopper-v5",
    "humanoid": "Humanoid-v5",
    "inverted_double_pendulum": "InvertedDoublePendulum-v5",
    "inverted_pendulum": "InvertedPendulum-v5",
    "pusher": "Pusher-v5",
    "reacher": "Reacher-v5",
    "swimmer": "Swimmer-v5",
    "walker2d": "Walker2d-v5",
    **{f"minatar_{game}": f"MinAtar/{game.title().replace('_', '')}-v1" for game in _MINATAR},
    **{f"doom_{scenario}": env_id for env_id, scenario in DOOM_IDS.items()},
}

# What an entry point begins with -> the extra of rlg that brings it.
_EXTRAS = {
    "gymnasium.envs.box2d": "box2d",
    "gymnasium.envs.mujoco": "mujoco",
    "minatar": "minatar",
    "rlg.envs.builtin.doom": "vizdoom",
}

# These carry something from one episode to the next: a Box2D world, a last action.
_REMEMBERING = ("BipedalWalker", "CarRacing", "MinAtar/")

_TWO_PLAYERS = {"combat", "joust", "maze_craze", "warlords"}  # no single player in these
_VECTOR_FROM = 8  # environments: with fewer, single ones are faster (20 against 140 us for one)


def make_env(
    name: str,
    num_envs: PositiveInt = 1,
    seed: int = 0,
    *,
    render_mode: str | None = None,
    **options: Any,
) -> VectorEnv:
    """N environments by short name, name of an Atari game, or id of gymnasium.

    `render_mode` "rgb_array" lets them draw `picture`s, "human" opens windows.
    `options` go to the environment's constructor; `max_episode_steps` is known to all, and
    `fresh_envs` (a new environment for each episode) and `reward_scale` (a factor of the rewards
    that are learned from; returns stay as they are) to all but Atari games and CartPole, so is
    `vectorization`: "async" for a process each, "own" for an id's own vector environment.
    """
    if num_envs < 1:
        raise SpecError(f"environment {name!r}: num_envs is {num_envs}; give at least 1.")
    env_id = SHORT_NAMES.get(name, name)
    shown = options if render_mode is None else {**options, "render_mode": render_mode}
    if env_id == "CartPole-v1" and num_envs >= _VECTOR_FROM and render_mode is None:
        from rlg.envs.cartpole import CartPoleEnv

        return _checked(CartPoleEnv, "cartpole", num_envs, seed, options)
    if env_id in SHORT_NAMES.values():
        return _loop(env_id, num_envs, seed, shown)
    games = atari_games()
    if render_mode == "human" and (name in games or name in games.values()):
        raise SpecError(f"environment {name!r} has no window. Write a film: --video FILE.mp4")
    if name in games:
        return _atari(name, num_envs, seed, options)
    if name in games.values():
        game = next(game for game, env_id in games.items() if env_id == name)
        return _atari(game, num_envs, seed, {"repeat_action_probability": 0.25, **options})
    return _loop(name, num_envs, seed, shown)


def register_env(name: str, target: Any, max_episode_steps: int | None = None) -> None:
    """Adds a gymnasium environment under a short name: its class, or "package.module:Class"."""
    import gymnasium

    env_id = f"plugins/{name}-v0"
    if SHORT_NAMES.get(name, env_id) != env_id or name in atari_games():
        raise SpecError(f"the environment name {name!r} is taken; choose another name.")
    if env_id not in gymnasium.registry:
        gymnasium.register(env_id, entry_point=target, max_episode_steps=max_episode_steps)
    SHORT_NAMES[name] = env_id


def env_names() -> list[str]:
    """All short names, those of Atari games included."""
    return sorted([*SHORT_NAMES, *atari_games()])


@cache
def atari_games() -> dict[str, str]:
    """Ids of the Atari games by short name."""
    from ale_py.registration import rom_id_to_name
    from ale_py.roms import get_all_rom_ids

    games = sorted(set(get_all_rom_ids()) - _TWO_PLAYERS)
    return {game: f"ALE/{rom_id_to_name(game)}-v5" for game in games}


def _atari(game: str, num_envs: PositiveInt, seed: int, options: Mapping[str, Any]) -> VectorEnv:
    from rlg.envs.atari import AtariEnv

    return _checked(AtariEnv, game, num_envs, seed, options)


def _loop(env_id: str, num_envs: PositiveInt, seed: int, options: Mapping[str, Any]) -> VectorEnv:
    from rlg.envs.loop import LoopEnv

    short = next((name for name, known in SHORT_NAMES.items() if known == env_id), env_id)
    register_known(env_id, short)
    spec = _spec(env_id)
    words = dict(options)
    fresh = bool(words.pop("fresh_envs", env_id.startswith(_REMEMBERING)))
    scale = float(words.pop("reward_scale", 1.0))
    how = words.pop("vectorization", None)
    make = partial(_single, short, spec, dict(words))
    if how is None or "render_mode" in words:
        return LoopEnv(short, make, num_envs, seed, words, fresh, scale)
    if fresh:
        raise SpecError(
            f"environment {short!r}: vectorization is {how!r}, but it needs a new environment for "
            "each episode (fresh_envs), which only vectorization=null makes."
        )
    from rlg.envs.batched import BatchedEnv

    batch = partial(_vector, short, spec, num_envs, how, make, dict(words))
    return BatchedEnv(short, batch, seed, {**words, "vectorization": how}, scale)


def _vector(
    name: str,
    spec: gymnasium.envs.registration.EnvSpec,
    num_envs: int,
    how: str,
    make: Callable[[], gymnasium.Env[Any, Any]],
    options: Mapping[str, Any],
) -> gymnasium.vector.VectorEnv[Any, Any, Any]:
    """The environment's own vector environment, or one with a process for each environment."""
    import gymnasium

    if how == "async":
        # Spawned: a process that is forked while frameworks compute may hang.
        return gymnasium.vector.AsyncVectorEnv(
            [make] * num_envs,
            context="spawn",
            autoreset_mode=gymnasium.vector.AutoresetMode.DISABLED,
        )
    if how != "own" or spec.vector_entry_point is None:
        raise SpecError(
            f"environment {name!r} has no vector environment of its own. Write "
            "env.vectorization=async for a process each, or null."
        )
    return gymnasium.make_vec(spec, num_envs, vectorization_mode="vector_entry_point", **options)


def _checked(
    cls: type[VectorEnv], name: str, num_envs: PositiveInt, seed: int, options: Mapping[str, Any]
) -> VectorEnv:
    """Constructs one of our own classes, or says which option it doesn't have."""
    known = list(inspect.signature(cls).parameters)[3:]
    for key in options:
        if key not in known:
            raise SpecError(
                f"environment {name!r} has no option {key!r}.{suggestion(key, known)} "
                f"Options: {', '.join(known)}."
            )
    factory: Any = cls
    made: VectorEnv = factory(name, num_envs, seed, **options)
    return made


def register_known(env_id: str, name: str) -> None:
    """Makes ids known that gymnasium doesn't bring itself."""
    if env_id in BUILTIN:
        register_builtin()
    elif env_id.startswith("MinAtar/") and not _knows_minatar():
        try:
            import_module("minatar.gym").register_envs()
        except ImportError:
            raise missing_extra(name, "minatar") from None


def _knows_minatar() -> bool:
    """Registering its ids again would warn of each."""
    import gymnasium

    return any(env_id.startswith("MinAtar/") for env_id in gymnasium.registry)


def _spec(env_id: str) -> gymnasium.envs.registration.EnvSpec:
    """What gymnasium knows of an id, or what is wrong with it."""
    import gymnasium

    if env_id in gymnasium.registry:
        return gymnasium.spec(env_id)
    if ":" in env_id:  # gymnasium would import whatever stands before it
        module, _, rest = env_id.partition(":")
        raise SpecError(
            f"environment {env_id!r} names code to import; list {module!r} under `plugins:` and "
            f"write {rest!r}."
        )
    raise SpecError(
        f"there is no environment {env_id!r}."
        f"{suggestion(env_id, [*env_names(), *gymnasium.registry])} Use a short name "
        "('cartpole', 'grid_world'), an Atari game ('pong') or an id of gymnasium ('CartPole-v1')."
    )


def _single(
    name: str, spec: gymnasium.envs.registration.EnvSpec, options: Mapping[str, Any]
) -> gymnasium.Env[Any, Any]:
    """From its spec: another process may not know the id."""
    import gymnasium

    entry = str(spec.entry_point)
    try:
        if entry.startswith("gymnasium.envs.mujoco"):
            _hush_mujoco()
        return gymnasium.make(spec, disable_env_checker=True, **options)
    except RLGError:
        raise
    except (gymnasium.error.DependencyNotInstalled, ImportError) as error:
        extra = next((extra for start, extra in _EXTRAS.items() if entry.startswith(start)), None)
        if extra is None:
            raise SpecError(f"environment {name!r}: {_line(error)}") from error
        raise missing_extra(name, extra) from error
    except TypeError as error:
        given = ", ".join(options) or "none"
        raise SpecError(
            f"environment {name!r} can't be made: {_line(error)}. Options given: {given}."
        ) from error
    except Exception as error:
        raise EnvironmentFailure(
            f"{name}: making it raised {type(error).__name__}: {_line(error)}"
        ) from error


def _hush_mujoco() -> None:
    """MuJoCo writes warnings into a file MUJOCO_LOG.TXT wherever it runs; take them instead.

    What it deprecates stands in gymnasium's models, and is nobody's business here.
    """
    mujoco = import_module("mujoco")
    if mujoco.get_mju_user_warning() is None:
        mujoco.set_mju_user_warning(_warn_of_physics)


def _warn_of_physics(text: str) -> None:
    if "deprecated" not in text:
        logging.getLogger("rlg.envs").warning("MuJoCo: %s", " ".join(text.split()))


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
