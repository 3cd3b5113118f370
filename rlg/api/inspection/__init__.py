"""What can be chosen, and estimates of a configuration."""
