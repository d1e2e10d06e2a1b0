"""Priors of the function: its variance relative to the noise, and its length scales."""

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

# Prior median of a length scale in standard deviations of its input, and width of the prior of its logarithm;
# both are multiplied by the root of the number of inputs, since relevance differs more among many.
TYPICAL_LENGTH, LENGTH_WIDTH = 1.2, 1.0 / 3.0


@dataclass(frozen=True, eq=False)
class ThetaPrior:
    """Independent Cauchy densities of the kernel's logarithmic parameters; an infinite width is flat.

    They decide where the data are uninformative; where the data disagree, tails as long as these hardly
    matter.
    """

    centre: FloatArray
    width: FloatArray

    def log_density(self, theta: FloatArray) -> float:
        """Log density, up to a constant."""
        return -float(np.log1p(((theta - self.centre) / self.width) ** 2).sum())

    def gradient(self, theta: FloatArray) -> FloatArray:
        """Derivative of the log density."""
        distance = (theta - self.centre) / self.width
        return np.asarray(-2.0 * distance / (1.0 + distance**2) / self.width)


@dataclass(frozen=True, eq=False)
class FunctionPrior:
    """Length scales like those of the inputs, and a soft floor under the ratio of function to noise.

    Where few observations are inliers, observations that agree by chance on a constant would otherwise have a
    higher ELBO than the function: a constant costs nothing. ``rows`` are the inputs at which the variance of
    the kernel is evaluated.
    """

    lengths: ThetaPrior
    rows: FloatArray
    signal: float

    @classmethod
    def of(cls, problem: Problem, signal: float, fine: int = 0) -> Self:
        """Build the prior; the kernel's last ``fine`` parameters are those of a second part."""
        rows = problem.inputs if problem.inducing is None else problem.inducing
        return cls(length_scale_prior(problem.kernel, problem.X, fine), rows, signal)

    def at(self, kernel: Kernel, parameters: FloatArray) -> LogDensity:
        """Log density; that of the ratio ``rho`` of standard deviations is ``-(signal / rho)^2 / 2``."""
        burden = self.burden(kernel)
        loss = 0.5 * burden * exp(parameters[0])
        by_row = np.full(len(self.rows), loss * burden / (self.signal**2 * len(self.rows)))
        by_parameters = np.zeros_like(parameters)
        by_parameters[0] = -loss
        return LogDensity(
            self.lengths.log_density(kernel.theta) - loss,
            self.lengths.gradient(kernel.theta) + kernel.diag_pullback(self.rows, by_row),
            by_parameters,
        )

    def burden(self, kernel: Kernel) -> float:
        """Twice the penalty of a unit of noise variance, in nats."""
        return signal_floor(self.signal, kernel, self.rows)


def signal_floor(signal: float, kernel: Kernel, rows: FloatArray) -> float:
    """``signal^2`` over the variance of the function; 0 if the kernel has no variance at any row."""
    variance = float(kernel.diag(rows).mean())
    return signal**2 / variance if variance > 0.0 else 0.0


def length_scale_prior(kernel: Kernel, X: Inputs, fine: int = 0) -> ThetaPrior:
    """Prior of length scales: about the standard deviation of their inputs.

    In many dimensions they are longer, as distances are. The last ``fine`` parameters are not covered, nor is
    one length scale for several inputs.
    """
    std = Extent.of(X).std
    typical = np.log(np.where(std > 0.0, std, 1.0) * TYPICAL_LENGTH * sqrt(X.shape[1]))
    centre, width = np.zeros(kernel.theta.size), np.full(kernel.theta.size, inf)
    for index, whose in enumerate(kernel.length_scale_of[: kernel.theta.size - fine]):
        owner = 0 if whose == ANY and typical.size == 1 else whose
        # A kernel for another number of inputs is refused when it is evaluated.
        if owner is not None and owner != ANY and owner < typical.size:
            centre[index], width[index] = typical[owner], LENGTH_WIDTH * sqrt(typical.size)
    return ThetaPrior(centre, width)
