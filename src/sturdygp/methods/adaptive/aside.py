"""Readings that are set aside: the others are fitted alone, and the fit is then one of all."""

from __future__ import annotations

from dataclasses import replace
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

# A reading is faulty if that is more probable than not.
FAULTY = 0.5


def without(problem: Problem, aside: BoolArray) -> Problem:
    """The problem of the other readings; nobody keeps where its climb is, as that is not one of all."""
    X, y = where(problem.X, ~aside), problem.y[~aside]
    return replace(problem, X=X, y=y, resume=None, callback=unkept(problem.callback))


def unkept(callback: Callback | None) -> Callback | None:
    """The callback, told of each step but not of where that is."""
    return None if callback is None else lambda step: callback(replace(step, optimum=None))


def with_aside(fit: Fit, problem: Problem, aside: BoolArray) -> Fit:
    """A fit of the other readings as one of all, in which those set aside are faulty and say nothing."""
    kept = ~aside

    def spread(values: FloatArray, elsewhere: float) -> FloatArray:
        full = np.full(aside.size, elsewhere)
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
    distance = problem.y[aside] - gather(where(problem.X, aside), found.predict_mean, joined)
    if fit.outlier_proba.sum() < 1.0:
        likelihood = told_by(distance, likelihood)
    nominal = likelihood.nominal * float(kept.mean())
    theirs = log_density_aside(distance, kept.size)
    return replace(
        fit,
        posterior=conditioned(found, problem, everywhere),
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


def log_density_aside(distance: FloatArray, n: int) -> float:
    """What readings set aside add to the bound of the others, so that it is one of all.

    They are a share of all readings, and normal around the function with a scale of their own.
    """
    share = distance.size / n
    variance = float(np.mean(distance**2))
    normal = -0.5 * distance.size * (LOG_2PI + log(variance) + 1.0)
    return normal + distance.size * log(share) + (n - distance.size) * log(1.0 - share)


def conditioned(found: Posterior, problem: Problem, sites: Sites) -> Posterior:
    """The same posterior with sites at all rows."""
    best = problem.prior(found.kernel).condition(sites, found.mean).compact()
    if not isinstance(found, UncertainPosterior):
        return best
    return UncertainPosterior(found.kernel, sites, found.mean, problem.X, best, found.moved)
