"""A posterior that includes the uncertainty of kernel parameters.

For parameters ``theta ~ N(best, covariance)`` the variance of the function is, by the law of total variance,
that at the best parameters plus the variance of the mean. The latter is computed by moving the parameters by
one standard deviation along each principal direction of the covariance.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.inputs import Inputs, gather, joined
from sturdygp.gp.posterior import EvidenceGradient, Marginals, MeanFunction, Posterior, Prior
from sturdygp.gp.sites import Sites
from sturdygp.kernels.base import Kernel
from sturdygp.linalg.cholesky import symmetric_eigen

# Largest variance of a log parameter: beyond a factor e, a linear approximation of the mean fails.
LARGEST_VARIANCE = 1.0


NEGLIGIBLE_VARIANCE = 1e-6


@dataclass(frozen=True, eq=False)
class UncertainPosterior(Posterior):
    """The posterior at the best parameters, and the mean functions one standard deviation away."""

    kernel: Kernel
    sites: Sites
    mean: float
    X: Inputs
    best: Posterior
    moved: tuple[MeanFunction, ...]

    @classmethod
    def around(
        cls, best: Posterior, X: Inputs, prior_at: Callable[[Kernel], Prior], covariance: FloatArray
    ) -> Self:
        """Build it from a covariance of the kernel's log parameters; each direction costs a factorisation."""
        kernel, sites = best.kernel, best.sites
        moved = []
        for step in principal_steps(covariance):
            other = kernel.with_theta(np.clip(kernel.theta + step, *kernel.bounds.T))
            try:
                moved.append(prior_at(other).condition(sites).mean_function)
            except NotPositiveDefiniteError:
                # Sites of negative precision may be improper for another kernel.
                continue
        return cls(kernel, sites, best.mean, X, best, tuple(moved))

    @property
    def inputs(self) -> Inputs:
        """The training inputs."""
        return self.X

    @property
    def left_out(self) -> FloatArray | float:
        """Left-out prior variance at the best parameters."""
        return self.best.left_out

    @property
    def log_evidence(self) -> float:
        """Log evidence at the best parameters."""
        return self.best.log_evidence

    def gradient(self, by_left_out: FloatArray | None = None) -> EvidenceGradient:
        """Derivatives at the best parameters."""
        return self.best.gradient(by_left_out)

    def marginals(self) -> Marginals:
        """The posterior of the function at each training input."""
        return self._widened(self.best.marginals())

    def leave_one_out(self, power: float = 1.0) -> Marginals:
        """Posterior at each training input without a power of its site; kernel and mean stay."""
        return self._widened(self.best.leave_one_out(power))

    def predict_mean(self, Z: FloatArray) -> FloatArray:
        """Posterior mean of the function at the rows of ``Z``."""
        return self.best.predict_mean(Z)

    @property
    def mean_function(self) -> MeanFunction:
        """Mean function at the best parameters."""
        return self.best.mean_function

    def predict(self, Z: FloatArray) -> Marginals:
        """Posterior mean and variance of the function at the rows of ``Z``."""
        marginals = self.best.predict(Z)
        return Marginals(marginals.mean, marginals.variance + self._variance_of_mean(Z, marginals.mean))

    def covariance(self, Z: FloatArray) -> FloatArray:
        """Posterior covariance of the function between the rows of ``Z``."""
        covariance = self.best.covariance(Z)
        moves = self._moves(Z, self.best.predict_mean(Z))
        return covariance + moves.T @ moves

    def compact(self) -> Self:
        """Drop what only fitting needs; the rest is small enough to keep and to pickle."""
        return type(self)(self.kernel, self.sites, self.mean, self.X, self.best.compact(), self.moved)

    def _widened(self, marginals: Marginals) -> Marginals:
        return Marginals(marginals.mean, marginals.variance + gather(self.X, self._added_variance, joined))

    def _added_variance(self, Z: FloatArray) -> FloatArray:
        return self._variance_of_mean(Z, self.best.predict_mean(Z))

    def _variance_of_mean(self, Z: FloatArray, mean: FloatArray) -> FloatArray:
        """Variance of the posterior mean over the parameters, where ``mean`` is that at the best ones."""
        return np.asarray((self._moves(Z, mean) ** 2).sum(axis=0))

    def _moves(self, Z: FloatArray, mean: FloatArray) -> FloatArray:
        """Change of the mean along each principal direction, one in a row."""
        Z = np.asarray(Z, dtype=np.float64)
        return np.array([function(Z) - mean for function in self.moved]).reshape(len(self.moved), len(mean))


def principal_steps(covariance: FloatArray) -> list[FloatArray]:
    """One standard deviation along each principal direction that matters, with a positive sum of entries.

    The sign matters, as the mean is not quite linear in the parameters; that of an eigenvector is arbitrary.
    """
    variances, directions = symmetric_eigen(covariance)
    return [
        np.copysign(np.sqrt(min(variance, LARGEST_VARIANCE)), direction.sum()) * direction
        for variance, direction in zip(variances, directions.T, strict=True)
        if variance > NEGLIGIBLE_VARIANCE
    ]
