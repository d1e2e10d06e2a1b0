"""A hypothesis: one explanation of the data, partly or fully optimised, and its score."""

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
from sturdygp.inference.variational import Initialisation, LatentState, initialisation_at_optimum
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
# Outliers are clustered beyond this standard score of Moran's I or of neighbouring outliers.
CLUSTERED = 4.0
# Least fraction of inliers for noise with bounds to be considered.
LEAST_INLIERS = 0.5
# Nats below the best, in addition to its recent gain, at which a hypothesis is dropped.
HOPELESS = 1.0
# Nats of leave-one-out log predictive density by which a hypothesis wins in spite of its score.
CONVINCING = 6.0
# Noise with bounds is considered if the kurtosis of residuals is below this: that of a normal distribution is
# 3, of a uniform one 1.8.
LIGHT_TAILED = 2.4
# Range of the bounds of uniform noise, in standard deviations of residuals; and of the variance of normal
# noise, in their variances.
BOUNDS, VARIANCES = (1.0, 3.0), (0.1, 2.0)
# Least standard deviation of the function, in those of residuals.
LEAST_DEVIATION = 1e-6
# Least difference between log probabilities.
RESOLVED = 1e-12


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """A structure of the model with parameters, latent part, posterior, and the gain of the last iterations.

    ``occam`` is the penalty of its kernel relative to the default one, in nats.
    """

    model: ContaminationModel
    problem: Problem
    function_prior: FunctionPrior
    optimum: Optimum[LatentState[MixtureState]]
    gained: float
    occam: float = 0.0

    @property
    def value(self) -> float:
        """Score without bounded noise: it decides which hypotheses are optimised further."""
        return self.optimum.value + self.variance_function_gain + self.structure_prior

    @property
    def judged(self) -> float:
        """Score with bounded noise: it decides between optimised hypotheses."""
        return self.value + self.bounded_noise

    @property
    def score(self) -> Score:
        """Score with all its terms."""
        kernel, parameters = self.state.kernel, self.state.parameters
        prior = (
            float(self.model.log_prior(parameters, self.state.latent))
            + self.function_prior.at(kernel, parameters).value
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
        """Score of a hypothesis without outliers; minus infinity for others.

        The gain of heteroscedastic noise is excluded: further optimisation may take it back.
        """
        outliers = (1.0 - float(self.inlier.mean())) * self.inlier.size
        sure = outliers < 1.0 and self.optimum.status is not Status.FAILED
        return self.optimum.value + CLEAN_IS_COMMON if sure else -inf

    @property
    def inlier_fraction(self) -> float:
        """Expected fraction of inliers, under heteroscedastic noise if residuals support it."""
        return (
            self.heteroscedasticity.noise.inlier_weight
            if self.heteroscedasticity
            else float(self.inlier.mean())
        )

    @property
    def clean(self) -> bool:
        """True if less than one outlier is expected."""
        return (1.0 - self.inlier_fraction) * self.inlier.size < 1.0

    @property
    def structure_prior(self) -> float:
        """Log prior odds of this hypothesis, in nats: agreement of few inliers may be chance.

        In mere noise, some observations agree with a smooth function; with few observations, a larger
        fraction does.
        """
        n = self.inlier.size
        few, fraction = max(FEW_OBSERVATIONS / n, 1.0), max(self.inlier_fraction, 1.0 / n)
        return CLEAN_IS_COMMON if self.clean else -self.model.prior.caution * few * (fraction**-2 - 1.0)

    @property
    def clustered(self) -> bool:
        """True if outliers are clustered under the kernel; False with inducing inputs."""
        posterior = self.optimum.carry.posterior
        if posterior is None or self.problem.inducing is not None:
            return False
        if self.problem.markov:
            return side_by_side(self.problem.inputs, self.inlier <= TRUSTED) > CLUSTERED
        return clustering(posterior.kernel(self.problem.inputs), self.inlier) > CLUSTERED

    @cached_property
    def state(self) -> Initialisation[MixtureState]:
        """Kernel, likelihood parameters and latent part, from which the optimisation can be continued."""
        return initialisation_at_optimum(self.problem.kernel, self.optimum)

    @property
    def likelihood(self) -> FittedContamination:
        """Likelihood with these parameters."""
        return FittedContamination.at(self.state.parameters, self.state.latent, self.model)

    @cached_property
    def heteroscedasticity(self) -> Heteroscedasticity | None:
        """Variance function that residuals support, or None."""
        posterior = self.optimum.carry.posterior
        return None if posterior is None else Heteroscedasticity.of(self.problem, posterior, self.likelihood)

    @property
    def variance_function_gain(self) -> float:
        """Gain of heteroscedastic noise beyond its penalty, in nats."""
        return self.heteroscedasticity.gain if self.heteroscedasticity else 0.0

    @cached_property
    def bounded_noise(self) -> float:
        """Gain of noise with bounds, if most observations are inliers of homoscedastic noise."""
        posterior = self.optimum.carry.posterior
        if posterior is None or self.heteroscedasticity or self.inlier.mean() < LEAST_INLIERS:
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
        """True if it has all inliers of the other, and more, and yet predicts observations better."""
        trusted, before = self.inlier > TRUSTED, other.inlier > TRUSTED
        more = bool((trusted >= before).all() and (trusted > before).any())
        return more and self.leave_one_out_log_density > other.leave_one_out_log_density + CONVINCING

    def stopped(self) -> Hypothesis:
        """Mark the hypothesis as stopped by a callback."""
        return replace(self, optimum=replace(self.optimum, status=Status.STOPPED))

    @property
    def outlook(self) -> float:
        """Expected gain of further optimisation: that of the last iterations."""
        return self.gained if self.improving else 0.0

    @property
    def improving(self) -> bool:
        """True if its optimisation has not ended."""
        return self.optimum.status is Status.MAX_ITER

    @property
    def inlier(self) -> FloatArray:
        """Probability that each observation is an inlier."""
        return np.asarray(self.optimum.carry.latent.responsibility[0])


def still_possible(hypotheses: list[Hypothesis]) -> list[Hypothesis]:
    """Keep hypotheses that differ and may still become the best, which comes first.

    The score decides, with one exception. It disfavours a function that varies more in some places than in
    others, such as a peak. There leave-one-out predictions decide: an observation that the others predict is
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


# ------------------------------------------------------------------------------------- noise with bounds


def bounded_noise_gain(y: FloatArray, others: Marginals, inlier: FloatArray) -> float:
    """Leave-one-out log predictive density of inliers under uniform noise less that under normal noise.

    Outliers of flat shape describe uniform noise too: without this term, uniform noise around a small
    function is explained by a great many outliers and a few inliers that agree by chance. A log of the number
    of observations is subtracted as a penalty for the bounds. The gain is never negative.
    """
    squared, weight = (y - others.mean) ** 2, inlier / inlier.sum()
    variance = float(weight @ squared)
    if not TINY < variance < np.inf or float(weight @ squared**2) > LIGHT_TAILED * variance**2:
        return 0.0
    distance, scale = np.sqrt(squared), sqrt(variance)
    # A kernel may have no variance at some inputs.
    deviation = np.maximum(np.sqrt(others.variance), LEAST_DEVIATION * scale)

    def uniform(bound: float) -> float:
        above, below = log_ndtr((bound - distance) / deviation), log_ndtr((-bound - distance) / deviation)
        between = above + np.log1p(-np.exp(np.minimum(below - above, -RESOLVED)))
        return float(inlier @ (between - log(2.0 * bound)))

    def normal(noise: float) -> float:
        total = others.variance + noise
        return -0.5 * float(inlier @ (LOG_2PI + np.log(total) + squared / total))

    gain = highest(uniform, BOUNDS, scale) - highest(normal, VARIANCES, variance)
    return max(gain - log(y.size), 0.0)


def highest(density: Callable[[float], float], within: tuple[float, float], unit: float) -> float:
    """Maximise a log density within these bounds, in a unit."""
    low, high = within
    found = minimize_scalar(lambda x: -density(x), method="bounded", bounds=(low * unit, high * unit))
    return -float(found.fun)
