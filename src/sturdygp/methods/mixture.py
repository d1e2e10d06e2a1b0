"""Mixture regression: variational EM with a Gaussian-mixture likelihood."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import exp, log

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.inference.problem import Problem
from sturdygp.inference.variational import (
    Initialisation,
    VariationalObjective,
    default_initialisations,
    optimise_in_stages,
    resume_state,
)
from sturdygp.likelihoods.mixture import (
    Components,
    FittedMixture,
    MixtureModel,
    MixturePrior,
    update_components,
)
from sturdygp.methods.fit import Fit


@dataclass(frozen=True)
class Mixture:
    """Variational EM with quasi-Newton steps in the kernel and the noise variance of inliers.

    ``start_ratios`` are the initial variances of the broad components relative to the narrow one.
    """

    start_ratios: tuple[float, ...] = (10.0,)
    prior: MixturePrior = field(default_factory=MixturePrior)
    noise_variance: float = 0.5
    n_starts: int = 1
    max_iter: int = 1000
    tol: float = 1e-5

    def fit(self, problem: Problem) -> Fit:
        """Fit one output, from the initialisation with the highest ELBO."""
        best, count = optimise_in_stages(
            problem, self._objective, self._initialisations, max_iter=self.max_iter, tol=self.tol
        )
        model, size = MixtureModel(problem.y, self.prior), problem.kernel.theta.size
        kernel, parameters = problem.kernel.with_theta(best.x[:size]), best.x[size:]
        sites = model.sites(parameters, best.carry.latent)
        found, growth = best.carry.latent.without_empty()
        noise = exp(parameters[0]) * growth
        return Fit(
            posterior=problem.prior(kernel).condition(sites).compact(),
            likelihood=FittedMixture(noise, found.mixing_weight, found.ratio),
            weights=np.minimum(noise * sites.precision, 1.0),
            outlier_proba=1.0 - found.responsibility[:, 0],
            n_densities=float(problem.y.size),
            bound=best.value,
            status=best.status,
            n_iter=best.n_iter,
            n_factorizations=count + 1,
            trace=best.trace,
            resume=resume_state(best),
        )

    def _objective(self, problem: Problem) -> VariationalObjective[Components]:
        return VariationalObjective(MixtureModel(problem.y, self.prior), problem, problem.noise_box)

    def _initialisations(self, problem: Problem) -> list[Initialisation[Components]]:
        neutral = Components.even(problem.y.size, np.array([1.0, *self.start_ratios]))

        def around(squared: FloatArray) -> Components:
            return update_components(
                squared / self.noise_variance, neutral.mixing_weight, neutral.ratio, self.prior
            )

        return default_initialisations(
            problem, np.array([log(self.noise_variance)]), neutral, around, self.n_starts
        )
