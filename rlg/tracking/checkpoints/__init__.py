"""Checkpoints: written aside and moved in place, checked when they are read."""
