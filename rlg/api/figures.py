"""What a session shows of itself, read a few times a second at most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlg.api.agents.agent import RECORDS, Agent
from rlg.display.figures import Evaluated, Figures, MemoryFill, Title
from rlg.display.readable import short

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
    local = {
        "envs": session.config["env"].get("num_envs", 1),
        "steps": session.steps,
        "episodes": session.episodes.episodes,
        **({} if reward is None else {"reward": reward}),
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
        workers={LOCAL: local},
    )


def nbytes_of_memory(agent: Agent) -> int:
    """What the agent's replay data takes."""
    return agent.executor.nbytes(RECORDS)


def _replay_ratio(session: Session) -> float | None:
    """Samples of all updates per environment step."""
    batch_size = getattr(session.agent, "batch_size", None)
    if batch_size is None or not session.steps or "memory" not in session.config:
        return None
    return float(session.updates * batch_size / session.steps)


def _fill(session: Session) -> MemoryFill | None:
    memory = session.config.get("memory")
    capacity = memory.get("buffer_size") if isinstance(memory, Mapping) else None
    if not isinstance(capacity, int):
        return None
    return MemoryFill(min(session.agent.stored, capacity), capacity, session.memory_nbytes)


def _evaluated(note: Mapping[str, Any] | None) -> Evaluated | None:
    return None if note is None else (int(note["step"]), float(note["mean_reward"]))
