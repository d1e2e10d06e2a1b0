"""Contracts of likelihoods: as a latent model during a fit, and fitted."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol, SupportsFloat, TypeVar

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.inputs import Inputs
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, Sites
from sturdygp.likelihoods.heteroscedastic import VarianceFunction

L = TypeVar("L")

# Least standard deviation and largest variance of the noise of inliers, for scaled targets.
LEAST_NOISE, MOST_NOISE = 1e-4, 1e2


def log_noise_box(least: float) -> FloatArray:
    """Bounds of the log noise variance; ``least`` is a standard deviation.

    Targets that are not scaled may be rounded to hundreds: then the largest variance grows with the least.
    """
    return np.log([[least**2, MOST_NOISE * max(1.0, least**2)]])


@dataclass(frozen=True, eq=False)
class Verdict:
    """Log densities of observations under a fitted likelihood, and their outlier probabilities."""

    log_density: FloatArray
    outlier_proba: FloatArray


class FittedLikelihood(ABC):
    """Distribution of observations given the function, with fitted parameters. Noise is that of inliers.

    A subclass that distinguishes outliers sets ``tells_outliers`` and implements ``judge``.
    """

    tells_outliers: ClassVar[bool] = False

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """Variance of the noise; its squared scale where it is not normal.

        About the geometric mean where the noise is heteroscedastic.
        """

    @property
    def variance_function(self) -> VarianceFunction | None:
        """Variance function; None for homoscedastic noise."""
        return None

    def noise_at(self, X: Inputs, mean: FloatArray) -> FloatArray:
        """Variance of the noise at rows of inputs where the function has this mean."""
        function = self.variance_function
        relative = np.ones_like(mean) if function is None else function.relative(X, mean)
        return self.noise_variance * relative

    def as_normal(self, noise: FloatArray) -> FloatArray:
        """Variance of normal noise with the same 95 % interval."""
        return noise

    def log_density(self, y: FloatArray, function: Marginals, noise: FloatArray) -> FloatArray:
        """Log density of inliers where the function has these moments."""
        variance = function.variance + noise
        return np.asarray(-0.5 * (LOG_2PI + np.log(variance) + (y - function.mean) ** 2 / variance))

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
        """Noise of unit scale."""
        return rng.standard_normal(shape)

    def judge(self, y: FloatArray, mean: FloatArray, variance: FloatArray, noise: FloatArray) -> Verdict:
        """Judge observations where the function is ``N(mean, variance)``, for this noise variance."""
        raise NotImplementedError(f"{type(self).__name__} does not tell outliers from inliers")


class LatentModel(Protocol[L]):
    """A likelihood with latent variables, seen through the sites that they imply.

    ``parameters`` are those of the likelihood as an optimiser sees them, the log noise variance first.
    """

    def sites(self, parameters: FloatArray, latent: L) -> Sites:
        """Sites, with everything that the latent part adds to the ELBO in ``log_scale``."""

    def log_prior(self, parameters: FloatArray, latent: L) -> SupportsFloat:
        """Log density of the priors on the likelihood parameters."""

    def parameter_gradient(self, parameters: FloatArray, latent: L, marginals: Marginals) -> FloatArray:
        """Derivative of the ELBO with respect to ``parameters`` for a fixed latent part."""

    def update(self, parameters: FloatArray, latent: L, marginals: Marginals) -> L:
        """Return the latent part that is optimal for these moments of the function."""
