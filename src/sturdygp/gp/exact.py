"""The exact posterior: one Cholesky factorisation serves evidence, gradient, marginals and leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.gp.inputs import Inputs
from sturdygp.gp.low_rank import Reduction, worthwhile
from sturdygp.gp.posterior import (
    Anticipated,
    EvidenceGradient,
    LeaveOneOutGradient,
    Marginals,
    Posterior,
    Prior,
    check_inputs,
    check_test_inputs,
    chunks,
)
from sturdygp.gp.sites import TINY, Sites
from sturdygp.kernels.base import Kernel, Linearised
from sturdygp.linalg.cholesky import SiteFactor, factorise_sites
from sturdygp.linalg.conjugate_gradients import solve_nearly
from sturdygp.linalg.lapack import symmetric_product


@dataclass(frozen=True, eq=False)
class Moments:
    """Results of the diagonal of the inverse: marginals, and ``1 - precision * variance``."""

    marginals: Marginals
    shrinkage: FloatArray


@dataclass(frozen=True, eq=False)
class InverseResults:
    """Results of the whole inverse: moments and gradient."""

    moments: Moments
    gradient: EvidenceGradient


@dataclass(frozen=True, eq=False)
class ExactMean:
    """``mean + k(x, X) alpha``."""

    kernel: Kernel
    X: FloatArray
    mean: float
    alpha: FloatArray

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Its values at the rows of ``Z``."""
        parts = [self.kernel(Z[rows], self.X) @ self.alpha for rows in chunks(len(Z), len(self.X))]
        return self.mean + np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class ExactPosterior(Posterior):
    """Built by :func:`condition`. ``alpha = R (target - mean)`` with ``R = (K + T^-1)^-1``."""

    kernel: Kernel
    X: FloatArray
    sites: Sites
    mean: float
    factor: SiteFactor
    alpha: FloatArray
    linearised: Linearised | None = None

    @property
    def inputs(self) -> Inputs:
        """The training inputs."""
        return self.X

    @property
    def log_evidence(self) -> float:
        """``log of the integral of N(f | mean, K) prod_i site_i(f_i)``."""
        misfit = float((self.sites.target - self.mean) @ self.alpha)
        return float(self.sites.log_scale.sum()) - 0.5 * (self.factor.log_det + misfit)

    def gradient(self, by_left_out: FloatArray | None = None) -> EvidenceGradient:
        """Derivatives of the log evidence."""
        return self._evaluation.gradient

    def marginals(self) -> Marginals:
        """The posterior of the function at each training input."""
        return self._moments.marginals

    def leave_one_out(self, power: float = 1.0) -> Marginals:
        """Posterior at each training input without a power of its site; kernel and mean stay.

        Not finite where the function interpolates a target exactly: its cavity is improper.
        """
        marginals = self._moments.marginals
        with np.errstate(divide="ignore", invalid="ignore"):
            variance = marginals.variance / (1.0 - power * (1.0 - self._moments.shrinkage))
            return Marginals(marginals.mean - power * self.alpha * variance, variance)

    def leave_one_out_gradient(self, by_mean: FloatArray, by_variance: FloatArray) -> LeaveOneOutGradient:
        """Derivatives of a function of the leave-one-out moments, given those with respect to the moments.

        With ``Q = R`` the moments are ``target_i - alpha_i / Q_ii`` and ``1 / Q_ii - 1 / precision_i``
        (Rasmussen and Williams, section 5.4.2, turned into a pullback).
        """
        Q = self.factor.matrix()
        q = Q.diagonal()
        a = by_mean / q
        b = (by_mean * self.alpha - by_variance) / q**2
        G = np.outer(Q @ a, self.alpha) - (Q * b) @ Q
        return LeaveOneOutGradient(
            kernel=self._linear.pullback(G), target=by_mean - Q @ a, noise=G.diagonal() - by_variance
        )

    def predict_mean(self, Z: FloatArray) -> FloatArray:
        """Posterior mean of the function at the rows of ``Z``."""
        return self.mean_function(self._check(Z))

    @property
    def mean_function(self) -> ExactMean:
        """Mean as a function, which needs no factor."""
        return ExactMean(self.kernel, self.X, self.mean, self.alpha)

    def predict(self, Z: FloatArray) -> Marginals:
        """Mean and variance of the function at the rows of ``Z`` (eq:predictive_latent_distribution)."""
        Z = self._check(Z)
        mean, variance = np.empty(len(Z)), self.kernel.diag(Z)
        in_few = self._reduction if worthwhile(len(Z), len(self.X)) else None
        reduction = in_few or self.factor.quadratic
        for rows in chunks(len(Z), len(self.X)):
            # Fortran-ordered, as the solve wants it.
            cross = self.kernel(Z[rows], self.X).T
            mean[rows] = self.mean + self.alpha @ cross
            variance[rows] -= reduction(cross)
        return Marginals(mean, np.maximum(variance, 0.0))

    def covariance(self, Z: FloatArray) -> FloatArray:
        """Posterior covariance of the function between the rows of ``Z``."""
        Z = self._check(Z)
        return self.kernel(Z) - self.factor.quadratic_matrix(self.kernel(self.X, Z))

    def compact(self) -> Self:
        """Drop the kernel matrix."""
        return replace(self, linearised=None)

    @property
    def _linear(self) -> Linearised:
        return self.linearised or self.kernel.linearise(self.X)

    @cached_property
    def _moments(self) -> Moments:
        """Moments alone, or those that came with the gradient if it was computed before."""
        if "_evaluation" in vars(self):
            return self._evaluation.moments
        return self._moments_by(self.factor.chol.inverse_triangle().diagonal())

    def _moments_by(self, diagonal: FloatArray) -> Moments:
        K = self._linear.value
        variance, shrinkage = self.factor.variances(K, diagonal)
        return Moments(Marginals(self.mean + K @ self.alpha, variance), shrinkage)

    @cached_property
    def _evaluation(self) -> InverseResults:
        """Everything that needs the inverse, which is formed once and then overwritten."""
        inverse = self.factor.chol.inverse_triangle()
        moments = self._moments_by(inverse.diagonal())
        gradient = EvidenceGradient(
            kernel=self._linear.pullback(self.factor.cotangent(inverse, self.alpha)),
            mean=float(self.alpha.sum()),
            target=-self.alpha,
            precision=-0.5 * moments.marginals.second_moment(self.sites.target),
        )
        return InverseResults(moments, gradient)

    @cached_property
    def _reduction(self) -> Reduction | None:
        return Reduction.of(self.factor, self.kernel, self.X)

    def _check(self, Z: FloatArray) -> FloatArray:
        return check_test_inputs(Z, self.X.shape[1])


