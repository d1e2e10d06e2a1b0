"""Noise that has bounds: how much better that describes nominal readings than normal noise.

Faults of flat shape describe it too. Without this, uniform noise around a small function passes for a great
many faults, beside a few readings that agree by chance.
"""

from __future__ import annotations

from collections.abc import Callable
from math import log, sqrt

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, TINY

# Noise is looked at if its kurtosis is below this: that of a normal distribution is 3, of a uniform one 1.8.
LIGHT_TAILED = 2.4
# Where the bounds may be, in standard deviations of residuals; and the variance of normal noise, in theirs.
BOUNDS, VARIANCES = (1.0, 3.0), (0.1, 2.0)
# Standard deviations of the function that are smaller, in those of residuals, are as good as none.
KNOWN = 1e-6
# Logarithms of probabilities that differ by less are told apart no more.
ALIKE = 1e-12


def bounded_gain(y: FloatArray, others: Marginals, nominal: FloatArray) -> float:
    """Log density of nominal readings around what the others say of the function: uniform noise over normal.

    Less a log of their number: bounds are no more than a guess. Zero if they gain nothing.
    """
    squared, share = (y - others.mean) ** 2, nominal / nominal.sum()
    level = float(share @ squared)
    if not TINY < level < np.inf or float(share @ squared**2) > LIGHT_TAILED * level**2:
        return 0.0
    distance, widest = np.sqrt(squared), sqrt(level)
    # A kernel may know the function at some inputs.
    deviation = np.maximum(np.sqrt(others.variance), KNOWN * widest)

    def uniform(bound: float) -> float:
        above, below = log_ndtr((bound - distance) / deviation), log_ndtr((-bound - distance) / deviation)
        between = above + np.log1p(-np.exp(np.minimum(below - above, -ALIKE)))
        return float(nominal @ (between - log(2.0 * bound)))

    def normal(noise: float) -> float:
        variance = others.variance + noise
        return -0.5 * float(nominal @ (LOG_2PI + np.log(variance) + squared / variance))

    gain = highest(uniform, BOUNDS, widest) - highest(normal, VARIANCES, level)
    return max(gain - log(y.size), 0.0)


def highest(density: Callable[[float], float], within: tuple[float, float], unit: float) -> float:
    """The largest log density within these bounds, in a unit."""
    low, high = within
    found = minimize_scalar(lambda x: -density(x), method="bounded", bounds=(low * unit, high * unit))
    return -float(found.fun)
