"""A narrow core among the residuals: noise that is said to be large, but is small for most readings.

Where the function varies by much more than faults do, no level of the targets tells faults from it. Once
the function has been followed, the residuals do.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import exp
from typing import Self

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.kernels.base import Kernel
from sturdygp.methods.adaptive.candidate import Candidate
from sturdygp.methods.adaptive.model import AdaptiveModel, Branches
from sturdygp.methods.adaptive.starts import branches_of
from sturdygp.methods.alternating import Start

# The noise is doubted if that of the core has less than this share of its variance.
NARROW = 0.65
# Readings within so many standard deviations belong to the core: probably they are nominal, the others not.
WITHIN, PROBABLY = 3.0, 0.9
# Share of readings judged differently up to which the core brings nothing new.
ALIKE = 0.1
# Readings that are all alike say nothing of noise if they are more than this share; fewer others are no core.
COMMON, FEWEST = 0.2, 10
# How wide the shortest interval with half of all readings is, in standard deviations of normal ones.
HALF_WIDTH = 1.349


@dataclass(frozen=True, eq=False)
class Core:
    """Residuals, counted from the middle of those that lie together, and the standard deviation of these."""

    residual: FloatArray
    scale: float

    @classmethod
    def of(cls, residual: FloatArray, y: FloatArray) -> Self | None:
        """The shortest interval with half of those that tell: faults may all lie on one side of it.

        None if these are few, or agree to the last digit.
        """
        ordered = np.sort(residual[not_common(y)])
        if ordered.size < FEWEST or not np.isfinite(residual).all():
            return None
        half = ordered.size // 2
        widths = ordered[half:] - ordered[: ordered.size - half]
        first = int(np.argmin(widths))
        scale = float(widths[first]) / HALF_WIDTH
        return cls(residual - np.median(ordered[first : first + half + 1]), scale) if scale > 0.0 else None

    @classmethod
    def behind(cls, candidate: Candidate) -> Self | None:
        """That of what a candidate leaves of the readings, if its noise is much too large for it."""
        posterior, noise = candidate.optimum.carry.posterior, exp(candidate.start.extra[0])
        if posterior is None:
            return None
        y = candidate.problem.y
        core = cls.of(y - posterior.leave_one_out().mean, y)
        return core if core is not None and core.scale**2 < NARROW * noise else None

    @property
    def members(self) -> BoolArray:
        """The readings that belong to it."""
        return np.asarray(np.abs(self.residual) < WITHIN * self.scale)

    def is_told_by(self, nominal: FloatArray) -> bool:
        """Whether these probabilities say of nearly all readings what the core would say."""
        return float(np.mean((nominal > 0.5) != self.members)) < ALIKE

    def start(self, model: AdaptiveModel, kernel: Kernel) -> Start[Branches]:
        """A function of this kernel with the noise of the core, beyond which readings are faulty."""
        nominal = np.where(self.members, PROBABLY, 1.0 - PROBABLY)
        extra, branches = branches_of(model, self.residual, nominal, self.scale**2)
        return Start(kernel, extra, branches)


def not_common(y: FloatArray) -> BoolArray:
    """Readings of values that few others have: not zeros at night."""
    _, which, counts = np.unique(y, return_inverse=True, return_counts=True)
    return np.asarray(counts[which] <= COMMON * y.size)
