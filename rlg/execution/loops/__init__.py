"""The loops by name. A loop is a small class that sees a SamplerPool and a Trainer only."""

from __future__ import annotations

from importlib import import_module
from typing import Any

LOOPS = {
    "replay": "rlg.execution.loops.replay:ReplayLoop",
    # The same with the memory in other processes: agents have a role for it.
    "sharded_replay": "rlg.execution.loops.replay:ReplayLoop",
    "batches": "rlg.execution.loops.batches:BatchLoop",
    "actor_learner": "rlg.execution.loops.actor_learner:ActorLearnerLoop",
    # The same with rollouts that stay inside of the graph.
    "fused_actor_learner": "rlg.execution.loops.actor_learner:FusedActorLearnerLoop",
    "gradients": "rlg.execution.loops.gradients:GradientLoop",
}


def loop_class(name: str) -> Any:
    """The class behind a name, imported on use."""
    module, _, attribute = LOOPS[name].partition(":")
    return getattr(import_module(module), attribute)
