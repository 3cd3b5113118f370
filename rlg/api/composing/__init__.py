"""From overrides to a configuration: Hydra composes it, and its errors come out in one line."""
