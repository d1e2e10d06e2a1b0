"""A start from what the readings around each say: where readings are dense, that is nearly the function."""

from __future__ import annotations

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.kernels.base import Kernel
from sturdygp.methods.adaptive.core import Core
from sturdygp.methods.adaptive.model import AdaptiveModel, Branches
from sturdygp.methods.adaptive.neighbours import around
from sturdygp.methods.adaptive.starts import LEAST_VARIANCE
from sturdygp.methods.alternating import Start
from sturdygp.methods.base import Problem

# Readings around each whose median is taken, and how often what that leaves is looked at again.
AROUND, REFINED = 4, 2


def start_beside(problem: Problem, model: AdaptiveModel, kernel: Kernel) -> Start[Branches] | None:
    """Where a climb begins if the function is about the median of the readings around each; None if not.

    Such a median cuts off the tops of peaks, which then look like faults. What a process with this kernel
    makes of the other readings does not.
    """
    start = _start(problem.y - median_around(problem.inputs, problem.y), model, kernel)
    for _ in range(REFINED):
        if start is None:
            return None
        posterior = problem.prior(start.kernel).condition(model.sites(start.extra, start.latent))
        start = _start(problem.y - posterior.leave_one_out().mean, model, kernel)
    return start


def median_around(X: FloatArray, y: FloatArray) -> FloatArray:
    """The median of the readings around each, without itself."""
    return np.asarray(np.median(y[around(X, min(AROUND, len(X) - 1))], axis=1))


def _start(residual: FloatArray, model: AdaptiveModel, kernel: Kernel) -> Start[Branches] | None:
    """With the noise of most residuals, and a function that varies as the readings do that it describes."""
    core = Core.of(residual, model.y)
    if core is None:
        return None
    variance = max(float(np.var(model.y[core.members])), LEAST_VARIANCE)
    return core.start(model, kernel.with_theta(np.clip(kernel.scaled(variance).theta, *kernel.bounds.T)))
