"""Kernels of a scaled distance: ``variance * profile(s)``, ``s = sum_r (x_r - z_r)^2 / length_scale_r^2``.

Each has ``variance`` and ``length_scale``: one number for all inputs, or one for each
(automatic relevance determination).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field
from math import sqrt
from typing import ClassVar, TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Linearised
from sturdygp.kernels.leaf import DEFAULT_BOUNDS, Bounds, LeafKernel
from sturdygp.linalg import diagonal

# Rows of a kernel matrix worked on at a time: a block and its product stay in the cache.
BLOCK_ENTRIES = 1 << 16

ALL = slice(None)
Parts: TypeAlias = dict[str, FloatArray | float]
Profile: TypeAlias = Callable[[FloatArray], FloatArray]
BlockOfRows: TypeAlias = Callable[[slice], FloatArray]

# Squared norm beyond which |u|^2 + |v|^2 - 2 u'v loses more than about 1e-10 of a distance.
FAR = 1e5


@dataclass(frozen=True)
class Stationary(LeafKernel):
    """The common part; a kernel adds its profile and ``-2`` times its slope."""

    positive: ClassVar[tuple[str, ...]] = ("variance", "length_scale")

    length_scale: float | tuple[float, ...] = 1.0
    variance: float = 1.0
    length_scale_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)
    variance_bounds: Bounds = field(default=DEFAULT_BOUNDS, repr=False, kw_only=True)

    @abstractmethod
    def _profile(self, s: FloatArray) -> FloatArray:
        """``variance * profile(s)``; may overwrite ``s``."""

    @abstractmethod
    def _slope(self, s: FloatArray) -> FloatArray:
        """``-2 variance * profile'(s)``; may overwrite ``s``."""

    def _slopes(self, K: FloatArray, U: FloatArray, V: FloatArray | None) -> BlockOfRows:
        """A function that gives the slopes for a slice of rows."""
        distances = Distances(U, U if V is None else V)

        def slopes(rows: slice) -> FloatArray:
            s = distances(rows)
            if V is None:
                # Exactly, not to rounding: the slope may be singular there.
                diagonal(s[:, rows])[:] = 0.0
            return self._slope(s)

        return slopes

    def _shape_pullback(self, G: FloatArray, K: FloatArray, U: FloatArray, V: FloatArray | None) -> Parts:
        """Derivatives with respect to parameters other than variance and length scale."""
        return {}

    def __call__(self, X: FloatArray, Z: FloatArray | None = None) -> FloatArray:
        """The matrix of kernel values between the rows of ``X`` and those of ``Z`` (or ``X``)."""
        return profile_of_distances(self._profile, *self._scaled(X, Z))

    def diag(self, X: FloatArray) -> FloatArray:
        """The diagonal of ``self(X)``."""
        return np.full(X.shape[0], self.variance)

    def diag_pullback(self, X: FloatArray, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_i dk(x_i, x_i) / dtheta``."""
        return self._by_variance(self.variance * float(cotangent.sum()))

    def input_pullback(self, X: FloatArray, Z: FloatArray | None, cotangent: FloatArray) -> FloatArray:
        """``sum_i cotangent_ij dk(x_i, z_j) / dz_j``, a row for each ``z_j``; without ``Z``, of ``X``."""
        U, V = self._scaled(X, Z)
        slopes = self._slopes(profile_of_distances(self._profile, U, V), U, V)
        return point_pullback(cotangent, slopes, U, V) / self.length_scale

    def linearise(self, X: FloatArray, Z: FloatArray | None = None) -> Linearised:
        """Values and pullback from one evaluation.

        The pullback contracts a matrix with the derivatives by the logarithms of the parameters. For
        the squared exponential they are the paper's (eq:kernel_log_derivatives), except that its first
        parameter is half the log variance.
        """
        U, V = self._scaled(X, Z)
        K = profile_of_distances(self._profile, U, V)

        def pullback(G: FloatArray) -> FloatArray:
            by_input = distance_pullback(G, self._slopes(K, U, V), U, V)
            parts: Parts = {"variance": inner(G, K), "length_scale": per_input(by_input, self.length_scale)}
            return self._pack(parts | self._shape_pullback(G, K, U, V))

        return Linearised(K, pullback)

    def _scaled(self, X: FloatArray, Z: FloatArray | None) -> tuple[FloatArray, FloatArray | None]:
        """Inputs in units of the length scales, centred: a shift changes no distance, only its rounding."""
        scale = check_length_scale(self.length_scale, X)
        centre = X.sum(axis=0) / X.shape[0]
        return (X - centre) / scale, None if Z is None else (Z - centre) / scale


@dataclass(frozen=True)
class SquaredExponential(Stationary):
    """``variance * exp(-s / 2)``, the kernel of the paper (eq:ard_se_kernel).

    >>> import numpy as np
    >>> SquaredExponential(length_scale=2.0, variance=3.0)(np.array([[0.0], [2.0]])).round(4)
    array([[3.    , 1.8196],
           [1.8196, 3.    ]])
    """

    def _profile(self, s: FloatArray) -> FloatArray:
        s *= -0.5
        np.exp(s, out=s)
        s *= self.variance
        return s

    def _slope(self, s: FloatArray) -> FloatArray:
        return self._profile(s)

    def _slopes(self, K: FloatArray, U: FloatArray, V: FloatArray | None) -> BlockOfRows:
        return K.__getitem__  # the slope of this kernel is its value


@dataclass(frozen=True)
class Matern12(Stationary):
    """``variance * exp(-sqrt(s))``: continuous, nowhere smooth."""

    def _profile(self, s: FloatArray) -> FloatArray:
        return self.variance * np.exp(-np.sqrt(s))

    def _slope(self, s: FloatArray) -> FloatArray:
        r = np.sqrt(s)
        # At distance zero the slope is infinite, but it only ever multiplies that distance.
        return self.variance * np.exp(-r) / np.where(r > 0.0, r, np.inf)


@dataclass(frozen=True)
class Matern32(Stationary):
    """``variance * (1 + sqrt(3 s)) exp(-sqrt(3 s))``: once differentiable."""

    def _profile(self, s: FloatArray) -> FloatArray:
        r = np.sqrt(3.0 * s)
        return self.variance * (1.0 + r) * np.exp(-r)

    def _slope(self, s: FloatArray) -> FloatArray:
        return 3.0 * self.variance * np.exp(-np.sqrt(3.0 * s))


@dataclass(frozen=True)
class Matern52(Stationary):
    """``variance * (1 + sqrt(5 s) + 5 s / 3) exp(-sqrt(5 s))``: twice differentiable."""

    def _profile(self, s: FloatArray) -> FloatArray:
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

    def _profile(self, s: FloatArray) -> FloatArray:
        return self.variance * np.exp(-self.alpha * np.log1p(s / (2.0 * self.alpha)))

    def _slope(self, s: FloatArray) -> FloatArray:
        return self.variance * np.exp(-(self.alpha + 1.0) * np.log1p(s / (2.0 * self.alpha)))

    def _shape_pullback(self, G: FloatArray, K: FloatArray, U: FloatArray, V: FloatArray | None) -> Parts:
        ratio = Distances(U, U if V is None else V)(slice(None)) / (2.0 * self.alpha)
        return {"alpha": self.alpha * inner(G, K * (ratio / (1.0 + ratio) - np.log1p(ratio)))}


class Distances:
    """Squared Euclidean distances between rows, by one matrix product where that is accurate."""

    def __init__(self, U: FloatArray, V: FloatArray) -> None:
        u = np.einsum("ij,ij->i", U, U)
        v = u if V is U else np.einsum("ij,ij->i", V, V)
        self._points = (U, V)
        self._far = np.maximum.reduce(u) > FAR or np.maximum.reduce(v) > FAR
        self._left = _augment(-2.0 * U, u, 1.0)
        self._right = _augment(V, 1.0, v).T

    def __call__(self, rows: slice, columns: slice = ALL) -> FloatArray:
        """The distances for some rows of ``U`` and some of ``V``."""
        if self._far:
            return cdist(self._points[0][rows], self._points[1][columns], "sqeuclidean")
        s: FloatArray = self._left[rows] @ self._right[:, columns]
        return np.maximum(s, 0.0, out=s)


def _augment(U: FloatArray, first: FloatArray | float, second: FloatArray | float) -> FloatArray:
    wide = np.empty((U.shape[0], U.shape[1] + 2))
    wide[:, :-2] = U
    wide[:, -2] = first
    wide[:, -1] = second
    return wide


def profile_of_distances(profile: Profile, U: FloatArray, V: FloatArray | None) -> FloatArray:
    """Apply a function to all squared distances, a cacheful of rows at a time."""
    if V is None:
        return _symmetric_profile(profile, U)
    distances = Distances(U, V)
    K = np.empty((len(U), len(V)))
    for rows in row_blocks(*K.shape):
        K[rows] = profile(distances(rows))
    return K


def _symmetric_profile(profile: Profile, U: FloatArray) -> FloatArray:
    """The same within one set of points, each pair once."""
    distances, n = Distances(U, U), len(U)

    def upper(rows: slice) -> FloatArray:
        s = distances(rows, slice(rows.start, n))
        diagonal(s[:, : len(s)])[:] = 0.0
        return profile(s)

    blocks = row_blocks(n, n)
    if len(blocks) == 1:
        return upper(blocks[0])
    K = np.empty((n, n))
    for rows in blocks:
        values = upper(rows)
        K[rows, rows.start :] = values
        K[rows.stop :, rows] = values[:, len(values) :].T
    return K


def distance_pullback(G: FloatArray, slopes: BlockOfRows, U: FloatArray, V: FloatArray | None) -> FloatArray:
    """For each input r, ``sum_ij M_ij (u_ir - v_jr)^2`` with ``M = G * slope``.

    Expanding the square leaves row sums, column sums and one product with ``V``.
    """
    W = U if V is None else V
    extended = _augment(W, 1.0, 0.0)
    moments = np.empty((U.shape[0], extended.shape[1]))
    columns = np.zeros(W.shape[0])
    for rows in row_blocks(len(U), len(W)):
        M = G[rows] * slopes(rows)
        np.matmul(M, extended, out=moments[rows])
        columns += np.add.reduce(M)
    squares = moments[:, -2] @ (U * U) + columns @ (W * W)
    by_input: FloatArray = squares - 2.0 * np.einsum("ij,ij->j", U, moments[:, :-2])
    return by_input


def point_pullback(G: FloatArray, slopes: BlockOfRows, U: FloatArray, V: FloatArray | None) -> FloatArray:
    """``sum_i M_ij (u_i - v_j)`` with ``M = G * slope``: derivatives by the second points."""
    W = U if V is None else V
    extended = _augment(U, 1.0, 0.0)
    moments = np.zeros((len(W), extended.shape[1]))
    for rows in row_blocks(len(U), len(W)):
        moments += (G[rows] * slopes(rows)).T @ extended[rows]
    return moments[:, :-2] - moments[:, -2:-1] * W


def row_blocks(rows: int, columns: int) -> list[slice]:
    """Slices of the rows of a matrix, a cacheful each."""
    step = max(1, BLOCK_ENTRIES // columns)
    return [slice(start, min(start + step, rows)) for start in range(0, rows, step)]


def inner(A: FloatArray, B: FloatArray) -> float:
    """``sum_ij A_ij B_ij``."""
    return float(np.vdot(A, B))


def per_input(derivatives: FloatArray, parameter: float | tuple[float, ...]) -> FloatArray | float:
    """Derivatives with respect to a parameter for each input, or their sum if all inputs share it."""
    if isinstance(parameter, tuple) and len(parameter) == derivatives.size:
        return derivatives
    return float(derivatives.sum())


def check_length_scale(length_scale: float | tuple[float, ...], X: FloatArray) -> FloatArray:
    """The length scale as an array that fits the inputs."""
    if isinstance(length_scale, tuple) and len(length_scale) not in {1, X.shape[1]}:
        raise ValueError(
            f"length_scale has {len(length_scale)} entries but X has {X.shape[1]} columns; "
            "give one number, or one for each column"
        )
    return np.array(length_scale)
