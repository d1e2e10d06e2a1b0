"""The search: levels and shapes screened on some of the readings, the best climbed on all of them."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from math import log, sqrt

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.exact import ExactPosterior, ExactPrior, condition
from sturdygp.kernels.base import Kernel
from sturdygp.methods.adaptive.likelihood import BranchLikelihood, TiltedBranches
from sturdygp.methods.adaptive.model import (
    EXTRA_BOX,
    AdaptiveModel,
    Branches,
    Contamination,
    ContaminationPrior,
    Shape,
)
from sturdygp.methods.adaptive.starts import Level
from sturdygp.methods.alternating import Alternation, Start, ThetaPrior, Trail, joined, resume
from sturdygp.methods.base import LONGER, Fit, Problem, lengthened
from sturdygp.methods.propagation import NaturalSites, Propagated, Propagation
from sturdygp.optimise import Optimum

SHAPES = (Shape.flat(8), Shape.normal())
# Around which quantiles nominal readings are sought, and what share of all is taken for nominal at first.
LEVELS = (
    Level(0.5, 0.7),
    Level(0.5, 0.3),
    Level(0.1, 0.3),
    Level(0.9, 0.3),
    Level(0.3, 0.4),
    Level(0.7, 0.4),
)
# Readings on which starts are screened; iterations of the first round, and how many go on.
SCREENED_ROWS = 300
ROUNDS = ((6, 4), (10, 1))
# Agreement of expectation propagation, in marginal standard deviations.
AGREEMENT = 1e-3
# Length scales are about this many standard deviations of their input, for one input; a factor e is likely.
TYPICAL_LENGTH, LENGTH_SD = 1.2, 1.0
NOT_PROPAGATED = (
    "expectation propagation did not converge; the uncertainty of this fit is variational, which is too small"
)


@dataclass(frozen=True, eq=False)
class Candidate:
    """A climb in one variant of the model."""

    loop: Alternation[Branches]
    model: AdaptiveModel
    optimum: Optimum[Trail[Branches]]
    n_evaluations: int

    def further(self, kernel: Kernel, *, max_iter: int, tol: float) -> Candidate:
        """Climb on from where this one ended."""
        after = self.loop.climb(resume(kernel, self.optimum), max_iter=max_iter, tol=tol)
        count = self.n_evaluations + after.n_evaluations
        return Candidate(self.loop, self.model, joined(self.optimum, after), count)


@dataclass(frozen=True)
class Adaptive:
    """Variational EM for the branches, kernel and contamination stepped on the bound, which picks the variant.

    ``tol`` is the largest derivative of the bound, per observation, at convergence.
    """

    prior: ContaminationPrior = field(default_factory=ContaminationPrior)
    noise_variance: float = 0.5
    n_starts: int = len(LEVELS)
    max_iter: int = 1000
    tol: float = 1e-5

    def fit(self, problem: Problem) -> Fit:
        """Fit one output."""
        search = Search(problem, self.prior, self.tol)
        best = search.best(LEVELS[: self.n_starts], max_iter=self.max_iter)
        return self._result(problem, best)

    def _result(self, problem: Problem, best: Candidate) -> Fit:
        optimum, model = best.optimum, best.model
        size = problem.kernel.theta.size
        kernel, extra, latent = (
            problem.kernel.with_theta(optimum.x[:size]),
            optimum.x[size:],
            optimum.carry.latent,
        )
        contamination = Contamination.of(extra, model.shape)
        likelihood = BranchLikelihood.of(contamination, latent.nominal)
        sites = model.sites(extra, latent)
        prior = ExactPrior.at(kernel, problem.X)
        posterior, faulty, count, note = propagated(prior, problem.y, likelihood, prior.condition(sites))
        if faulty is None:
            faulty = 1.0 - latent.responsibility[:, 0]
        return Fit(
            posterior=posterior.compact(),
            noise_variance=contamination.noise,
            weights=np.minimum(contamination.noise * sites.precision, 1.0),
            outlier_proba=faulty,
            outlier_model=likelihood,
            bound=optimum.value,
            status=optimum.status,
            n_iter=optimum.n_iter,
            n_factorizations=best.n_evaluations + count,
            trace=optimum.trace,
            note=note,
        )


def propagated(
    prior: ExactPrior, y: FloatArray, likelihood: BranchLikelihood, variational: ExactPosterior
) -> tuple[ExactPosterior, FloatArray | None, int, str]:
    """The posterior by expectation propagation from the variational one, and probabilities of faults.

    Mean field takes each branch for independent of the function, which makes both too sure.
    """
    sites = variational.sites
    start = NaturalSites(sites.precision, sites.precision * sites.target)
    rule: Propagation[TiltedBranches] = Propagation(prior, y, likelihood, tolerance=AGREEMENT)
    try:
        result: Propagated[TiltedBranches] = rule.run(start, careful=False)
    except NotPositiveDefiniteError:
        return variational, None, 1, NOT_PROPAGATED
    faulty = 1.0 - result.tilted.responsibility[:, 0]
    return result.posterior, faulty, result.n_factorizations + 1, ""


@dataclass(frozen=True, eq=False)
class Search:
    """The climbs of one problem."""

    problem: Problem
    prior: ContaminationPrior
    tol: float

    def best(self, levels: tuple[Level, ...], *, max_iter: int) -> Candidate:
        """Screen all levels in all shapes, then fewer and fewer, then climb the best to the top."""
        kernel = lengthened(self.problem.kernel, LONGER)
        candidates = [self._first(shape, level, kernel) for shape in SHAPES for level in levels]
        spent = 0
        for iterations, keep in ROUNDS:
            candidates.sort(key=lambda candidate: -candidate.optimum.value)
            spent += sum(candidate.n_evaluations for candidate in candidates[keep:])
            tol = self.tol * self.problem.y.size
            candidates = [c.further(kernel, max_iter=iterations, tol=tol) for c in candidates[:keep]]
        best = max(candidates, key=lambda candidate: candidate.optimum.value)
        final = best.further(kernel, max_iter=max_iter, tol=self.tol * self.problem.y.size)
        spent += sum(c.n_evaluations for c in candidates if c is not best)
        return Candidate(final.loop, final.model, final.optimum, final.n_evaluations + spent)

    def _first(self, shape: Shape, level: Level, kernel: Kernel) -> Candidate:
        model = AdaptiveModel(self.problem.y, shape, self.prior)
        X = self.problem.X
        loop = Alternation(model, X, EXTRA_BOX, length_scale_prior(kernel, X))
        optimum = loop.climb(
            level.start(model, kernel), max_iter=ROUNDS[0][0], tol=self.tol * self.problem.y.size
        )
        return Candidate(loop, model, optimum, optimum.n_evaluations)


def length_scale_prior(kernel: Kernel, X: FloatArray) -> ThetaPrior:
    """Length scales of single inputs are about as long as their input is spread, longer in many dimensions."""
    spread = X.std(axis=0)
    typical = np.log(np.where(spread > 0.0, spread, 1.0) * TYPICAL_LENGTH * sqrt(X.shape[1]))
    mean, precision = np.zeros(kernel.theta.size), np.zeros(kernel.theta.size)
    for index, name in enumerate(kernel.parameter_names):
        match = re.search(r"length_scale\[(\d+)\]$", name)
        if match:
            mean[index], precision[index] = typical[int(match[1])], LENGTH_SD**-2
    return ThetaPrior(mean, precision)
