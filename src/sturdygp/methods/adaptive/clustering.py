"""Whether faults lie together: noise that is not the same everywhere looks like contamination somewhere."""

from __future__ import annotations

from math import sqrt

import numpy as np

from sturdygp._typing import FloatArray

# A variance below this is rounding: all readings are equally near.
ROUNDING = 1e-12


def clustering(nearness: FloatArray, values: FloatArray) -> float:
    """Moran's I as a standard score: how far values are alike where ``nearness`` is large.

    Under independence mean and variance are those of Cliff and Ord (1981) for normal values. ``nearness``
    is symmetric, and its diagonal plays no part; it is overwritten. No score where it is not mostly positive.

    Examples
    --------
    >>> x = np.arange(40.0)
    >>> near = np.exp(-(np.subtract.outer(x, x) ** 2) / 18)
    >>> round(clustering(near.copy(), x > 20)), round(clustering(near.copy(), x % 2))
    (14, -2)
    """
    n = values.size
    np.fill_diagonal(nearness, 0.0)
    deviation = values - values.mean()
    total, scatter = float(nearness.sum()), float(deviation @ deviation)
    if total <= 0.0 or scatter == 0.0:
        return 0.0
    expected = -1.0 / (n - 1)
    pairs = 2.0 * float(np.vdot(nearness, nearness))
    rows = 4.0 * float((nearness.sum(axis=1) ** 2).sum())
    variance = (n**2 * pairs - n * rows + 3.0 * total**2) / ((n**2 - 1) * total**2) - expected**2
    if variance < ROUNDING:
        return 0.0
    index = n * float(deviation @ nearness @ deviation) / (total * scatter)
    return (index - expected) / sqrt(variance)
