"""Layer 1: agents, configuration and the use cases behind the commands."""
