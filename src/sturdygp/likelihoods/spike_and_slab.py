"""The likelihood of ASOR-GPR: a precision multiplier for each observation, with a spike-and-slab prior.

The labels ``eq:...`` are those of the paper; ``docs/notation.md`` maps its symbols to the names here.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, lgamma, log
from typing import ClassVar

import numpy as np
from scipy.special import expit, gammaln, xlogy

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals, chunks
from sturdygp.gp.sites import LOG_2PI, Sites
from sturdygp.likelihoods.base import FittedLikelihood, Verdict
from sturdygp.likelihoods.student_t import TLikelihood

# Updates of the slab's rate for each update of the multipliers: they cost O(n).
RATE_UPDATES = 2


# Grid points counted for each observation when many are judged in chunks.
GRID_POINTS = 400


@dataclass(frozen=True)
class AsorPrior:
    """The fixed prior hyperparameters (eq:fixed_prior_hyperparameters), for targets of unit scale.

    Parameters
    ----------
    slab_shape : float
        ``a``, the shape of the Gamma slab of the precision multiplier.
    inlier_proba : float
        ``theta``, the prior probability that an observation is an inlier ("nominal" in the paper).
    rate_shape, rate_rate : float
        ``A`` and ``B`` of the Gamma prior on the slab's rate ``b``.
    noise_dof, noise_scale : float
        ``nu_0`` and ``s_0`` of the inverse-Gamma prior on the noise variance of inliers.
    """

    slab_shape: float = 1.0
    inlier_proba: float = 0.5
    rate_shape: float = 10.0
    rate_rate: float = 0.45
    noise_dof: float = 3.0
    noise_scale: float = 1.25

    def __post_init__(self) -> None:
        """Refuse values outside the model."""
        for name in ("slab_shape", "rate_shape", "rate_rate", "noise_dof", "noise_scale"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be positive and finite, got {value!r}")
        if self.rate_shape <= 1:
            raise ValueError(f"rate_shape must exceed 1 for the rate to have a mode, got {self.rate_shape!r}")
        if not 0 < self.inlier_proba < 1:
            raise ValueError(f"inlier_proba must lie between 0 and 1, got {self.inlier_proba!r}")

    def log_noise_density(self, noise_variance: float) -> float:
        """Log prior of the noise variance of inliers (eq:sigma_prior)."""
        shape, scale = 0.5 * self.noise_dof, 0.5 * self.noise_scale
        constant = float(xlogy(shape, scale) - gammaln(shape))
        return constant - (shape + 1.0) * log(noise_variance) - scale / noise_variance

    def log_rate_density(self, rate: float) -> float:
        """Log prior of the slab's rate (eq:b_prior)."""
        constant = float(xlogy(self.rate_shape, self.rate_rate) - gammaln(self.rate_shape))
        return constant + (self.rate_shape - 1.0) * log(rate) - self.rate_rate * rate


@dataclass(frozen=True, eq=False)
class Multipliers:
    """``q(I)`` for every observation (eq:latent_and_parameter_sets), and the slab's rate ``b``.

    ``inlier_proba`` is ``Omega``, ``weight`` is ``w = E[I]``, and ``log_scale`` is all else that ``q(I)``
    adds to the ELBO, ``E[log I] / 2 - KL(q(I) || p(I | b))``.
    """

    inlier_proba: FloatArray
    weight: FloatArray
    log_scale: FloatArray
    rate: float

    @classmethod
    def all_inliers(cls, n: int, rate: float, prior: AsorPrior) -> Multipliers:
        """Every multiplier is one: the initialisation of Algorithm 1."""
        return cls(np.ones(n), np.ones(n), np.full(n, log(prior.inlier_proba)), rate)


def update_multipliers(R: FloatArray, rate: float, prior: AsorPrior) -> Multipliers:
    """The optimal ``q(I)`` for scaled squared residuals ``R`` (eq:qI_final_spike_gamma).

    ``Omega`` is a sigmoid of a difference of logarithms: ``exp(R / 2)`` overflows for an ordinary outlier.
    """
    a, half = prior.slab_shape, 0.5 * R
    a_tilde, b_tilde = a + 0.5, rate + half  # eq:gamma_branch_updated_parameters
    # Log masses of spike and slab (eq:latent_precision_prior) given R; the slab's
    # constant is that of the Gamma density (eq:gamma_definitions).
    spike = log(prior.inlier_proba) - half
    constant = log(1.0 - prior.inlier_proba) + lgamma(a_tilde) - lgamma(a) + a * log(rate)
    slab = constant - a_tilde * np.log(b_tilde)
    omega = expit(spike - slab)  # eq:omega_closed_form
    w = omega + (1.0 - omega) * a_tilde / b_tilde  # eq:wij_final
    # log Z(R) = E[log I]/2 - w R/2 - KL, the value of the optimal q(I).
    return Multipliers(omega, w, np.logaddexp(spike, slab) + w * half, rate)


