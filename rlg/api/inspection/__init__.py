"""What can be chosen, estimates of a configuration, and the health of the installation."""
