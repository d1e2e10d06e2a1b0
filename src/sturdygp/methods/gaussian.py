"""Ordinary Gaussian process regression, and an oracle that knows the outliers."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.gp.sites import TINY
from sturdygp.inference.problem import Problem, initial_kernels
from sturdygp.inference.variational import (
    Initialisation,
    VariationalObjective,
    optimise_in_stages,
    resume_state,
)
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
        """Fit one output, from the initialisation with the highest evidence."""
        best, count = optimise_in_stages(
            problem, self._objective, self._initialisations, max_iter=self.max_iter, tol=self.tol
        )
        model, size = self._model(problem), problem.kernel.theta.size
        kernel, parameters = problem.kernel.with_theta(best.x[:size]), best.x[size:]
        sites, noise = model.sites(parameters, None), model.noise_at(parameters)
        return Fit(
            posterior=problem.prior(kernel).condition(sites).compact(),
            likelihood=FittedGaussian(noise),
            weights=noise * sites.precision,
            bound=best.value,
            status=best.status,
            n_iter=best.n_iter,
            n_factorizations=1 + count,
            trace=best.trace,
            # An observation that is dropped has no density.
            n_densities=float(np.count_nonzero(sites.precision)),
            resume=resume_state(best),
        )

    def _model(self, problem: Problem) -> GaussianModel:
        return GaussianModel(problem.y, 0.0 if problem.added is None else problem.added, self.noise_variance)

    def _objective(self, problem: Problem) -> VariationalObjective[None]:
        return VariationalObjective(
            self._model(problem), problem, noise_box(problem)[: int(self.learn_noise)]
        )

    def _initialisations(self, problem: Problem) -> list[Initialisation[None]]:
        parameters = np.array([log(self.noise_variance)] * self.learn_noise)
        return [
            Initialisation(kernel, parameters, None) for kernel in initial_kernels(problem, self.n_starts)
        ]


def noise_box(problem: Problem) -> FloatArray:
    """Bounds of the log noise variance: normal noise has to account for outliers too, however far off."""
    low, high = problem.noise_box[0]
    return np.array([[low, max(high, log(MOST_NOISE_IN_SQUARES * float(np.mean(problem.y**2)) + TINY))]])


@dataclass(frozen=True)
class Standard:
    """Ordinary Gaussian process: the sites are the likelihood itself."""

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
    """Oracle: the mean of known outliers is subtracted, and their variance added to that of the noise.

    ``outlier_variance`` is what contamination adds to the noise variance; infinity drops the observation.
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
