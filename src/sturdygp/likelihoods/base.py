"""The contract of a likelihood: while a method is fitted, and once it is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, SupportsFloat, TypeVar

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import Sites

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


class OutlierModel(Protocol):
    """The likelihood of a fitted method, as far as readings are concerned."""

    def judge(self, y: FloatArray, mean: FloatArray, variance: FloatArray, noise: FloatArray) -> Verdict:
        """Judge readings ``y`` where the function is ``N(mean, variance)``, with this nominal noise."""


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
