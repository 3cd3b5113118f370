"""Optimizers: from a loss to changed variables.

Why the gradients are an API of their own: replicas and other processes average them on the edge
between `gradients` and `apply`. Why slots are variables: they are saved and moved like all others.
"""
