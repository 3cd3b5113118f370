"""Benchmarks: ratios against named opponents, measured in one run, never asserted in tests.

`rlg bench` runs them. A suite (`suites/`) measures rows, `running` runs suites and watches the
machine, `results` is what they found, and `tables`, `pictures` and `page` show it.
"""
