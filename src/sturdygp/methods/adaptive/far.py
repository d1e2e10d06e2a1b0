"""Faults so far off that they hide others: they are set aside, and what is left is fitted alone.

Faults have one spread. If that has to reach a reading of -999, faults of a few standard deviations are
described better as noise, which then is much too large.
"""

from __future__ import annotations

import numpy as np

from sturdygp._typing import BoolArray
from sturdygp.gp.rows import gather, joined
from sturdygp.methods.adaptive.aside import FAULTY, SetAside, mostly_nominal
from sturdygp.methods.base import Fit, Problem

# Far faults are off by this many nominal standard deviations, and this many times as much as any other.
FAR = 10.0
# Others were hidden if without them the nominal variance is less than this share of what it was.
CLEARER = 0.25
# Fewer readings than these are not fitted alone, and fewer than this share of all not either: what is left
# may be a part of the function that is all alike.
FEWEST, SHARE = 10, 2.0 / 3.0


def far_faults(problem: Problem, fit: Fit) -> BoolArray | None:
    """The faulty readings that are far from the nominal ones and from all other faults; None without any."""
    if fit.outlier_proba is None:
        return None
    faulty = fit.outlier_proba > FAULTY
    if not faulty.any():
        return None
    mean = gather(problem.X, fit.posterior.predict_mean, joined)
    distance, near = (
        np.where(faulty, np.abs(problem.y - mean), 0.0),
        FAR * np.sqrt(fit.noise_at(problem.X, mean)),
    )
    farthest_near = float(distance[distance <= near].max(initial=0.0))
    far = distance > np.maximum(near, FAR * farthest_near)
    between = (distance > near) & ~far
    enough = np.count_nonzero(~far) >= max(FEWEST, SHARE * far.size)
    return far if far.any() and not between.any() and enough else None


def clearer(fit: Fit, case: SetAside) -> bool:
    """Whether there was something to be seen behind the far readings."""
    return fit.noise_variance < CLEARER * case.before.noise_variance and mostly_nominal(fit)
