"""Schedules: numbers that change with time, in the graph and on the host.

Why the end of a schedule is part of it and no global: a host knows its step, and a component that
is given the step needs nothing else. Learning rates, epsilons and exponents all take them.
"""

from rlg.graph.components.schedules.factory import make_schedule

__all__ = ["make_schedule"]
