"""Ties: rows that are copies of others, and targets that are rounded.

Observations at the same inputs tell how large noise is by how much they differ. A row that was copied, as
when a file is appended to itself, looks like one that agrees exactly: any method then believes in a noise of
zero. Where targets are rounded, though, observations do agree by chance. Rows are copies if more agree than
chance explains.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Self

import numpy as np
from scipy.special import bdtrc, pdtrc

from sturdygp._typing import BoolArray, FloatArray, IntArray

# Rows are copies if chance would make as many agree in fewer than this share of data sets.
SIGNIFICANCE = 1e-3


# Probability that two observations at the same inputs agree, if noise is half of their rounding step. If it
# is larger, they agree less often; if it is smaller, they share their rounding error, and the second tells
# little.
AGREE = 0.5


# The same where some at the same inputs differ, by noise or a fault: how many agree is then worth knowing.
# This is noise of a quarter of the step, or one reading in eight faulty.
AGREE_BESIDE_OTHERS = 0.75


# A value in more than this share of the distinct rows, such as zeros at night, agrees with itself anywhere.
COMMON = 0.2


# Differences between targets below this share of the largest one are rounding errors of arithmetic.
ROUNDING = 8.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False)
class Repeats:
    """Which rows are observations of their own, and which of these each row stands for.

    ``kept`` marks the former; ``observation`` has a position among them for each row.

    Examples
    --------
    Ten observations; the first four stand there again:

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
        """Every row is an observation of its own."""
        return cls(np.ones(n, dtype=bool), np.arange(n))

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, *known: FloatArray) -> Self:
        """Find the copies among rows without missing entries.

        Rows that differ in what else is ``known`` of them are no copies. The first of some copies is kept: of
        a file that was appended to itself, the first one stays, in its order.
        """
        # Sorting numbers is cheap beside sorting rows.
        if np.unique(y).size == y.size:
            return cls.none(y.size)
        ties = Ties.of(X, y, *known)
        kept = ties.kept()
        if np.array_equal(kept, ties.multiplicity):
            return cls.none(y.size)
        # Rows that are the same are in their order; those that are kept take turns to stand for the others.
        start = np.repeat(ties.start, ties.multiplicity)
        rank, own = np.arange(y.size) - start, np.repeat(kept, ties.multiplicity)
        is_kept, stands_for = np.empty(y.size, dtype=bool), np.empty(y.size, dtype=np.intp)
        is_kept[ties.order] = rank < own
        stands_for[ties.order] = ties.order[start + rank % own]
        return cls(is_kept, (np.cumsum(is_kept) - 1)[stands_for])

    @property
    def count(self) -> int:
        """How many rows are copies."""
        return int(np.count_nonzero(~self.kept))


