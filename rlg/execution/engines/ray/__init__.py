"""Ray: samplers, replay shards and an evaluator as actors, the learner in the driver.

With replay the driver holds references only: what a worker samples goes to a shard without passing
through it, and what a shard draws goes to the learner from shared memory. Segments and gradients
are learnt from once, so the driver fetches them itself. Each actor composes the same root
from the same configuration and builds its own part of it. Restarts are Ray's: an actor that died
comes back empty, is noticed by the number in its replies, and counted.
"""