def least_rate(prior: AsorPrior) -> float:
    """Rate below which the slab would give observations more weight than inliers have.

    Without this floor the ELBO has no maximum: observations that the function interpolates drive the rate to
    zero and their weights to infinity. With it no weight exceeds one.
    """
    return prior.slab_shape + 0.5


def update_rate(q: Multipliers, prior: AsorPrior) -> float:
    """The mode of the slab's rate given ``q(I)`` (eq:bj_point_estimate)."""
    slab_mass = float((1.0 - q.inlier_proba).sum())
    slab_mean = float((q.weight - q.inlier_proba).sum())  # sum of (1 - Omega) a_tilde / b_tilde
    return (prior.rate_shape - 1.0 + prior.slab_shape * slab_mass) / (prior.rate_rate + slab_mean)


@dataclass(frozen=True, eq=False)
class AsorModel:
    """The likelihood ``N(y | f, sigma^2 / I)`` as a latent model (eq:scalar_likelihood_explicit).

    ``parameters`` is the log noise variance of inliers.
    """

    y: FloatArray
    prior: AsorPrior

    def sites(self, parameters: FloatArray, latent: Multipliers) -> Sites:
        """Targets ``y`` with precision ``w / sigma^2`` (eq:asor_weight_and_precision)."""
        log_noise = float(parameters[0])
        return Sites(self.y, latent.weight * exp(-log_noise), latent.log_scale - 0.5 * (LOG_2PI + log_noise))

    def log_prior(self, parameters: FloatArray, latent: Multipliers) -> float:
        """Log density of the priors on noise variance and rate."""
        return self.prior.log_noise_density(exp(parameters[0])) + self.prior.log_rate_density(latent.rate)

    def parameter_gradient(
        self, parameters: FloatArray, latent: Multipliers, marginals: Marginals
    ) -> FloatArray:
        """Derivative by the log noise variance: zero exactly where eq:sigma_point_estimate holds."""
        weighted = float(latent.weight @ marginals.second_moment(self.y))
        scaled = (weighted + self.prior.noise_scale) * exp(-parameters[0])
        return np.array([0.5 * (scaled - (self.y.size + self.prior.noise_dof + 2.0))])

    def update(self, parameters: FloatArray, latent: Multipliers, marginals: Marginals) -> Multipliers:
        """Update ``q(I)`` and the rate for these moments (eq:residual_statistics)."""
        R = marginals.second_moment(self.y) * exp(-parameters[0])
        rate, least = latent.rate, least_rate(self.prior)
        for _ in range(RATE_UPDATES):
            rate = max(update_rate(update_multipliers(R, rate, self.prior), self.prior), least)
        return update_multipliers(R, rate, self.prior)


@dataclass(frozen=True, eq=False)
class FittedSpikeAndSlab(FittedLikelihood):
    """The fitted likelihood without its latent multiplier: a normal spike and a Student-t slab."""

    tells_outliers: ClassVar[bool] = True

    noise: float
    rate: float
    prior: AsorPrior

    @property
    def noise_variance(self) -> float:
        """Variance of the spike."""
        return self.noise

    @property
    def slab(self) -> TLikelihood:
        """Student-t noise: normal noise with a Gamma multiplier of its precision."""
        a = self.prior.slab_shape
        return TLikelihood(self.noise * self.rate / a, 2.0 * a)

    def judge(self, y: FloatArray, mean: FloatArray, variance: FloatArray, noise: FloatArray) -> Verdict:
        """Judge observations where the function is ``N(mean, variance)``, for this noise variance."""
        inlier_proba, slab = self.prior.inlier_proba, self.slab
        spike = log(inlier_proba) + _log_normal((y - mean) ** 2, variance + noise)
        parts = [
            slab.tilted(y[rows], Marginals(mean[rows], variance[rows])).log_z
            for rows in chunks(y.size, GRID_POINTS)
        ]
        outlier = log(1.0 - inlier_proba) + np.concatenate(parts)
        return Verdict(np.logaddexp(spike, outlier), np.asarray(expit(outlier - spike)))


def _log_normal(squared: FloatArray, variance: FloatArray) -> FloatArray:
    return -0.5 * (LOG_2PI + np.log(variance) + squared / variance)
