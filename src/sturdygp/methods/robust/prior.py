"""Priors of the function: it varies more than its noise, over lengths like those of its inputs."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, sqrt
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.inputs import Extent, Inputs
from sturdygp.inference.problem import Problem
from sturdygp.inference.variational import LogDensity
from sturdygp.kernels.base import ANY, Kernel

# A length scale is about this many standard deviations of a single input, and how widely its logarithm is
# spread around that; both times the root of the number of inputs, as many differ more in what they matter.
TYPICAL_LENGTH, LENGTH_WIDTH = 1.2, 1.0 / 3.0


@dataclass(frozen=True, eq=False)
class ThetaPrior:
    """Independent Cauchy densities of the kernel's logarithmic parameters; an infinite width says nothing.

    They lead where the data say little. Where the data say otherwise, tails as long as these hardly pull.
    """

    centre: FloatArray
    width: FloatArray

    def log_density(self, theta: FloatArray) -> float:
        """Up to a constant."""
        return -float(np.log1p(((theta - self.centre) / self.width) ** 2).sum())

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Derivative of the log density."""
        distance = (theta - self.centre) / self.width
        return np.asarray(-2.0 * distance / (1.0 + distance**2) / self.width)


@dataclass(frozen=True, eq=False)
class FunctionPrior:
    """Length scales as of the inputs, and a soft floor under the ratio of the function to its noise.

    Without the floor, observations that agree by chance on one level have a higher bound than a function has,
    where few observations are nominal: a constant costs nothing. ``rows`` are where the variance of the
    kernel is evaluated.
    """

    lengths: ThetaPrior
    rows: FloatArray
    signal: float

    @classmethod
    def of(cls, problem: Problem, signal: float, fine: int = 0) -> Self:
        """For a problem whose kernel's last ``fine`` parameters are those of a second part."""
        rows = problem.inputs if problem.inducing is None else problem.inducing
        return cls(length_scale_prior(problem.kernel, problem.X, fine), rows, signal)

    def at(self, kernel: Kernel, extra: FloatArray) -> LogDensity:
        """The log density of the ratio ``rho`` of standard deviations is ``-(signal / rho)^2 / 2``."""
        burden = self.burden(kernel)
        loss = 0.5 * burden * exp(extra[0])
        by_row = np.full(len(self.rows), loss * burden / (self.signal**2 * len(self.rows)))
        by_extra = np.zeros_like(extra)
        by_extra[0] = -loss
        return LogDensity(
            self.lengths.log_density(kernel.theta) - loss,
            self.lengths.gradient(kernel.theta) + kernel.diag_pullback(self.rows, by_row),
            by_extra,
        )

    def burden(self, kernel: Kernel) -> float:
        """Twice what a unit of noise variance costs."""
        return signal_floor(self.signal, kernel, self.rows)


def signal_floor(signal: float, kernel: Kernel, rows: FloatArray) -> float:
    """``signal^2`` over the variance of the function; none where a kernel has no variance at any row."""
    variance = float(kernel.diag(rows).mean())
    return signal**2 / variance if variance > 0.0 else 0.0


def length_scale_prior(kernel: Kernel, X: Inputs, fine: int = 0) -> ThetaPrior:
    """A length scale of its own for an input is about as long as that input is spread.

    In many dimensions it is longer, as distances are. The last ``fine`` parameters serve something else. One
    length scale for several inputs belongs to none of them.
    """
    spread = Extent.of(X).std
    typical = np.log(np.where(spread > 0.0, spread, 1.0) * TYPICAL_LENGTH * sqrt(X.shape[1]))
    centre, width = np.zeros(kernel.theta.size), np.full(kernel.theta.size, inf)
    for index, whose in enumerate(kernel.length_scale_of[: kernel.theta.size - fine]):
        owner = 0 if whose == ANY and typical.size == 1 else whose
        # A kernel for another number of inputs is refused when it is evaluated.
        if owner is not None and owner != ANY and owner < typical.size:
            centre[index], width[index] = typical[owner], LENGTH_WIDTH * sqrt(typical.size)
    return ThetaPrior(centre, width)
