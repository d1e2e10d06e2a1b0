"""The contract of a likelihood: while a method is fitted, and once it is."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, Protocol, SupportsFloat, TypeVar

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.inputs import Inputs
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, Sites
from sturdygp.likelihoods.heteroscedastic import NoiseProfile

L = TypeVar("L")

# The least nominal standard deviation, and the largest nominal variance, for scaled targets.
LEAST_NOISE, MOST_NOISE = 1e-4, 1e2


def log_noise_box(least: float) -> FloatArray:
    """Lower and upper end of the logarithm of the nominal variance; ``least`` is a standard deviation.

    Readings that are not scaled may be rounded to hundreds: then the largest is in units of the least.
    """
    return np.log([[least**2, MOST_NOISE * max(1.0, least**2)]])


@dataclass(frozen=True, eq=False)
class Verdict:
    """What a fitted method makes of readings: their log densities, and whether they are outliers."""

    log_density: FloatArray
    outlier_proba: FloatArray


class FittedLikelihood(ABC):
    """What was learned of observations, given the function. Noise is that of inliers.

    A subclass that tells outliers sets ``tells_outliers`` and judges observations.
    """

    tells_outliers: ClassVar[bool] = False

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """Variance of the noise; its squared scale where that is not normal.

        About the geometric mean where it is heteroscedastic.
        """

    @property
    def variance_function(self) -> NoiseProfile | None:
        """How the variance changes; None where it is the same everywhere."""
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

    ``extra`` are the parameters beside the kernel's as an optimiser sees them, the logarithm of the noise
    variance first.
    """

    def sites(self, extra: FloatArray, latent: L) -> Sites:
        """The sites, with everything in ``log_scale`` that the latent part adds to the bound."""

    def log_prior(self, extra: FloatArray, latent: L) -> SupportsFloat:
        """Log density of the priors on parameters."""

    def extra_gradient(self, extra: FloatArray, latent: L, marginals: Marginals) -> FloatArray:
        """Derivative of the bound with respect to ``extra`` for a fixed latent part."""

    def update(self, extra: FloatArray, latent: L, marginals: Marginals) -> L:
        """The latent part that is optimal for these moments of the function."""
