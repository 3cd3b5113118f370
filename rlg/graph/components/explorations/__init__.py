"""Explorations: how actions are made that the policy does not think best."""
