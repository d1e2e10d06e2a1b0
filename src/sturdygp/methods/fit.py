"""Result of a method: posterior, likelihood, how the fit went, and the hypotheses it compared."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Protocol

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.inputs import Inputs
from sturdygp.gp.posterior import Posterior
from sturdygp.inference.problem import Problem, ResumeState
from sturdygp.likelihoods.base import FittedLikelihood
from sturdygp.status import Status

# Distance in the logarithm at which a parameter counts as held by its bound.
AT_BOUND = 1e-6


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted method: a posterior, and one likelihood.

    ``bound`` is the evidence, or the ELBO, with all constants; it adds up ``n_densities`` log densities.
    ``weights`` is the fraction of an inlier's precision that each observation keeps. Likelihoods that
    distinguish outliers from inliers come with ``outlier_proba``. ``note`` is a message if the method had to
    fall back on something coarser. ``resume`` is the state from which another fit can continue, ``ledger``
    the hypotheses that were compared, the winner first.
    """

    posterior: Posterior
    likelihood: FittedLikelihood
    weights: FloatArray
    bound: float
    n_densities: float
    status: Status
    n_iter: int
    n_factorizations: int
    trace: tuple[float, ...]
    outlier_proba: FloatArray | None = None
    note: str = ""
    resume: ResumeState | None = None
    ledger: tuple[LedgerEntry, ...] = ()

    @property
    def noise_variance(self) -> float:
        """Noise variance of the likelihood."""
        return self.likelihood.noise_variance

    def noise_at(self, X: Inputs, mean: FloatArray) -> FloatArray:
        """Variance of the noise at rows of inputs where the function has this mean."""
        return self.likelihood.noise_at(X, mean)

    @property
    def at_bounds(self) -> tuple[str, ...]:
        """Names of the kernel's parameters that ended at a bound."""
        kernel = self.posterior.kernel
        low, high = kernel.bounds.T if kernel.theta.size else np.empty((2, 0))
        held = (kernel.theta - low < AT_BOUND) | (high - kernel.theta < AT_BOUND)
        return tuple(name for name, at in zip(kernel.parameter_names, held, strict=True) if at)


class Method(Protocol):
    """A robust method: a rule that chooses the sites."""

    def fit(self, problem: Problem) -> Fit:
        """Fit one output."""


@dataclass(frozen=True)
class Score:
    """Score of a hypothesis in nats: a sum of terms, each a property of the hypothesis alone.

    ``elbo`` is the evidence lower bound, ``parameter_prior`` the log density of all parameters, ``occam`` the
    penalty of a second kernel part, ``variance_function`` the gain of heteroscedastic noise beyond its own
    penalty, ``structure_prior`` the log prior odds of such a hypothesis, and ``bounded_noise`` the gain of
    noise with bounds.
    """

    elbo: float
    parameter_prior: float
    occam: float
    variance_function: float
    structure_prior: float
    bounded_noise: float

    @property
    def total(self) -> float:
        """The sum of all terms."""
        return float(sum(getattr(self, each.name) for each in fields(self)))


@dataclass(frozen=True)
class LedgerEntry:
    """A hypothesis that was compared, for :meth:`RobustGPRegressor.explain`.

    ``outliers`` is the expected fraction of outliers, ``noise`` the standard deviation of the noise in units
    of the scaled targets, ``iterations`` the number of iterations so far. ``convinced`` marks the one
    exception to the order of scores: a hypothesis with more inliers and a better leave-one-out log predictive
    density.
    """

    name: str
    score: Score
    outliers: float
    noise: float
    iterations: int
    convinced: bool = False
