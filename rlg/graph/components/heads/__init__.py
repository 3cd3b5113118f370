"""Heads: what turns a network's features into the numbers that a policy needs."""
