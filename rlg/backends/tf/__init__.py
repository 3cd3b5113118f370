"""The TensorFlow backend: static graphs.

Why functions and sessions both: plans run fastest as concrete functions, but clusters need graphs
that sessions run, and a variable that was made eagerly can never enter one.
"""

import os

# TensorFlow greets with lines on the CPU's instructions unless it is told before its import.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
