"""rlg: reinforcement-learning algorithms composed from components and built once into a graph."""

__version__ = "0.1.0.dev0"
