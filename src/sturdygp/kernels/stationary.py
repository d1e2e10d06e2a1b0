"""Kernels of a scaled distance: ``variance * g(s)``, ``s = sum_r (x_r - z_r)^2 / length_scale_r^2``.

Each has ``variance`` and ``length_scale``: one number for all inputs, or one for each
(automatic relevance determination).
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from math import sqrt
from typing import ClassVar, TypeAlias

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Linearised
from sturdygp.kernels.distances import (
    BlockOfRows,
    Distances,
    check_length_scale,
    inner,
    middle,
    per_input,
)
from sturdygp.kernels.leaf import DEFAULT_BOUNDS, Bounds, LeafKernel

Parts: TypeAlias = dict[str, FloatArray | float]


@dataclass(frozen=True)
class Stationary(LeafKernel):
    """Base class; a kernel adds its function ``g`` and ``-2`` times the derivative of that."""

    positive: ClassVar[tuple[str, ...]] = ("variance", "length_scale")
    in_units_of_inputs: ClassVar[tuple[str, ...]] = ("length_scale",)
    # True if the derivative by ``s`` is infinite at zero, where rounding errors of ``s`` would grow.
    pointed: ClassVar[bool] = False

    length_scale: float | tuple[float, ...] = 1.0
    variance: float = 1.0
    length_scale_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)
    variance_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)

    @abstractmethod
    def _radial(self, s: FloatArray) -> FloatArray:
        """``variance * g(s)``; may overwrite ``s``."""

    @abstractmethod
    def _slope(self, s: FloatArray) -> FloatArray:
        """``-2 variance * g'(s)``; may overwrite ``s``."""

    def _slopes(self, K: FloatArray, distances: Distances) -> BlockOfRows:
        """Return a function of a slice of rows, which computes their slopes."""
        return lambda rows: self._slope(distances(rows))

    def _shape_pullback(self, G: FloatArray, K: FloatArray, distances: Distances) -> Parts:
        """Derivatives with respect to parameters other than variance and length scale."""
        return {}

    def __call__(self, X: FloatArray, Z: FloatArray | None = None) -> FloatArray:
        """The matrix of kernel values between the rows of ``X`` and those of ``Z`` (or ``X``)."""
        return self._distances(X, Z).apply(self._radial)

    def diag(self, X: FloatArray) -> FloatArray:
        """The diagonal of ``self(X)``."""
        return np.full(X.shape[0], self.variance)

    def diag_pullback(self, X: FloatArray, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_i dk(x_i, x_i) / dtheta``."""
        return self._by_variance(self.variance * float(cotangent.sum()))

    def input_pullback(self, X: FloatArray, Z: FloatArray | None, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_ij dk(x_i, z_j) / dz_j``, a row for each ``z_j``; without ``Z``, of ``X``."""
        distances = self._distances(X, Z)
        slopes = self._slopes(distances.apply(self._radial), distances)
        return distances.point_pullback(cotangent, slopes) / self.length_scale

    def linearise(self, X: FloatArray, Z: FloatArray | None = None) -> Linearised:
        """Values and pullback from one evaluation.

        The pullback contracts a matrix with the derivatives by the logarithms of the parameters. For
        the squared exponential they are the paper's (eq:kernel_log_derivatives), except that its first
        parameter is half the log variance.
        """
        distances = self._distances(X, Z)
        K = distances.apply(self._radial)

        def pullback(G: FloatArray) -> FloatArray:
            by_input = distances.pullback(G, self._slopes(K, distances))
            parts: Parts = {"variance": inner(G, K), "length_scale": per_input(by_input, self.length_scale)}
            return self._pack(parts | self._shape_pullback(G, K, distances))

        return Linearised(K, pullback)

    def _distances(self, X: FloatArray, Z: FloatArray | None) -> Distances:
        """Distances in units of the length scales; inputs are centred, which reduces rounding."""
        scale = check_length_scale(self.length_scale, X)
        centre = middle(X if Z is None else Z)
        points = (X - centre) / scale, None if Z is None else (Z - centre) / scale
        return Distances(*points, exact=self.pointed)


@dataclass(frozen=True)
class SquaredExponential(Stationary):
    """``variance * exp(-s / 2)``, the kernel of the paper (eq:ard_se_kernel).

    >>> import numpy as np
    >>> SquaredExponential(length_scale=2.0, variance=3.0)(np.array([[0.0], [2.0]])).round(4)
    array([[3.    , 1.8196],
           [1.8196, 3.    ]])
    """

    def _radial(self, s: FloatArray) -> FloatArray:
        s *= -0.5
        np.exp(s, out=s)
        s *= self.variance
        return s

    def _slope(self, s: FloatArray) -> FloatArray:
        return self._radial(s)

    def _slopes(self, K: FloatArray, distances: Distances) -> BlockOfRows:
        return K.__getitem__  # the slope of this kernel is its value


@dataclass(frozen=True)
class Matern12(Stationary):
    """``variance * exp(-sqrt(s))``: continuous, nowhere smooth."""

    pointed: ClassVar[bool] = True

    def _radial(self, s: FloatArray) -> FloatArray:
        return self.variance * np.exp(-np.sqrt(s))

    def _slope(self, s: FloatArray) -> FloatArray:
        r = np.sqrt(s)
        # At distance zero the slope is infinite, but it only ever multiplies that distance.
        return self.variance * np.exp(-r) / np.where(r > 0.0, r, np.inf)


@dataclass(frozen=True)
class Matern32(Stationary):
    """``variance * (1 + sqrt(3 s)) exp(-sqrt(3 s))``: once differentiable."""

    def _radial(self, s: FloatArray) -> FloatArray:
        r = np.sqrt(3.0 * s)
        return self.variance * (1.0 + r) * np.exp(-r)

    def _slope(self, s: FloatArray) -> FloatArray:
        return 3.0 * self.variance * np.exp(-np.sqrt(3.0 * s))


@dataclass(frozen=True)
class Matern52(Stationary):
    """``variance * (1 + sqrt(5 s) + 5 s / 3) exp(-sqrt(5 s))``: twice differentiable."""

    def _radial(self, s: FloatArray) -> FloatArray:
        r = np.sqrt(5.0 * s)
        return self.variance * (1.0 + r + r * r / 3.0) * np.exp(-r)

    def _slope(self, s: FloatArray) -> FloatArray:
        r = sqrt(5.0) * np.sqrt(s)
        return (5.0 / 3.0) * self.variance * (1.0 + r) * np.exp(-r)


@dataclass(frozen=True)
class RationalQuadratic(Stationary):
    """``variance * (1 + s / (2 alpha))^-alpha``: squared exponentials of many length scales."""

    positive: ClassVar[tuple[str, ...]] = ("variance", "length_scale", "alpha")

    alpha: float = 1.0
    alpha_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)

    def _radial(self, s: FloatArray) -> FloatArray:
        return self.variance * np.exp(-self.alpha * np.log1p(s / (2.0 * self.alpha)))

    def _slope(self, s: FloatArray) -> FloatArray:
        return self.variance * np.exp(-(self.alpha + 1.0) * np.log1p(s / (2.0 * self.alpha)))

    def _shape_pullback(self, G: FloatArray, K: FloatArray, distances: Distances) -> Parts:
        ratio = distances() / (2.0 * self.alpha)
        return {"alpha": self.alpha * inner(G, K * (ratio / (1.0 + ratio) - np.log1p(ratio)))}
