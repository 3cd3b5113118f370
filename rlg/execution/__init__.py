"""Layer 4: sampling workers and the loops that coordinate them with a learner.

Why loops know no algorithm: an agent is anything that acts, observes and updates, so one loop
serves a whole family, in one process or on an engine.
"""
