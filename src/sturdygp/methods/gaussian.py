"""Normal observations with one noise variance and known additions to it: what standard and oracle share."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.sites import LOG_2PI, Sites
from sturdygp.kernels.base import Kernel
from sturdygp.methods.base import LOG_NOISE_BOX, Fit, Problem, kernel_starts
from sturdygp.optimise import Evaluation, Optimum, best_of, maximise


@dataclass(frozen=True)
class Gaussian:
    """Maximum likelihood for ``target ~ N(f, noise + added)``; an infinite addition drops the reading.

    ``tol`` is the largest derivative of the log evidence, per observation, at convergence.
    """

    noise_variance: float
    learn_noise: bool
    n_starts: int
    max_iter: int
    tol: float

    def fit(self, problem: Problem, added: FloatArray) -> Fit:
        """Fit one output, the evidence picking among the starts."""
        optima = [self._climb(problem, kernel, added) for kernel in kernel_starts(problem, self.n_starts)]
        best = best_of(optima)
        kernel, noise = self._unpack(problem.kernel, best.x)
        sites = gaussian_sites(problem.y, noise, added)
        return Fit(
            posterior=problem.prior(kernel).condition(sites).compact(),
            noise_variance=noise,
            weights=noise * sites.precision,
            bound=best.value,
            status=best.status,
            n_iter=best.n_iter,
            n_factorizations=1 + sum(optimum.n_evaluations for optimum in optima),
            trace=best.trace,
        )

    def _climb(self, problem: Problem, start: Kernel, added: FloatArray) -> Optimum[None]:
        def objective(x: FloatArray, _: None) -> Evaluation[None]:
            kernel, noise = self._unpack(start, x)
            posterior = problem.prior(kernel).condition(gaussian_sites(problem.y, noise, added))
            gradient = posterior.gradient()
            if not self.learn_noise:
                return Evaluation(posterior.log_evidence, gradient.kernel, None)
            by_noise = noise_gradient(posterior.sites, gradient.precision, noise)
            return Evaluation(posterior.log_evidence, np.append(gradient.kernel, by_noise), None)

        extra = [log(self.noise_variance)] if self.learn_noise else []
        bounds = np.vstack([start.bounds, LOG_NOISE_BOX[: len(extra)]])
        return maximise(
            objective,
            np.append(start.theta, extra),
            bounds,
            carry=None,
            max_iter=self.max_iter,
            tol=self.tol * problem.y.size,
            callback=problem.callback,
        )

    def _unpack(self, kernel: Kernel, x: FloatArray) -> tuple[Kernel, float]:
        size = kernel.theta.size
        noise = exp(x[size]) if self.learn_noise else self.noise_variance
        return kernel.with_theta(x[:size]), noise


def gaussian_sites(target: FloatArray, noise: float, added: FloatArray) -> Sites:
    """The sites of normal observations; a reading with infinite variance says nothing."""
    precision = 1.0 / (noise + added)
    log_scale = 0.5 * (np.log(np.where(precision > 0.0, precision, 2.0 * np.pi)) - LOG_2PI)
    return Sites(target, precision, log_scale)


def noise_gradient(sites: Sites, by_precision: FloatArray, noise: float) -> float:
    """Derivative of the log evidence with respect to the log of the common noise variance."""
    return -noise * float((sites.precision**2 * by_precision + 0.5 * sites.precision).sum())
