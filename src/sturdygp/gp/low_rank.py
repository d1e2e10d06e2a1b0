"""Low-rank approximations: features for screening, and fast variances at many points."""

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

# Directions are left out once none has more than this fraction of the largest entry of ``A``, near rounding.
# The reduction is not used where its worst-case error is a larger fraction of a variance than the second (for
# precisions that are not negative); actual errors are smaller by many orders of magnitude.
NEGLIGIBLE_DIRECTION, WORST_ERROR = 1e-13, 1e-3


# Largest number of rows as a fraction of the observations: a product with more would save little.
MOST_DIRECTIONS = 1.0 / 3.0


# Number of observations below which a triangular solve is cheap, and points to predict per observation that
# repay the search for directions.
LEAST_OBSERVATIONS, POINTS_PER_OBSERVATION = 200, 4


@dataclass(frozen=True, eq=False)
class Reduction:
    """``b' R b`` as sums of squares: those of ``added @ b`` less those of ``taken @ b``."""

    added: FloatArray
    taken: FloatArray

    @classmethod
    def of(cls, factor: SiteFactor, kernel: Kernel, X: FloatArray) -> Self | None:
        """Reduce to the directions that matter; None if they are many."""
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
        """Evaluate for each column of a Fortran-ordered ``b``."""
        return _squares(self.added, b) - _squares(self.taken, b)


def worthwhile(points: int, observations: int) -> bool:
    """True if so many points to predict repay the search for directions."""
    return observations >= LEAST_OBSERVATIONS and points >= POINTS_PER_OBSERVATION * observations


def _basis(kernel: Kernel, X: FloatArray, D: FloatArray) -> FloatArray | None:
    """Orthonormal columns that span ``A`` up to a negligible rest; None if they are many or inaccurate.

    The trace of the rest bounds the fraction of the prior variance that is missed, and every posterior
    variance is at least ``1 / (1 + trace(A))`` of the prior one.
    """
    diagonal, most = D**2 * kernel.diag(X), int(MOST_DIRECTIONS * len(X))
    if len(X) * NEGLIGIBLE_DIRECTION * diagonal.max() * (1.0 + diagonal.sum()) > WORST_ERROR:
        return None

    def column(i: int) -> FloatArray:
        return np.asarray(D * D[i] * kernel(X, X[i : i + 1])[:, 0])

    F, pivots = pivoted_cholesky(diagonal, column, most, NEGLIGIBLE_DIRECTION)
    return orthonormal(F) if 0 < len(pivots) < most else None


def _squares(rows: FloatArray, b: FloatArray) -> FloatArray:
    if not len(rows):
        return np.zeros(b.shape[1])
    h = product(rows, b)
    return np.asarray(np.einsum("ij,ij->j", h, h))


# Prior precision of the constant, for targets of unit scale: nearly none.
CONSTANT_PRECISION = 1e-3


# Fraction of the prior variance that features may leave out at any row.
LEFT_OUT_FRACTION = 1e-3


@dataclass(frozen=True, eq=False)
class RoughPosterior:
    """Marginals and log evidence; ``amplitude`` is the kernel factor that the weights imply."""

    marginals: Marginals
    log_evidence: FloatArray
    amplitude: FloatArray


@dataclass(frozen=True, eq=False)
class RoughPrior:
    """``f = constant + features w``, with ``features features'`` near the kernel matrix."""

    basis: FloatArray

    @classmethod
    def of(cls, kernel: Kernel, X: FloatArray, rank: int) -> Self:
        """At most ``rank`` features of a kernel; they cost O(n rank^2).

        Rows are sorted, so that the choice among equal pivots does not depend on their order.
        """
        order = np.lexsort(X.T)
        rows = X[order]
        features, _ = pivoted_cholesky(
            kernel.diag(rows), lambda row: kernel(rows, rows[row : row + 1])[:, 0], rank, LEFT_OUT_FRACTION
        )
        return cls(np.column_stack([np.ones(len(X)), features[np.argsort(order)]]))

    @property
    def rank(self) -> int:
        """Number of features, at least one."""
        return max(int(self.basis.shape[1]) - 1, 1)

    def condition(self, sites: Sites, amplitude: FloatArray) -> RoughPosterior:
        """Condition on sites, the kernel multiplied by ``amplitude``.

        Leading axes of the sites, and all axes of the amplitude, distinguish several sets of sites.
        """
        basis, size = self.basis.T, self.basis.shape[1]
        weight_precision = np.empty((*amplitude.shape, size))
        weight_precision[..., 0], weight_precision[..., 1:] = CONSTANT_PRECISION, 1.0 / amplitude[..., None]
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
