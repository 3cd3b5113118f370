"""Ranges of numbers, by the last word of their key, or by the last two where that is not enough.

One name means one thing in this project, so one table serves every constructor. Constructors check
what only they know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rlg.errors import SpecError

Rule = tuple[Callable[[Any], bool], str]

_AT_LEAST_ONE: Rule = (lambda value: value >= 1, "give 1 or more")
_NOT_NEGATIVE: Rule = (lambda value: 0 <= value < float("inf"), "give 0 or more")
_POSITIVE: Rule = (lambda value: 0 < value < float("inf"), "give a positive number")
_SHARE: Rule = (lambda value: 0 <= value <= 1, "it is from 0 to 1")
_PART: Rule = (lambda value: 0 < value <= 1, "it is above 0, and 1 at most")
_BELOW_ONE: Rule = (lambda value: 0 <= value < 1, "it is from 0 to below 1")

RULES: dict[str, Rule] = {
    **dict.fromkeys(
        (
            "batch_size buffer_size embedding_dim episodes features_dim filters frame_skip "
            "frame_stack gradient_steps image_size keep max_episode_steps n_step num_embeddings "
            "num_envs schedule_timesteps sequence_length target_update_interval threads "
            "total_timesteps train_freq units"
        ).split(),
        _AT_LEAST_ONE,
    ),
    **dict.fromkeys(
        (
            "histograms initial_accumulator_value interval learning_starts momentum_decay noop_max "
            "num_threads seed steps_per_seed weight_decay"
        ).split(),
        _NOT_NEGATIVE,
    ),
    **dict.fromkeys(
        "clip_norm clip_value epsilon huber_delta learning_rate max_grad_norm minutes".split(),
        _POSITIVE,
    ),
    **dict.fromkeys(
        (
            "beta exploration_final_eps exploration_fraction exploration_initial_eps final_beta "
            "gamma agent.exploration memory.alpha"
        ).split(),
        _SHARE,
    ),
    **dict.fromkeys("alpha beta1 beta2 momentum rho repeat_action_probability".split(), _BELOW_ONE),
    "tau": _PART,
    "forget_bias": (lambda value: abs(value) < float("inf"), "give a number"),
}


def check_range(path: str, value: Any) -> None:
    """Refuses numbers, also in lists, that no meaning of this key allows."""
    words = path.split(".")
    rule = RULES.get(".".join(words[-2:])) or RULES.get(words[-1])
    if rule is None:
        return
    fits, hint = rule
    for item in value if isinstance(value, list) else [value]:
        if isinstance(item, (int, float)) and not isinstance(item, bool) and not fits(item):
            raise SpecError(f"{path}: it is {value}; {hint}.")
