"""Spelling suggestions: the one place that knows what a mistyped word may have meant.

Everything that refuses a name asks here, so `lr` and `optimzer` get the same answer in a command
line, a YAML file and Python.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Any

# What other libraries call our keys and sections. A word with several meanings lists all of them:
# the first one that is known where the word was typed is suggested.
ALIASES: dict[str, tuple[str, ...]] = {
    "algo": ("agent",),
    "algorithm": ("agent",),
    "batch": ("batch_size",),
    "buffer": ("memory", "buffer_size"),
    "capacity": ("buffer_size",),
    "clip_grad": ("max_grad_norm",),
    "ckpt": ("checkpoint",),
    "cuda": ("device",),
    "discount": ("gamma",),
    "discount_factor": ("gamma",),
    "env_id": ("name",),
    "environment": ("env",),
    "envs": ("num_envs", "env"),
    "eps": ("epsilon",),
    "eps_end": ("exploration_final_eps",),
    "eps_start": ("exploration_initial_eps",),
    "epsilon_decay": ("exploration_fraction",),
    "epsilon_end": ("exploration_final_eps",),
    "epsilon_final": ("exploration_final_eps",),
    "epsilon_start": ("exploration_initial_eps",),
    "eval": ("evaluation",),
    "final_epsilon": ("exploration_final_eps",),
    "framework": ("backend",),
    "game": ("name",),
    "grad_clip": ("max_grad_norm",),
    "gradient_clip": ("max_grad_norm",),
    "hidden": ("units",),
    "hidden_layers": ("units",),
    "hidden_size": ("units",),
    "hidden_sizes": ("units",),
    "hiddens": ("units",),
    "id": ("name",),
    "initial_epsilon": ("exploration_initial_eps",),
    "iterations": ("total_timesteps",),
    "l2": ("weight_decay",),
    "log": ("logger",),
    "logging": ("logger",),
    "lr": ("learning_rate",),
    "max_steps": ("max_episode_steps", "total_timesteps"),
    "memory_size": ("buffer_size",),
    "minibatch_size": ("batch_size",),
    "model": ("network",),
    "multi_step": ("n_step",),
    "n_envs": ("num_envs",),
    "n_episodes": ("episodes",),
    "n_eval_episodes": ("episodes",),
    "n_steps": ("n_step",),
    "n_timesteps": ("total_timesteps",),
    "net": ("network",),
    "net_arch": ("units",),
    "num_steps": ("total_timesteps",),
    "num_timesteps": ("total_timesteps",),
    "opt": ("optimizer",),
    "optim": ("optimizer",),
    "polyak": ("tau",),
    "random_seed": ("seed",),
    "replay": ("memory",),
    "replay_buffer": ("memory",),
    "replay_size": ("buffer_size",),
    "size": ("buffer_size",),
    "step_size": ("learning_rate",),
    "steps": ("total_timesteps",),
    "target_update": ("target_update_interval",),
    "target_update_freq": ("target_update_interval",),
    "timesteps": ("total_timesteps",),
    "update_every": ("train_freq",),
    "warmup": ("learning_starts",),
    "warmup_steps": ("learning_starts",),
}


def suggestion(word: str, words: Iterable[str]) -> str:
    """` Did you mean 'x'?`, or nothing: the end of a sentence that refuses a word."""
    return did_you_mean(nearest(word, words))


def unknown(kind: str, word: Any, words: Collection[str]) -> str:
    """`there is no agent 'dqm'. Did you mean 'dqn'? Known: a2c, dqn.`"""
    known = ", ".join(words)
    return f"there is no {kind} {word!r}.{suggestion(str(word), words)} Known: {known}."


def did_you_mean(meant: str | None) -> str:
    """` Did you mean 'x'?`, or nothing."""
    return f" Did you mean {meant!r}?" if meant else ""


def nearest(word: str, words: Iterable[str]) -> str | None:
    """The known word that was meant: another case, another library's name, or a slip."""
    known = list(words)
    return _same(word, known) or _close(word, known)


def nearest_path(path: str, paths: Iterable[str]) -> str | None:
    """The dotted key that was meant: in its section, in the section that was meant, or elsewhere.

    Sections and last words are compared apart. As one text, `optimizer.weight_decay` would be close
    to `optimizer.type` for the word that both begin with.
    """
    known = list(paths)
    section, _, last = path.rpartition(".")
    sections = {_split(p)[0] for p in known}
    if section not in sections:
        section = nearest(section, sections) or section
    inside = {_split(p)[1]: p for p in known if _split(p)[0] == section}
    elsewhere = {_split(p)[1]: p for p in reversed(known)}
    for found, where in (
        (_same(last, inside), inside),
        (_same(last, elsewhere), elsewhere),
        (_close(last, inside), inside),
        (_close(last, elsewhere, cutoff=0.75), elsewhere),
    ):
        if found is not None:
            return where[found]
    return None


def paths(config: Mapping[Any, Any], prefix: str = "") -> dict[str, Any]:
    """Everything in a tree by dotted path, its sections too."""
    found: dict[str, Any] = {}
    for key, value in config.items():
        found[f"{prefix}{key}"] = value
        found |= paths(value, f"{prefix}{key}.") if isinstance(value, Mapping) else {}
    return found


def flat(config: Mapping[Any, Any], prefix: str = "") -> dict[str, Any]:
    """All values in a tree by dotted path; an empty section is a value."""
    found = paths(config, prefix).items()
    return {path: value for path, value in found if not (value and isinstance(value, Mapping))}


def _same(word: str, words: Iterable[str]) -> str | None:
    """The word in another case, or what it is called here."""
    known = {other.lower(): other for other in words}
    names = (word.lower(), *ALIASES.get(word.lower(), ()))
    return next((known[name] for name in names if name in known), None)


def _close(word: str, words: Iterable[str], cutoff: float = 0.6) -> str | None:
    known = {other.lower(): other for other in words}
    close = difflib.get_close_matches(word.lower(), known, n=3, cutoff=cutoff)
    swapped = [other for other in close if sorted(other) == sorted(word.lower())]
    return known[(swapped or close)[0]] if close else None


def _split(path: str) -> tuple[str, str]:
    section, _, last = path.rpartition(".")
    return section, last
