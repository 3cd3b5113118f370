"""Memories: records kept in backend variables, inserted and sampled in batches."""
