"""A Gaussian process in a few features: too coarse to predict with, cheap enough to try many ideas on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import Sites
from sturdygp.kernels.base import Kernel
from sturdygp.linalg import pivoted_cholesky

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
        lower = np.linalg.cholesky(A)
        # The matrices are small and well conditioned: an inverse is one call for all of them.
        half = np.linalg.inv(lower)
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
