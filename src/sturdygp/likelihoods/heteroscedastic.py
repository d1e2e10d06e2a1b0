"""Heteroscedastic noise: a variance function of an input, or of the function value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.inputs import Inputs, gather, joined

# Places that are kept of a profile, and its coefficients.
KNOTS, BENDS = 65, 2


# The share of the largest variance that noise has everywhere: readings that are exact, where a machine is off
# or a scale ends, must not bend the noise of all others.
LEAST_SHARE = 1e-4


# Noise is said to be largest in the middle if its variance there is so many times that at either end.
CLEARLY = 1.2


@dataclass(frozen=True, eq=False)
class Ranks:
    """Where values stand among others, from -1 to 1, in whatever unit they come; none is beyond these."""

    values: FloatArray
    ranks: FloatArray

    @classmethod
    def of(cls, values: FloatArray) -> Self:
        """Equal values share the middle of their ranks.

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
        """Ranks of any values."""
        return np.interp(values, self.values, self.ranks)


def bends(rank: FloatArray) -> FloatArray:
    """A slope and a curve that average to zero over all ranks, in ``BENDS`` rows: Legendre polynomials."""
    return np.stack([rank, 1.5 * rank**2 - 0.5])


@dataclass(frozen=True, eq=False)
class NoiseProfile:
    """The logarithm of the nominal variance, relative to its average, is a parabola in the rank of something.

    That is the input ``along``, or the level of the function if there is none. The variance is nowhere less
    than a share ``least`` of the average one.
    """

    along: int | None
    ranks: Ranks
    bend: FloatArray
    least: float = 0.0

    def words(self, inputs: Sequence[str]) -> str:
        """Where the noise is largest, with the names of the inputs."""
        ends, middle = self.at(bends(np.array([-1.0, 1.0]))), self.at(bends(np.zeros(1)))
        where = "in the middle" if middle > CLEARLY * ends.max() else ("low", "high")[int(np.argmax(ends))]
        what = "the function" if self.along is None else inputs[self.along]
        return f"most where {what} is {where}"

    def relative(self, X: Inputs, mean: FloatArray) -> FloatArray:
        """The nominal variance, relative to the average, at inputs where the function has this mean."""
        where = mean if self.along is None else input_at(X, self.along)
        return self.at(bends(self.ranks(where)))

    def at(self, design: FloatArray) -> FloatArray:
        """The same for slopes and curves of ranks."""
        return np.maximum(np.exp(self.bend @ design), self.least)


def input_at(X: Inputs, index: int) -> FloatArray:
    """One input of all rows, wherever they are."""
    return gather(X, itemgetter((slice(None), index)), joined)
