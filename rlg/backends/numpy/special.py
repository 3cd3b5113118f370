"""Special functions that NumPy lacks, so that rlg needs no SciPy: accurate, not fast."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

# B(2k) / 2k of the asymptotic series ln x - 1/2x - sum B(2k) / (2k x^2k), k = 1, 2, ...
_DIGAMMA_SERIES = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)
_DIGAMMA_LARGE = 8.0


def _lgamma(x: float) -> float:
    return math.inf if x <= 0 and x == math.floor(x) else math.lgamma(x)


_erf_loop = np.vectorize(math.erf, otypes=[np.float64])
_lgamma_loop = np.vectorize(_lgamma, otypes=[np.float64])


def erf(x: NDArray[Any]) -> NDArray[Any]:
    """The error function."""
    return np.asarray(_erf_loop(x), dtype=x.dtype)


def lgamma(x: NDArray[Any]) -> NDArray[Any]:
    """The logarithm of |gamma(x)|."""
    return np.asarray(_lgamma_loop(x), dtype=x.dtype)


def digamma(x: NDArray[Any]) -> NDArray[Any]:
    """The derivative of log gamma for x > 0, NaN elsewhere.

    digamma(x) = digamma(x + 1) - 1 / x moves x up to where the series holds.
    """
    large = np.where(x > 0, x, np.nan).astype(np.float64)
    result = np.zeros_like(large)
    while (small := large < _DIGAMMA_LARGE).any():
        result -= np.divide(1.0, large, out=np.zeros_like(large), where=small)
        large += small
    inverse_square = 1.0 / (large * large)
    series = np.zeros_like(large)
    for coefficient in reversed(_DIGAMMA_SERIES):
        series = inverse_square * (coefficient + series)
    return np.asarray(result + np.log(large) - 0.5 / large - series, dtype=x.dtype)
