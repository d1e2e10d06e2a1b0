"""Laplace's approximation: the mode, and the curvature there, which may be negative for outliers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.exact import ExactPosterior, ExactPrior
from sturdygp.gp.sites import Sites
from sturdygp.likelihoods.student_t import TLikelihood

MODE_STEPS = 200


MODE_TOLERANCE = 1e-9


# Least size of a curvature relative to the noise precision: the site's target divides by it.
LEAST_CURVATURE = 1e-8


@dataclass(frozen=True, eq=False)
class LaplaceFit:
    """The approximation at one set of parameters, and the gradient of its evidence."""

    posterior: ExactPosterior
    mode: FloatArray
    by_kernel: FloatArray
    by_log_noise: float
    by_log_dof: float
    by_mean: float
    n_factorizations: int

    @property
    def log_evidence(self) -> float:
        """Laplace's approximation to the log evidence."""
        return self.posterior.log_evidence


def approximate(
    prior: ExactPrior, y: FloatArray, likelihood: TLikelihood, mean: float, initial: FloatArray
) -> LaplaceFit:
    """Find the mode from ``initial`` and expand there."""
    mode, count = find_mode(prior, y, likelihood, mean, initial)
    r = y - mode
    slope, _, third = likelihood.curvature(r)
    sites = expansion(y, mode, likelihood)
    posterior = prior.condition(sites, mean)
    K, factor = prior.linearised.value, posterior.factor
    variance = posterior.marginals().variance
    # The curvature moves with the mode, and the mode with every parameter.
    u = 0.5 * variance * third
    pushed = u - factor.apply(K @ u)
    by_kernel = posterior.gradient().kernel + prior.linearised.pullback(np.outer(pushed, slope))
    value, by_slope, by_curvature = likelihood.by_parameters(r)
    moved = K @ pushed
    by_noise, by_dof = value.sum(axis=1) - 0.5 * by_curvature @ variance + by_slope @ moved
    by_mean = float(slope.sum() + pushed.sum())
    return LaplaceFit(posterior, mode, by_kernel, float(by_noise), float(by_dof), by_mean, count + 1)


def expansion(y: FloatArray, f: FloatArray, likelihood: TLikelihood) -> Sites:
    """The likelihood to second order around ``f``, as sites."""
    slope, curvature, _ = likelihood.curvature(y - f)
    least = LEAST_CURVATURE / likelihood.noise
    W = np.where(np.abs(curvature) < least, np.copysign(least, curvature), curvature)
    return Sites(f + slope / W, W, likelihood.log_density(y - f) + 0.5 * slope**2 / W)


def find_mode(
    prior: ExactPrior, y: FloatArray, likelihood: TLikelihood, mean: float, initial: FloatArray
) -> tuple[FloatArray, int]:
    """Newton's method where it raises the log density, else a step of EM, which always does."""
    K, f, height, count = prior.linearised.value, initial, -np.inf, 0

    def evaluate(sites: Sites) -> tuple[FloatArray, float]:
        alpha = prior.condition(sites, mean).alpha
        reached = mean + K @ alpha
        return reached, float(likelihood.log_density(y - reached).sum() - 0.5 * alpha @ (reached - mean))

    while count < MODE_STEPS:
        count += 1
        try:
            reached, higher = evaluate(expansion(y, f, likelihood))
        except NotPositiveDefiniteError:
            higher = -np.inf
        if not higher > height:
            count += 1
            precision = likelihood.weight((y - f) ** 2) / likelihood.noise
            reached, higher = evaluate(Sites(y, precision, np.zeros_like(y)))
        step, f, height = np.abs(reached - f).max(), reached, higher
        if step <= MODE_TOLERANCE * max(1.0, float(np.abs(f).max())):
            return f, count
    raise NotPositiveDefiniteError(f"the mode was not found in {MODE_STEPS} steps")
