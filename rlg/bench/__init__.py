"""Benchmarks: ratios against named opponents, measured in one run, never asserted in tests."""
