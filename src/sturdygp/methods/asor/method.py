"""ASOR-GPR as a method: two solvers on one bound, and the starts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import exp, inf, log
from typing import Literal

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.exact import condition
from sturdygp.kernels.base import Kernel
from sturdygp.methods.alternating import Alternation, Start, Trail
from sturdygp.methods.asor.gem import GemState, final_e_step, initial_state, iterate
from sturdygp.methods.asor.model import AsorModel, AsorOutliers, AsorPrior, Multipliers, update_multipliers
from sturdygp.methods.base import Fit, Problem
from sturdygp.optimise import Optimum, Status

INITIAL_RATE = 20.0
# Logarithm of the nominal noise variance, for targets of about unit scale.
LOG_NOISE_BOX = np.log(np.array([[1e-8, 1e2]]))
# The paper starts at a fifth of the median distance, the other starts at all of it.
LONGER = log(5.0)
QUANTILES = (0.5, 0.1, 0.9, 0.3, 0.7)
SCREENING_ITERATIONS = 6
FINALISTS = 2

Solver = Literal["collapsed", "gem"]


@dataclass(frozen=True)
class Asor:
    """The paper's method.

    ``tol`` is the relative change of the weighted residual at which ``"gem"`` stops, and the largest
    derivative of the bound, per observation, at which ``"collapsed"`` does.
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
        model = AsorModel(problem.y, self.prior)
        loop = Alternation(model, problem.X, LOG_NOISE_BOX)
        optimum, n_factorizations = self._best_climb(loop, problem)
        size = problem.kernel.theta.size
        kernel, extra = problem.kernel.with_theta(optimum.x[:size]), optimum.x[size:]
        q, noise_variance = optimum.carry.latent, exp(extra[0])
        posterior = condition(kernel, problem.X, model.sites(extra, q))
        return Fit(
            posterior=posterior.compact(),
            noise_variance=noise_variance,
            weights=q.weight,
            outlier_proba=1.0 - q.nominal,
            outlier_model=AsorOutliers(noise_variance, q.rate, self.prior),
            bound=optimum.value,
            status=optimum.status,
            n_iter=optimum.n_iter,
            n_factorizations=n_factorizations + 1,
            trace=optimum.trace,
        )

    def _best_climb(
        self, loop: Alternation[Multipliers], problem: Problem
    ) -> tuple[Optimum[Trail[Multipliers]], int]:
        """Climb from each start a little, from the most promising ones to the top."""
        tol = self.tol * problem.y.size
        starts, count = list(self._starts(problem)), 0
        if len(starts) > 1:
            screened = [loop.climb(start, max_iter=SCREENING_ITERATIONS, tol=tol) for start in starts]
            count = sum(optimum.n_evaluations for optimum in screened)
            ranked = sorted(screened, key=lambda optimum: -optimum.value)
            starts = [resume(problem.kernel, optimum) for optimum in ranked[:FINALISTS]]
        climbs = [
            loop.climb(start, max_iter=self.max_iter, tol=tol, callback=problem.callback) for start in starts
        ]
        best = max(climbs, key=lambda optimum: optimum.value)
        return best, count + sum(optimum.n_evaluations for optimum in climbs)

    def _starts(self, problem: Problem) -> Iterator[Start[Multipliers]]:
        """The paper's start; then longer length scales; then also weights around quantiles of y."""
        extra = np.array([log(self.noise_variance)])
        nominal = Multipliers.all_nominal(problem.y.size, INITIAL_RATE, self.prior)
        longer = lengthened(problem.kernel, LONGER)
        for index in range(self.n_starts):
            if index < 2:
                yield Start((problem.kernel, longer)[index], extra, nominal)
            elif index < 2 + len(QUANTILES):
                yield Start(longer, extra, self._around(problem.y, QUANTILES[index - 2]))
            else:
                kernel = lengthened(problem.kernel, problem.rng.uniform(0.0, 2.0 * LONGER))
                yield Start(kernel, extra, self._around(problem.y, problem.rng.uniform(0.05, 0.95)))

    def _around(self, y: FloatArray, quantile: float) -> Multipliers:
        """The multipliers of a function that is constant at a quantile of ``y``."""
        R = (y - np.quantile(y, quantile)) ** 2 / self.noise_variance
        return update_multipliers(R, INITIAL_RATE, self.prior)

    def _fit_gem(self, problem: Problem) -> Fit:
        model = AsorModel(problem.y, self.prior)
        state = initial_state(model, problem.X, problem.kernel, self.noise_variance, INITIAL_RATE)
        trace: list[float] = []
        previous, status = inf, Status.MAX_ITER
        for iteration, current in zip(range(1, self.max_iter + 1), iterate(state), strict=False):
            state = current
            trace.append(state.bound)
            if problem.callback is not None:
                problem.callback(iteration, trace[-1])
            residual = state.weighted_residual
            if abs(residual - previous) < self.tol * previous:
                status = Status.CONVERGED
                break
            previous = residual
        return self._gem_fit(final_e_step(state), status, trace)

    def _gem_fit(self, state: GemState, status: Status, trace: list[float]) -> Fit:
        extra, q = np.array([log(state.noise_variance)]), state.multipliers
        posterior = condition(state.kernel, state.X, state.model.sites(extra, q), state.mean)
        return Fit(
            posterior=posterior.compact(),
            noise_variance=state.noise_variance,
            weights=q.weight,
            outlier_proba=1.0 - q.nominal,
            outlier_model=AsorOutliers(state.noise_variance, q.rate, self.prior),
            bound=state.bound,
            status=status,
            n_iter=len(trace),
            n_factorizations=state.n_factorizations + 1,
            trace=tuple(trace),
        )


def resume(kernel: Kernel, optimum: Optimum[Trail[Multipliers]]) -> Start[Multipliers]:
    """A start where an earlier climb ended."""
    size = kernel.theta.size
    return Start(kernel.with_theta(optimum.x[:size]), optimum.x[size:], optimum.carry.latent)


def lengthened(kernel: Kernel, log_factor: float) -> Kernel:
    """The kernel with longer length scales, as far as its bounds allow."""
    change = np.array([log_factor if "length_scale" in name else 0.0 for name in kernel.parameter_names])
    return kernel.with_theta(np.clip(kernel.theta + change, *kernel.bounds.T))
