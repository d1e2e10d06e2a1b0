"""A Gaussian-mixture likelihood: a narrow, nominal component and broader ones, all centred on f."""

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

# Updates of shares and variance ratios for each update of the responsibilities: they cost O(n).
SHARE_UPDATES = 3


# Variance of a broad component over that of the nominal one, at the least.
LEAST_RATIO = 4.0


@dataclass(frozen=True)
class MixturePrior:
    """A soft floor under the nominal noise variance of scaled targets, and a hard one under each share.

    Without the first the likelihood is unbounded: the narrow component shrinks onto readings that the
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
        """Log prior of the nominal noise variance, up to a constant."""
        return -0.5 * self.noise_scale / noise_variance


@dataclass(frozen=True, eq=False)
class Components:
    """Responsibilities (n, K), shares (K,), and variances relative to the nominal one (K,), nominal first."""

    responsibility: FloatArray
    share: FloatArray
    ratio: FloatArray

    @classmethod
    def even(cls, n: int, ratio: FloatArray) -> Components:
        """No reading favours any component."""
        share = np.full(ratio.size, 1.0 / ratio.size)
        return cls(np.tile(share, (n, 1)), share, ratio)

    def without_empty(self) -> tuple[Components, float]:
        """The same without components that hold less than one reading, and by how much the nominal grew.

        Where the narrow component died out, the next one is nominal: it describes all readings.
        """
        kept = self.responsibility.sum(axis=0) >= 1.0
        if kept.all() or not kept.any():
            return self, 1.0
        g, share, ratio = self.responsibility[:, kept], self.share[kept], self.ratio[kept]
        growth = float(ratio[0])
        g = g / g.sum(axis=1, keepdims=True)
        return Components(g, share / share.sum(), ratio / growth), growth


def responsibilities(R: FloatArray, share: FloatArray, ratio: FloatArray) -> FloatArray:
    """``g_ik`` in proportion to ``share_k ratio_k^(-1/2) exp(-R_i / (2 ratio_k))``."""
    return np.asarray(softmax(np.log(share) - 0.5 * np.log(ratio) - 0.5 * R[:, None] / ratio, axis=1))


@dataclass(frozen=True, eq=False)
class MixtureModel:
    """The likelihood as a latent model; ``extra`` is the log of the nominal noise variance."""

    y: FloatArray
    prior: MixturePrior

    def sites(self, extra: FloatArray, latent: Components) -> Sites:
        """Targets ``y`` with the expected precision; entropy and shares stand in the scale."""
        g, noise = latent.responsibility, float(extra[0])
        entropy = -np.where(g > 0.0, g * np.log(np.maximum(g, 1e-300)), 0.0).sum(axis=1)
        log_scale = (
            entropy + g @ (np.log(latent.share) - 0.5 * np.log(latent.ratio)) - 0.5 * (LOG_2PI + noise)
        )
        return Sites(self.y, (g / latent.ratio).sum(axis=1) * exp(-noise), log_scale)

    def log_prior(self, extra: FloatArray, latent: Components) -> float:
        """Log prior of the noise variance; the shares' is flat."""
        return self.prior.log_noise_density(exp(extra[0])) + float(gammaln(latent.share.size))

    def extra_gradient(self, extra: FloatArray, latent: Components, marginals: Marginals) -> FloatArray:
        """Derivative with respect to the log noise variance, variance ratios held."""
        S = marginals.second_moment(self.y)
        weighted = float((latent.responsibility / latent.ratio).sum(axis=1) @ S)
        scaled = (weighted + self.prior.noise_scale) * exp(-extra[0])
        return np.array([0.5 * (scaled - self.y.size)])

    def update(self, extra: FloatArray, latent: Components, marginals: Marginals) -> Components:
        """Responsibilities, then shares and variance ratios, for these moments of the function."""
        R = marginals.second_moment(self.y) * exp(-extra[0])
        return update_components(R, latent.share, latent.ratio, self.prior)


def update_components(R: FloatArray, share: FloatArray, ratio: FloatArray, prior: MixturePrior) -> Components:
    """A few EM steps for given squared residuals, in units of the nominal variance."""
    for _ in range(SHARE_UPDATES):
        g = responsibilities(R, share, ratio)
        mass = g.sum(axis=0)
        share = np.maximum(mass / R.size, prior.share_floor)
        share = share / share.sum()
        # The nominal component is the narrowest; one that is hardly wider is no component of outliers.
        ratio = np.append(1.0, np.maximum(R @ g[:, 1:] / np.maximum(mass[1:], 1e-12), LEAST_RATIO))
    return Components(responsibilities(R, share, ratio), share, ratio)


@dataclass(frozen=True, eq=False)
class FittedMixture(FittedLikelihood):
    """The fitted likelihood: how a new reading is shared among the components."""

    tells_outliers: ClassVar[bool] = True

    noise: float
    share: FloatArray
    ratio: FloatArray

    @property
    def noise_variance(self) -> float:
        """Variance of the narrowest component."""
        return self.noise

    def judge(self, y: FloatArray, mean: FloatArray, variance: FloatArray, noise: FloatArray) -> Verdict:
        """Judge readings ``y`` where the function is ``N(mean, variance)``, with this nominal noise."""
        spread = variance[:, None] + noise[:, None] * self.ratio
        misfit = (y - mean)[:, None] ** 2 / spread
        log_joint = np.log(self.share) - 0.5 * (LOG_2PI + np.log(spread) + misfit)
        nominal, others = log_joint[:, 0], np.logaddexp.reduce(log_joint[:, 1:], axis=1)
        return Verdict(np.asarray(logsumexp(log_joint, axis=1)), np.asarray(expit(others - nominal)))
