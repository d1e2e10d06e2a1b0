"""A hypothesis: one explanation of the data, as far as it has been optimised, and its score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import inf, log, sqrt

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_ndtr

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.posterior import Marginals
from sturdygp.gp.sites import LOG_2PI, TINY
from sturdygp.inference.problem import Problem
from sturdygp.inference.variational import Start, Trail, resume
from sturdygp.likelihoods.contamination import ContaminationModel, FittedContamination, MixtureState
from sturdygp.likelihoods.contamination_prior import FEW_OBSERVATIONS
from sturdygp.methods.fit import LedgerEntry, Score
from sturdygp.methods.robust.neighbours import clustering, side_by_side
from sturdygp.methods.robust.prior import FunctionPrior
from sturdygp.methods.robust.screening import distinct
from sturdygp.methods.robust.variance_function import TRUSTED, Heteroscedasticity
from sturdygp.optimise import Optimum
from sturdygp.status import Status

# Nats by which contamination must beat the hypothesis that there is none: clean data are common.
CLEAN_IS_COMMON = 2.0
# Outliers lie together if that is a surprise of this many standard deviations where they are independent.
TOGETHER = 4.0
# Fraction of inliers from which they may show what noise is like.
MOST = 0.5
# How far below the best a hypothesis is hopeless, in nats, beside what it gained of late.
HOPELESS = 1.0
# By how many nats observations must be predicted better for a hypothesis to win in spite of its score.
CONVINCING = 6.0
# Noise with bounds is considered if the kurtosis of residuals is below this: that of a normal distribution is
# 3, of a uniform one 1.8.
LIGHT_TAILED = 2.4
# Where the bounds may be, in standard deviations of residuals; and the variance of normal noise, in theirs.
BOUNDS, VARIANCES = (1.0, 3.0), (0.1, 2.0)
# Standard deviations of the function that are smaller, in those of residuals, are as good as none.
KNOWN = 1e-6
# Logarithms of probabilities that differ by less are told apart no more.
RESOLVED = 1e-12


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A variant of the model with parameters, latent part and posterior, and what its last iterations gained.

    ``occam`` is what its kernel costs beyond the default one, in nats.
    """

    model: ContaminationModel
    problem: Problem
    function_prior: FunctionPrior
    optimum: Optimum[Trail[MixtureState]]
    gained: float
    occam: float = 0.0

    @property
    def value(self) -> float:
        """The score without bounded noise: what decides which hypotheses are optimised further."""
        return self.optimum.value + self.variance_function_gain + self.structure_prior

    @property
    def judged(self) -> float:
        """The score with bounded noise: what decides between hypotheses that have been optimised."""
        return self.value + self.bounded_noise

    @property
    def score(self) -> Score:
        """All terms, for a person to read."""
        kernel, extra = self.start.kernel, self.start.extra
        prior = (
            float(self.model.log_prior(extra, self.start.latent))
            + self.function_prior.at(kernel, extra).value
        )
        return Score(
            elbo=self.optimum.value - prior,
            parameter_prior=prior,
            occam=0.0 - self.occam,
            variance_function=self.variance_function_gain,
            structure_prior=self.structure_prior,
            bounded_noise=self.bounded_noise,
        )

    @property
    def entry(self) -> LedgerEntry:
        """A line of the ledger."""
        name = "no outliers" if self.clean else f"{self.model.shape.name} outliers"
        name += ", heteroscedastic noise" if self.heteroscedasticity else ""
        name += ", second length scale" if self.occam else ""
        noise = sqrt(self.likelihood.noise)
        return LedgerEntry(name, self.score, 1.0 - self.inlier_fraction, noise, self.optimum.n_iter)

    @property
    def score_without_outliers(self) -> float:
        """The score of a hypothesis without outliers; minus infinity for others.

        Without what heteroscedastic noise promises: optimising further may take that back.
        """
        outliers = (1.0 - float(self.inlier.mean())) * self.inlier.size
        sure = outliers < 1.0 and self.optimum.status is not Status.FAILED
        return self.optimum.value + CLEAN_IS_COMMON if sure else -inf

    @property
    def inlier_fraction(self) -> float:
        """The expected fraction of inliers, with heteroscedastic noise if observations ask for it."""
        return self.heteroscedasticity.noise.share if self.heteroscedasticity else float(self.inlier.mean())

    @property
    def clean(self) -> bool:
        """Whether less than one outlier is expected."""
        return (1.0 - self.inlier_fraction) * self.inlier.size < 1.0

    @property
    def structure_prior(self) -> float:
        """Log prior odds of this explanation, in nats: the fewer inliers, the more may be chance.

        Out of mere noise a few observations can be chosen that agree, and out of few observations as many as
        out of a hundred.
        """
        n = self.inlier.size
        few, fraction = max(FEW_OBSERVATIONS / n, 1.0), max(self.inlier_fraction, 1.0 / n)
        return CLEAN_IS_COMMON if self.clean else -self.model.prior.caution * few * (fraction**-2 - 1.0)

    @property
    def clustered(self) -> bool:
        """Whether outliers lie together, to judge by the kernel; not asked of more rows than it can join."""
        posterior = self.optimum.carry.posterior
        if posterior is None or self.problem.inducing is not None:
            return False
        if self.problem.markov:
            return side_by_side(self.problem.inputs, self.inlier <= TRUSTED) > TOGETHER
        return clustering(posterior.kernel(self.problem.inputs), self.inlier) > TOGETHER

    @cached_property
    def start(self) -> Start[MixtureState]:
        """Where it is, for going on from there."""
        return resume(self.problem.kernel, self.optimum)

    @property
    def likelihood(self) -> FittedContamination:
        """The likelihood with these parameters."""
        return FittedContamination.at(self.start.extra, self.start.latent, self.model)

    @cached_property
    def heteroscedasticity(self) -> Heteroscedasticity | None:
        """The variance function that residuals ask for, if they do."""
        posterior = self.optimum.carry.posterior
        return None if posterior is None else Heteroscedasticity.of(self.problem, posterior, self.likelihood)

    @property
    def variance_function_gain(self) -> float:
        """What heteroscedastic noise would add beyond its cost."""
        return self.heteroscedasticity.gain if self.heteroscedasticity else 0.0

    @cached_property
    def bounded_noise(self) -> float:
        """What noise with bounds would add, if most observations are inliers of the same noise."""
        posterior = self.optimum.carry.posterior
        if posterior is None or self.heteroscedasticity or self.inlier.mean() < MOST:
            return 0.0
        return bounded_noise_gain(self.problem.y, posterior.leave_one_out(), self.inlier)

    @cached_property
    def leave_one_out_log_density(self) -> float:
        """Sum of the leave-one-out log predictive densities of all observations, inliers or outliers."""
        posterior = self.optimum.carry.posterior
        others = None if posterior is None else posterior.leave_one_out()
        if others is None or not np.isfinite(others.mean).all():
            return -inf
        return float(self.likelihood.tilted(self.problem.y, others).log_z.sum())

    def predicts_more_than(self, other: Hypothesis) -> bool:
        """Whether it has all inliers of the other, and more, and yet predicts observations better."""
        trusted, before = self.inlier > TRUSTED, other.inlier > TRUSTED
        more = bool((trusted >= before).all() and (trusted > before).any())
        return more and self.leave_one_out_log_density > other.leave_one_out_log_density + CONVINCING

    def stopped(self) -> Hypothesis:
        """The same, ended by a callback."""
        return replace(self, optimum=replace(self.optimum, status=Status.STOPPED))

    @property
    def outlook(self) -> float:
        """By how much optimising further may raise the ELBO, to judge by what it gained of late."""
        return self.gained if self.improving else 0.0

    @property
    def improving(self) -> bool:
        """Whether its optimisation has not ended."""
        return self.optimum.status is Status.MAX_ITER

    @property
    def inlier(self) -> FloatArray:
        """Probability that each observation is an inlier."""
        return np.asarray(self.optimum.carry.latent.responsibility[0])