@dataclass(frozen=True, eq=False)
class Ties:
    """The distinct rows of a table, sorted by inputs and then by target.

    ``order`` sorts all rows; those equal to a distinct one begin at ``start`` there, and ``multiplicity`` is
    how many they are. Distinct rows with the same inputs are at the same ``place``.
    """

    order: IntArray
    start: IntArray
    multiplicity: IntArray
    place: IntArray
    value: FloatArray

    @classmethod
    def of(cls, X: FloatArray, y: FloatArray, *known: FloatArray) -> Self:
        """Sort the rows."""
        order = np.lexsort((*known, y, *X.T))
        new_place = changes(order, *X.T)
        new = new_place | changes(order, y, *known)
        start = np.flatnonzero(new)
        return cls(
            order=order,
            start=start,
            multiplicity=np.diff(start, append=y.size),
            place=(np.cumsum(new_place) - 1)[start],
            value=y[order][start],
        )

    def kept(self) -> IntArray:
        """How many rows of each distinct one are observations of their own."""
        times = int(np.gcd.reduce(self.multiplicity))
        if times > 1 and self._all_repeated():
            return self.multiplicity // times
        if self._copied_beside_others():
            return np.ones_like(self.multiplicity)
        unanimous = self._by_place(np.ones_like(self.place)) == 1
        if self._agree_too_often(unanimous):
            return np.where(unanimous[self.place], 1, self.multiplicity)
        return self.multiplicity

    def _all_repeated(self) -> bool:
        """Whether it is no chance that all distinct rows are there a multiple of some number of times.

        Where observations at the same inputs have several values, the multiplicity of each but the last is
        even by chance in about half of the cases. Where all agree, they do so with a probability of
        ``AGREE``.
        """
        distinct = self._by_place(~self._common)
        coins = np.maximum(distinct - 1, 1)[distinct > 0].sum()
        return bool(coins * log(AGREE) < log(SIGNIFICANCE))

    def _copied_beside_others(self) -> bool:
        """Whether rows are copies although others with the same inputs differ.

        Observations without noise agree at one value, that of the function, and faults differ from it. So
        only those that agree at another value count, if that is not found at other inputs, too. By chance two
        agree with a probability of about the rounding step over four standard deviations of the noise; the
        step is no larger than the least difference between targets.
        """
        distinct = self._by_place(np.ones_like(self.place))
        several = distinct[self.place] > 1
        if not several.any():
            return False
        first = np.cumsum(distinct) - distinct
        again = np.where(self._alone & several, self.multiplicity - 1, 0)
        beside = int(again.sum() - np.maximum.reduceat(again, first).sum())
        distance = np.abs(self.value - self.value[first + (distinct - 1) // 2][self.place])
        if beside == 0 or not distance.any():
            return False
        chance = AGREE * self._least_difference / float(np.median(distance[distance > 0.0]))
        rows = self._by_place(self.multiplicity)[distinct > 1].astype(np.float64)
        pairs = 0.5 * float((rows * (rows - 1.0)).sum())
        return bool(pdtrc(beside - 1, pairs * min(chance, 1.0)) < SIGNIFICANCE)

    def _agree_too_often(self, unanimous: BoolArray) -> bool:
        """Whether it is no chance that at so many places all rows agree.

        If they do at all places, how often values are found at several ones tells what chance does.
        """
        n = self.value.size
        repeated = self._by_place(self.multiplicity) > 1
        chance = AGREE_BESIDE_OTHERS
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
        """In how many distinct rows each value is found."""
        _, inverse, counts = np.unique(self.value, return_inverse=True, return_counts=True)
        return np.asarray(counts[inverse])

    @property
    def _alone(self) -> BoolArray:
        """Whether the value of a distinct row is found in no other."""
        return np.asarray(self._frequency == 1)

    @property
    def _common(self) -> BoolArray:
        """Whether the value of a distinct row is found in many."""
        return np.asarray(self._frequency > max(COMMON * self.value.size, 1.0))

    @property
    def _least_difference(self) -> float:
        """The least difference between targets, which is no less than the step to which they are rounded."""
        differences = np.diff(np.unique(self.value))
        return float(differences[differences > ROUNDING * np.abs(self.value).max()].min())


def changes(order: IntArray, *columns: FloatArray) -> BoolArray:
    """Which of the sorted rows differs from the one before in any of the columns; the first one does."""
    differs = np.ones(order.size, dtype=bool)
    differs[1:] = np.any([column[order[1:]] != column[order[:-1]] for column in columns], axis=0)
    return differs


# Readings are rounded if fewer than this share of them differ, and so many values or more stand repeatedly.
# Two will do if either is common.
DISTINCT, LEVELS, COMMON_LEVEL = 0.5, 3, 0.2


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
    repeated, common = values[counts > 1], np.count_nonzero(counts > COMMON_LEVEL * y.size)
    if values.size >= DISTINCT * y.size or (repeated.size < LEVELS and common < 2):
        return 0.0
    return float(np.quantile(np.diff(repeated), SMALL_GAPS, method="lower"))
