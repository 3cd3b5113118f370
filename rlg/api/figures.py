"""What a session shows of itself, read a few times a second at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlg.display.figures import Evaluated, Figures, MemoryFill, Title
from rlg.display.readable import short
from rlg.execution.engines.settings import num_ranks

if TYPE_CHECKING:
    from rlg.api.session import Session

LOCAL = "local"  # the worker in this process


def title_of(session: Session) -> Title:
    """Which run it is."""
    config = session.config
    return Title(
        agent=config["agent"]["type"],
        env=config["env"]["name"],
        backend=config["backend"]["type"],
        seed=session.seed,
        folder=short(session.folder.path),
    )


def figures_of(session: Session) -> Figures:
    """The figures of this moment."""
    means = session.episodes.means()
    reward = means.get("rollout/ep_rew_mean")
    num_envs = session.config["env"].get("num_envs", 1)
    local = {
        "envs": num_envs,
        "steps": session.steps,
        "episodes": session.episodes.episodes,
        **({} if reward is None else {"reward": reward}),
    }
    remote = {
        name: {"envs": num_envs, **worker} for name, worker in session.loop.pool.workers().items()
    }
    return Figures(
        steps=session.steps,
        total=session.total,
        updates=session.updates,
        episodes=session.episodes.episodes,
        reward=reward,
        length=means.get("rollout/ep_len_mean"),
        last_evaluation=_evaluated(session.evaluations.get("last_evaluation")),
        best_evaluation=_evaluated(session.evaluations.get("best_evaluation")),
        frames_per_step=session.frame_skip,
        replay_ratio=_replay_ratio(session),
        memory=_fill(session),
        epsilon=session.rollout_metrics.get("exploration_rate"),
        loss=session.latest.get("train/loss"),
        workers=remote or {LOCAL: local},
    )


def _replay_ratio(session: Session) -> float | None:
    """Samples of all updates per environment step."""
    batch_size = getattr(session.agent, "batch_size", None)
    if batch_size is None or not session.steps or "memory" not in session.config:
        return None
    samples = session.updates * batch_size * num_ranks(session.config["executor"])
    return float(samples / session.steps)


def _fill(session: Session) -> MemoryFill | None:
    memory = session.config.get("memory")
    capacity = memory.get("buffer_size") if isinstance(memory, Mapping) else None
    if not isinstance(capacity, int):
        return None
    trainer = session.loop.trainer
    return MemoryFill(min(trainer.stored, capacity), capacity, trainer.memory_nbytes)


def _evaluated(note: Mapping[str, Any] | None) -> Evaluated | None:
    return None if note is None else (int(note["step"]), float(note["mean_reward"]))