@dataclass(frozen=True, eq=False)
class ExactPrior(Prior):
    """A Gaussian process at the rows of ``X`` (eq:gp_prior), its kernel evaluated once."""

    kernel: Kernel
    X: FloatArray
    linearised: Linearised

    @classmethod
    def at(cls, kernel: Kernel, X: FloatArray) -> Self:
        """Evaluate the kernel."""
        X = check_inputs(X)
        return cls(kernel, X, kernel.linearise(X))

    def condition(self, sites: Sites, mean: float | None = None) -> ExactPosterior:
        """Condition on sites; see :func:`condition`."""
        sites.check_rows(len(self.X))
        factor = factorise_sites(self.linearised.value, sites.precision)
        mean, alpha = _solve(factor, sites, mean)
        return ExactPosterior(self.kernel, self.X, sites, mean, factor, alpha, self.linearised)

    @property
    def variance(self) -> FloatArray:
        """Prior variance of the function at each row."""
        return self.linearised.value.diagonal()

    def anticipate(self, sites: Sites, near: Posterior, warm_start: FloatArray | None) -> Anticipated:
        """Solve for ``alpha`` by conjugate gradients, preconditioned by a posterior that is near."""
        if not isinstance(near, ExactPosterior):
            raise TypeError(f"an exact process is anticipated from an exact posterior, got {type(near)}")
        # Symmetric: the transpose of a C-ordered matrix is the same matrix in Fortran's order.
        K, root = np.asfortranarray(self.linearised.value.T), np.sqrt(sites.precision)
        x = (near.alpha if warm_start is None else warm_start) / np.maximum(root, TINY)

        def apply(v: FloatArray) -> FloatArray:
            return v + root * symmetric_product(K, root * v)

        alpha = root * solve_nearly(apply, root * (sites.target - near.mean), x, near.factor.chol.solve)
        return Anticipated(near.mean + symmetric_product(K, alpha), alpha)


def condition(kernel: Kernel, X: FloatArray, sites: Sites, mean: float | None = None) -> ExactPosterior:
    """Condition a Gaussian process on sites at the rows of ``X``.

    Parameters
    ----------
    kernel : Kernel
        Prior covariance.
    X : array of shape (n, d)
        Inputs.
    sites : Sites
        One Gaussian factor for each row.
    mean : float, optional
        Prior mean. By default the value that maximises the evidence (generalised least
        squares), or 0 if no site has any precision.

    Examples
    --------
    >>> import numpy as np
    >>> from sturdygp.kernels import SquaredExponential
    >>> X, y = np.array([[0.0], [1.0]]), np.array([1.0, -1.0])
    >>> posterior = condition(SquaredExponential(), X, Sites.gaussian(y, 0.1))
    >>> posterior.predict(np.array([[0.5]])).mean.round(6) + 0.0
    array([0.])
    """
    return ExactPrior.at(kernel, X).condition(sites, mean)


def _solve(factor: SiteFactor, sites: Sites, mean: float | None) -> tuple[float, FloatArray]:
    """The mean, ``1' R target / 1' R 1`` unless it is given, and ``alpha = R (target - mean)``."""
    if mean is not None:
        return mean, factor.apply(sites.target - mean)
    centre = sites.centre
    ones, centred = factor.apply(np.ones(len(sites))), factor.apply(sites.target - centre)
    total = float(ones.sum())
    shift = float(centred.sum()) / total if total > 0.0 else 0.0
    return centre + shift, centred - shift * ones
