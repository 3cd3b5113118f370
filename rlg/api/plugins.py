"""What a plugin calls to put its own parts beside ours: components, agents, environments.

A configuration lists the plugin's module under `plugins:`; it is imported in every process that
builds the run.
"""

from __future__ import annotations

from rlg.api.agents.factory import register_agent
from rlg.envs import register_env
from rlg.graph.registry import register as register_component

__all__ = ["register_agent", "register_component", "register_env"]
