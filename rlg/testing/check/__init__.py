"""The check behind `rlg test-component`: one component alone, on every backend.

Why lockstep: all backends make the same calls with the same inputs from the same state, one call at
a time, so that the first call after which they differ is the one that is named.
"""

from rlg.testing.check.component import BACKENDS, check_component
from rlg.testing.check.report import BackendReport, MethodReport, Report

__all__ = ["BACKENDS", "BackendReport", "MethodReport", "Report", "check_component"]
