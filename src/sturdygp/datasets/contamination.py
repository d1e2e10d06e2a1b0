"""Outliers that are added to clean targets; the mask of what was changed always comes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sturdygp._typing import BoolArray, FloatArray


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
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate must be a probability, got {rate!r}")
    mask = rng.uniform(size=y.shape) < rate
    return y + np.where(mask, outliers.draw(rng, y.shape), 0.0), mask
