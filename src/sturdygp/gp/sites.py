"""Gaussian sites: what a robust method makes of the observations."""

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

    A precision of zero says nothing about ``f``: a missing or rejected observation. A
    negative one widens the posterior; only expectation propagation makes them. The last axis is that of
    observations; those before it, if any, tell apart several sets of sites.
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
        spread = np.broadcast_to(np.asarray(variance, dtype=np.float64), target.shape)
        if not np.all(spread > 0):
            raise ValueError(f"variance must be positive, got a least value of {spread.min():g}")
        return cls(target, 1.0 / spread, -0.5 * (LOG_2PI + np.log(spread)))

    @property
    def centre(self) -> float:
        """A central target: measured from it, a large common offset costs no digits."""
        size = np.abs(self.precision)
        return float(self.target @ size) / max(float(size.sum()), TINY)

    def check_rows(self, rows: int) -> None:
        """Refuse sites that do not go with so many rows of inputs."""
        if self.target.shape != (rows,):
            raise ValueError(f"X has {rows} rows but there are {len(self)} sites; they must match")

    def __getitem__(self, rows: slice) -> Sites:
        """Some of the sites."""
        return Sites(self.target[..., rows], self.precision[..., rows], self.log_scale[..., rows])

    def __len__(self) -> int:
        """The number of observations."""
        return int(self.target.shape[-1])
