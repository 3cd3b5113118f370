"""Jobs and sweeps: planned, run, stopped, resumed, and shown in a table."""
