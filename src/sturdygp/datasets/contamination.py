"""Ways to spoil clean data; the mask of what was changed always comes back.

A :class:`Contamination` is anything that turns clean data into :class:`Contaminated` data. Here are those
that draw each reading's fault by itself from a distribution; :mod:`sturdygp.datasets.faults` has the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sturdygp._typing import BoolArray, FloatArray


class Contaminated(NamedTuple):
    """Data after contamination; ``mask`` has the shape of ``y`` and is true where a reading is faulty."""

    X: FloatArray
    y: FloatArray
    mask: BoolArray


class Contamination(Protocol):
    """A way to spoil data: inputs of shape (n, d_x), readings of shape (n,) or (n, d_y)."""

    def contaminate(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Contaminated:
        """Spoil a copy of the data; what is not faulty stays as it is."""


class Outliers(Protocol):
    """A distribution of what is added to a contaminated reading."""

    @property
    def mean(self) -> float:
        """Mean of what is added."""

    @property
    def variance(self) -> float:
        """Variance of what is added."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws."""


@dataclass(frozen=True)
class UniformOutliers:
    """``U[low, high]``."""

    low: float
    high: float

    @property
    def mean(self) -> float:
        """Mean of what is added."""
        return 0.5 * (self.low + self.high)

    @property
    def variance(self) -> float:
        """Variance of what is added."""
        return (self.high - self.low) ** 2 / 12.0

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws."""
        return rng.uniform(self.low, self.high, shape)


@dataclass(frozen=True)
class NormalOutliers:
    """``N(mean, variance)``."""

    mean: float
    variance: float

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Independent draws."""
        return rng.normal(self.mean, np.sqrt(self.variance), shape)


def add_outliers(
    y: FloatArray, outliers: Outliers, *, rate: float, rng: np.random.Generator
) -> tuple[FloatArray, BoolArray]:
    """Add an outlier to each entry of ``y`` with probability ``rate``; return the result and the mask.

    What is drawn does not depend on ``rate``, so that a higher rate contaminates more of the same
    entries.
    """
    check_rate(rate)
    mask = rng.uniform(size=y.shape) < rate
    return y + np.where(mask, outliers.draw(rng, y.shape), 0.0), mask


@dataclass(frozen=True)
class AddedOutliers:
    """:func:`add_outliers` as a :class:`Contamination`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X, y = np.arange(4.0)[:, None], np.zeros(4)
    >>> AddedOutliers(UniformOutliers(5.0, 10.0), rate=0.5).contaminate(X, y, rng).mask
    array([False,  True,  True,  True])
    """

    outliers: Outliers
    rate: float

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def contaminate(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Contaminated:
        """Add an outlier to each reading with probability ``rate``."""
        check_readings(X, y)
        return Contaminated(X, *add_outliers(y, self.outliers, rate=self.rate, rng=rng))


@dataclass(frozen=True)
class ReplacingOutliers:
    """The outlier takes the place of the reading, so that a faulty reading tells nothing of the function.

    With one seed the same readings are faulty as with :class:`AddedOutliers`.
    """

    outliers: Outliers
    rate: float

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def contaminate(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Contaminated:
        """Put an outlier in the place of each reading with probability ``rate``."""
        check_readings(X, y)
        mask = rng.uniform(size=y.shape) < self.rate
        return Contaminated(X, np.where(mask, self.outliers.draw(rng, y.shape), y), mask)


def check_rate(rate: float) -> None:
    """Refuse what is not a probability."""
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate must be a probability, got {rate!r}")


def check_readings(X: FloatArray, y: FloatArray) -> None:
    """Refuse shapes that do not belong together, and readings whose spread cannot be computed."""
    if X.ndim != 2 or y.ndim not in (1, 2) or len(X) != len(y):
        raise ValueError(
            f"X must have shape (n, d_x) and y (n,) or (n, d_y) with the same n, got {X.shape} and {y.shape}"
        )
    missing = np.count_nonzero(~np.isfinite(y))
    if missing:
        raise ValueError(f"{missing} readings in y are not finite: drop them before contaminating")
