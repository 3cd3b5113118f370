"""The TensorFlow backend: static graphs.

Why functions and sessions both: plans run fastest as concrete functions, but clusters need graphs
that sessions run, and a variable that was made eagerly can never enter one.
"""

import os
import re

from rlg.backends.quiet import without_lines

# TensorFlow greets with lines on the CPU's instructions unless it is told before its import; some
# it writes in any case, before its logging has begun. What it calls errors there is advice (that
# oneDNN has no kernel for some integers, say): what fails is raised in Python too.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
_GREETINGS = rb"WARNING: All log messages before absl|I0000 |To enable the following instructions"
with without_lines(re.compile(_GREETINGS)):
    import tensorflow as tf  # noqa: F401
