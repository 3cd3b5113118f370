"""What keeps a process to one thread, in its environment, before it loads a framework."""

from __future__ import annotations

# torch and TensorFlow that share cores slow each other down.
ONE_THREAD = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "NUMBA_NUM_THREADS",
        "TF_NUM_INTRAOP_THREADS",
        "TF_NUM_INTEROP_THREADS",
    ),
    "1",
)
