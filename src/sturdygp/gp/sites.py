"""Gaussian sites, one factor for each observation."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotFiniteError

LOG_2PI = log(2.0 * np.pi)
TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Sites:
    """One factor ``exp(log_scale - precision (target - f)^2 / 2)`` for each observation.

    A site of precision zero carries no information: the observation is missing or rejected. One of negative
    precision widens the posterior; only expectation propagation has them. The last axis is that of
    observations; leading axes, if any, distinguish several sets of sites.
    """

    target: FloatArray
    precision: FloatArray
    log_scale: FloatArray

    def __post_init__(self) -> None:
        """Refuse sites that cannot be conditioned on."""
        shape = self.target.shape
        for name in ("target", "precision", "log_scale"):
            values = getattr(self, name)
            if values.ndim == 0 or values.shape != shape:
                raise ValueError(
                    f"{name} must have the shape of target, {shape}, and an axis at least; got {values.shape}"
                )
            if not np.isfinite(values).all():
                raise NotFiniteError(
                    f"{name} must be finite; give a missing observation precision 0 and any finite target"
                )

    @classmethod
    def gaussian(cls, target: FloatArray, variance: FloatArray | float) -> Self:
        """The sites of normal observations ``target ~ N(f, variance)``."""
        variances = np.broadcast_to(np.asarray(variance, dtype=np.float64), target.shape)
        if not np.all(variances > 0):
            raise ValueError(f"variance must be positive, got a least value of {variances.min():g}")
        return cls(target, 1.0 / variances, -0.5 * (LOG_2PI + np.log(variances)))

    @property
    def centre(self) -> float:
        """Weighted mean of targets; subtracting it keeps the digits that a common offset would cost."""
        size = np.abs(self.precision)
        return float(self.target @ size) / max(float(size.sum()), TINY)

    def check_rows(self, rows: int) -> None:
        """Refuse sites that do not match the number of rows of inputs."""
        if self.target.shape != (rows,):
            raise ValueError(f"X has {rows} rows but there are {len(self)} sites; they must match")

    def __getitem__(self, rows: slice) -> Sites:
        """Select some of the sites."""
        return Sites(self.target[..., rows], self.precision[..., rows], self.log_scale[..., rows])

    def __len__(self) -> int:
        """Return the number of observations."""
        return int(self.target.shape[-1])
