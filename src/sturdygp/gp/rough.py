"""A Gaussian process in a few features: too coarse to predict with, cheap enough to try many ideas on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import Sites
from sturdygp.kernels.base import Kernel
from sturdygp.linalg import cholesky, diagonal, pivoted_cholesky

# Prior precision of the level, for targets of unit scale: nearly none.
LEVEL_PRECISION = 1e-3
# Share of the prior variance that features may leave out everywhere.
LEFT_OUT = 1e-3


@dataclass(frozen=True, eq=False)
class RoughPosterior:
    """The function at the inputs; ``amplitude`` is the factor of the kernel that its weights suggest."""

    marginals: Marginals
    log_evidence: float
    amplitude: float


@dataclass(frozen=True, eq=False)
class RoughPrior:
    """``f = level + features w``, with ``features features'`` near the kernel matrix."""

    basis: FloatArray

    @classmethod
    def of(cls, kernel: Kernel, X: FloatArray, rank: int) -> Self:
        """At most ``rank`` features of a kernel; they cost O(n rank^2)."""
        features = pivoted_cholesky(
            kernel.diag(X), lambda row: kernel(X, X[row : row + 1])[:, 0], rank, LEFT_OUT
        )
        return cls(np.column_stack([np.ones(len(X)), features]))

    def condition(self, sites: Sites, amplitude: float) -> RoughPosterior:
        """Condition on sites, the kernel multiplied by ``amplitude``."""
        weight_precision = np.full(self.basis.shape[1], 1.0 / amplitude)
        weight_precision[0] = LEVEL_PRECISION
        A = self.basis.T @ (sites.precision[:, None] * self.basis)
        diagonal(A)[:] += weight_precision
        factor = cholesky(A, overwrite=True)
        w = factor.solve(self.basis.T @ (sites.precision * sites.target))
        mean = self.basis @ w
        misfit = sites.precision @ (sites.target - mean) ** 2 + weight_precision @ w**2
        log_evidence = sites.log_scale.sum() - 0.5 * (
            misfit + factor.log_det - np.log(weight_precision).sum()
        )
        second_moment = w**2 + factor.inverse_triangle().diagonal()
        return RoughPosterior(
            marginals=Marginals(mean, (factor.half_solve(self.basis.T) ** 2).sum(axis=0)),
            log_evidence=float(log_evidence),
            amplitude=float(second_moment[1:].mean()) if w.size > 1 else amplitude,
        )
