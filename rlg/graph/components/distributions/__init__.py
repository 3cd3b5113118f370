"""Distributions: draws, modes, log-probabilities, entropies and divergences of actions.

Why parameters are arguments and not state: one component serves the acting and the learning path,
old and new parameters alike. All but the joint one work element by element; the joint one adds up.
"""
