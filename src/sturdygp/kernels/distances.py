"""Squared distances between scaled points: functions of all of them, and how these change with the points."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from scipy.spatial.distance import cdist

from sturdygp._typing import FloatArray
from sturdygp.linalg import diagonal

# Rows of a kernel matrix worked on at a time: a block and its product stay in the cache.
BLOCK_ENTRIES = 1 << 16
# Squared norm beyond which |u|^2 + |v|^2 - 2 u'v loses more than about 1e-10 of a distance.
FAR = 1e5

ALL = slice(None)
Profile: TypeAlias = Callable[[FloatArray], FloatArray]
BlockOfRows: TypeAlias = Callable[[slice], FloatArray]


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
