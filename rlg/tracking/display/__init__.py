"""What people see of a run while it is under way."""
