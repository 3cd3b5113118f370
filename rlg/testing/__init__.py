"""Testing as a product: one component alone, and suites that newcomers inherit."""

from rlg.testing.component_test import ComponentTest

__all__ = ["ComponentTest"]
