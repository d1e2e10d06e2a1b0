"""A Gaussian-mixture likelihood: a narrow component of inliers and broader ones, all centred on f."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import ClassVar

import numpy as np
from scipy.special import expit, gammaln, logsumexp, softmax

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, Sites
from sturdygp.likelihoods.base import FittedLikelihood, Verdict

# Updates of mixing weights and variance ratios for each update of the responsibilities: they cost O(n).
MIXING_WEIGHT_UPDATES = 3


# Least variance of a broad component over that of the narrow one.
LEAST_VARIANCE_RATIO = 4.0


@dataclass(frozen=True)
class MixturePrior:
    """A soft floor under the noise variance of inliers, and a hard one under each mixing weight.

    Without the first the likelihood is unbounded: the narrow component shrinks onto observations that the
    function interpolates. ``exp(-noise_scale / (2 variance))`` stops it at about ``noise_scale / n`` and is
    flat elsewhere, so that it does not reward a narrow component for being empty.
    """

    noise_scale: float = 0.01
    share_floor: float = 1e-6

    def __post_init__(self) -> None:
        """Refuse values outside the model."""
        if not (np.isfinite(self.noise_scale) and self.noise_scale > 0):
            raise ValueError(f"noise_scale must be positive and finite, got {self.noise_scale!r}")
        if not 0 < self.share_floor < 0.5:
            raise ValueError(f"share_floor must lie between 0 and 0.5, got {self.share_floor!r}")

    def log_noise_density(self, noise_variance: float) -> float:
        """Log prior of the noise variance of inliers, up to a constant."""
        return -0.5 * self.noise_scale / noise_variance


@dataclass(frozen=True, eq=False)
class Components:
    """Responsibilities (n, K), mixing weights (K,), and variances relative to the first component (K,)."""

    responsibility: FloatArray
    mixing_weight: FloatArray
    ratio: FloatArray

    @classmethod
    def even(cls, n: int, ratio: FloatArray) -> Components:
        """Equal responsibilities: no observation favours any component."""
        mixing_weight = np.full(ratio.size, 1.0 / ratio.size)
        return cls(np.tile(mixing_weight, (n, 1)), mixing_weight, ratio)

    def without_empty(self) -> tuple[Components, float]:
        """Drop components with less than one observation; also return by how much the first variance grew.

        Where the narrow component died out, the next one takes its place: it describes all inliers.
        """
        kept = self.responsibility.sum(axis=0) >= 1.0
        if kept.all() or not kept.any():
            return self, 1.0
        g, mixing_weight, ratio = self.responsibility[:, kept], self.mixing_weight[kept], self.ratio[kept]
        growth = float(ratio[0])
        g = g / g.sum(axis=1, keepdims=True)
        return Components(g, mixing_weight / mixing_weight.sum(), ratio / growth), growth


def responsibilities(R: FloatArray, mixing_weight: FloatArray, ratio: FloatArray) -> FloatArray:
    """``g_ik`` in proportion to ``weight_k ratio_k^(-1/2) exp(-R_i / (2 ratio_k))``."""
    return np.asarray(softmax(np.log(mixing_weight) - 0.5 * np.log(ratio) - 0.5 * R[:, None] / ratio, axis=1))


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """The likelihood as a latent model; ``parameters`` is the log noise variance of inliers."""

    y: FloatArray
    prior: MixturePrior

    def sites(self, parameters: FloatArray, latent: Components) -> Sites:
        """Targets ``y`` with the expected precision; entropy and mixing weights stand in ``log_scale``."""
        g, noise = latent.responsibility, float(parameters[0])
        entropy = -np.where(g > 0.0, g * np.log(np.maximum(g, 1e-300)), 0.0).sum(axis=1)
        log_scale = (
            entropy
            + g @ (np.log(latent.mixing_weight) - 0.5 * np.log(latent.ratio))
            - 0.5 * (LOG_2PI + noise)
        )
        return Sites(self.y, (g / latent.ratio).sum(axis=1) * exp(-noise), log_scale)

    def log_prior(self, parameters: FloatArray, latent: Components) -> float:
        """Log prior of the noise variance; that of the mixing weights is flat."""
        return self.prior.log_noise_density(exp(parameters[0])) + float(gammaln(latent.mixing_weight.size))

    def parameter_gradient(
        self, parameters: FloatArray, latent: Components, marginals: Marginals
    ) -> FloatArray:
        """Derivative with respect to the log noise variance, for fixed variance ratios."""
        S = marginals.second_moment(self.y)
        weighted = float((latent.responsibility / latent.ratio).sum(axis=1) @ S)
        scaled = (weighted + self.prior.noise_scale) * exp(-parameters[0])
        return np.array([0.5 * (scaled - self.y.size)])

    def update(self, parameters: FloatArray, latent: Components, marginals: Marginals) -> Components:
        """Update responsibilities, mixing weights and variance ratios for these moments of the function."""
        R = marginals.second_moment(self.y) * exp(-parameters[0])
        return update_components(R, latent.mixing_weight, latent.ratio, self.prior)


def update_components(
    R: FloatArray, mixing_weight: FloatArray, ratio: FloatArray, prior: MixturePrior
) -> Components:
    """Take a few EM steps for squared residuals in units of the noise variance of inliers."""
    for _ in range(MIXING_WEIGHT_UPDATES):
        g = responsibilities(R, mixing_weight, ratio)
        mass = g.sum(axis=0)
        mixing_weight = np.maximum(mass / R.size, prior.share_floor)
        mixing_weight = mixing_weight / mixing_weight.sum()
        # The first component is the narrowest; one that is hardly wider holds no outliers.
        ratio = np.append(1.0, np.maximum(R @ g[:, 1:] / np.maximum(mass[1:], 1e-12), LEAST_VARIANCE_RATIO))
    return Components(responsibilities(R, mixing_weight, ratio), mixing_weight, ratio)


@dataclass(frozen=True, eq=False)
class FittedMixture(FittedLikelihood):
    """The fitted mixture of normals."""

    tells_outliers: ClassVar[bool] = True

    noise: float
    mixing_weight: FloatArray
    ratio: FloatArray

    @property
    def noise_variance(self) -> float:
        """Variance of the narrowest component."""
        return self.noise

    def judge(self, y: FloatArray, mean: FloatArray, variance: FloatArray, noise: FloatArray) -> Verdict:
        """Judge observations where the function is ``N(mean, variance)``, for this noise variance."""
        total = variance[:, None] + noise[:, None] * self.ratio
        misfit = (y - mean)[:, None] ** 2 / total
        log_joint = np.log(self.mixing_weight) - 0.5 * (LOG_2PI + np.log(total) + misfit)
        inlier, others = log_joint[:, 0], np.logaddexp.reduce(log_joint[:, 1:], axis=1)
        return Verdict(np.asarray(logsumexp(log_joint, axis=1)), np.asarray(expit(others - inlier)))
