"""Small environments of our own, registered with gymnasium on use."""

from __future__ import annotations

# The scenarios that ViZDoom brings for one player, by their files.
DOOM = (
    "basic",
    "deadly_corridor",
    "deathmatch",
    "defend_the_center",
    "defend_the_line",
    "health_gathering",
    "health_gathering_supreme",
    "my_way_home",
    "predict_position",
    "take_cover",
)
DOOM_IDS = {f"rlg/Doom{name.title().replace('_', '')}-v0": name for name in DOOM}

# id -> module : class, steps after which an episode is truncated
BUILTIN: dict[str, tuple[str, int | None]] = {
    "rlg/GridWorld-v0": ("grid_world:GridWorld", 200),
    "rlg/Random-v0": ("random_env:RandomEnv", None),
    "rlg/Counter-v0": ("counter:Counter", None),
    "rlg/Recall-v0": ("recall:Recall", None),
    "rlg/CartPolePositions-v0": ("cartpole_positions:CartPolePositions", 500),
    **dict.fromkeys(DOOM_IDS, ("doom:Doom", None)),
}


def register_builtin() -> None:
    """Makes these ids known to gymnasium."""
    import gymnasium

    for env_id, (target, limit) in BUILTIN.items():
        if env_id not in gymnasium.registry:
            options = {"scenario": DOOM_IDS[env_id]} if env_id in DOOM_IDS else {}
            gymnasium.register(
                env_id, f"{__name__}.{target}", max_episode_steps=limit, kwargs=options
            )
