"""Contamination of clean data with outliers whose places are known.

A :class:`Contamination` turns clean data into :class:`Contaminated` data and marks what it changed. Two kinds
are here:

- :class:`AddedOutliers` and :class:`ReplacingOutliers` contaminate each observation independently, with a
  given probability, and draw the outlier from a distribution.
- The others contaminate a fixed fraction of the observations. They are the contaminations of published
  benchmarks and the faults of real sensors. Places are drawn without replacement, so the fraction is exact up
  to rounding down. Sizes are in standard deviations of the observations, output by output. Except for the
  places of runs, the random numbers do not depend on ``rate``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from sturdygp._typing import BoolArray, FloatArray


class Contaminated(NamedTuple):
    """Data after contamination; ``mask`` has the shape of ``y`` and is true at outliers."""

    X: FloatArray
    y: FloatArray
    mask: BoolArray


class Contamination(Protocol):
    """Contamination of inputs of shape (n, d_x) and observations of shape (n,) or (n, d_y)."""

    def contaminate(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Contaminated:
        """Contaminate a copy of the data; inliers stay as they are."""


class Outliers(Protocol):
    """Distribution of the number that is added to a contaminated observation."""

    @property
    def mean(self) -> float:
        """Mean of the distribution."""

    @property
    def variance(self) -> float:
        """Variance of the distribution."""

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Draw independent numbers."""


@dataclass(frozen=True)
class UniformOutliers:
    """``U[low, high]``."""

    low: float
    high: float

    @property
    def mean(self) -> float:
        """Mean of the distribution."""
        return 0.5 * (self.low + self.high)

    @property
    def variance(self) -> float:
        """Variance of the distribution."""
        return (self.high - self.low) ** 2 / 12.0

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Draw independent numbers."""
        return rng.uniform(self.low, self.high, shape)


@dataclass(frozen=True)
class NormalOutliers:
    """``N(mean, variance)``."""

    mean: float
    variance: float

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> FloatArray:
        """Draw independent numbers."""
        return rng.normal(self.mean, np.sqrt(self.variance), shape)


# ------------------------------------------------------------- each observation with a probability


def add_outliers(
    y: FloatArray, outliers: Outliers, *, rate: float, rng: np.random.Generator
) -> tuple[FloatArray, BoolArray]:
    """Add an outlier to each entry of ``y`` with probability ``rate``; return the result and the mask.

    The random numbers do not depend on ``rate``. A higher rate therefore contaminates more of the same
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
        """Add an outlier to each observation with probability ``rate``."""
        check_observations(X, y)
        return Contaminated(X, *add_outliers(y, self.outliers, rate=self.rate, rng=rng))


