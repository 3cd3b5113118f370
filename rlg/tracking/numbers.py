"""Numbers as valid JSON: floats in full (`repr`), not-a-number and infinities as strings.

Strings keep the three apart and away from "absent"; `float` and pandas read them back.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

NAMES = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


def plain(value: Any) -> Any:
    """Numpy scalars as Python's, floats that JSON lacks as their names; containers too."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    if isinstance(value, Mapping):
        return {key: plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    return value


def strict_json(value: Any, *, indent: int | None = None) -> str:
    """Sorted and valid: what `plain` didn't treat raises."""
    return json.dumps(value, sort_keys=True, allow_nan=False, indent=indent)