def still_possible(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Keep hypotheses that differ and may still become the best, which comes first.

    The score decides, with one exception. It speaks against a function that varies more in some places than
    in others, such as a peak. There leave-one-out predictions decide: what the other observations predict is
    no outlier.
    """
    kept = distinct([each for each in hypotheses if each.optimum.status is not Status.FAILED])
    if not kept:
        raise NotPositiveDefiniteError(Status.FAILED.message)
    least = max(each.value for each in kept) - HOPELESS
    kept = sorted(kept, key=lambda each: each.judged, reverse=True)
    convincing = [each for each in kept if each.predicts_more_than(kept[0])]
    possible = [each for each in kept if each in convincing or each.judged + each.outlook > least]
    best = max(convincing, key=lambda each: each.leave_one_out_log_density, default=kept[0])
    if not any(each.improving for each in possible):
        return [best]
    return [best, *(each for each in possible if each is not best)]


# -------------------------------------------------------------------------------------------- noise with
# bounds


def bounded_noise_gain(y: FloatArray, others: Marginals, inlier: FloatArray) -> float:
    """Log density of inliers around what the others say of the function: uniform noise over normal.

    Outliers of flat shape describe uniform noise too: without this, uniform noise around a small function
    passes for a great many outliers, beside a few observations that agree by chance. Less a log of their
    number: bounds are no more than a guess. Zero if they gain nothing.
    """
    squared, share = (y - others.mean) ** 2, inlier / inlier.sum()
    level = float(share @ squared)
    if not TINY < level < np.inf or float(share @ squared**2) > LIGHT_TAILED * level**2:
        return 0.0
    distance, widest = np.sqrt(squared), sqrt(level)
    # A kernel may know the function at some inputs.
    deviation = np.maximum(np.sqrt(others.variance), KNOWN * widest)

    def uniform(bound: float) -> float:
        above, below = log_ndtr((bound - distance) / deviation), log_ndtr((-bound - distance) / deviation)
        between = above + np.log1p(-np.exp(np.minimum(below - above, -RESOLVED)))
        return float(inlier @ (between - log(2.0 * bound)))

    def normal(noise: float) -> float:
        variance = others.variance + noise
        return -0.5 * float(inlier @ (LOG_2PI + np.log(variance) + squared / variance))

    gain = highest(uniform, BOUNDS, widest) - highest(normal, VARIANCES, level)
    return max(gain - log(y.size), 0.0)


def highest(density: Callable[[float], float], within: tuple[float, float], unit: float) -> float:
    """Maximise a log density within these bounds, in a unit."""
    low, high = within
    found = minimize_scalar(lambda x: -density(x), method="bounded", bounds=(low * unit, high * unit))
    return -float(found.fun)
