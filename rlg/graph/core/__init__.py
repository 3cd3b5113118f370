"""The component graph: marks, components, assembly, build and plans.

Why three phases: composition and assembly need neither spaces nor a backend, so they are tested
without one; the build alone knows both. Why plans: once spaces are known nothing is left to
decide, so what runs is a straight line of graph functions.
"""
