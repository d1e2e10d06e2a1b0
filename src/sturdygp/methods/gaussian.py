"""Normal observations with one noise variance and known additions to it: what standard and oracle share."""

from __future__ import annotations

from dataclasses import dataclass
from math import log

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, TINY, Sites
from sturdygp.methods.alternating import Alternation, Start, state_of
from sturdygp.methods.base import Fit, Problem, kernel_starts
from sturdygp.methods.stages import climb_by_stages

# The largest noise variance, in squares of the targets.
MOST_NOISE = 10.0


@dataclass(frozen=True, eq=False)
class GaussianModel:
    """``target ~ N(f, noise + added)``, without latent variables; an infinite addition drops the reading.

    ``extra`` is the logarithm of the noise variance, or empty if that is known.
    """

    y: FloatArray
    added: FloatArray | float
    noise: float

    def noise_at(self, extra: FloatArray) -> float:
        """The noise variance, if it is learned, or what it is known to be."""
        return float(np.exp(extra[0])) if extra.size else self.noise

    def sites(self, extra: FloatArray, _: None) -> Sites:
        """The likelihood itself; a reading with infinite variance says nothing."""
        precision = np.broadcast_to(1.0 / (self.noise_at(extra) + self.added), self.y.shape)
        log_scale = 0.5 * (np.log(np.where(precision > 0.0, precision, 2.0 * np.pi)) - LOG_2PI)
        return Sites(self.y, precision, log_scale)

    def log_prior(self, _extra: FloatArray, _: None) -> float:
        """None."""
        return 0.0

    def extra_gradient(self, extra: FloatArray, _: None, marginals: Marginals) -> FloatArray:
        """Derivative of the evidence with respect to the log of the noise variance."""
        precision = self.sites(extra, _).precision
        excess = precision * marginals.second_moment(self.y) - 1.0
        return np.full(extra.size, 0.5 * self.noise_at(extra) * float(precision @ excess))

    def update(self, _extra: FloatArray, _: None, _marginals: Marginals) -> None:
        """There is nothing to update."""


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
            noise_variance=noise,
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
    return np.array([[low, max(high, log(MOST_NOISE * float(np.mean(problem.y**2)) + TINY))]])
