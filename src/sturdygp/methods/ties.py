"""Ties: rows that are copies of others, and targets that are rounded.

Observations at the same inputs show the noise by their differences. A row that was copied, as when a file is
appended to itself, is like one that agrees exactly: any method then infers a noise of zero. Where targets are
rounded, though, observations do agree by chance. Rows are copies if more agree than chance explains.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Self

import numpy as np
from scipy.special import bdtrc, pdtrc

from sturdygp._typing import BoolArray, FloatArray, IntArray

# Rows are copies if chance would make as many agree in fewer than this fraction of data sets.
SIGNIFICANCE = 1e-3


# Probability that two observations at the same inputs agree, if noise is half of their rounding step. If it
# is larger, they agree less often; if it is smaller, they have a common rounding error, and the
# second carries little information.
AGREE = 0.5


# That probability where others at the same inputs differ, by noise or as outliers: for noise of a quarter of
# the step, or one outlier in eight observations.
AGREE_AMONG_DIFFERING = 0.75


# A value in more than this fraction of the distinct rows, such as zeros at night, recurs at any input.
COMMON_VALUE = 0.2


# Differences between targets below this fraction of the largest are rounding errors of arithmetic.
ARITHMETIC_ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Repeats:
    """Partition of rows into distinct observations and copies of these.

    ``kept`` marks the rows that are observations; ``observation`` maps each row to its position among them.

    Examples
    --------
    Ten observations, of which the first four are repeated:

    >>> rows = np.concatenate([np.arange(10), np.arange(4)])
    >>> repeats = Repeats.of(rows[:, None].astype(float), np.sin(rows))
    >>> repeats.count, repeats.observation.tolist()
    (4, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2, 3])

    Rounded observations at the same inputs agree by chance:

    >>> dose, noise = np.repeat(np.arange(12.0), 4), np.random.default_rng(0).normal(size=48)
    >>> Repeats.of(dose[:, None], np.round(np.sqrt(dose) + 0.1 * noise, 1)).count
    0
    """

    kept: BoolArray
    observation: IntArray

    @classmethod
    def none(cls, n: int) -> Self:
        """Take every row for an observation of its own."""
        return cls(np.ones(n, dtype=bool), np.arange(n))

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, *known: FloatArray) -> Self:
        """Find the copies among rows without missing entries.

        Rows that differ in a ``known`` column are no copies. The first of several copies is kept: of a file
        that was appended to itself, the first half stays, in its order.
        """
        # Sorting numbers is much cheaper than sorting rows.
        if np.unique(y).size == y.size:
            return cls.none(y.size)
        ties = Ties.of(X, y, *known)
        kept = ties.kept()
        if np.array_equal(kept, ties.multiplicity):
            return cls.none(y.size)
        # Equal rows are in their original order; copies are assigned to the kept ones in turn.
        begin = np.repeat(ties.first, ties.multiplicity)
        rank, own = np.arange(y.size) - begin, np.repeat(kept, ties.multiplicity)
        is_kept, stands_for = np.empty(y.size, dtype=bool), np.empty(y.size, dtype=np.intp)
        is_kept[ties.order] = rank < own
        stands_for[ties.order] = ties.order[begin + rank % own]
        return cls(is_kept, (np.cumsum(is_kept) - 1)[stands_for])

    @property
    def count(self) -> int:
        """How many rows are copies."""
        return int(np.count_nonzero(~self.kept))


@dataclass(frozen=True, eq=False)
class Ties:
    """The distinct rows of a table, sorted by inputs and then by target.

    ``order`` sorts all rows; those equal to a distinct one begin at ``first`` there, and ``multiplicity`` is
    how many they are. Distinct rows with the same inputs are at the same ``place``.
    """

    order: IntArray
    first: IntArray
    multiplicity: IntArray
    place: IntArray
    value: FloatArray

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, *known: FloatArray) -> Self:
        """Sort the rows."""
        order = np.lexsort((*known, y, *X.T))
        new_place = changes(order, *X.T)
        new = new_place | changes(order, y, *known)
        first = np.flatnonzero(new)
        return cls(
            order=order,
            first=first,
            multiplicity=np.diff(first, append=y.size),
            place=(np.cumsum(new_place) - 1)[first],
            value=y[order][first],
        )

    def kept(self) -> IntArray:
        """Number of observations among the rows equal to each distinct one."""
        times = int(np.gcd.reduce(self.multiplicity))
        if times > 1 and self._all_repeated():
            return self.multiplicity // times
        if self._copied_among_differing():
            return np.ones_like(self.multiplicity)
        unanimous = self._by_place(np.ones_like(self.place)) == 1
        if self._agree_too_often(unanimous):
            return np.where(unanimous[self.place], 1, self.multiplicity)
        return self.multiplicity

    def _all_repeated(self) -> bool:
        """Test whether the common divisor of all multiplicities is more than chance.

        Where observations at the same inputs have several values, the multiplicity of each but the last is
        even by chance in about half of the cases. Where all agree, they do so with probability ``AGREE``.
        """
        distinct = self._by_place(~self._common)
        coins = np.maximum(distinct - 1, 1)[distinct > 0].sum()
        return bool(coins * log(AGREE) < log(SIGNIFICANCE))

    def _copied_among_differing(self) -> bool:
        """Test whether rows are copies although others with the same inputs differ.

        Observations without noise agree at one value, that of the function, from which outliers differ. Hence
        only those that agree at another value count, unless it recurs at other inputs. By chance two agree
        with a probability of about the rounding step over four standard deviations of the noise; the step is
        no larger than the least difference between targets.
        """
        distinct = self._by_place(np.ones_like(self.place))
        several = distinct[self.place] > 1
        if not several.any():
            return False
        first = np.cumsum(distinct) - distinct
        again = np.where(self._alone & several, self.multiplicity - 1, 0)
        differing_copies = int(again.sum() - np.maximum.reduceat(again, first).sum())
        distance = np.abs(self.value - self.value[first + (distinct - 1) // 2][self.place])
        if differing_copies == 0 or not distance.any():
            return False
        chance = AGREE * self._least_difference / float(np.median(distance[distance > 0.0]))
        rows = self._by_place(self.multiplicity)[distinct > 1].astype(np.float64)
        pairs = 0.5 * float((rows * (rows - 1.0)).sum())
        return bool(pdtrc(differing_copies - 1, pairs * min(chance, 1.0)) < SIGNIFICANCE)

    def _agree_too_often(self, unanimous: BoolArray) -> bool:
        """Test whether the number of places at which all rows agree is more than chance.

        If they agree at all places, the chance is estimated from how often values recur at several places.
        """
        n = self.value.size
        repeated = self._by_place(self.multiplicity) > 1
        chance = AGREE_AMONG_DIFFERING
        if unanimous[repeated].all():
            likely = max(AGREE, float(self._frequency.max()) / n)
            chance = min((np.count_nonzero(~self._alone) + 1.0) / (n + 2.0), likely)
        else:
            repeated &= self._by_place(~self._common) > 0
        agree, all_ = np.count_nonzero(repeated & unanimous), np.count_nonzero(repeated)
        return bool(agree > 0 and bdtrc(agree - 1, all_, chance) < SIGNIFICANCE)

    def _by_place(self, values: IntArray | BoolArray) -> IntArray:
        """Sums over distinct rows with the same inputs."""
        return np.bincount(self.place, weights=values).astype(np.intp)

    @property
    def _frequency(self) -> IntArray:
        """Number of distinct rows with each value."""
        _, inverse, counts = np.unique(self.value, return_inverse=True, return_counts=True)
        return np.asarray(counts[inverse])

    @property
    def _alone(self) -> BoolArray:
        """True where the value of a distinct row is found in no other."""
        return np.asarray(self._frequency == 1)

    @property
    def _common(self) -> BoolArray:
        """True where the value of a distinct row is found in many."""
        return np.asarray(self._frequency > max(COMMON_VALUE * self.value.size, 1.0))

    @property
    def _least_difference(self) -> float:
        """Least difference between targets, which is at least their rounding step."""
        differences = np.diff(np.unique(self.value))
        return float(differences[differences > ARITHMETIC_ROUNDING * np.abs(self.value).max()].min())


def changes(order: IntArray, *columns: FloatArray) -> BoolArray:
    """Mark sorted rows that differ from the row before in any column; the first one does."""
    differs = np.ones(order.size, dtype=bool)
    differs[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    return differs


# Observations are rounded if fewer than this fraction are distinct, and so many values or more recur; two
# recurring values suffice if both are this common.
DISTINCT, RECURRING_VALUES, COMMON_ROUNDED = 0.5, 3, 0.2


# Quantile of the gaps between recurring values that is taken for the step.
STEP_QUANTILE = 0.25


def resolution(y: FloatArray) -> float:
    """Rounding step of observations; zero if they are not rounded.

    Examples
    --------
    >>> y = np.random.default_rng(0).normal(size=200)
    >>> resolution(y), round(resolution(np.round(y, 1)), 6)
    (0.0, 0.1)

    A constant with outliers, even equal ones, is not rounded:

    >>> resolution(np.repeat([37.0, -999.0, 41.0], [30, 3, 1]))
    0.0
    """
    values, counts = np.unique(y, return_counts=True)
    repeated, common = values[counts > 1], np.count_nonzero(counts > COMMON_ROUNDED * y.size)
    if values.size >= DISTINCT * y.size or (repeated.size < RECURRING_VALUES and common < 2):
        return 0.0
    return float(np.quantile(np.diff(repeated), STEP_QUANTILE, method="lower"))
