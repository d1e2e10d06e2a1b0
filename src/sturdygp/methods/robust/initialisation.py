"""Further initialisations: low noise, medians of neighbours, and a second part of the kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, log
from typing import Self

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.inference.problem import Problem
from sturdygp.inference.variational import Initialisation, LatentState
from sturdygp.kernels.base import Kernel
from sturdygp.likelihoods.contamination import ContaminationModel, MixtureState
from sturdygp.likelihoods.contamination_prior import N_PARAMETERS
from sturdygp.methods.robust.hypothesis import Hypothesis
from sturdygp.methods.robust.neighbours import around
from sturdygp.methods.robust.screening import LEAST_VARIANCE, TRUST_ALL, Level
from sturdygp.optimise import Optimum

# Largest noise variance of the central half of residuals, as a fraction of that of the hypothesis, for a
# low-noise initialisation.
NARROW = 0.65
# Observations within so many standard deviations are inliers with this probability, the others with its
# complement.
WITHIN, PROBABLY = 3.0, 0.9
# Fraction of observations judged differently below which a low-noise initialisation is nothing new.
SAME_VERDICT = 0.1
# A value of more than this fraction of all observations does not show the noise; nor do fewer others than
# this.
COMMON_FRACTION, FEWEST_TELLING = 0.2, 10
# Width of the shortest interval with half of a normal distribution, in standard deviations.
HALF_WIDTH = 1.349
# Number of neighbours whose median is taken, and number of refinements of its residuals.
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
    """Low-noise initialisation: residuals centred on their densest half, and the standard deviation of that.

    Where the function varies by much more than outliers do, no level of the targets separates them. The
    residuals from a first fit of the function do.
    """

    residual: FloatArray
    scale: float

    @classmethod
    def of(cls, residual: FloatArray, y: FloatArray) -> Self | None:
        """Take the shortest interval with half of the residuals: outliers may all lie on one side of it.

        None if the residuals are few, or agree to the last digit.
        """
        ordered = np.sort(residual[not_common(y)])
        if ordered.size < FEWEST_TELLING or not np.isfinite(residual).all():
            return None
        half = ordered.size // 2
        widths = ordered[half:] - ordered[: ordered.size - half]
        first = int(np.argmin(widths))
        scale = float(widths[first]) / HALF_WIDTH
        return cls(residual - np.median(ordered[first : first + half + 1]), scale) if scale > 0.0 else None

    @classmethod
    def from_residuals(cls, hypothesis: Hypothesis) -> Self | None:
        """Build it from the leave-one-out residuals of a hypothesis; None unless its noise is much larger."""
        posterior, noise = hypothesis.optimum.carry.posterior, exp(hypothesis.state.parameters[0])
        if posterior is None:
            return None
        y = hypothesis.problem.y
        found = cls.of(y - posterior.leave_one_out().mean, y)
        return found if found is not None and found.scale**2 < NARROW * noise else None

    @property
    def members(self) -> BoolArray:
        """True for observations within a few standard deviations."""
        return np.asarray(np.abs(self.residual) < WITHIN * self.scale)

    def agrees_with(self, inlier: FloatArray) -> bool:
        """True if these probabilities give nearly all observations the same verdict."""
        return float(np.mean((inlier > 0.5) != self.members)) < SAME_VERDICT

    def initialisation(self, model: ContaminationModel, kernel: Kernel) -> Initialisation[MixtureState]:
        """Initialise with this kernel and low noise, beyond which observations are outliers."""
        inlier = np.where(self.members, PROBABLY, 1.0 - PROBABLY)
        parameters, latent = model.initial(self.residual, inlier, self.scale**2)
        return Initialisation(kernel, parameters, latent)


def not_common(y: FloatArray) -> BoolArray:
    """True for observations whose value is not common, as zeros at night are."""
    _, which, counts = np.unique(y, return_inverse=True, return_counts=True)
    return np.asarray(counts[which] <= COMMON_FRACTION * y.size)


# ------------------------------------------------------------------------------------------------- neighbours


def around_neighbours(
    problem: Problem, model: ContaminationModel, kernel: Kernel
) -> Initialisation[MixtureState] | None:
    """Initialise with a function near the medians of neighbours; None without a low-noise initialisation.

    Where observations are dense, the median is nearly the function. It cuts off the tops of peaks, which then
    pass for outliers; the leave-one-out predictions of a process with this kernel do not.
    """
    initial = _with_low_noise(problem.y - median_of_neighbours(problem.inputs, problem.y), model, kernel)
    for _ in range(REFINEMENTS):
        if initial is None:
            return None
        posterior = problem.prior(initial.kernel).condition(model.sites(initial.parameters, initial.latent))
        initial = _with_low_noise(problem.y - posterior.leave_one_out().mean, model, kernel)
    return initial


def median_of_neighbours(X: FloatArray, y: FloatArray) -> FloatArray:
    """Median of the neighbours of each observation, without itself."""
    return np.asarray(np.median(y[around(X, min(NEIGHBOURS, len(X) - 1))], axis=1))


def _with_low_noise(
    residual: FloatArray, model: ContaminationModel, kernel: Kernel
) -> Initialisation[MixtureState] | None:
    """Initialise with the noise of most residuals, and the variance of the observations that they select."""
    low_noise = LowNoise.of(residual, model.y)
    if low_noise is None:
        return None
    variance = max(float(np.var(model.y[low_noise.members])), LEAST_VARIANCE)
    return low_noise.initialisation(
        model, kernel.with_theta(np.clip(kernel.scaled(variance).theta, *kernel.bounds.T))
    )


# -------------------------------------------------------------------------- a second part of the kernel


def second_part_initialisations(
    kernel: Kernel, found: Optimum[LatentState[MixtureState]]
) -> list[Initialisation[MixtureState]]:
    """Move half of the noise to the second part of a kernel: without fine structure that lowers the ELBO.

    Its length scales begin as they are, which shows structure in one input; and longer by the root of their
    number, as distances grow, which shows structure in all of them.
    """
    parameters, coarse = found.x[-N_PARAMETERS:].copy(), found.x[:-N_PARAMETERS]
    parameters[0] -= log(2.0)
    fine, owners = kernel.theta[coarse.size :], kernel.length_scale_of[coarse.size :]
    at_variance = np.array([owner is None for owner in owners])
    initialisations = []
    for longer in dict.fromkeys((0.0, 0.5 * log(np.sum(~at_variance)))):
        theta = np.concatenate([coarse, np.where(at_variance, parameters[0], fine + longer)])
        within = kernel.with_theta(np.clip(theta, *kernel.bounds.T))
        initialisations.append(Initialisation(within, parameters, found.carry.latent))
    return initialisations


def after_kernel_grew(
    before: Optimum[LatentState[MixtureState]], after: Optimum[LatentState[MixtureState]]
) -> Optimum[LatentState[MixtureState]]:
    """Chain two optimisations of which the second, with more parameters, began lower."""
    higher = tuple(value for value in after.trace if value > before.value)
    return replace(after, n_iter=before.n_iter + after.n_iter, trace=before.trace + higher)
