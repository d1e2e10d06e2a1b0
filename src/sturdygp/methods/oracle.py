"""A Gaussian process that is told which readings are outliers: the yardstick for all others."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.methods.base import Fit, Problem
from sturdygp.methods.gaussian import Gaussian


@dataclass(frozen=True, eq=False)
class Oracle:
    """Outliers lose their known mean and keep the information that their known variance leaves them.

    ``outlier_variance`` is what contamination adds to the noise variance; infinity drops the reading.
    """

    outlier_mask: BoolArray
    outlier_variance: FloatArray
    outlier_mean: FloatArray
    noise_variance: float = 0.5
    learn_noise: bool = True
    n_starts: int = 1
    max_iter: int = 1000
    tol: float = 1e-5

    def fit(self, problem: Problem) -> Fit:
        """Fit one output."""
        common = Gaussian(self.noise_variance, self.learn_noise, self.n_starts, self.max_iter, self.tol)
        y = problem.y - np.where(self.outlier_mask, self.outlier_mean, 0.0)
        added = np.where(self.outlier_mask, self.outlier_variance, 0.0)
        return common.fit(replace(problem, y=y, added=added))
