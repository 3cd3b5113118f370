"""Agents: a root component with the API of the paper's Listing 2."""
