"""Normal observations with one noise variance and known additions to it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, Sites
from sturdygp.likelihoods.base import FittedLikelihood


@dataclass(frozen=True)
class FittedGaussian(FittedLikelihood):
    """Normal noise."""

    noise: float

    @property
    def noise_variance(self) -> float:
        """Variance of the noise."""
        return self.noise


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """``target ~ N(f, noise + added)``, without latent variables; an infinite addition drops the observation.

    ``parameters`` is the logarithm of the noise variance, or empty if that is known.
    """

    y: FloatArray
    added: FloatArray | float
    noise: float

    def noise_at(self, parameters: FloatArray) -> float:
        """Noise variance: learned, or known."""
        return float(np.exp(parameters[0])) if parameters.size else self.noise

    def sites(self, parameters: FloatArray, _: None) -> Sites:
        """Sites that are the likelihood itself; those of infinite variance have precision 0."""
        precision = np.broadcast_to(1.0 / (self.noise_at(parameters) + self.added), self.y.shape)
        log_scale = 0.5 * (np.log(np.where(precision > 0.0, precision, 2.0 * np.pi)) - LOG_2PI)
        return Sites(self.y, precision, log_scale)

    def log_prior(self, _parameters: FloatArray, _: None) -> float:
        """Log density of a flat prior, zero."""
        return 0.0

    def parameter_gradient(self, parameters: FloatArray, _: None, marginals: Marginals) -> FloatArray:
        """Derivative of the evidence with respect to the log of the noise variance."""
        precision = self.sites(parameters, _).precision
        excess = precision * marginals.second_moment(self.y) - 1.0
        return np.full(parameters.size, 0.5 * self.noise_at(parameters) * float(precision @ excess))

    def update(self, _parameters: FloatArray, _: None, _marginals: Marginals) -> None:
        """Return nothing: there are no latent variables."""
