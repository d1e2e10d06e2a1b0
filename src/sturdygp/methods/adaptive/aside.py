"""Readings that are set aside: the others are fitted alone, and the fit is then one of all."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import log, sqrt

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.gp.posterior import Posterior
from sturdygp.gp.rows import gather, joined, where
from sturdygp.gp.sites import LOG_2PI, Sites
from sturdygp.gp.uncertain import UncertainPosterior
from sturdygp.methods.adaptive.likelihood import BranchLikelihood, Faults
from sturdygp.methods.adaptive.model import Shape
from sturdygp.methods.adaptive.prior import ContaminationPrior
from sturdygp.methods.base import Fit, Problem
from sturdygp.optimise import Callback

# A reading is faulty if that is more probable than not. More than this share of what is left must be nominal:
# out of mere noise a few readings can be chosen that agree.
FAULTY, MOST = 0.5, 0.5


@dataclass(frozen=True, eq=False)
class SetAside:
    """Readings of a problem that may hide others, to judge by a fit of all."""

    problem: Problem
    before: Fit
    readings: BoolArray

    @property
    def others(self) -> Problem:
        """The problem of the others; nobody keeps where its climb is, as that is not one of all."""
        kept, problem = ~self.readings, self.problem
        X, callback = where(problem.X, kept), unkept(problem.callback)
        return replace(problem, X=X, y=problem.y[kept], resume=None, callback=callback)

    def asked(self, work: Callable[[FloatArray], FloatArray]) -> FloatArray:
        """What can be said of their inputs, wherever these are."""
        return gather(where(self.problem.X, self.readings), work, joined)

    def distance(self, mean: FloatArray) -> FloatArray:
        """From the function, where it has this mean."""
        return self.problem.y[self.readings] - mean

    def log_density(self, distance: FloatArray) -> float:
        """What they add to the bound of the others, so that it is one of all.

        They are a share of all readings, and normal around the function with a scale of their own.
        """
        n = self.readings.size
        share, variance = distance.size / n, float(np.mean(distance**2))
        normal = -0.5 * distance.size * (LOG_2PI + log(variance) + 1.0)
        return normal + distance.size * log(share) + (n - distance.size) * log(1.0 - share)


def mostly_nominal(fit: Fit) -> bool:
    """Whether most readings of a fit are."""
    return fit.outlier_proba is not None and float(np.mean(fit.outlier_proba <= FAULTY)) > MOST


def unkept(callback: Callback | None) -> Callback | None:
    """The callback, told of each step but not of where that is."""
    return None if callback is None else lambda step: callback(replace(step, optimum=None))


def with_aside(fit: Fit, case: SetAside) -> Fit:
    """A fit of the other readings as one of all, in which those set aside are faulty and say nothing."""
    kept = ~case.readings

    def spread(values: FloatArray, elsewhere: float) -> FloatArray:
        full = np.full(kept.size, elsewhere)
        full[kept] = values
        return full

    found, sites = fit.posterior, fit.posterior.sites
    everywhere = Sites(
        target=spread(sites.target, found.mean),
        precision=spread(sites.precision, 0.0),
        log_scale=spread(sites.log_scale, 0.0),
    )
    likelihood = fit.outlier_model
    if not isinstance(likelihood, BranchLikelihood) or fit.outlier_proba is None:
        raise TypeError("only a fit that found contamination has readings set aside")
    distance = case.distance(case.asked(found.predict_mean))
    if fit.outlier_proba.sum() < 1.0:
        likelihood = told_by(distance, likelihood)
    nominal = likelihood.nominal * float(kept.mean())
    theirs = case.log_density(distance)
    return replace(
        fit,
        posterior=conditioned(found, case.problem, everywhere),
        weights=spread(fit.weights, 0.0),
        outlier_proba=spread(fit.outlier_proba, 1.0),
        outlier_model=replace(likelihood, nominal=nominal),
        bound=fit.bound + theirs,
        trace=tuple(value + theirs for value in fit.trace),
        resume=None,
    )


def told_by(distance: FloatArray, likelihood: BranchLikelihood) -> BranchLikelihood:
    """Faults like those that were set aside: there are no others.

    They may be spread by more, as an assumption from before the data were looked at says.
    """
    shift, spread = float(distance.mean()), float(distance.std())
    least = ContaminationPrior().ratio * sqrt(likelihood.noise)
    c = replace(
        likelihood.contamination,
        shift=np.array(shift),
        spread=np.array(max(spread, least)),
        shape=Shape.normal(),
    )
    return replace(likelihood, contamination=c, found=Faults(shift, spread, float(np.mean(distance > 0.0))))


def conditioned(found: Posterior, problem: Problem, sites: Sites) -> Posterior:
    """The same posterior with sites at all rows."""
    best = problem.prior(found.kernel).condition(sites, found.mean).compact()
    if not isinstance(found, UncertainPosterior):
        return best
    return UncertainPosterior(found.kernel, sites, found.mean, problem.X, best, found.moved)
