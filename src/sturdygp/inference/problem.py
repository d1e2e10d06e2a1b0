"""The problem that inference solves: one output, an initial kernel, and the process at its inputs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from math import log, pi, sqrt

import numpy as np
from scipy.spatial.distance import pdist

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.gp.exact import ExactPrior
from sturdygp.gp.inputs import Extent, Inputs, Rows, evenly_spaced
from sturdygp.gp.markov import MarkovPrior
from sturdygp.gp.posterior import Prior
from sturdygp.gp.sites import TINY
from sturdygp.gp.sparse import SparsePrior
from sturdygp.gp.timeline import Timeline
from sturdygp.kernels.base import Kernel, Sum
from sturdygp.kernels.stationary import Matern52, SquaredExponential, Stationary
from sturdygp.likelihoods.base import LEAST_NOISE, log_noise_box
from sturdygp.optimise import Callback, Flatness

# Bounds of the kernel: length scales relative to the range of an input, variance for scaled targets.
LENGTH_SCALE_BOX = (0.02, 20.0)


VARIANCE_BOX = (1e-4, 1e3)


INITIAL_LENGTH_SCALE = 0.2


# Length scales begin at a fifth of the median distance in the paper's initialisation, in others at all of it
# or a little more.
LONGER = log(5.0)


# A second part of the kernel: its initial length scales, in standard deviations of each input, its initial
# variance, and the bounds of that, which may be as small as the noise.
FINE_LENGTH_SCALE, FINE_VARIANCE, FINE_VARIANCE_BOX = 0.3, 1e-2, (1e-8, 1e3)
EPS = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class ResumeState:
    """State of an earlier optimisation as plain arrays: parameters, latent part and curvature.

    Unless other initialisations were already ``searched``, they are tried as well.
    """

    x: FloatArray
    latent: Mapping[str, FloatArray]
    curvature: FloatArray | None
    searched: bool = False


@dataclass(frozen=True, eq=False)
class Problem:
    """One output without missing entries, with targets of about unit scale, and an initial kernel.

    ``X`` holds the inputs, ``y`` one column of the outputs (eq:data_matrix_views). With ``inducing`` inputs
    the process is sparse; with ``markov`` it costs O(n), by the state-space form of its kernel; otherwise it
    is exact. ``added`` is a known addition to the noise variance of each observation. With ``resume`` an
    optimisation is continued instead of begun. The kernel is ``ours`` if the user gave none: a method may
    then extend it. ``resolution`` is the step of targets that are rounded.
    """

    X: Inputs
    y: FloatArray
    kernel: Kernel
    rng: np.random.Generator
    callback: Callback | None = None
    inducing: FloatArray | None = None
    markov: bool = False
    added: FloatArray | None = None
    resume: ResumeState | None = None
    ours: bool = False
    resolution: float = 0.0

    @property
    def least_noise(self) -> float:
        """Least standard deviation of the noise.

        A rounded observation stands for an interval, and so has no density above one over its width.
        """
        return max(LEAST_NOISE, self.resolution / sqrt(2.0 * pi))

    @property
    def noise_box(self) -> FloatArray:
        """Bounds of the log noise variance of inliers."""
        return log_noise_box(self.least_noise)

    @property
    def inputs(self) -> FloatArray:
        """Inputs as an array, which an exact process needs."""
        return in_memory(self.X)

    @property
    def work(self) -> float:
        """Cost of a factorisation, up to a factor."""
        n = len(self.X)
        if self.markov:
            return float(n)
        return float(n**3 if self.inducing is None else n * len(self.inducing) ** 2)

    @cached_property
    def timeline(self) -> Timeline:
        """The times in order, for a Markov process."""
        return Timeline.of(self.inputs)

    @cached_property
    def some_inputs(self) -> FloatArray:
        """Evenly spaced rows, in memory."""
        return evenly_spaced(self.X)

    def flatness(
        self, kernel: Kernel, precision: FloatArray, others: int, variance: FloatArray | None = None
    ) -> Flatness:
        """Describe where the evidence is flat in the kernel's parameters and those after them, noise first.

        There are three such regions. Where the function has less variance than the noise of the most precise
        observation, derivatives by the kernel's parameters are proportional to it. Where length scales are so
        short that observations are nearly independent, derivatives by them are proportional to the remaining
        correlation. Where the function follows every observation, the derivative by the noise is proportional
        to the remaining degrees of freedom. The last two show in the marginal variance of the function.
        """
        size = kernel.theta.size
        signal = float(kernel.diag(self.some_inputs).mean() * precision.max())
        strength = np.append(np.full(size, signal), np.ones(others))
        goal = strength.copy()
        if variance is not None and self.inducing is None:
            prior = kernel.diag(self.inputs)
            # information_i = K_ii / Var(f_i | all other observations) - 1
            information = prior * (1.0 / np.maximum(variance, EPS * prior + TINY) - precision) - 1.0
            correlation = sqrt(max(float(information.mean()), 0.0) / max(min(signal, 1.0), TINY))
            lengths = [owner is not None for owner in kernel.length_scale_of]
            goal[:size][lengths] *= min(correlation, 1.0)
            # Degrees of freedom of the function as a fraction of n: tr(T Sigma) / n
            used = float(np.mean(precision * variance))
            goal[size : size + 1] = (1.0 - used) / max(used, TINY)
        return Flatness(strength, goal)

    @property
    def finer(self) -> Problem | None:
        """The problem with a second kernel part for fine structure; None if the kernel is to stay."""
        if not self.ours or self.inducing is not None or not isinstance(self.kernel, Stationary):
            return None
        return replace(self, kernel=with_fine_part(self.kernel, self.X), ours=False)

    def require_exact(self, who: str, instead: str) -> None:
        """Refuse other engines for a method that needs the exact process."""
        if self.inducing is not None or self.markov:
            raise ValueError(f"{who} needs the exact process; {instead}")

    def prior(self, kernel: Kernel) -> Prior:
        """The process with this kernel, ready to be conditioned on sites."""
        if self.markov:
            return MarkovPrior.at(kernel, self.timeline)
        if self.inducing is None:
            return ExactPrior.at(kernel, self.inputs)
        return SparsePrior.at(kernel, self.X, self.inducing)


def in_memory(X: Inputs) -> FloatArray:
    """Return rows as an array; refuse chunked ones."""
    if isinstance(X, Rows):
        raise ValueError("rows that are not in memory need inducing inputs; set inducing to a number")
    return X


def median_distance(rows: FloatArray) -> float:
    """Median Euclidean distance between rows, or 1 if all rows are the same."""
    distances = pdist(rows)
    positive = distances[distances > 0.0]
    if not positive.size:
        return 1.0
    return float(np.median(distances)) or float(np.median(positive))


def paper_length_scale(X: Inputs) -> float:
    """Initial length scale of the paper: a fraction of the median distance, one for all inputs."""
    return INITIAL_LENGTH_SCALE * median_distance(evenly_spaced(X))


def default_kernel(X: Inputs) -> SquaredExponential:
    """The paper's kernel, with initial values and bounds that follow the inputs.

    Length scales begin at the paper's fraction of the median distance, each in standard deviations of its
    input: the kernel does not depend on the units of the inputs. With one input this is the paper's
    initialisation, and very nearly so with several of the same standard deviation.
    """
    extent, some = Extent.of(X), evenly_spaced(X)
    # Computed from the same rows for arrays and blocks, whose sums are rounded differently.
    std = Extent.of(some).std
    unit = np.where(std > 0.0, std, np.where(extent.range > 0.0, extent.range, 1.0))
    # A few rows far out rule out neither a short length scale nor a long one that would reach them.
    ends = np.column_stack([extent.range, extent.reach])
    box = np.where(ends > 0.0, ends, 1.0) * np.array(LENGTH_SCALE_BOX)
    initial = INITIAL_LENGTH_SCALE * median_distance(some / unit) * unit
    bounds = tuple((low, high) for low, high in box.tolist())
    return SquaredExponential(
        tuple(np.clip(initial, *box.T).tolist()),
        1.0,
        length_scale_bounds=bounds,
        variance_bounds=VARIANCE_BOX,
    )


def default_kernel_over_time(X: FloatArray) -> Matern52:
    """A kernel with a state-space form, whose length scale may be as short as the typical gap."""
    like, gaps = default_kernel(X), np.diff(np.unique(X[:, 0]))
    (low, high), *_ = np.atleast_2d(like.length_scale_bounds).tolist()
    shortest = min(low, float(np.median(gaps))) if gaps.size else low
    return Matern52(
        like.length_scale,
        like.variance,
        length_scale_bounds=((shortest, high),),
        variance_bounds=like.variance_bounds,
    )


def with_fine_part(kernel: Stationary, X: Inputs) -> Sum:
    """Add a kernel like it with short length scales, within the same bounds."""
    low, high = np.array(kernel.length_scale_bounds, dtype=np.float64).T
    length_scale = np.clip(FINE_LENGTH_SCALE * Extent.of(X).std, low, high)
    fine = replace(
        kernel,
        length_scale=tuple(length_scale.tolist()),
        variance=FINE_VARIANCE,
        variance_bounds=FINE_VARIANCE_BOX,
    )
    return Sum((kernel, fine))


def lengthened(kernel: Kernel, log_factor: float) -> Kernel:
    """Lengthen the length scales of a kernel, as far as its bounds allow."""
    change = np.array([0.0 if owner is None else log_factor for owner in kernel.length_scale_of])
    return kernel.with_theta(np.clip(kernel.theta + change, *kernel.bounds.T))


def initial_kernels(problem: Problem, n_starts: int) -> Iterator[Kernel]:
    """Yield the paper's kernel, then one with the median distance for length scale, then random ones."""
    for index in range(n_starts):
        factor = index * LONGER if index < 2 else problem.rng.uniform(0.0, 2.0 * LONGER)
        yield lengthened(problem.kernel, factor) if index else problem.kernel
