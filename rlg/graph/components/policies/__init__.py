"""Policies: from states to actions, through a network and a head."""
