"""ASOR-GPR as a method: two solvers of one ELBO, and their initialisations."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from math import exp, inf, log
from typing import Literal

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.inference.generalised_em import GemState, final_e_step, initial_state, iterate
from sturdygp.inference.problem import Problem
from sturdygp.inference.variational import (
    Initialisation,
    VariationalObjective,
    default_initialisations,
    optimise_in_stages,
    resume_state,
)
from sturdygp.likelihoods.spike_and_slab import (
    AsorModel,
    AsorPrior,
    FittedSpikeAndSlab,
    Multipliers,
    least_rate,
    update_multipliers,
)
from sturdygp.methods.fit import Fit
from sturdygp.optimise import Step
from sturdygp.status import Status

INITIAL_RATE = 20.0


Solver = Literal["collapsed", "gem"]


@dataclass(frozen=True)
class Asor:
    """The paper's method.

    ``tol`` is the relative change of the weighted residual at which ``"gem"`` stops, and the largest
    derivative of the ELBO, per observation, at which ``"collapsed"`` does.
    """

    prior: AsorPrior = field(default_factory=AsorPrior)
    solver: Solver = "collapsed"
    noise_variance: float = 0.5
    n_starts: int = 1
    max_iter: int = 1000
    tol: float = 1e-5

    def fit(self, problem: Problem) -> Fit:
        """Fit one output."""
        return self._fit_gem(problem) if self.solver == "gem" else self._fit_collapsed(problem)

    def _fit_collapsed(self, problem: Problem) -> Fit:
        optimum, count = optimise_in_stages(
            problem, self._objective, self._initialisations, max_iter=self.max_iter, tol=self.tol
        )
        model, size = AsorModel(problem.y, self.prior), problem.kernel.theta.size
        kernel, parameters = problem.kernel.with_theta(optimum.x[:size]), optimum.x[size:]
        q, noise_variance = optimum.carry.latent, exp(parameters[0])
        posterior = problem.prior(kernel).condition(model.sites(parameters, q))
        return Fit(
            posterior=posterior.compact(),
            likelihood=FittedSpikeAndSlab(noise_variance, q.rate, self.prior),
            weights=q.weight,
            outlier_proba=1.0 - q.inlier_proba,
            n_densities=float(problem.y.size),
            bound=posterior.log_evidence + model.log_prior(parameters, q),
            status=optimum.status,
            n_iter=optimum.n_iter,
            n_factorizations=count + 1,
            trace=optimum.trace,
            resume=resume_state(optimum),
        )

    def _objective(self, problem: Problem) -> VariationalObjective[Multipliers]:
        return VariationalObjective(AsorModel(problem.y, self.prior), problem, problem.noise_box)

    def _initialisations(self, problem: Problem) -> list[Initialisation[Multipliers]]:
        rate = max(INITIAL_RATE, least_rate(self.prior))
        neutral = Multipliers.all_inliers(problem.y.size, rate, self.prior)

        def around(squared: FloatArray) -> Multipliers:
            return update_multipliers(squared / self.noise_variance, rate, self.prior)

        return default_initialisations(
            problem, np.array([log(self.noise_variance)]), neutral, around, self.n_starts
        )

    def _fit_gem(self, problem: Problem) -> Fit:
        problem.require_exact('solver="gem", the paper\'s,', 'use solver="collapsed" with inducing inputs')
        model = AsorModel(problem.y, self.prior)
        state = initial_state(model, problem.inputs, problem.kernel, self.noise_variance, INITIAL_RATE)
        trace: list[float] = []
        previous, status = inf, Status.MAX_ITER
        for current in islice(iterate(state), self.max_iter):
            state = current
            trace.append(state.elbo)
            residual = state.weighted_residual
            excess = relative_change(residual, previous) / self.tol
            if excess < 1.0:
                status = Status.CONVERGED
                break
            if problem.callback is not None and problem.callback(Step(state.elbo, excess)):
                status = Status.STOPPED
                break
            previous = residual
        return self._gem_fit(final_e_step(state), status, trace)

    def _gem_fit(self, state: GemState, status: Status, trace: list[float]) -> Fit:
        q = state.multipliers
        return Fit(
            posterior=state.posterior.compact(),
            likelihood=FittedSpikeAndSlab(state.noise_variance, q.rate, self.prior),
            weights=q.weight,
            outlier_proba=1.0 - q.inlier_proba,
            n_densities=float(q.weight.size),
            bound=state.elbo,
            status=status,
            n_iter=len(trace),
            n_factorizations=state.n_factorizations + 1,
            trace=tuple(trace),
        )


def relative_change(value: float, previous: float) -> float:
    """Relative change of a number; zero if it was and is zero."""
    if previous == 0.0:
        return inf if value else 0.0
    return abs(value / previous - 1.0)
