"""Faults of a fixed share of the readings: those of published benchmarks, and those of real sensors.

The places are drawn without replacement, so the share is exact up to rounding down. Sizes are in standard
deviations of the readings, output by output. Except for the places of runs, what is drawn does not depend on
``rate``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.datasets.contamination import Contaminated, check_rate, check_readings


@dataclass(frozen=True)
class Shifts(ABC):
    """Readings off by ``U[low, high]`` standard deviations; a kind of shift says where and to which side."""

    rate: float = 0.1
    low: float = 3.0
    high: float = 9.0

    def __post_init__(self) -> None:
        check_rate(self.rate)
        if not 0.0 < self.low <= self.high < np.inf:
            raise ValueError(f"sizes must satisfy 0 < low <= high, got low={self.low!r}, high={self.high!r}")

    def contaminate(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Contaminated:
        """Shift a share ``rate`` of the readings."""
        check_readings(X, y)
        mask, sign = self._places(y.shape, rng), self._signs(y.shape, rng)
        shift = sign * rng.uniform(self.low, self.high, y.shape) * spread(y)
        return Contaminated(X, np.where(mask, y + shift, y), mask)

    def _places(self, shape: tuple[int, ...], rng: np.random.Generator) -> BoolArray:
        """Which readings are shifted: by default any."""
        return scattered(shape, self.rate, rng)

    @abstractmethod
    def _signs(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """To which side, in a shape that goes with that of the readings."""


@dataclass(frozen=True)
class SymmetricShifts(Shifts):
    """Readings shifted by ``U[low, high]`` standard deviations, each up or down at random.

    The "uniform" outliers of the benchmark by Altamirano, Briol and Knoblauch (2024).
    """

    def _signs(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return random_signs(shape, rng)


@dataclass(frozen=True)
class OneSidedShifts(Shifts):
    """Readings shifted by ``U[low, high]`` standard deviations, all to one side that is drawn once.

    The "asymmetric" outliers of the benchmark by Altamirano, Briol and Knoblauch (2024). Each output draws
    its own side.
    """

    def _signs(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        return random_signs(shape[1:], rng)


@dataclass(frozen=True)
class ErrorBurst(SymmetricShifts):
    """A run of consecutive readings is off by ``U[low, high]`` standard deviations, each up or down.

    Rows are in the order of time. ``rate`` is the length of the run as a share of all readings. Each output
    has a run of its own.
    """

    def _places(self, shape: tuple[int, ...], rng: np.random.Generator) -> BoolArray:
        return one_run(shape, self.rate, rng)


@dataclass(frozen=True)
class FocusedOutliers:
    """Whole points moved to one dense cluster below the function, inputs and readings alike.

    The "focused" outliers of the benchmark by Altamirano, Briol and Knoblauch (2024), as its code draws them:
    the inputs fall into a box around the median inputs whose side is ``width * d_x`` median absolute
    deviations, and the readings lie ``depth`` standard deviations below the median of the readings found
    there, less up to ``width`` median absolute deviations.
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
        """Move a share ``rate`` of the points."""
        check_readings(X, y)
        n, d_x = X.shape
        rows = scattered((n,), self.rate, rng)
        # For each input the point that has its median: a value that occurs, even if inputs are discrete.
        middle = np.argsort(X, axis=0, kind="stable")[n // 2]
        box = self.width * d_x * median_deviation(X)
        cluster = X[middle, np.arange(d_x)] + box * rng.uniform(-0.5, 0.5, X.shape)
        level = np.median(y[middle], axis=0) - self.depth * spread(y)
        readings = level - self.width * median_deviation(y) * rng.uniform(size=y.shape)
        mask = np.broadcast_to(rows if y.ndim == 1 else rows[:, None], y.shape).copy()
        return Contaminated(np.where(rows[:, None], cluster, X), np.where(mask, readings, y), mask)


@dataclass(frozen=True)
class StuckSensor:
    """A run of consecutive readings repeats the last good one; rows are in the order of time.

    ``rate`` is the length of the run as a share of all readings. Each output has a run of its own.
    """

    rate: float = 0.1

    def __post_init__(self) -> None:
        check_rate(self.rate)

    def contaminate(self, X: FloatArray, y: FloatArray, rng: np.random.Generator) -> Contaminated:
        """Let each output be stuck once."""
        check_readings(X, y)
        mask = one_run(y.shape, self.rate, rng, first=1)
        before = np.expand_dims(mask.argmax(axis=0) - 1, 0)
        return Contaminated(X, np.where(mask, np.take_along_axis(y, before, axis=0), y), mask)


def scattered(shape: tuple[int, ...], rate: float, rng: np.random.Generator) -> BoolArray:
    """Mask with the same number of places in each column; a higher rate adds to the same places."""
    rank = rng.uniform(size=shape).argsort(axis=0).argsort(axis=0)
    return rank < share(shape[0], rate)


def one_run(shape: tuple[int, ...], rate: float, rng: np.random.Generator, *, first: int = 0) -> BoolArray:
    """Mask with one run of rows in each column, which starts at row ``first`` or later."""
    n = shape[0]
    length = min(share(n, rate), n - first)
    start = first + np.floor(rng.uniform(size=shape[1:]) * (n - length - first + 1))
    row = np.arange(n).reshape(-1, *(1 for _ in shape[1:]))
    return np.asarray((row >= start) & (row < start + length))


def share(n: int, rate: float) -> int:
    """``rate * n`` rounded down, but 0.29 of 100 is 29 although their product falls short of it."""
    return int(rate * n + 1e-9)


def random_signs(shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """-1 or 1 with equal probability."""
    return np.where(rng.uniform(size=shape) < 0.5, -1.0, 1.0)


def spread(y: FloatArray) -> FloatArray:
    """Standard deviation of each output."""
    deviation = np.asarray(y.std(axis=0))
    if not (deviation > 0.0).all():
        raise ValueError("an output of y is constant: shifts in its standard deviations would change nothing")
    return deviation


def median_deviation(values: FloatArray) -> FloatArray:
    """Median absolute deviation of each column, as it is: not scaled to that of a normal distribution."""
    return np.asarray(np.median(np.abs(values - np.median(values, axis=0)), axis=0))
