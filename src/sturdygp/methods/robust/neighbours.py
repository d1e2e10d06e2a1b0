"""Statistics of neighbouring observations: their differences, and clustering of outliers."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import Self

import numpy as np
from scipy.spatial import KDTree

from sturdygp._typing import BoolArray, FloatArray, IntArray
from sturdygp.gp.inputs import Extent
from sturdygp.inference.problem import Problem, in_memory
from sturdygp.inference.variational import sampled

# Standard deviations per median absolute difference of two normal observations.
NORMAL_DIFFERENCE = 1.4826 / sqrt(2.0)
# Least difference of neighbours, in robust scales of the targets, for which priors in that unit are meant.
TYPICAL_DIFFERENCE = 0.25
# Observations are dense if neighbours differ by less.
DENSE = 0.5
# With more than this fraction of equal neighbours, such as zeros at night, differences do not show the noise;
# unless nearly all are equal: then the observations are constant apart from outliers.
MANY_EQUAL, NEARLY_ALL = 0.2, 0.8
# Largest sample in which neighbours are sought.
MOST_NEIGHBOUR_ROWS = 2000


@dataclass(frozen=True)
class Neighbourhood:
    """Standard deviation of differences between neighbours, in robust scales of the targets."""

    difference: float

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Estimate it from the median difference; one where that does not show the noise."""
        few = sampled(problem, MOST_NEIGHBOUR_ROWS)
        if few.y.size < 2:
            return cls(1.0)
        between = np.abs(few.y - few.y[nearest(in_memory(few.X))])
        if problem.resolution == 0.0 and MANY_EQUAL < np.mean(between == 0.0) < NEARLY_ALL:
            return cls(1.0)
        return cls(max(NORMAL_DIFFERENCE * float(np.median(between)), problem.least_noise))

    @property
    def unit(self) -> float:
        """Unit for noise and outliers, in robust scales: one, or less if neighbours hardly differ.

        Where the function varies by much more than its noise, the scale of the targets does not show the
        noise.
        """
        return min(self.difference / TYPICAL_DIFFERENCE, 1.0)

    @property
    def dense(self) -> bool:
        """True if observations are dense enough to show fine structure of the function."""
        return self.difference < DENSE


def side_by_side(X: FloatArray, outlier: BoolArray) -> float:
    """Standard score of the number of outliers whose nearest neighbour is an outlier, against random places.

    Examples
    --------
    >>> x, rows = np.arange(80.0)[:, None], np.arange(80)
    >>> round(side_by_side(x, (rows >= 30) & (rows < 38))), round(side_by_side(x, rows % 10 == 0))
    (9, -1)
    """
    count, n = int(np.count_nonzero(outlier)), outlier.size
    if count in {0, n}:
        return 0.0
    chance = (count - 1) / (n - 1)
    pairs = np.count_nonzero(outlier[nearest(X)[outlier]])
    return (pairs - count * chance) / sqrt(max(count * chance * (1.0 - chance), 1.0 / n))


def nearest(X: FloatArray) -> IntArray:
    """Index of another row near each."""
    return around(X, 1)[:, 0]


def around(X: FloatArray, count: int) -> IntArray:
    """Indices of the nearest other rows, with inputs in units of their standard deviations."""
    std = Extent.of(X).std
    # Ties between equally near rows are broken by inputs, not by the order of rows.
    order = np.lexsort(X.T)
    scaled = X[order] / np.where(std > 0.0, std, 1.0)
    found = np.asarray(KDTree(scaled).query(scaled, k=count + 1)[1])
    own = found == np.arange(len(X))[:, None]
    # Of equal rows, others may come first.
    own[:, -1] |= ~own.any(axis=1)
    others = np.empty((len(X), count), dtype=order.dtype)
    others[order] = order[found[~own].reshape(len(X), count)]
    return others


# A variance below this is rounding: all observations are equally near.
ROUNDED_VARIANCE = 1e-12


def clustering(nearness: FloatArray, values: FloatArray) -> float:
    """Moran's I as a standard score: correlation of values between observations of large ``nearness``.

    Under independence mean and variance are those of Cliff and Ord (1981) for normal values. ``nearness`` is
    symmetric; its diagonal is ignored, and it is overwritten. The score is 0 where its sum is not positive.

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
    if variance < ROUNDED_VARIANCE:
        return 0.0
    index = n * float(deviation @ nearness @ deviation) / (total * scatter)
    return (index - expected) / sqrt(variance)
