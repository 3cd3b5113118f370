"""What there is, what a configuration comes to, and whether the machine can run it."""
