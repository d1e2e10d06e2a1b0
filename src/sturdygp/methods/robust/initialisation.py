"""Initialisations beside the levels of the targets: low noise, neighbours, a second part of the kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log
from typing import Self

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.inference.problem import Problem
from sturdygp.inference.variational import Start, Trail
from sturdygp.kernels.base import Kernel
from sturdygp.likelihoods.contamination import ContaminationModel, MixtureState
from sturdygp.likelihoods.contamination_prior import N_PARAMETERS
from sturdygp.methods.robust.hypothesis import Hypothesis
from sturdygp.methods.robust.neighbours import around
from sturdygp.methods.robust.screening import LEAST_VARIANCE, TRUST_ALL, Level
from sturdygp.optimise import Optimum

# Low noise: that of the lower half of the residuals has less than this fraction of the variance that was
# found.
NARROW = 0.65
# Observations within so many standard deviations are probably inliers, with this probability, the others not.
WITHIN, PROBABLY = 3.0, 0.9
# Fraction of observations judged differently up to which low noise brings nothing new.
SAME_VERDICT = 0.1
# Observations that are all equal say nothing of noise if they are more than this fraction; and fewer others
# than this.
COMMON, FEWEST = 0.2, 10
# How wide the shortest interval with half of all observations is, in standard deviations of normal ones.
HALF_WIDTH = 1.349
# Neighbours whose median is taken, and how often what that leaves is refined.
NEIGHBOURS, REFINEMENTS = 4, 2

__all__ = [
    "REFINEMENTS",
    "TRUST_ALL",
    "Level",
    "LowNoise",
    "after_kernel_grew",
    "around_neighbours",
    "second_part_initialisations",
]


# -------------------------------------------------------------------------------------------------- low noise


@dataclass(frozen=True, eq=False)
class LowNoise:
    """Residuals from the middle of those that lie closest together, and the standard deviation of these.

    Where the function varies by much more than outliers do, no level of the targets tells outliers from it.
    Once the function has been followed, the residuals do.
    """

    residual: FloatArray
    scale: float

    @classmethod
    def of(cls, residual: FloatArray, y: FloatArray) -> Self | None:
        """Take the shortest interval with half of those that tell: outliers may all lie on one side of it.

        None if these are few, or agree to the last digit.
        """
        ordered = np.sort(residual[not_common(y)])
        if ordered.size < FEWEST or not np.isfinite(residual).all():
            return None
        half = ordered.size // 2
        widths = ordered[half:] - ordered[: ordered.size - half]
        first = int(np.argmin(widths))
        scale = float(widths[first]) / HALF_WIDTH
        return cls(residual - np.median(ordered[first : first + half + 1]), scale) if scale > 0.0 else None

    @classmethod
    def behind(cls, hypothesis: Hypothesis) -> Self | None:
        """Look at what a hypothesis leaves of the observations, if its noise is much too large for that."""
        posterior, noise = hypothesis.optimum.carry.posterior, exp(hypothesis.start.extra[0])
        if posterior is None:
            return None
        y = hypothesis.problem.y
        found = cls.of(y - posterior.leave_one_out().mean, y)
        return found if found is not None and found.scale**2 < NARROW * noise else None

    @property
    def members(self) -> BoolArray:
        """The observations within a few standard deviations."""
        return np.asarray(np.abs(self.residual) < WITHIN * self.scale)

    def agrees_with(self, inlier: FloatArray) -> bool:
        """Whether these probabilities judge nearly all observations alike."""
        return float(np.mean((inlier > 0.5) != self.members)) < SAME_VERDICT

    def start(self, model: ContaminationModel, kernel: Kernel) -> Start[MixtureState]:
        """A function of this kernel with low noise, beyond which observations are outliers."""
        inlier = np.where(self.members, PROBABLY, 1.0 - PROBABLY)
        extra, latent = model.initial(self.residual, inlier, self.scale**2)
        return Start(kernel, extra, latent)


def not_common(y: FloatArray) -> BoolArray:
    """Observations of values that few others have: not zeros at night."""
    _, which, counts = np.unique(y, return_inverse=True, return_counts=True)
    return np.asarray(counts[which] <= COMMON * y.size)


# ------------------------------------------------------------------------------------------------- neighbours


def around_neighbours(
    problem: Problem, model: ContaminationModel, kernel: Kernel
) -> Start[MixtureState] | None:
    """Begin with a function that is about the median of the neighbours; None if that tells nothing.

    Where observations are dense, that is nearly the function. Such a median cuts off the tops of peaks, which
    then look like outliers. What a process with this kernel makes of the other observations does not.
    """
    start = _with_low_noise(problem.y - median_of_neighbours(problem.inputs, problem.y), model, kernel)
    for _ in range(REFINEMENTS):
        if start is None:
            return None
        posterior = problem.prior(start.kernel).condition(model.sites(start.extra, start.latent))
        start = _with_low_noise(problem.y - posterior.leave_one_out().mean, model, kernel)
    return start


def median_of_neighbours(X: FloatArray, y: FloatArray) -> FloatArray:
    """The median of the neighbours of each observation, without itself."""
    return np.asarray(np.median(y[around(X, min(NEIGHBOURS, len(X) - 1))], axis=1))


def _with_low_noise(
    residual: FloatArray, model: ContaminationModel, kernel: Kernel
) -> Start[MixtureState] | None:
    """The noise of most residuals, and a function that varies as the observations do that it describes."""
    low_noise = LowNoise.of(residual, model.y)
    if low_noise is None:
        return None
    variance = max(float(np.var(model.y[low_noise.members])), LEAST_VARIANCE)
    return low_noise.start(model, kernel.with_theta(np.clip(kernel.scaled(variance).theta, *kernel.bounds.T)))


# ------------------------------------------------------------------------------------- a second part of the
# kernel


def second_part_initialisations(
    kernel: Kernel, found: Optimum[Trail[MixtureState]]
) -> list[Start[MixtureState]]:
    """Give half of the noise to the last part of a kernel: without fine structure that lowers the ELBO.

    Its length scales begin as they are, where structure in one input shows; and longer by the root of their
    number, as distances grow, where structure in all of them does.
    """
    extra, coarse = found.x[-N_PARAMETERS:].copy(), found.x[:-N_PARAMETERS]
    extra[0] -= log(2.0)
    fine, owners = kernel.theta[coarse.size :], kernel.length_scale_of[coarse.size :]
    at_variance = np.array([owner is None for owner in owners])
    starts = []
    for longer in dict.fromkeys((0.0, 0.5 * log(np.sum(~at_variance)))):
        theta = np.concatenate([coarse, np.where(at_variance, extra[0], fine + longer)])
        within = kernel.with_theta(np.clip(theta, *kernel.bounds.T))
        starts.append(Start(within, extra, found.carry.latent))
    return starts


def after_kernel_grew(
    before: Optimum[Trail[MixtureState]], after: Optimum[Trail[MixtureState]]
) -> Optimum[Trail[MixtureState]]:
    """Join two optimisations of which the second, with more parameters, began lower."""
    higher = tuple(value for value in after.trace if value > before.value)
    return replace(after, n_iter=before.n_iter + after.n_iter, trace=before.trace + higher)
