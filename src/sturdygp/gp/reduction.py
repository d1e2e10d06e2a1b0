"""By how much the sites reduce the variance at a point, in few directions.

Covariances ``b`` of a point with the training inputs are not any vectors. Scaled by the roots of the sites'
precisions, ``z = D b``, they satisfy ``z' A^+ z <= k(x, x)`` with ``A = D K D``, as no posterior variance is
negative: along an eigenvector of a small eigenvalue there is next to nothing of them. Where a smooth kernel
leaves few large ones, ``b' R b`` needs a product with as many rows instead of a triangular solve.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Kernel
from sturdygp.lapack import product
from sturdygp.linalg import SiteFactor, pivoted_cholesky

# Directions are left out once none has more than this share of the largest entry of ``A``, not far from what
# rounding leaves. They are not used where a larger share of a variance than the second might be missed with
# them, at the very worst (where no precision is negative): errors are smaller than that by many orders.
LEFT_OUT, WORST = 1e-13, 1e-3
# A product with more rows than this share of the readings would save little.
MOST_ROWS = 1.0 / 3.0
# Readings below which a triangular solve is cheap, and points to predict for each that repay the directions.
LEAST_READINGS, POINTS_PER_READING = 200, 4


@dataclass(frozen=True, eq=False)
class Reduction:
    """``b' R b`` as sums of squares: those of ``added @ b`` less those of ``taken @ b``."""

    added: FloatArray
    taken: FloatArray

    @classmethod
    def of(cls, factor: SiteFactor, kernel: Kernel, X: FloatArray) -> Self | None:
        """In the directions that matter, or None if they are many."""
        D = np.sqrt(np.abs(factor.precision))
        Q = _basis(kernel, X, D)
        if Q is None:
            return None
        # A site without precision has no row in R.
        inverse = np.divide(1.0, D, out=np.zeros_like(D), where=D > 0.0)[:, None]
        values, vectors = np.linalg.eigh((inverse * Q).T @ factor.apply(inverse * Q))
        rows = np.sqrt(np.abs(values))[:, None] * (vectors.T @ (Q.T * D))
        return cls(np.asfortranarray(rows[values > 0.0]), np.asfortranarray(rows[values < 0.0]))

    def __call__(self, b: FloatArray) -> FloatArray:
        """For each column of a Fortran-ordered ``b``."""
        return _squares(self.added, b) - _squares(self.taken, b)


def worthwhile(points: int, readings: int) -> bool:
    """Whether so many points to predict repay the search for directions."""
    return readings >= LEAST_READINGS and points >= POINTS_PER_READING * readings


def _basis(kernel: Kernel, X: FloatArray, D: FloatArray) -> FloatArray | None:
    """Orthonormal columns that span ``A`` but for what is negligible, or None if many or unsure.

    The trace of what ``A`` has beyond them is the share of the prior variance that might be missed, and no
    posterior variance is less than ``1 / (1 + trace(A))`` of that.
    """
    diagonal, most = D**2 * kernel.diag(X), int(MOST_ROWS * len(X))
    if len(X) * LEFT_OUT * diagonal.max() * (1.0 + diagonal.sum()) > WORST:
        return None

    def column(i: int) -> FloatArray:
        return np.asarray(D * D[i] * kernel(X, X[i : i + 1])[:, 0])

    F, pivots = pivoted_cholesky(diagonal, column, most, LEFT_OUT)
    return np.linalg.qr(F)[0] if 0 < len(pivots) < most else None


def _squares(rows: FloatArray, b: FloatArray) -> FloatArray:
    if not len(rows):
        return np.zeros(b.shape[1])
    h = product(rows, b)
    return np.asarray(np.einsum("ij,ij->j", h, h))
