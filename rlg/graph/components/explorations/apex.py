"""How much each of many actors explores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from rlg.errors import ComponentError


def apex_epsilons(
    num_workers: int, epsilon: float = 0.4, alpha: float = 7.0
) -> NDArray[np.float32]:
    """epsilon^(1 + alpha * i / (N - 1)) for worker i of N: Horgan et al. (2018), section 4.1.

    float32 [N], for the `epsilon` of EpsilonGreedy; a single worker has `epsilon` itself.
    """
    if num_workers < 1 or not 0.0 <= epsilon <= 1.0 or alpha < 0.0:
        raise ComponentError(
            f"apex_epsilons: num_workers is {num_workers}, epsilon {epsilon} and alpha {alpha}; "
            "give one worker or more, an epsilon from 0 to 1, and an alpha that is not negative."
        )
    share = np.arange(num_workers) / max(num_workers - 1, 1)
    return np.power(epsilon, 1.0 + alpha * share).astype(np.float32)
