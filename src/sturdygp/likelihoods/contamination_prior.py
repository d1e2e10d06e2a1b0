"""The prior of the contamination: how common and how large outliers are before the data speak."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from math import log, sqrt
from typing import Literal, Self, TypeAlias

import numpy as np

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.likelihoods.base import LEAST_NOISE, log_noise_box

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
