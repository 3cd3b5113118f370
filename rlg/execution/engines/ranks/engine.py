"""Starts ranks, and returns the loop of the first one."""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from rlg.execution.engines.local import open_local
from rlg.execution.engines.ranks.collective import Collective, GlooCollective
from rlg.execution.engines.ranks.crew import Crew
from rlg.execution.engines.ranks.launch import Folder, Followers, Setup, each_setup
from rlg.execution.engines.ranks.lead import LeadingLoop
from rlg.execution.engines.ranks.rounds import open_rank
from rlg.execution.engines.settings import num_ranks
from rlg.execution.roles import AgentFactory, Loop


def open_ddp(factory: AgentFactory, settings: Mapping[str, Any], horizon: int) -> Loop:
    """Engine `ddp`: ranks on this machine, connected by torch's gloo."""
    if num_ranks(settings) == 1:
        return open_local(factory, {}, horizon)
    loop = launched(factory, settings, horizon, Folder(), "rlg.execution.engines.ranks.engine:gloo")
    loop.description = f"{described(loop, factory)}, gradients averaged by gloo"
    return loop


def launched(
    factory: AgentFactory, settings: Mapping[str, Any], horizon: int, meeting: Any, collective: str
) -> LeadingLoop:
    """The loop of rank 0, with the other ranks as its child processes."""
    size, timeout = num_ranks(settings), settings["timeout"]
    shared = {
        "factory": factory,
        "meeting": meeting.path,
        "collective": collective,
        "timeout": timeout,
        "horizon": horizon,
    }
    followers = Followers(list(each_setup(size, **shared)), timeout)
    try:
        followers.await_start()  # loaded
        crew = Crew(make_collective(Setup(rank=0, size=size, **shared)), followers)
        loop = LeadingLoop(open_rank(factory, crew, horizon), crew, factory)
        followers.await_start()  # built
    except BaseException:
        followers.kill()
        raise
    finally:
        meeting.close()
    return loop


def make_collective(setup: Setup) -> Collective:
    """What connects a rank with the others."""
    module, _, attribute = setup.collective.partition(":")
    make = getattr(import_module(module), attribute)
    found: Collective = make(setup.meeting, setup.rank, setup.size, setup.timeout)
    return found


def gloo(path: str, rank: int, size: int, timeout: float) -> GlooCollective:
    """Ranks of one machine, which meet at a file."""
    from torch.distributed import FileStore  # type: ignore[attr-defined]

    # They listen on loopback only.
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
    return GlooCollective(FileStore(path, size), rank, size, timeout)


def described(loop: LeadingLoop, factory: AgentFactory) -> str:
    """What runs where, for the user."""
    return f"{loop.crew.size} ranks x {factory.num_envs} environments with one thread each"
