"""What neighbouring observations tell: how small noise may be, and whether outliers lie together."""

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

# Standard deviations to a median absolute difference of two normal observations.
NORMAL_DIFFERENCE = 1.4826 / sqrt(2.0)
# What priors in robust scales of the targets are made for: neighbours that differ by this many, or more.
TYPICAL = 0.25
# Observations are dense if neighbours differ by less.
DENSE = 0.5
# Equal neighbours, such as zeros at night, say nothing of the noise of others if they are more than this
# share; unless nearly all are: then the observations are constant but for outliers.
MANY_EQUAL, NEARLY_ALL = 0.2, 0.8
# Rows among which neighbours are sought.
MOST_ROWS = 2000


@dataclass(frozen=True)
class Neighbourhood:
    """By how much observations beside each other differ: a standard deviation, in scales of all targets."""

    difference: float

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """The median, and no less than the noise that observations can show; one where that tells nothing."""
        few = sampled(problem, MOST_ROWS)
        if few.y.size < 2:
            return cls(1.0)
        between = np.abs(few.y - few.y[nearest(in_memory(few.X))])
        if problem.resolution == 0.0 and MANY_EQUAL < np.mean(between == 0.0) < NEARLY_ALL:
            return cls(1.0)
        return cls(max(NORMAL_DIFFERENCE * float(np.median(between)), problem.least_noise))

    @property
    def unit(self) -> float:
        """The unit for noise and outliers, in robust scales: one, or less if neighbours hardly differ.

        Where the function varies by much more than its noise, the scale of the targets says little of that.
        """
        return min(self.difference / TYPICAL, 1.0)

    @property
    def dense(self) -> bool:
        """Whether observations are dense enough to show a function that is fine."""
        return self.difference < DENSE


def side_by_side(X: FloatArray, outlier: BoolArray) -> float:
    """How many outliers have a outlier beside them: a standard score, to judge by outliers at random places.

    Examples
    --------
    >>> x, rows = np.arange(80.0)[:, None], np.arange(80)
    >>> round(side_by_side(x, (rows >= 30) & (rows < 38))), round(side_by_side(x, rows % 10 == 0))
    (9, -1)
    """
    count, n = int(np.count_nonzero(outlier)), outlier.size
    if count in {0, n}:
        return 0.0
    share = (count - 1) / (n - 1)
    beside = np.count_nonzero(outlier[nearest(X)[outlier]])
    return (beside - count * share) / sqrt(max(count * share * (1.0 - share), 1.0 / n))


def nearest(X: FloatArray) -> IntArray:
    """Index of another row near each."""
    return around(X, 1)[:, 0]


def around(X: FloatArray, count: int) -> IntArray:
    """Indices of so many other rows near each, inputs being counted in units of their spread."""
    spread = Extent.of(X).std
    # Which of two that are equally near comes first is told by their inputs, not by their places.
    order = np.lexsort(X.T)
    scaled = X[order] / np.where(spread > 0.0, spread, 1.0)
    found = np.asarray(KDTree(scaled).query(scaled, k=count + 1)[1])
    own = found == np.arange(len(X))[:, None]
    # Of rows that are the same, others may come first.
    own[:, -1] |= ~own.any(axis=1)
    others = np.empty((len(X), count), dtype=order.dtype)
    others[order] = order[found[~own].reshape(len(X), count)]
    return others


# A variance below this is rounding: all observations are equally near.
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
