"""Equal readings among others that differ: a fill value near the data, such as the zeros of a lost signal.

As nominal readings they would have a density without limit, so that the bound takes them for the function,
and the others for faults.
"""

from __future__ import annotations

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.gp.sites import LOG_2PI
from sturdygp.methods.adaptive.aside import FAULTY, SetAside, mostly_nominal
from sturdygp.methods.base import Fit, Problem
from sturdygp.methods.resolution import resolution

# Readings are suspected if so many or more are equal, and these are more than this share of the nominal ones,
# and no more than this share of all.
FEWEST, MOST, SHARE = 5, 0.5, 0.5
# Not if the others are rounded, too, to steps of more than this many of their standard deviations.
COARSE = 0.5


def equal_readings(problem: Problem, fit: Fit) -> BoolArray | None:
    """The most frequent reading, if a fit goes by that alone and takes most others for faults."""
    if fit.outlier_proba is None:
        return None
    values, counts = np.unique(problem.y, return_counts=True)
    equal, nominal = problem.y == values[np.argmax(counts)], fit.outlier_proba <= FAULTY
    others, most = ~equal & ~nominal, int(counts.max())
    suspected = FEWEST <= most <= SHARE * equal.size and others.sum() > MOST * (~equal).sum()
    alone = suspected and (nominal & equal).sum() > MOST * nominal.sum()
    return equal if alone and not coarse(problem.y[~equal]) else None


def coarse(y: FloatArray) -> bool:
    """Whether readings are rounded so that equal ones are no wonder."""
    return resolution(y) > COARSE * float(np.std(y))


def improbable(fit: Fit, case: SetAside) -> bool:
    """Whether most of the others are nominal without them, and they are then better described as faults."""
    if not mostly_nominal(fit):
        return False

    def expected(X: FloatArray) -> FloatArray:
        there = fit.posterior.predict(X)
        return np.column_stack([there.mean, there.variance + fit.noise_at(X, there.mean)])

    mean, variance = case.asked(expected).T
    distance = case.distance(mean)
    nominal = -0.5 * float((LOG_2PI + np.log(variance) + distance**2 / variance).sum())
    return nominal < case.log_density(distance)
