"""Ranks: N processes that run the local loop on environments of their own, and learn together.

Gradients are averaged on the edge between `gradients` and `apply`, so that all ranks make the same
updates. Rank 0 is the process that the user started: its session logs, evaluates and saves, and
never sees that there are others. These follow: they do what rank 0 tells them, and say what came of
it.

Why commands, and not N sessions that agree: one of them decides, so nobody can leave alone while
the others wait for it. What all have to agree on is decided where they meet anyway: whether a round
of sampling is complete, before they learn from it, and whether to stop, with each average.
"""
