"""Trained policies as files that other programs load without rlg."""
