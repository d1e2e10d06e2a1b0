"""The Student-t likelihood: densities, moments against a normal cavity, and its variational form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log, sqrt

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import digamma, gammaln, logsumexp, ndtri, stdtrit

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, Sites
from sturdygp.likelihoods.base import FittedLikelihood

# Grid of the log precision multiplier over which the scale mixture is integrated: 200 points on [log 1e-8,
# 5], further down if an observation is far away, finer where many degrees of freedom make it narrow.
LOWEST, HIGHEST, SPACING = log(1e-8), 5.0, (5.0 - log(1e-8)) / 199


NARROW_DOF, NORMAL_DOF = 30.0, 1e7


# With fewer degrees of freedom the tails are too long for the grid.
LEAST_DOF = 0.3


WIDTHS, SPACING_IN_WIDTHS, MOST_POINTS = 12.0, 0.4, 4000


@dataclass(frozen=True, eq=False)
class TiltedT:
    """Moments of cavity times likelihood, and derivatives of the log normaliser by the parameters."""

    log_z: FloatArray
    moments: Marginals
    by_log_noise: FloatArray
    by_log_dof: FloatArray


@dataclass(frozen=True)
class TLikelihood:
    """``y = f + sqrt(noise) t`` with ``dof`` degrees of freedom."""

    noise: float
    dof: float

    @property
    def normal_variance(self) -> float:
        """Variance of a normal density with the same 95 % interval: its own may be infinite."""
        return self.noise * float(stdtrit(self.dof, 0.975) / ndtri(0.975)) ** 2

    def log_density(self, residual: FloatArray) -> FloatArray:
        """Log density of a residual ``y - f``."""
        nu, s2 = self.dof, self.noise
        constant = float(gammaln((nu + 1) / 2) - gammaln(nu / 2)) - 0.5 * log(nu * np.pi * s2)
        return np.asarray(constant - 0.5 * (nu + 1) * np.log1p(residual**2 / (nu * s2)))

    def weight(self, second_moment: FloatArray) -> FloatArray:
        """``(nu + 1) / (nu + S / noise)``, the expected precision multiplier."""
        return (self.dof + 1.0) / (self.dof + second_moment / self.noise)

    def curvature(self, residual: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """First, second (negated) and third derivative of the log density with respect to ``f``."""
        nu, r = self.dof, residual
        d = nu * self.noise + r**2
        first = (nu + 1) * r / d
        second = (nu + 1) * (nu * self.noise - r**2) / d**2
        third = 2 * (nu + 1) * r * (r**2 - 3 * nu * self.noise) / d**3
        return first, second, third

    def by_parameters(self, residual: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Derivatives by (log noise, log dof) of the log density, its slope and its negated curvature.

        Each has shape (2, n).
        """
        nu, s2, r = self.dof, self.noise, residual
        a, d = nu * s2, nu * s2 + r**2
        q = r**2 / d
        psi = 0.5 * float(digamma((nu + 1) / 2) - digamma(nu / 2)) - 0.5 / nu
        value_by_dof = nu * (psi - 0.5 * np.log1p(r**2 / a) + 0.5 * (nu + 1) * q / nu)
        value = np.array([-0.5 + 0.5 * (nu + 1) * q, value_by_dof])
        slope_by_noise = -(nu + 1) * r * a / d**2
        slope = np.array([slope_by_noise, nu * r / d + slope_by_noise])
        curvature_by_noise = (nu + 1) * a * (1 / d**2 - 2 * (a - r**2) / d**3)
        curvature = np.array([curvature_by_noise, nu * (a - r**2) / d**2 + curvature_by_noise])
        return value, slope, curvature

    def tilted(self, y: FloatArray, cavity: Marginals, power: float = 1.0) -> TiltedT:
        """Integrate a power of the likelihood; the derivatives are those of the power."""
        if power == 1.0:
            return self._tilted(y, cavity)
        other, constant = self.to_power(power)
        tilted = other.tilted(y, cavity)
        return replace(tilted, log_z=tilted.log_z + constant)

    def _tilted(self, y: FloatArray, cavity: Marginals) -> TiltedT:
        """Integrate the likelihood, a scale mixture of normals, against normal cavities."""
        v, delta = cavity.variance[:, None], (y - cavity.mean)[:, None]
        # fmax ignores missing observations, which are NaN.
        grid = self._grid(float(np.fmax.reduce(np.abs(delta), axis=None, initial=0.0)))
        u, half = np.exp(grid), 0.5 * self.dof
        log_mass = half * (grid - u)
        # Normalised on the grid: exact in the limit of normal noise, and to rounding elsewhere.
        log_mass = (
            log_mass - logsumexp(log_mass) if self.dof > NARROW_DOF else log_mass + self._log_constant()
        )
        noise = self.noise / u
        total = v + noise
        log_joint = log_mass - 0.5 * (LOG_2PI + np.log(total) + delta**2 / total)
        log_z = np.asarray(logsumexp(log_joint, axis=1))
        p = np.exp(log_joint - log_z[:, None])
        gain = v / total
        shift = gain * delta
        mean_shift = (p * shift).sum(axis=1)
        variance = (p * (gain * noise + (shift - mean_shift[:, None]) ** 2)).sum(axis=1)
        by_noise = (p * 0.5 * noise * (delta**2 / total - 1.0) / total).sum(axis=1)
        slope = half * (1.0 + log(half) - float(digamma(half)) + grid - u)
        return TiltedT(log_z, Marginals(cavity.mean + mean_shift, variance), by_noise, p @ slope)

    def _log_constant(self) -> float:
        half = 0.5 * self.dof
        return half * log(half) - float(gammaln(half)) + log(SPACING)

    def _grid(self, farthest: float) -> FloatArray:
        """Grid of log multipliers, down to where an observation that far away is improbable."""
        if self.dof > NORMAL_DOF:
            return np.zeros(1)
        R, width = farthest**2 / self.noise, sqrt(2.0 / self.dof)
        if self.dof > NARROW_DOF:
            low, high = -log(1.0 + R / self.dof) - WIDTHS * width, WIDTHS * width
            spacing = max(SPACING_IN_WIDTHS * width, (high - low) / MOST_POINTS)
        else:
            low, high, spacing = min(LOWEST, -log(1.0 + R) - 6.0), HIGHEST, SPACING
        return high - spacing * np.arange(int(np.ceil((high - low) / spacing)), -1.0, -1.0)

    def least_power(self, wanted: float) -> float:
        """Least power, of ``wanted`` or more, whose tails the grid can integrate."""
        return max(wanted, (1.0 + LEAST_DOF) / (self.dof + 1.0))

    def to_power(self, power: float) -> tuple[TLikelihood, float]:
        """``p^power`` as another Student-t, and the log of the constant between them."""
        dof = power * (self.dof + 1.0) - 1.0
        other = TLikelihood(self.noise * self.dof / dof, dof)
        zero = np.zeros(1)
        return other, float((power * self.log_density(zero) - other.log_density(zero))[0])


