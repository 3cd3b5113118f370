"""Configuration: composed by Hydra, checked here against the signatures of what it configures."""
