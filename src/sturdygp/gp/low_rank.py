"""A process in few directions: features to try many hypotheses on, and fast variances at many points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import Sites
from sturdygp.kernels.base import Kernel
from sturdygp.linalg.cholesky import (
    SiteFactor,
    orthonormal,
    pivoted_cholesky,
    small_factors,
    symmetric_eigen,
)
from sturdygp.linalg.lapack import product

# Directions are left out once none has more than this share of the largest entry of ``A``, not far from what
# rounding leaves. They are not used where a larger share of a variance than the second might be missed with
# them, at the very worst (where no precision is negative): errors are smaller than that by many orders.
NEGLIGIBLE, WORST = 1e-13, 1e-3


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
        values, vectors = symmetric_eigen((inverse * Q).T @ factor.apply(inverse * Q))
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
    if len(X) * NEGLIGIBLE * diagonal.max() * (1.0 + diagonal.sum()) > WORST:
        return None

    def column(i: int) -> FloatArray:
        return np.asarray(D * D[i] * kernel(X, X[i : i + 1])[:, 0])

    F, pivots = pivoted_cholesky(diagonal, column, most, NEGLIGIBLE)
    return orthonormal(F) if 0 < len(pivots) < most else None


def _squares(rows: FloatArray, b: FloatArray) -> FloatArray:
    if not len(rows):
        return np.zeros(b.shape[1])
    h = product(rows, b)
    return np.asarray(np.einsum("ij,ij->j", h, h))


# Prior precision of the level, for targets of unit scale: nearly none.
LEVEL_PRECISION = 1e-3


# Share of the prior variance that features may leave out everywhere.
LEFT_OUT = 1e-3


@dataclass(frozen=True, eq=False)
class RoughPosterior:
    """The function at the inputs; ``amplitude`` is the factor of the kernel that its weights suggest."""

    marginals: Marginals
    log_evidence: FloatArray
    amplitude: FloatArray


@dataclass(frozen=True, eq=False)
class RoughPrior:
    """``f = level + features w``, with ``features features'`` near the kernel matrix."""

    basis: FloatArray

    @classmethod
    def of(cls, kernel: Kernel, X: FloatArray, rank: int) -> Self:
        """At most ``rank`` features of a kernel; they cost O(n rank^2).

        Where all rows are alike to the kernel the first is a pivot: so they have an order of their own.
        """
        order = np.lexsort(X.T)
        rows = X[order]
        features, _ = pivoted_cholesky(
            kernel.diag(rows), lambda row: kernel(rows, rows[row : row + 1])[:, 0], rank, LEFT_OUT
        )
        return cls(np.column_stack([np.ones(len(X)), features[np.argsort(order)]]))

    @property
    def rank(self) -> int:
        """The number of features, at least one."""
        return max(int(self.basis.shape[1]) - 1, 1)

    def condition(self, sites: Sites, amplitude: FloatArray) -> RoughPosterior:
        """Condition on sites, the kernel multiplied by ``amplitude``.

        Axes before the last one of the sites, and all of the amplitude, tell apart several sets of sites.
        """
        basis, size = self.basis.T, self.basis.shape[1]
        weight_precision = np.empty((*amplitude.shape, size))
        weight_precision[..., 0], weight_precision[..., 1:] = LEVEL_PRECISION, 1.0 / amplitude[..., None]
        A = (sites.precision[..., None, :] * basis) @ self.basis
        A[..., range(size), range(size)] += weight_precision
        lower, half = small_factors(A)
        w = (np.swapaxes(half, -1, -2) @ (half @ ((sites.precision * sites.target) @ self.basis)[..., None]))[
            ..., 0
        ]
        mean = w @ basis
        misfit = (sites.precision * (sites.target - mean) ** 2).sum(axis=-1)
        misfit += (weight_precision * w**2).sum(axis=-1)
        log_det = 2.0 * np.log(lower[..., range(size), range(size)]).sum(axis=-1)
        log_det -= np.log(weight_precision).sum(axis=-1)
        second_moment = w**2 + (half**2).sum(axis=-2)
        return RoughPosterior(
            marginals=Marginals(mean, ((half @ basis) ** 2).sum(axis=-2)),
            log_evidence=sites.log_scale.sum(axis=-1) - 0.5 * (misfit + log_det),
            amplitude=second_moment[..., 1:].mean(axis=-1) if size > 1 else amplitude,
        )
