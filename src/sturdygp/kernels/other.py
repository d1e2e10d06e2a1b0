"""Kernels that are not functions of a scaled distance: periodic, linear, constant."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import ClassVar

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Linearised, as_kernel
from sturdygp.kernels.distances import Distances, check_length_scale, inner, middle, per_input
from sturdygp.kernels.leaf import DEFAULT_BOUNDS, Bounds, LeafKernel


@dataclass(frozen=True)
class Periodic(LeafKernel):
    """``variance * exp(-2 sum_r sin(pi (x_r - z_r) / period)^2 / length_scale_r^2)``.

    A squared exponential of points on circles, ``(cos, sin)(2 pi x / period) / length_scale``.
    """

    positive: ClassVar[tuple[str, ...]] = ("variance", "length_scale", "period")

    length_scale: float | tuple[float, ...] = 1.0
    period: float = 1.0
    variance: float = 1.0
    length_scale_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)
    period_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)
    variance_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)

    def __call__(self, X: FloatArray, Z: FloatArray | None = None) -> FloatArray:
        """The matrix of kernel values between the rows of ``X`` and those of ``Z`` (or ``X``)."""
        return self.linearise(X, Z).value

    def diag(self, X: FloatArray) -> FloatArray:
        """The diagonal of ``self(X)``."""
        return np.full(X.shape[0], self.variance)

    def diag_pullback(self, X: FloatArray, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_i dk(x_i, x_i) / dtheta``."""
        return self._by_variance(self.variance * float(cotangent.sum()))

    def linearise(self, X: FloatArray, Z: FloatArray | None = None) -> Linearised:
        """Values and pullback from one evaluation."""
        a, b = self._angles(X, Z)
        distances = Distances(self._circle(a), None if Z is None else self._circle(b))
        K = distances.apply(lambda s: self.variance * np.exp(-0.5 * s))

        def pullback(G: FloatArray) -> FloatArray:
            by_input = distances.pullback(G, K.__getitem__).reshape(2, -1).sum(axis=0)
            length_scale = per_input(by_input, self.length_scale)
            period = self._period_pullback(G * K, a, b)
            return self._pack({"variance": inner(G, K), "length_scale": length_scale, "period": period})

        return Linearised(K, pullback)

    def input_pullback(self, X: FloatArray, Z: FloatArray | None, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_ij dk(x_i, z_j) / dz_j``, a row for each ``z_j``; without ``Z``, of ``X``."""
        a, b = self._angles(X, Z)
        distances = Distances(self._circle(a), None if Z is None else self._circle(b))
        on_circle = distances.point_pullback(cotangent, self(X, Z).__getitem__)
        by_cosine, by_sine = np.hsplit(on_circle, 2)
        turned = np.cos(b) * by_sine - np.sin(b) * by_cosine
        return np.asarray(turned * (2.0 * np.pi / self.period) / self.length_scale)

    def _angles(self, X: FloatArray, Z: FloatArray | None) -> tuple[FloatArray, FloatArray]:
        """Angles from the median of the second inputs: large ones would lose digits in the sine."""
        others = X if Z is None else Z
        centre, turn = middle(others), 2.0 * np.pi / self.period
        return turn * (X - centre), turn * (others - centre)

    def _circle(self, angle: FloatArray) -> FloatArray:
        scale = check_length_scale(self.length_scale, angle)
        return np.hstack([np.cos(angle) / scale, np.sin(angle) / scale])

    def _period_pullback(self, M: FloatArray, a: FloatArray, b: FloatArray) -> float:
        """``sum_ij M_ij sum_r (a_ir - b_jr) sin(a_ir - b_jr) / length_scale_r^2``."""
        sin_b, cos_b = np.sin(b), np.cos(b)
        weighted = np.hsplit(M @ np.hstack([cos_b, sin_b, b * cos_b, b * sin_b]), 4)
        cosines, sines, b_cosines, b_sines = weighted
        by_input = np.sin(a) * (a * cosines - b_cosines) - np.cos(a) * (a * sines - b_sines)
        return float((by_input / np.square(self.length_scale)).sum())


@dataclass(frozen=True)
class Linear(LeafKernel):
    """``sum_r variance_r x_r z_r``: straight lines through the origin.

    Add :class:`Constant` for an offset.
    """

    positive: ClassVar[tuple[str, ...]] = ("variance",)
    by_input: ClassVar[tuple[str, ...]] = ("variance",)

    variance: float | tuple[float, ...] = 1.0
    variance_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)

    def __call__(self, X: FloatArray, Z: FloatArray | None = None) -> FloatArray:
        """The matrix of kernel values between the rows of ``X`` and those of ``Z`` (or ``X``)."""
        return np.asarray((X * self.variance) @ (X if Z is None else Z).T)

    def diag(self, X: FloatArray) -> FloatArray:
        """The diagonal of ``self(X)``."""
        return np.asarray((X * X * self.variance).sum(axis=1))

    def input_pullback(self, X: FloatArray, Z: FloatArray | None, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_ij dk(x_i, z_j) / dz_j``, a row for each ``z_j``; without ``Z``, of ``X``."""
        return np.asarray((cotangent.T @ X) * self.variance)

    def linearise(self, X: FloatArray, Z: FloatArray | None = None) -> Linearised:
        """Values and pullback from one evaluation."""

        def pullback(G: FloatArray) -> FloatArray:
            by_input = np.einsum("ij,ij->j", X, G @ (X if Z is None else Z)) * self.variance
            return self._pack({"variance": per_input(by_input, self.variance)})

        return Linearised(self(X, Z), pullback)


@dataclass(frozen=True)
class Constant(LeafKernel):
    """``variance`` everywhere: an unknown offset in a sum, a scale in a product."""

    positive: ClassVar[tuple[str, ...]] = ("variance",)

    variance: float = 1.0
    variance_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)

    def __call__(self, X: FloatArray, Z: FloatArray | None = None) -> FloatArray:
        """The matrix of kernel values between the rows of ``X`` and those of ``Z`` (or ``X``)."""
        return np.full((X.shape[0], (X if Z is None else Z).shape[0]), self.variance)

    def diag(self, X: FloatArray) -> FloatArray:
        """The diagonal of ``self(X)``."""
        return np.full(X.shape[0], self.variance)

    def diag_pullback(self, X: FloatArray, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_i dk(x_i, x_i) / dtheta``."""
        return self._by_variance(self.variance * float(cotangent.sum()))

    def input_pullback(self, X: FloatArray, Z: FloatArray | None, cotangent: FloatArray) -> FloatArray:
        """Zero: the kernel does not depend on its inputs."""
        return np.zeros_like(X if Z is None else Z)

    def linearise(self, X: FloatArray, Z: FloatArray | None = None) -> Linearised:
        """Values and pullback from one evaluation."""
        return Linearised(self(X, Z), lambda G: self._pack({"variance": self.variance * G.sum()}))


@as_kernel.register(Real)
def _(value: float) -> Constant:
    return Constant(float(value))
