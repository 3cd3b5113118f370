"""Environments as parts of a graph."""
