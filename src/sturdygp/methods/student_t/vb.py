"""Variational Bayes: the loop of ASOR-GPR without the spike."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import gammaln

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, Sites

LOG_DOF_BOX = (log(1.2), log(1000.0))


@dataclass(frozen=True, eq=False)
class Weights:
    """``q(I)`` for every observation: its mean, what else it adds to the bound; degrees of freedom."""

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
    """The likelihood as a latent model; ``extra`` is the log of the squared scale."""

    y: FloatArray
    learn_dof: bool

    def sites(self, extra: FloatArray, latent: Weights) -> Sites:
        """Targets ``y`` with precision ``w / noise``."""
        log_noise = float(extra[0])
        return Sites(self.y, latent.weight * exp(-log_noise), latent.log_scale - 0.5 * (LOG_2PI + log_noise))

    def log_prior(self, extra: FloatArray, latent: Weights) -> float:
        """Flat."""
        return 0.0

    def extra_gradient(self, extra: FloatArray, latent: Weights, marginals: Marginals) -> FloatArray:
        """Derivative with respect to the log squared scale."""
        S = marginals.second_moment(self.y)
        return np.array([0.5 * (float(latent.weight @ S) * exp(-extra[0]) - self.y.size)])

    def update(self, extra: FloatArray, latent: Weights, marginals: Marginals) -> Weights:
        """The optimal ``q(I)``, and better degrees of freedom if they are learned."""
        R = marginals.second_moment(self.y) * exp(-extra[0])
        return update_weights(R, best_dof(R, latent.dof) if self.learn_dof else latent.dof)


def best_dof(R: FloatArray, current: float) -> float:
    """The degrees of freedom that maximise the bound, unless the current ones are as good."""

    def loss(log_dof: float) -> float:
        return -float(log_normaliser(R, exp(log_dof)).sum())

    found = minimize_scalar(loss, bounds=LOG_DOF_BOX, method="bounded", options={"xatol": 1e-4})
    return exp(found.x) if found.fun < loss(log(current)) else current
