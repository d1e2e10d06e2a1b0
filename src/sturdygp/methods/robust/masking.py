"""Masked outliers: observations that mask others are removed, and the rest is fitted alone.

Outliers have one scale. If it has to reach a value of -999, outliers of a few standard deviations are
described better as noise, which then is much too large. A value that recurs exactly, such as the zeros of a
lost signal, would have an unbounded density as an inlier, so that the ELBO takes it for the function.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.gp.hyperparameter_uncertainty import UncertainPosterior
from sturdygp.gp.inputs import gather, joined, where
from sturdygp.gp.posterior import Posterior
from sturdygp.gp.sites import LOG_2PI, Sites
from sturdygp.inference.problem import Problem
from sturdygp.likelihoods.contamination import FittedContamination, OutlierMoments, Shape
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.methods.fit import Fit
from sturdygp.methods.ties import resolution
from sturdygp.optimise import Callback

# Probability above which an observation is an outlier; and fraction of inliers that a fit of the rest must
# exceed, since in mere noise a few observations always agree.
OUTLIER, MOSTLY_INLIERS = 0.5, 0.5
# Far outliers are off by this many standard deviations of the noise, and this many times as much as any
# other.
FAR_FACTOR = 10.0
# They masked others if the noise variance without them is less than this fraction of what it was.
CLEARER = 0.25
# Least number and fraction of observations that are fitted alone: fewer may be a part of the function.
FEWEST_REMAINING, REMAINING_FRACTION = 10, 2.0 / 3.0
# A recurring value is suspected if at least so many observations have it, they are more than this fraction of
# the inliers, and at most this fraction of all.
FEWEST_EQUAL, EQUAL_INLIERS, MOST_EQUAL = 5, 0.5, 0.5
# It is not if the others are rounded as well, to steps of more than this many of their standard deviations.
COARSE = 0.5


@dataclass(frozen=True, eq=False)
class Masking:
    """Observations of a problem that may mask others, according to a fit of all."""

    problem: Problem
    before: Fit
    rows: BoolArray

    @property
    def others(self) -> Problem:
        """The problem without them; its optimum is withheld from checkpoints, as it is not one of all."""
        kept, problem = ~self.rows, self.problem
        X, callback = where(problem.X, kept), without_optimum(problem.callback)
        return replace(problem, X=X, y=problem.y[kept], resume=None, callback=callback)

    def at_inputs(self, work: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """Evaluate a function at their inputs, in memory or chunked."""
        return gather(where(self.problem.X, self.rows), work, joined)

    def distance(self, mean: FloatArray) -> FloatArray:
        """Residuals from a function with this mean."""
        return self.problem.y[self.rows] - mean

    def log_density(self, distance: FloatArray) -> float:
        """Log density that, added to the ELBO of the others, makes it one of all observations.

        They have a mixing weight of their own, and are normal around the function with a scale of their own.
        """
        n = self.rows.size
        fraction, variance = distance.size / n, float(np.mean(distance**2))
        normal = -0.5 * distance.size * (LOG_2PI + log(variance) + 1.0)
        return normal + distance.size * log(fraction) + (n - distance.size) * log(1.0 - fraction)


# ----------------------------------------------------------------------------------------- far outliers


def far_outliers(problem: Problem, fit: Fit) -> BoolArray | None:
    """Find outliers that are far from the inliers and from all other outliers; None without any."""
    if fit.outlier_proba is None:
        return None
    outlier = fit.outlier_proba > OUTLIER
    if not outlier.any():
        return None
    mean = gather(problem.X, fit.posterior.predict_mean, joined)
    distance = np.where(outlier, np.abs(problem.y - mean), 0.0)
    near = FAR_FACTOR * np.sqrt(fit.noise_at(problem.X, mean))
    farthest_near = float(distance[distance <= near].max(initial=0.0))
    far = distance > np.maximum(near, FAR_FACTOR * farthest_near)
    between = (distance > near) & ~far
    enough = np.count_nonzero(~far) >= max(FEWEST_REMAINING, REMAINING_FRACTION * far.size)
    return far if far.any() and not between.any() and enough else None


def noise_is_smaller(fit: Fit, masking: Masking) -> bool:
    """Test whether far outliers masked others: the noise is much smaller without them."""
    return fit.noise_variance < CLEARER * masking.before.noise_variance and mostly_inliers(fit)


# -------------------------------------------------------------------------------------- recurring values


def recurring_value(problem: Problem, fit: Fit) -> BoolArray | None:
    """Find the most frequent value, if a fit follows it alone and takes most others for outliers."""
    if fit.outlier_proba is None:
        return None
    values, counts = np.unique(problem.y, return_counts=True)
    equal, inlier = problem.y == values[np.argmax(counts)], fit.outlier_proba <= OUTLIER
    others, most = ~equal & ~inlier, int(counts.max())
    suspected = (
        FEWEST_EQUAL <= most <= MOST_EQUAL * equal.size and others.sum() > EQUAL_INLIERS * (~equal).sum()
    )
    alone = suspected and (inlier & equal).sum() > EQUAL_INLIERS * inlier.sum()
    return equal if alone and not coarse(problem.y[~equal]) else None


def coarse(y: FloatArray) -> bool:
    """True if values are rounded so coarsely that equal ones are expected."""
    return resolution(y) > COARSE * float(np.std(y))


def better_as_outliers(fit: Fit, masking: Masking) -> bool:
    """Test whether the others are mostly inliers without them, and they are better described as outliers."""
    if not mostly_inliers(fit):
        return False

    def expected(X: FloatArray) -> FloatArray:
        there = fit.posterior.predict(X)
        return np.column_stack([there.mean, there.variance + fit.noise_at(X, there.mean)])

    mean, variance = masking.at_inputs(expected).T
    distance = masking.distance(mean)
    as_inliers = -0.5 * float((LOG_2PI + np.log(variance) + distance**2 / variance).sum())
    return as_inliers < masking.log_density(distance)


# Pairs of functions: find observations that may mask others; test by a fit without them that they did.
SUSPICIONS = ((far_outliers, noise_is_smaller), (recurring_value, better_as_outliers))


def mostly_inliers(fit: Fit) -> bool:
    """True if most observations of a fit are inliers."""
    return fit.outlier_proba is not None and float(np.mean(fit.outlier_proba <= OUTLIER)) > MOSTLY_INLIERS


def without_optimum(callback: Callback | None) -> Callback | None:
    """Wrap a callback so that it receives each step without its optimum."""
    return None if callback is None else lambda step: callback(replace(step, optimum=None))


# --------------------------------------------------------------------------------------------- one fit of all


def with_masked(fit: Fit, masking: Masking) -> Fit:
    """Turn a fit of the other observations into one of all, in which the masking ones are outliers."""
    kept = ~masking.rows

    def expand(values: FloatArray, elsewhere: float) -> FloatArray:
        full = np.full(kept.size, elsewhere)
        full[kept] = values
        return full

    found, sites = fit.posterior, fit.posterior.sites
    everywhere = Sites(
        target=expand(sites.target, found.mean),
        precision=expand(sites.precision, 0.0),
        log_scale=expand(sites.log_scale, 0.0),
    )
    likelihood = fit.likelihood
    if not isinstance(likelihood, FittedContamination) or fit.outlier_proba is None:
        raise TypeError("only a fit with a contamination likelihood can have masked outliers")
    distance = masking.distance(masking.at_inputs(found.predict_mean))
    if fit.outlier_proba.sum() < 1.0:
        likelihood = outliers_like(distance, likelihood)
    inlier_weight = likelihood.inlier_weight * float(kept.mean())
    theirs = masking.log_density(distance)
    return replace(
        fit,
        posterior=conditioned(found, masking.problem, everywhere),
        weights=expand(fit.weights, 0.0),
        outlier_proba=expand(fit.outlier_proba, 1.0),
        likelihood=replace(likelihood, inlier_weight=inlier_weight),
        n_densities=float(kept.size),
        bound=fit.bound + theirs,
        trace=tuple(value + theirs for value in fit.trace),
        resume=None,
    )


def outliers_like(distance: FloatArray, likelihood: FittedContamination) -> FittedContamination:
    """Learn shift and scale of outliers from the masking observations: there are no others.

    The scale is at least what the prior expects.
    """
    shift, std = float(distance.mean()), float(distance.std())
    least = ContaminationPrior().ratio * sqrt(likelihood.noise)
    c = replace(
        likelihood.contamination,
        shift=np.array(shift),
        scale=np.array(max(std, least)),
        shape=Shape.normal(),
    )
    return replace(
        likelihood, contamination=c, found=OutlierMoments(shift, std, float(np.mean(distance > 0.0)))
    )


def conditioned(found: Posterior, problem: Problem, sites: Sites) -> Posterior:
    """Condition on sites at all rows, with the same kernel and mean."""
    best = problem.prior(found.kernel).condition(sites, found.mean).compact()
    if not isinstance(found, UncertainPosterior):
        return best
    return UncertainPosterior(found.kernel, sites, found.mean, problem.X, best, found.moved)
