"""The search: levels screened in one shape, the best of them in every shape, and the best of those climbed.

Many contaminated data sets can be read in more than one way: most readings too high, or a few too low. Each
reading has a bound of its own, and which is best shows only after some climbing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import ceil, sqrt

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Kernel
from sturdygp.methods.adaptive.model import (
    EXTRA_BOX,
    AdaptiveModel,
    Branches,
    Contamination,
    ContaminationPrior,
    Shape,
)
from sturdygp.methods.adaptive.starts import TRUSTING, Level, responsibilities
from sturdygp.methods.alternating import Alternation, Start, ThetaPrior, Trail, resume
from sturdygp.methods.base import LONGER, Callback, Problem, lengthened
from sturdygp.optimise import Optimum

# The shape in which levels are screened, and those tried beside it.
FIRST, OTHERS = Shape.flat(5), (Shape.normal(),)
# Iterations of the screening, how many candidates go on at most, and iterations to compare them.
SCREENING, KEPT, COMPARING = 4, 4, 8
# Candidates are the same if their probabilities differ by less on average.
SAME = 0.05
# How far below the best a candidate is hopeless, in nats: after the screening, and after each comparison.
HOPELESS = (8.0, 4.0, 2.0)
# More readings than these are screened by a sample of them.
SCREENED_ROWS = 400
# A length scale is about this many standard deviations of a single input, give or take a factor e.
TYPICAL_LENGTH, LENGTH_SD = 1.2, 1.0


@dataclass(frozen=True, eq=False)
class Candidate:
    """A climb in one variant of the model."""

    model: AdaptiveModel
    optimum: Optimum[Trail[Branches]]

    @property
    def value(self) -> float:
        """The bound."""
        return self.optimum.value

    @property
    def nominal(self) -> FloatArray:
        """Probability that each reading is nominal."""
        return self.optimum.carry.latent.responsibility[:, 0]


@dataclass(frozen=True, eq=False)
class Search:
    """The climbs of one problem."""

    problem: Problem
    prior: ContaminationPrior
    noise_share: float
    tol: float

    def best(self, levels: list[Level], max_iter: int) -> tuple[Candidate, int]:
        """The best candidate, climbed to the top, and the factorisations it took to find it.

        Those of a sample of the readings count by their share of the work.
        """
        few = self._sampled()
        found, spent = few.compared(levels)
        start = resume(self.problem.kernel, found.optimum)
        if few is not self:
            start = replace(start, latent=self._judged(found, start))
            spent = ceil(spent * (few.problem.y.size / self.problem.y.size) ** 3)
        final = self._climb(found.model.shape, start, max_iter, self.problem.callback)
        return final, spent + final.optimum.n_evaluations

    def compared(self, levels: list[Level]) -> tuple[Candidate, int]:
        """The best candidate after a little climbing, and the factorisations so far."""
        kernel, model = lengthened(self.problem.kernel, LONGER), self._model(FIRST)
        tried = [
            self._climb(FIRST, level.start(model, kernel, self.noise_share), SCREENING) for level in levels
        ]
        kept = distinct(tried, HOPELESS[0])[:KEPT]
        rivals = [self._climb(FIRST, resume(kernel, c.optimum), COMPARING) for c in kept]
        for shape in OTHERS:
            rivals += [self._climb(shape, recast(c, kernel, shape), COMPARING) for c in kept]
        rivals.append(self._ordinary())
        tried += rivals
        for margin in HOPELESS[1:]:
            rivals = distinct(rivals, margin)
            if len(rivals) == 1:
                break
            rivals = [self._climb(c.model.shape, resume(kernel, c.optimum), COMPARING) for c in rivals]
            tried += rivals
        return distinct(rivals, 0.0)[0], sum(c.optimum.n_evaluations for c in tried)

    def _ordinary(self) -> Candidate:
        """As if all readings were nominal, from short length scales, which find structure that is fine."""
        model, kernel = self._model(OTHERS[0]), self.problem.kernel
        start = TRUSTING.start(model, kernel, self.noise_share)
        return self._climb(model.shape, start, SCREENING + COMPARING)

    def _climb(
        self, shape: Shape, start: Start[Branches], max_iter: int, callback: Callback | None = None
    ) -> Candidate:
        X, model = self.problem.X, self._model(shape)
        loop = Alternation(model, X, EXTRA_BOX, length_scale_prior(start.kernel, X))
        return Candidate(model, loop.climb(start, max_iter=max_iter, tol=self.tol, callback=callback))

    def _model(self, shape: Shape) -> AdaptiveModel:
        return AdaptiveModel(self.problem.y, shape, self.prior)

    def _sampled(self) -> Search:
        """The same search for a sample of the readings, if they are many: the same one in whichever order."""
        X, y = self.problem.X, self.problem.y
        if y.size <= SCREENED_ROWS:
            return self
        order = np.lexsort((y, *X.T))
        rows = order[np.random.default_rng(0).choice(y.size, SCREENED_ROWS, replace=False)]
        problem = replace(self.problem, X=X[rows], y=y[rows], callback=None)
        return replace(self, problem=problem, tol=self.tol * SCREENED_ROWS / y.size)

    def _judged(self, found: Candidate, start: Start[Branches]) -> Branches:
        """What a fit to a sample makes of all readings."""
        posterior = found.optimum.carry.posterior
        if posterior is None:
            raise RuntimeError("a climb ended without a posterior")
        return self._model(found.model.shape).update(
            start.extra, start.latent, posterior.predict(self.problem.X)
        )


def distinct(candidates: list[Candidate], margin: float) -> list[Candidate]:
    """Those that judge the readings differently, best first, down to a margin below the best."""
    kept: list[Candidate] = []
    for candidate in sorted(candidates, key=lambda c: c.value, reverse=True):
        hopeful = not kept or candidate.value > kept[0].value - margin
        if hopeful and all(np.abs(candidate.nominal - other.nominal).mean() > SAME for other in kept):
            kept.append(candidate)
    return kept


def recast(candidate: Candidate, kernel: Kernel, shape: Shape) -> Start[Branches]:
    """The same contamination in another shape."""
    start, posterior = resume(kernel, candidate.optimum), candidate.optimum.carry.posterior
    sites = candidate.model.sites(start.extra, start.latent)
    below = candidate.model.y - sites.target
    # Where the function meets the readings, if it is known; else where the sites say that it should.
    residual = below if posterior is None else below + posterior.alpha / sites.precision
    cells = responsibilities(Contamination.of(start.extra, shape), residual, candidate.nominal)
    return replace(start, latent=Branches(cells, start.latent.nominal))


def length_scale_prior(kernel: Kernel, X: FloatArray) -> ThetaPrior:
    """A length scale of its own for an input is about as long as that input is spread.

    In many dimensions it is longer, as distances are.
    """
    spread = X.std(axis=0)
    typical = np.log(np.where(spread > 0.0, spread, 1.0) * TYPICAL_LENGTH * sqrt(X.shape[1]))
    mean, precision = np.zeros(kernel.theta.size), np.zeros(kernel.theta.size)
    for index, name in enumerate(kernel.parameter_names):
        single_input = re.search(r"length_scale\[(\d+)\]$", name)
        # A kernel for another number of inputs is refused when it is evaluated.
        if single_input and int(single_input[1]) < typical.size:
            mean[index], precision[index] = typical[int(single_input[1])], LENGTH_SD**-2
    return ThetaPrior(mean, precision)