@dataclass(frozen=True)
class ReplacingOutliers:
    """Outliers in the place of observations, so that an outlier carries no information about the function.

    With the same seed, the same observations are outliers as with :class:`AddedOutliers`.
    """

    outliers: Outliers
    rate: float

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def contaminate(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Contaminated:
        """Replace each observation by an outlier with probability ``rate``."""
        check_observations(X, y)
        mask = rng.uniform(size=y.shape) < self.rate
        return Contaminated(X, np.where(mask, self.outliers.draw(rng, y.shape), y), mask)


# ------------------------------------------------------------ a fixed fraction of the observations


@dataclass(frozen=True)
class Shifts(ABC):
    """Observations shifted by ``U[low, high]`` standard deviations; subclasses choose places and signs."""

    rate: float = 0.1
    low: float = 3.0
    high: float = 9.0

    def __post_init__(self) -> None:
        check_rate(self.rate)
        if not 0.0 < self.low <= self.high < np.inf:
            raise ValueError(f"sizes must satisfy 0 < low <= high, got low={self.low!r}, high={self.high!r}")

    def contaminate(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Contaminated:
        """Shift a fraction ``rate`` of the observations."""
        check_observations(X, y)
        mask, sign = self._places(y.shape, rng), self._signs(y.shape, rng)
        shift = sign * rng.uniform(self.low, self.high, y.shape) * standard_deviation(y)
        return Contaminated(X, np.where(mask, y + shift, y), mask)

    def _places(self, shape: tuple[int, ...], rng: np.random.Generator) -> BoolArray:
        """Draw which observations are shifted: by default any."""
        return random_places(shape, self.rate, rng)

    @abstractmethod
    def _signs(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Draw the signs of the shifts, in a shape that broadcasts with that of the observations."""


@dataclass(frozen=True)
class SymmetricShifts(Shifts):
    """Observations shifted by ``U[low, high]`` standard deviations, each up or down at random.

    The "uniform" outliers of the benchmark by Altamirano, Briol and Knoblauch (2024).
    """

    def _signs(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return random_signs(shape, rng)


@dataclass(frozen=True)
class OneSidedShifts(Shifts):
    """Observations shifted by ``U[low, high]`` standard deviations, all to one side that is drawn once.

    The "asymmetric" outliers of the benchmark by Altamirano, Briol and Knoblauch (2024). Each output draws
    its own side.
    """

    def _signs(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return random_signs(shape[1:], rng)


@dataclass(frozen=True)
class ErrorBurst(SymmetricShifts):
    """Run of consecutive observations shifted by ``U[low, high]`` standard deviations, each up or down.

    Rows are in the order of time. ``rate`` is the length of the run as a fraction of all observations. Each
    output has a run of its own.
    """

    def _places(self, shape: tuple[int, ...], rng: np.random.Generator) -> BoolArray:
        return one_run(shape, self.rate, rng)


@dataclass(frozen=True)
class FocusedOutliers:
    """Points moved to one dense cluster below the function, inputs and observations together.

    The "focused" outliers of the benchmark by Altamirano, Briol and Knoblauch (2024), as its code draws them.
    The inputs fall into a box around the median inputs whose side is ``width * d_x`` median absolute
    deviations. The observations lie ``depth`` standard deviations below the median of the observations at the
    median inputs, less up to ``width`` median absolute deviations.
    """

    rate: float = 0.1
    depth: float = 3.0
    width: float = 0.1

    def __post_init__(self) -> None:
        check_rate(self.rate)
        if not (self.depth > 0.0 and self.width >= 0.0):
            raise ValueError(
                f"depth must be positive and width at least 0, got depth={self.depth!r}, width={self.width!r}"
            )

    def contaminate(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Contaminated:
        """Move a fraction ``rate`` of the points."""
        check_observations(X, y)
        n, d_x = X.shape
        rows = random_places((n,), self.rate, rng)
        # For each input the point that has its median: a value that occurs, even if inputs are discrete.
        middle = np.argsort(X, axis=0, kind="stable")[n // 2]
        box = self.width * d_x * median_deviation(X)
        inputs = X[middle, np.arange(d_x)] + box * rng.uniform(-0.5, 0.5, X.shape)
        top = np.median(y[middle], axis=0) - self.depth * standard_deviation(y)
        observations = top - self.width * median_deviation(y) * rng.uniform(size=y.shape)
        mask = np.broadcast_to(rows if y.ndim == 1 else rows[:, None], y.shape).copy()
        return Contaminated(np.where(rows[:, None], inputs, X), np.where(mask, observations, y), mask)


@dataclass(frozen=True)
class StuckSensor:
    """Run of consecutive observations that repeat the last good one; rows are in the order of time.

    ``rate`` is the length of the run as a fraction of all observations. Each output has a run of its own.
    """

    rate: float = 0.1

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def contaminate(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Contaminated:
        """Let each output be stuck once."""
        check_observations(X, y)
        mask = one_run(y.shape, self.rate, rng, first=1)
        before = np.expand_dims(mask.argmax(axis=0) - 1, 0)
        return Contaminated(X, np.where(mask, np.take_along_axis(y, before, axis=0), y), mask)


def random_places(shape: tuple[int, ...], rate: float, rng: np.random.Generator) -> BoolArray:
    """Mask with the same number of places in each column; a higher rate adds to the same places."""
    rank = rng.uniform(size=shape).argsort(axis=0).argsort(axis=0)
    return rank < number_of_outliers(shape[0], rate)


def one_run(shape: tuple[int, ...], rate: float, rng: np.random.Generator, *, first: int = 0) -> BoolArray:
    """Mask with one run of rows in each column, which begins at row ``first`` or later."""
    n = shape[0]
    length = min(number_of_outliers(n, rate), n - first)
    begin = first + np.floor(rng.uniform(size=shape[1:]) * (n - length - first + 1))
    row = np.arange(n).reshape(-1, *(1 for _ in shape[1:]))
    return np.asarray((row >= begin) & (row < begin + length))


def number_of_outliers(n: int, rate: float) -> int:
    """Return ``rate * n`` rounded down; 0.29 of 100 is 29 although their floating-point product is less."""
    return int(rate * n + 1e-9)


def random_signs(shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Draw -1 or 1 with equal probability."""
    return np.where(rng.uniform(size=shape) < 0.5, -1.0, 1.0)


def standard_deviation(y: FloatArray) -> FloatArray:
    """Standard deviation of each output, which must not be constant."""
    deviation = np.asarray(y.std(axis=0))
    if not (deviation > 0.0).all():
        raise ValueError("an output of y is constant: shifts in its standard deviations would change nothing")
    return deviation


def median_deviation(values: FloatArray) -> FloatArray:
    """Median absolute deviation of each column, not scaled to that of a normal distribution."""
    return np.asarray(np.median(np.abs(values - np.median(values, axis=0)), axis=0))


# ------------------------------------------------------------------------------------------ checks


def check_rate(rate: float) -> None:
    """Refuse a rate that is not a probability."""
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate must be a probability, got {rate!r}")


def check_observations(X: FloatArray, y: FloatArray) -> None:
    """Refuse shapes that do not match, and observations that are not finite."""
    if X.ndim != 2 or y.ndim not in (1, 2) or len(X) != len(y):
        raise ValueError(
            f"X must have shape (n, d_x) and y (n,) or (n, d_y) with the same n, got {X.shape} and {y.shape}"
        )
    missing = np.count_nonzero(~np.isfinite(y))
    if missing:
        raise ValueError(f"{missing} observations in y are not finite: drop them before contaminating")
