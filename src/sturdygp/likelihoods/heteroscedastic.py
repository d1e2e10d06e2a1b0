"""Heteroscedastic noise: a variance function of an input, or of the function value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.inputs import Inputs, gather, joined

# Knots of the map from values to ranks, and coefficients of a variance function: slope and curve.
KNOTS, BENDS = 65, 2


# Fraction of the largest variance that noise has everywhere: exact observations, where a machine is off or a
# scale ends, must not bend the variance function of all others.
LEAST_RELATIVE_VARIANCE = 1e-4


# Noise is called largest in the middle if its variance there is so many times that at either end.
LARGER_IN_MIDDLE = 1.2


@dataclass(frozen=True, eq=False)
class Ranks:
    """Map from values to their ranks among those of the fit, from -1 to 1; others are clipped to these."""

    values: FloatArray
    ranks: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Rank values; equal ones share the middle of their ranks.

        Examples
        --------
        >>> Ranks.of(np.array([3.0, 1.0, 100.0, 1.0])).ranks
        array([-0.5 ,  0.25,  0.75])
        """
        distinct, counts = np.unique(values, return_counts=True)
        ranks = (2.0 * np.cumsum(counts) - counts) / values.size - 1.0
        if distinct.size <= KNOTS:
            return cls(distinct, ranks)
        even = np.linspace(ranks[0], ranks[-1], KNOTS)
        return cls(np.interp(even, ranks, distinct), even)

    def __call__(self, values: FloatArray) -> FloatArray:
        """Interpolate the ranks of any values."""
        return np.interp(values, self.values, self.ranks)


def bends(rank: FloatArray) -> FloatArray:
    """Legendre polynomials of degree 1 and 2, in ``BENDS`` rows; they average to zero over all ranks."""
    return np.stack([rank, 1.5 * rank**2 - 0.5])


@dataclass(frozen=True, eq=False)
class VarianceFunction:
    """Variance of inliers relative to its average: its logarithm is a parabola in a rank.

    The rank is that of the input ``along``, or of the function value if that is None. ``bend`` holds the
    coefficients of the two polynomials of :func:`bends`. The relative variance is at least ``least``.
    """

    along: int | None
    ranks: Ranks
    bend: FloatArray
    least: float = 0.0

    def words(self, inputs: Sequence[str]) -> str:
        """Say where the noise is largest, with the names of the inputs."""
        ends, middle = self.at(bends(np.array([-1.0, 1.0]))), self.at(bends(np.zeros(1)))
        where = (
            "in the middle"
            if middle > LARGER_IN_MIDDLE * ends.max()
            else ("low", "high")[int(np.argmax(ends))]
        )
        what = "the function" if self.along is None else inputs[self.along]
        return f"most where {what} is {where}"

    def relative(self, X: Inputs, mean: FloatArray) -> FloatArray:
        """Relative variance at inputs where the function has this mean."""
        where = mean if self.along is None else input_at(X, self.along)
        return self.at(bends(self.ranks(where)))

    def at(self, design: FloatArray) -> FloatArray:
        """Relative variance for the polynomials of :func:`bends` at some ranks."""
        return np.maximum(np.exp(self.bend @ design), self.least)


def input_at(X: Inputs, index: int) -> FloatArray:
    """One input of all rows, in memory or chunked."""
    return gather(X, itemgetter((slice(None), index)), joined)
