"""The step in which readings come, where they are rounded."""

from __future__ import annotations

import numpy as np

from sturdygp._typing import FloatArray

# Readings are rounded if fewer than this share of them differ, and so many values or more stand repeatedly.
# Two will do if either is common.
DISTINCT, LEVELS, COMMON = 0.5, 3, 0.2
# The step is no larger than most distances between these values.
SMALL_GAPS = 0.25


def resolution(y: FloatArray) -> float:
    """The step of rounded readings; zero if they are not rounded.

    Examples
    --------
    >>> y = np.random.default_rng(0).normal(size=200)
    >>> resolution(y), round(resolution(np.round(y, 1)), 6)
    (0.0, 0.1)

    A constant with faults, even if these are alike, is not rounded:

    >>> resolution(np.repeat([37.0, -999.0, 41.0], [30, 3, 1]))
    0.0
    """
    values, counts = np.unique(y, return_counts=True)
    repeated, common = values[counts > 1], np.count_nonzero(counts > COMMON * y.size)
    if values.size >= DISTINCT * y.size or (repeated.size < LEVELS and common < 2):
        return 0.0
    return float(np.quantile(np.diff(repeated), SMALL_GAPS, method="lower"))
