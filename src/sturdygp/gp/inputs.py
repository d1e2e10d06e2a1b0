"""Inputs in memory or chunked, and what is computed from them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from functools import reduce
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from sturdygp._typing import BoolArray, FloatArray

T = TypeVar("T")


# A range more than this many times that without a few rows at either end is due to these few: one in a
# hundred, at least one, of at least so many rows.
STRETCHED, EXTREME_ONE_IN, LEAST_ROWS = 3.0, 100, 20


# Rows in a sample whose pairwise distances are computed.
SOME_ROWS = 2000


# Work on the inputs of a block and on the same rows of other arrays; and how results of blocks are joined.
Work: TypeAlias = Callable[..., T]


Merge: TypeAlias = Callable[[Iterable[T]], T]


class Rows(ABC):
    """A table of inputs in blocks of rows, of which only what is needed comes into memory."""

    shape: tuple[int, int]

    def __len__(self) -> int:
        """Return the number of rows."""
        return self.shape[0]

    @abstractmethod
    def gather(self, work: Work[T], merge: Merge[T], *by_row: FloatArray) -> T:
        """Work on each block with its part of the arrays, where the block is; then join the results."""

    @abstractmethod
    def where(self, kept: BoolArray) -> Rows:
        """Select some of the rows."""

    @abstractmethod
    def __getitem__(self, rows: NDArray[Any]) -> FloatArray:
        """Load some rows, by number."""


Inputs: TypeAlias = FloatArray | Rows


def gather(X: Inputs, work: Work[T], merge: Merge[T]) -> T:
    """Work on all rows: at once if they are an array."""
    return X.gather(work, merge) if isinstance(X, Rows) else work(X)


def where(X: Inputs, kept: BoolArray) -> Inputs:
    """Select some of the rows, in memory or chunked."""
    return X.where(kept) if isinstance(X, Rows) else X[kept]


@dataclass(frozen=True, eq=False)
class Block:
    """Results for some rows: fields with a value for each row are concatenated, all others add up."""

    BY_ROW: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def joined(cls, parts: Iterable[Self]) -> Self:
        """Join the results of all blocks; sums are added as they come, so that one at a time is in memory."""
        sums: dict[str, Any] = {}
        rows: dict[str, list[FloatArray]] = {name: [] for name in cls.BY_ROW}
        for part in parts:
            for name in (each.name for each in fields(cls)):
                value = getattr(part, name)
                if name in rows:
                    rows[name].append(value)
                else:
                    sums[name] = sums[name] + value if name in sums else value
        return cls(**sums, **{name: np.concatenate(values) for name, values in rows.items()})


def joined(parts: Iterable[FloatArray]) -> FloatArray:
    """Concatenate blocks."""
    return np.concatenate(list(parts))


def total(parts: Iterable[FloatArray]) -> FloatArray:
    """Add up blocks."""
    return reduce(np.add, parts)


@dataclass(frozen=True, eq=False)
class ColumnMoments:
    """Count, range, mean and sum of squared deviations of each column."""

    count: int
    low: FloatArray
    high: FloatArray
    mean: FloatArray
    scatter: FloatArray

    @classmethod
    def of(cls, X: Inputs) -> Self:
        """Compute them over all rows."""
        return gather(X, cls._of_array, cls._of_parts)

    @property
    def range(self) -> FloatArray:
        """Largest value less the smallest, of each column."""
        return self.high - self.low

    @property
    def std(self) -> FloatArray:
        """Standard deviation of each column."""
        return np.sqrt(self.scatter / self.count)

    @classmethod
    def _of_array(cls, X: FloatArray) -> Self:
        mean = X.mean(axis=0)
        return cls(len(X), X.min(axis=0), X.max(axis=0), mean, ((X - mean) ** 2).sum(axis=0))

    @classmethod
    def _of_parts(cls, parts: Iterable[Self]) -> Self:
        return reduce(cls._with, parts)

    def _with(self, other: Self) -> Self:
        count = self.count + other.count
        apart = other.mean - self.mean
        return type(self)(
            count,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.mean + apart * other.count / count,
            self.scatter + other.scatter + apart**2 * self.count * other.count / count,
        )


@dataclass(frozen=True, eq=False)
class Extent:
    """Range and standard deviation of each column, without a few rows far from all others.

    A clock that was reset, or a fill value, in one row would otherwise stretch a column. ``reach`` is the
    largest less the smallest of all rows.
    """

    range: FloatArray
    std: FloatArray
    reach: FloatArray

    @classmethod
    def of(cls, X: Inputs) -> Self:
        """Compute them, without the extreme rows of columns whose range these stretch."""
        moments, some = ColumnMoments.of(X), np.sort(evenly_spaced(X), axis=0)
        few = max(len(some) // EXTREME_ONE_IN, 1) if len(some) >= LEAST_ROWS else 0
        low, high = some[few], some[-1 - few]
        stretched = (high > low) & (moments.range > STRETCHED * (high - low))
        return cls(
            np.where(stretched, high - low, moments.range),
            np.where(stretched, np.clip(some, low, high).std(axis=0), moments.std),
            moments.range,
        )


def evenly_spaced(X: Inputs) -> FloatArray:
    """Select evenly spaced rows if there are many."""
    return np.asarray(X[np.linspace(0, len(X) - 1, min(len(X), SOME_ROWS)).astype(int)])
