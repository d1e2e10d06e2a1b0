"""Squared distances between scaled points: functions of them, and their derivatives by the points."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from sturdygp._typing import FloatArray
from sturdygp.linalg.cholesky import diagonal

# Rows of a kernel matrix worked on at a time: a block and its product stay in the cache.
BLOCK_ENTRIES = 1 << 17
# Squared norm beyond which |u|^2 + |v|^2 - 2 u'v is off by more than about 1e-10.
FAR_NORM = 1e5

ALL = slice(None)
RadialFunction: TypeAlias = Callable[[FloatArray], FloatArray]
BlockOfRows: TypeAlias = Callable[[slice], FloatArray]


class Distances:
    """Squared Euclidean distances between the rows of ``U`` and ``V``, or between those of ``U``.

    They are computed by one matrix product where that is accurate, unless they must be exact: near distance
    zero a square root turns an error of 1e-12 into 1e-6.
    """

    def __init__(self, U: FloatArray, V: FloatArray | None = None, *, exact: bool = False) -> None:
        u = np.einsum("ij,ij->i", U, U)
        v = u if V is None else np.einsum("ij,ij->i", V, V)
        self._within = V is None
        self._points = (U, U if V is None else V)
        self._far = bool(np.maximum.reduce(u) > FAR_NORM or (v is not u and np.maximum.reduce(v) > FAR_NORM))
        self._exact = exact or self._far
        self._left = _augment(-2.0 * U, u, 1.0)
        self._right = _augment(self._points[1], 1.0, v)

    def __call__(self, rows: slice = ALL, first: int = 0) -> FloatArray:
        """Distances of some rows of ``U`` to those of ``V`` from row ``first`` on."""
        if self._exact:
            s: FloatArray = cdist(self._points[0][rows], self._points[1][first:], "sqeuclidean")
        else:
            s = self._left[rows] @ self._right[first:].T
            np.maximum(s, 0.0, out=s)
        if self._within:
            # Exactly zero, without rounding: a kernel may not be smooth there.
            diagonal(s[:, (rows.start or 0) - first :])[:] = 0.0
        return s

    def apply(self, function: RadialFunction) -> FloatArray:
        """Apply a function to all distances, in blocks that fit the cache; within a set, once per pair."""
        n, m = (len(points) for points in self._points)
        blocks = row_blocks(n, m)
        if len(blocks) == 1:
            return function(self(blocks[0]))
        K = np.empty((n, m))
        for rows in blocks:
            first = rows.start if self._within else 0
            values = function(self(rows, first))
            K[rows, first:] = values
            if self._within:
                K[rows.stop :, rows] = values[:, len(values) :].T
        return K

    def pullback(self, G: FloatArray, slopes: BlockOfRows) -> FloatArray:
        """For each input r, ``sum_ij M_ij (u_ir - v_jr)^2`` with ``M = G * slope``.

        Expanding the square leaves row sums, column sums and one product with ``V``. It loses the digits of
        near points where others are far; then differences are used.
        """
        U, V = self._points
        if self._far:
            return np.asarray(self._by_differences(G, slopes, 2).sum(axis=0))
        # self._right is V with a column of ones, which gives the row sums, and one of squared norms.
        moments = np.empty((len(U), self._right.shape[1]))
        columns = np.zeros(len(V))
        for rows in row_blocks(len(U), len(V)):
            M = G[rows] * slopes(rows)
            np.matmul(M, self._right, out=moments[rows])
            columns += np.add.reduce(M)
        squares = moments[:, -2] @ (U * U) + columns @ (V * V)
        by_input: FloatArray = squares - 2.0 * np.einsum("ij,ij->j", U, moments[:, :-2])
        return by_input

    def point_pullback(self, G: FloatArray, slopes: BlockOfRows) -> FloatArray:
        """``sum_i M_ij (u_i - v_j)`` with ``M = G * slope``: derivatives by the second points."""
        U, V = self._points
        if self._far:
            return self._by_differences(G, slopes, 1)
        extended = _augment(U, 1.0, 0.0)
        moments = np.zeros((len(V), extended.shape[1]))
        for rows in row_blocks(len(U), len(V)):
            moments += (G[rows] * slopes(rows)).T @ extended[rows]
        return moments[:, :-2] - moments[:, -2:-1] * V

    def _by_differences(self, G: FloatArray, slopes: BlockOfRows, power: int) -> FloatArray:
        """``sum_i M_ij (u_ir - v_jr)^power`` with ``M = G * slope``, in row j; one input at a time."""
        U, V = self._points
        total = np.zeros_like(V)
        for rows in row_blocks(len(U), len(V)):
            M = G[rows] * slopes(rows)
            for r in range(V.shape[1]):
                total[:, r] += np.einsum("ij,ij->j", M, np.subtract.outer(U[rows, r], V[:, r]) ** power)
        return total


def middle(X: FloatArray) -> FloatArray:
    """Column medians of the rows, as an origin: one far row must not cost the digits of all others."""
    half = len(X) // 2
    return np.asarray(np.partition(X, half, axis=0)[half])


def _augment(U: FloatArray, first: FloatArray | float, second: FloatArray | float) -> FloatArray:
    wide = np.empty((U.shape[0], U.shape[1] + 2))
    wide[:, :-2] = U
    wide[:, -2] = first
    wide[:, -1] = second
    return wide


def row_blocks(rows: int, columns: int) -> list[slice]:
    """Slices of the rows of a matrix that fit the cache."""
    step = max(1, BLOCK_ENTRIES // columns)
    return [slice(first, min(first + step, rows)) for first in range(0, rows, step)]


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