@dataclass(frozen=True)
class FittedStudentT(FittedLikelihood):
    """Student-t noise of all observations."""

    likelihood: TLikelihood

    @property
    def noise_variance(self) -> float:
        """Squared scale of the noise."""
        return self.likelihood.noise

    @property
    def dof(self) -> float:
        """Degrees of freedom."""
        return self.likelihood.dof

    def as_normal(self, noise: FloatArray) -> FloatArray:
        """Variance of normal noise with the same 95 % interval."""
        return noise * TLikelihood(1.0, self.dof).normal_variance

    def log_density(self, y: FloatArray, function: Marginals, noise: FloatArray) -> FloatArray:
        """Log density of observations where the function has these moments."""
        return self.likelihood.tilted(y, function).log_z

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Noise of unit scale."""
        return rng.standard_t(self.dof, shape)


LOG_DOF_BOX = (log(1.2), log(1000.0))


@dataclass(frozen=True, eq=False)
class Weights:
    """``q(I)`` for every observation: its mean, and what else it adds to the ELBO; degrees of freedom."""

    weight: FloatArray
    log_scale: FloatArray
    dof: float


def log_normaliser(R: FloatArray, dof: float) -> FloatArray:
    """``log E[I^(1/2) exp(-I R / 2)]`` under the prior ``I ~ Gamma(dof / 2, dof / 2)``."""
    half = 0.5 * dof
    constant = float(gammaln(half + 0.5) - gammaln(half)) + half * log(half)
    return constant - (half + 0.5) * np.log(half + 0.5 * R)


def update_weights(R: FloatArray, dof: float) -> Weights:
    """The optimal ``q(I)`` for scaled squared residuals ``R``."""
    w = (dof + 1.0) / (dof + R)
    return Weights(w, log_normaliser(R, dof) + 0.5 * w * R, dof)


@dataclass(frozen=True, eq=False)
class VbModel:
    """Student-t noise as a latent model; ``parameters`` is the log of the squared scale."""

    y: FloatArray
    learn_dof: bool

    def sites(self, parameters: FloatArray, latent: Weights) -> Sites:
        """Targets ``y`` with precision ``w / noise``."""
        log_noise = float(parameters[0])
        return Sites(self.y, latent.weight * exp(-log_noise), latent.log_scale - 0.5 * (LOG_2PI + log_noise))

    def log_prior(self, parameters: FloatArray, latent: Weights) -> float:
        """Log density of a flat prior, zero."""
        return 0.0

    def parameter_gradient(self, parameters: FloatArray, latent: Weights, marginals: Marginals) -> FloatArray:
        """Derivative with respect to the log squared scale."""
        S = marginals.second_moment(self.y)
        return np.array([0.5 * (float(latent.weight @ S) * exp(-parameters[0]) - self.y.size)])

    def update(self, parameters: FloatArray, latent: Weights, marginals: Marginals) -> Weights:
        """Update ``q(I)``, and the degrees of freedom if they are learned."""
        R = marginals.second_moment(self.y) * exp(-parameters[0])
        return update_weights(R, best_dof(R, latent.dof) if self.learn_dof else latent.dof)


def best_dof(R: FloatArray, current: float) -> float:
    """Degrees of freedom that maximise the ELBO; the current ones if they are as good."""

    def loss(log_dof: float) -> float:
        return -float(log_normaliser(R, exp(log_dof)).sum())

    found = minimize_scalar(loss, bounds=LOG_DOF_BOX, method="bounded", options={"xatol": 1e-4})
    return exp(found.x) if found.fun < loss(log(current)) else current
