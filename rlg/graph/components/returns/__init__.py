"""Returns: what sequences of rewards and values say about each of their steps.

Why terminals and truncations are two masks: a terminal state is worth nothing, a state in which a
time limit stopped the episode is worth its value (Pardo et al., 2018). Both end a sequence.
"""
