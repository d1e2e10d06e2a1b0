"""What inference is given: one output, a kernel to begin with, and the process behind it."""

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

# The box of the kernel: length scales relative to the range of an input, variance for scaled targets.
LENGTH_SCALE_BOX = (0.02, 20.0)


VARIANCE_BOX = (1e-4, 1e3)


START_LENGTH_SCALE = 0.2


# The paper starts at a fifth of the median distance, other starts at all of it or a little more.
LONGER = log(5.0)


# A second part of the kernel: its length scales at the start, in standard deviations of each input, its
# variance, and the box of that: it may be as small as the noise.
FINE_LENGTH_SCALE, FINE_VARIANCE, FINE_VARIANCE_BOX = 0.3, 1e-2, (1e-8, 1e3)
EPS = np.finfo(np.float64).eps


@dataclass(frozen=True, eq=False)
class Resume:
    """Where an earlier climb was, as plain arrays: parameters, latent part and curvature.

    ``searched`` if other starts have had their turn. Otherwise they are tried beside it.
    """

    x: FloatArray
    latent: Mapping[str, FloatArray]
    curvature: FloatArray | None
    searched: bool = False


@dataclass(frozen=True, eq=False)
class Problem:
    """One output without missing entries, targets of about unit scale, and a kernel to start from.

    ``X`` holds the inputs, ``y`` one column of the outputs (eq:data_matrix_views). With ``inducing`` inputs
    the process is seen through them, otherwise it is exact; with ``markov`` in O(n), by a kernel with a state-space form.
    ``added`` is what is known to come to the noise
    variance of each reading. With ``resume`` a climb goes on from there instead of searching. The kernel is
    ``ours`` if nobody asked for it: a method may find a better one. ``resolution`` is the step of targets
    that are rounded.
    """

    X: Inputs
    y: FloatArray
    kernel: Kernel
    rng: np.random.Generator
    callback: Callback | None = None
    inducing: FloatArray | None = None
    markov: bool = False
    added: FloatArray | None = None
    resume: Resume | None = None
    ours: bool = False
    resolution: float = 0.0

    @property
    def least_noise(self) -> float:
        """Standard deviation below which noise is not sought.

        A rounded reading stands for an interval, and so has no density above one over its width.
        """
        return max(LEAST_NOISE, self.resolution / sqrt(2.0 * pi))

    @property
    def noise_box(self) -> FloatArray:
        """Lower and upper end of the logarithm of the nominal noise variance."""
        return log_noise_box(self.least_noise)

    @property
    def inputs(self) -> FloatArray:
        """``X`` as an array, which an exact process needs."""
        return in_memory(self.X)

    @property
    def work(self) -> float:
        """What a factorisation costs, up to a factor."""
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
        """Some of the rows, in memory."""
        return evenly_spaced(self.X)

    def flatness(
        self, kernel: Kernel, precision: FloatArray, others: int, variance: FloatArray | None = None
    ) -> Flatness:
        """Where an evidence is flat in the kernel's parameters and in others after them, the noise first.

        There are three such regions. Where the function has less variance than the noise of the most precise
        observation, derivatives by the kernel's parameters are in proportion to it. Where length scales are
        so short that no observation tells of the function elsewhere, derivatives by them are in proportion
        to what correlation there is. Where the function follows every observation, that by the noise is in
        proportion to what freedom it leaves. The last two show in the marginal variance of the function.
        """
        size = kernel.theta.size
        signal = float(kernel.diag(self.some_inputs).mean() * precision.max())
        strength = np.append(np.full(size, signal), np.ones(others))
        goal = strength.copy()
        if variance is not None and self.inducing is None:
            prior = kernel.diag(self.inputs)
            # Prior variance relative to that given all other observations, less one.
            information = prior * (1.0 / np.maximum(variance, EPS * prior + TINY) - precision) - 1.0
            correlation = sqrt(max(float(information.mean()), 0.0) / max(min(signal, 1.0), TINY))
            lengths = [owner is not None for owner in kernel.length_scale_of]
            goal[:size][lengths] *= min(correlation, 1.0)
            # Degrees of freedom of the function, a share of those there are.
            used = float(np.mean(precision * variance))
            goal[size : size + 1] = (1.0 - used) / max(used, TINY)
        return Flatness(strength, goal)

    @property
    def finer(self) -> Problem | None:
        """The same with a second part of the kernel for fine structure; None if the kernel is to stay."""
        if not self.ours or self.inducing is not None or not isinstance(self.kernel, Stationary):
            return None
        return replace(self, kernel=with_fine_part(self.kernel, self.X), ours=False)

    def require_exact(self, who: str, instead: str) -> None:
        """Refuse other engines where a method has no use for them."""
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
    """Rows as an array; refused where they are elsewhere."""
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
    """The paper's start: one length scale for all inputs, a share of the median distance between them."""
    return START_LENGTH_SCALE * median_distance(evenly_spaced(X))


def default_kernel(X: Inputs) -> SquaredExponential:
    """The paper's kernel, with a start and a box that follow the inputs.

    Length scales start at the paper's share of the median distance, each in standard deviations of its
    input: in whichever units inputs come, the kernel is the same function of them. With one input that is
    the paper's start, and with several very nearly if they have one standard deviation.
    """
    extent, some = Extent.of(X), evenly_spaced(X)
    # Of the same rows whether they are an array or in blocks, whose sums are rounded differently.
    std = Extent.of(some).std
    unit = np.where(std > 0.0, std, np.where(extent.range > 0.0, extent.range, 1.0))
    # Few rows far out do not make a short length scale impossible, nor a long one that would reach them.
    ends = np.column_stack([extent.range, extent.reach])
    box = np.where(ends > 0.0, ends, 1.0) * np.array(LENGTH_SCALE_BOX)
    start = START_LENGTH_SCALE * median_distance(some / unit) * unit
    bounds = tuple((low, high) for low, high in box.tolist())
    return SquaredExponential(
        tuple(np.clip(start, *box.T).tolist()),
        1.0,
        length_scale_bounds=bounds,
        variance_bounds=VARIANCE_BOX,
    )


def default_kernel_over_time(X: FloatArray) -> Matern52:
    """A kernel with a state-space form, which may follow what changes from one observation to the next."""
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
    """The kernel and one like it with short length scales, within the same box."""
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
    """The kernel with longer length scales, as far as its bounds allow."""
    change = np.array([0.0 if owner is None else log_factor for owner in kernel.length_scale_of])
    return kernel.with_theta(np.clip(kernel.theta + change, *kernel.bounds.T))


def kernel_starts(problem: Problem, n_starts: int) -> Iterator[Kernel]:
    """The paper's start; then longer length scales, all to the median distance, then at random."""
    for index in range(n_starts):
        factor = index * LONGER if index < 2 else problem.rng.uniform(0.0, 2.0 * LONGER)
        yield lengthened(problem.kernel, factor) if index else problem.kernel
