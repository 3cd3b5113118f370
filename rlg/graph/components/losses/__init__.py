"""Losses: what an algorithm minimises, written as in its paper."""
