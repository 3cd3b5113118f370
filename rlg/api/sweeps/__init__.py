"""Sweeps: planned before the first job starts, run, stopped and resumed."""
