"""The prior of the contamination: how common and how large outliers are before the data speak."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import log, sqrt
from typing import Literal, Self, TypeAlias

import numpy as np

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.likelihoods.base import LEAST_NOISE, log_noise_box

# Number of observations for which the floors are stated; it is enough to tell chance from a function.
FEW_OBSERVATIONS = 100


# Likelihood parameters: the logs of noise variance and outlier scale, and the outliers' shift in units of
# that scale; and the largest scale and shift.
N_PARAMETERS, LARGEST_SCALE, LARGEST_SHIFT = 3, 1e8, 4.0


Regime: TypeAlias = Literal["few", "many"]


@dataclass(frozen=True)
class ContaminationPrior:
    """Priors of noise and contamination, in units of the robust scale of the targets.

    Each is a soft floor: steep below, nearly flat above.

    Parameters
    ----------
    noise_scale, noise_dof : float
        The noise variance has log density ``-(noise_dof log v + noise_scale / v) / 2``.
    ratio : float
        The scale of outliers is rarely less than about this many noise standard deviations: the log
        density of their ratio ``rho`` is ``-(ratio / rho)^2 / 2`` for up to a hundred observations.
    inliers : float
        Inliers are rarely a small fraction ``p`` of all observations: the log density of ``p`` is
        ``-inliers / p``.
    caution : float
        Hypotheses with an inlier fraction ``p`` have a log prior of ``-caution (p^-2 - 1)`` relative to one
        without outliers; with ``n < 100`` observations it is ``100 / n`` times larger.
    offset : float
        The shift of outliers has this standard deviation, in units of their scale.
    signal : float
        The standard deviation of the function is rarely less than about this many of the noise: the log
        density of their ratio ``rho`` is ``-(signal / rho)^2 / 2``.
    least_spread : float
        Hard floor under the scale of outliers: a smaller one describes the misfit of an otherwise good model.
    least_noise : float
        Hard floor under the standard deviation of the noise.
    """

    noise_scale: float = 0.01
    noise_dof: float = 3.0
    ratio: float = 8.0
    inliers: float = 0.5
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
        """Return the prior in another unit, with no less noise than the targets can show."""
        return replace(
            self,
            noise_scale=self.noise_scale * unit**2,
            least_spread=self.least_spread * unit,
            least_noise=max(self.least_noise, least_noise),
        )

    @cached_property
    def box(self) -> FloatArray:
        """Lower and upper bound of each likelihood parameter."""
        scale = [log(self.least_spread), log(LARGEST_SCALE)]
        return np.vstack([log_noise_box(self.least_noise), scale, [-LARGEST_SHIFT, LARGEST_SHIFT]])

    def against(self, observations: int) -> Self:
        """Return the prior for so many observations.

        Noise is never quite normal: with many observations two components always describe it better. The
        floor under the ratio therefore becomes steeper, as a component that is hardly wider holds no
        outliers. With few observations, the density of the noise variance falls more slowly above its mode:
        it would otherwise outweigh what a dozen observations tell.
        """
        fraction = observations / FEW_OBSERVATIONS
        return replace(
            self, ratio=self.ratio * sqrt(max(fraction, 1.0)), noise_dof=self.noise_dof * min(fraction, 1.0)
        )


# Priors on how common outliers are: most observations are inliers, or perhaps not.
REGIMES: dict[Regime, ContaminationPrior] = {
    "few": ContaminationPrior(),
    "many": ContaminationPrior(caution=0.1),
}
