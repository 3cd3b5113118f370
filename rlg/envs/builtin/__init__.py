"""Small environments of our own, registered with gymnasium on use."""

from __future__ import annotations

# id -> module : class, steps after which an episode is truncated
BUILTIN: dict[str, tuple[str, int | None]] = {
    "rlg/GridWorld-v0": ("grid_world:GridWorld", 200),
    "rlg/Random-v0": ("random_env:RandomEnv", None),
    "rlg/Counter-v0": ("counter:Counter", None),
    "rlg/Recall-v0": ("recall:Recall", None),
    "rlg/CartPolePositions-v0": ("cartpole_positions:CartPolePositions", 500),
}


def register_builtin() -> None:
    """Makes these ids known to gymnasium."""
    import gymnasium

    for env_id, (target, limit) in BUILTIN.items():
        if env_id not in gymnasium.registry:
            gymnasium.register(env_id, f"{__name__}.{target}", max_episode_steps=limit)
