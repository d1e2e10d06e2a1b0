"""Priors of the contamination and of the function."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import exp, inf, log, sqrt
from typing import Literal, Self, TypeAlias

import numpy as np

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.gp.rows import Extent, Inputs
from sturdygp.kernels.base import ANY, Kernel
from sturdygp.methods.alternating import LogDensity
from sturdygp.methods.base import LEAST_NOISE, Problem, log_noise_box

# Observations up to which a floor is as it is given, and that are many enough to tell chance from a function.
FEW_OBSERVATIONS = 100
# Parameters beside the kernel's: the logs of noise variance and of the outliers' spread, and their shift in
# spreads; and how large the latter two may be.
N_PARAMETERS, LARGEST_SPREAD, LARGEST_SHIFT = 3, 1e8, 4.0


Regime: TypeAlias = Literal["few", "many"]


@dataclass(frozen=True)
class ContaminationPrior:
    """What is assumed when the data do not tell, in units of the robust scale of the targets.

    Each is a soft floor: steep below, nearly level above.

    Parameters
    ----------
    noise_scale, noise_dof : float
        The noise variance has log density ``-(noise_dof log v + noise_scale / v) / 2``.
    ratio : float
        The spread of outliers is rarely less than about this many noise standard deviations: the log
        density of their ratio ``rho`` is ``-(ratio / rho)^2 / 2`` for up to a hundred observations.
    nominal : float
        Inliers are rarely a small fraction ``p`` of all observations: the log density of ``p`` is
        ``-nominal / p``.
    caution : float
        Explanations with an inlier fraction ``p`` have a log prior of ``-caution (p^-2 - 1)`` beside one
        without outliers; in fewer than a hundred observations it is as many times larger.
    offset : float
        The shift of outliers has this standard deviation, in units of their spread.
    signal : float
        The function is rarely spread by less than about this many noise standard deviations: the log
        density of their ratio ``rho`` is ``-(signal / rho)^2 / 2``.
    least_spread : float
        What is spread by less is no outlier but the misfit of an otherwise good model. This floor is hard.
    least_noise : float
        So is this one, under the noise standard deviation.
    """

    noise_scale: float = 0.01
    noise_dof: float = 3.0
    ratio: float = 8.0
    nominal: float = 0.5
    caution: float = 1.0
    offset: float = 2.0
    signal: float = 1.5
    least_spread: float = 0.5
    least_noise: float = LEAST_NOISE

    def __post_init__(self) -> None:
        """Refuse values outside the model."""
        for field in fields(self):
            name, value = field.name, getattr(self, field.name)
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be positive and finite, got {value!r}")

    def adapted(self, unit: float, least_noise: float) -> Self:
        """With another unit than the robust scale of the targets, and no less noise than they can show."""
        return replace(
            self,
            noise_scale=self.noise_scale * unit**2,
            least_spread=self.least_spread * unit,
            least_noise=max(self.least_noise, least_noise),
        )

    @cached_property
    def box(self) -> FloatArray:
        """Lower and upper end of each parameter beside the kernel's."""
        spread = [log(self.least_spread), log(LARGEST_SPREAD)]
        return np.vstack([log_noise_box(self.least_noise), spread, [-LARGEST_SHIFT, LARGEST_SHIFT]])

    def against(self, observations: int) -> Self:
        """As steep against many observations, under the ratio.

        Noise is never quite normal. The more observations, the surer it is that two components describe it
        better, but a component that is not much wider holds no outliers. And no less steep against few, under
        the noise: its density falls slowly above its mode, which would outweigh what a dozen observations
        tell.
        """
        share = observations / FEW_OBSERVATIONS
        return replace(
            self, ratio=self.ratio * sqrt(max(share, 1.0)), noise_dof=self.noise_dof * min(share, 1.0)
        )


# How common outliers are taken to be before the data speak: most observations are good, or maybe not.
REGIMES: dict[Regime, ContaminationPrior] = {
    "few": ContaminationPrior(),
    "many": ContaminationPrior(caution=0.1),
}


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
