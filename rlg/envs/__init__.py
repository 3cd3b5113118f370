"""Vector environments as a sampling worker sees them.

Why not gymnasium's vector environments: the worker needs episodes that begin again within the same
step, a seed for each of them, and a run that can be stopped and resumed bit by bit. Environments
can't be pickled (a copied emulator runs on, silently wrong), so a snapshot holds the state where an
environment shows it, and else a seed and the actions since, to be replayed.
"""

from rlg.envs.registry import env_names, make_env, register_env
from rlg.envs.seeds import episode_seed
from rlg.envs.vector import Step, VectorEnv

__all__ = ["Step", "VectorEnv", "env_names", "episode_seed", "make_env", "register_env"]
