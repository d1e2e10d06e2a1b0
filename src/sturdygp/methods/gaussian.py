"""Ordinary Gaussian process regression, and the same knowing which observations are outliers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.gp.sites import TINY
from sturdygp.inference.problem import Problem, kernel_starts
from sturdygp.inference.variational import Alternation, Start, climb_by_stages, state_of
from sturdygp.likelihoods.gaussian import FittedGaussian, GaussianModel
from sturdygp.methods.fit import Fit

# The largest noise variance, in squares of the targets.
MOST_NOISE_IN_SQUARES = 10.0


@dataclass(frozen=True)
class Gaussian:
    """Maximum likelihood; ``tol`` is the largest derivative of the log evidence, per observation."""

    noise_variance: float
    learn_noise: bool
    n_starts: int
    max_iter: int
    tol: float

    def fit(self, problem: Problem) -> Fit:
        """Fit one output, the evidence picking among the starts."""
        best, count = climb_by_stages(problem, self._loop, self._starts, max_iter=self.max_iter, tol=self.tol)
        model, size = self._model(problem), problem.kernel.theta.size
        kernel, extra = problem.kernel.with_theta(best.x[:size]), best.x[size:]
        sites, noise = model.sites(extra, None), model.noise_at(extra)
        return Fit(
            posterior=problem.prior(kernel).condition(sites).compact(),
            likelihood=FittedGaussian(noise),
            weights=noise * sites.precision,
            bound=best.value,
            status=best.status,
            n_iter=best.n_iter,
            n_factorizations=1 + count,
            trace=best.trace,
            # A reading that is dropped has no density.
            n_densities=float(np.count_nonzero(sites.precision)),
            resume=state_of(best),
        )

    def _model(self, problem: Problem) -> GaussianModel:
        return GaussianModel(problem.y, 0.0 if problem.added is None else problem.added, self.noise_variance)

    def _loop(self, problem: Problem) -> Alternation[None]:
        return Alternation(self._model(problem), problem, noise_box(problem)[: int(self.learn_noise)])

    def _starts(self, problem: Problem) -> list[Start[None]]:
        extra = np.array([log(self.noise_variance)] * self.learn_noise)
        return [Start(kernel, extra, None) for kernel in kernel_starts(problem, self.n_starts)]


def noise_box(problem: Problem) -> FloatArray:
    """Normal noise has to account for outliers, too, however far they lie beyond the scale of the others."""
    low, high = problem.noise_box[0]
    return np.array([[low, max(high, log(MOST_NOISE_IN_SQUARES * float(np.mean(problem.y**2)) + TINY))]])


@dataclass(frozen=True)
class Standard:
    """The likelihood itself chooses the sites."""

    noise_variance: float = 0.5
    learn_noise: bool = True
    n_starts: int = 1
    max_iter: int = 1000
    tol: float = 1e-5

    def fit(self, problem: Problem) -> Fit:
        """Fit one output."""
        common = Gaussian(self.noise_variance, self.learn_noise, self.n_starts, self.max_iter, self.tol)
        return common.fit(problem)


@dataclass(frozen=True, eq=False)
class Oracle:
    """Outliers lose their known mean and keep the information that their known variance leaves them.

    ``outlier_variance`` is what contamination adds to the noise variance; infinity drops the reading.
    """

    outlier_mask: BoolArray
    outlier_variance: FloatArray
    outlier_mean: FloatArray
    noise_variance: float = 0.5
    learn_noise: bool = True
    n_starts: int = 1
    max_iter: int = 1000
    tol: float = 1e-5

    def fit(self, problem: Problem) -> Fit:
        """Fit one output."""
        common = Gaussian(self.noise_variance, self.learn_noise, self.n_starts, self.max_iter, self.tol)
        y = problem.y - np.where(self.outlier_mask, self.outlier_mean, 0.0)
        added = np.where(self.outlier_mask, self.outlier_variance, 0.0)
        return common.fit(replace(problem, y=y, added=added))
