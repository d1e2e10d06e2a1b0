"""Robust and conjugate Gaussian processes: weights in closed form, hyperparameters by leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, inf, log
from typing import Literal

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Posterior
from sturdygp.gp.sites import LOG_2PI
from sturdygp.inference.problem import Problem, initial_kernels
from sturdygp.kernels.base import Kernel
from sturdygp.likelihoods.gaussian import FittedGaussian
from sturdygp.likelihoods.pseudo import Weighting
from sturdygp.methods.fit import Fit
from sturdygp.optimise import Evaluation, Optimum, above, best_of, maximise
from sturdygp.status import Status

Centre = Literal["median", "mean"]


LooScore = Literal["weighted", "plain"]


@dataclass(frozen=True)
class Rcgp:
    """Kernel and noise maximise the leave-one-out predictive densities of the observations.

    ``"weighted"`` densities weigh an observation as its site does; with ``"plain"`` ones outliers, which no
    model should predict, dominate. ``epsilon`` is the fraction of observations beyond the soft threshold.
    After a first fit the weights are centred ``recentre`` times at leave-one-out predictions instead of at
    the mean.
    """

    epsilon: float = 0.2
    recentre: int = 2
    centre: Centre = "median"
    score: LooScore = "weighted"
    shift_sign: float = 1.0
    noise_variance: float = 0.5
    n_starts: int = 1
    max_iter: int = 1000
    tol: float = 1e-5

    def fit(self, problem: Problem) -> Fit:
        """Fit one output, from the initialisation with the highest score."""
        y = problem.y
        mean = float(np.median(y) if self.centre == "median" else y.mean())
        weighting = Weighting.around(y, mean, mean, self.epsilon, self.shift_sign)
        best, count = self._optimise_from_all(problem, weighting)
        posterior, noise = self._posterior(problem, best, weighting)
        for _ in range(self.recentre):
            if best.status is Status.STOPPED:
                break
            weighting = Weighting.around(
                y, mean, posterior.leave_one_out().mean, self.epsilon, self.shift_sign
            )
            best = self._optimise(problem, problem.kernel.with_theta(best.x[:-1]), weighting, best.x[-1])
            posterior, noise = self._posterior(problem, best, weighting)
            count += best.n_evaluations + 1
        return Fit(
            posterior=posterior.compact(),
            likelihood=FittedGaussian(noise),
            weights=1.0 / weighting.inflation,
            bound=best.value,
            status=best.status,
            n_iter=best.n_iter,
            n_factorizations=count,
            trace=best.trace,
            n_densities=float(self._counts(weighting).sum()),
        )

    def _optimise_from_all(self, problem: Problem, weighting: Weighting) -> tuple[Optimum[None], int]:
        """Optimise from all initialisations, or until the callback stops; also count factorisations."""
        optima: list[Optimum[None]] = []
        for kernel in initial_kernels(problem, self.n_starts):
            best = max((optimum.value for optimum in optima), default=-inf)
            another = replace(problem, callback=above(problem.callback, best))
            optima.append(self._optimise(another, kernel, weighting))
            if optima[-1].status is Status.STOPPED:
                break
        count = 1 + sum(optimum.n_evaluations for optimum in optima)
        highest = best_of(optima)
        stopped = optima[-1].status is Status.STOPPED
        return (replace(highest, status=Status.STOPPED) if stopped else highest), count

    def _counts(self, weighting: Weighting) -> FloatArray:
        """Weight of each observation in the score."""
        return 1.0 / weighting.inflation if self.score == "weighted" else np.ones_like(weighting.y)

    def _posterior(
        self, problem: Problem, optimum: Optimum[None], weighting: Weighting
    ) -> tuple[Posterior, float]:
        kernel, noise = problem.kernel.with_theta(optimum.x[:-1]), exp(optimum.x[-1])
        return problem.prior(kernel).condition(weighting.sites(noise), weighting.mean), noise

    def _optimise(
        self, problem: Problem, initial: Kernel, weighting: Weighting, log_noise: float | None = None
    ) -> Optimum[None]:
        def objective(x: FloatArray, _: None) -> Evaluation[None]:
            return self.evaluate(problem, initial.with_theta(x[:-1]), exp(x[-1]), weighting)

        return maximise(
            objective,
            np.append(initial.theta, log(self.noise_variance) if log_noise is None else log_noise),
            np.vstack([initial.bounds, problem.noise_box]),
            carry=None,
            max_iter=self.max_iter,
            tol=self.tol * problem.y.size,
            callback=problem.callback,
        )

    def evaluate(
        self, problem: Problem, kernel: Kernel, noise: float, weighting: Weighting
    ) -> Evaluation[None]:
        """Sum of log predictive densities, and its gradient by kernel and log noise."""
        sites = weighting.sites(noise)
        posterior = problem.prior(kernel).condition(sites, weighting.mean)
        loo = posterior.leave_one_out()
        total = loo.variance + noise
        error = problem.y - loo.mean
        count = self._counts(weighting)
        value = -0.5 * float(count @ (LOG_2PI + np.log(total) + error**2 / total))
        by_mean = count * error / total
        by_variance = 0.5 * count * (error**2 / total - 1.0) / total
        g = posterior.leave_one_out_gradient(by_mean, by_variance)
        by_noise = g.noise @ weighting.inflation + g.target @ weighting.pull + by_variance.sum()
        gradient = np.append(g.kernel, noise * float(by_noise))
        flatness = problem.flatness(kernel, sites.precision, 1)
        return Evaluation(value, gradient, None, flatness=flatness)
