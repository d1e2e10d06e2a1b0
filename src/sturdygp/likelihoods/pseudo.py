"""The generalised-Bayes loss of robust and conjugate Gaussian processes, as sites in closed form.

The loss is a weighted score-matching divergence. With ``r = y - m`` and the inverse multiquadric weight
``w = beta (1 + r^2 / c^2)^(-1/2)``, ``beta^2 = noise / 2``, its posterior has sites with variance
``noise (1 + r^2 / c^2)`` and targets ``y + 2 noise r / (c^2 + r^2)``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.sites import Sites


@dataclass(frozen=True, eq=False)
class Weighting:
    """Closed-form weights: targets, prior mean, residuals from the centres, soft threshold ``c``."""

    y: FloatArray
    mean: float
    residual: FloatArray
    threshold: float
    shift_sign: float

    @classmethod
    def around(
        cls, y: FloatArray, mean: float, centre: FloatArray | float, epsilon: float, shift_sign: float
    ) -> Weighting:
        """``c`` is the ``1 - epsilon`` quantile of the distances from the centres; infinite for epsilon 0."""
        distance = np.abs(y - centre)
        threshold = float(np.quantile(distance, 1.0 - epsilon)) if epsilon > 0.0 else np.inf
        return cls(y, mean, y - centre, threshold or float(distance.max()) or 1.0, shift_sign)

    @property
    def inflation(self) -> FloatArray:
        """``1 + r^2 / c^2``: the noise variance of each site over that of the model."""
        return 1.0 + (self.residual / self.threshold) ** 2

    @property
    def pull(self) -> FloatArray:
        """``2 r / (c^2 + r^2)``: the shift of each target, per unit of noise variance."""
        return self.shift_sign * 2.0 * self.residual / self.threshold**2 / self.inflation

    def sites(self, noise: float) -> Sites:
        """The sites at one noise variance; their scale plays no part in leave-one-out."""
        target = self.y + noise * self.pull
        return Sites(target, 1.0 / (noise * self.inflation), np.zeros_like(target))
