"""Algorithms: roots that connect a policy, a memory, a loss and an optimizer."""
