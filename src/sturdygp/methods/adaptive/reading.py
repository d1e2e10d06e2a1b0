"""One way to read the data, with all that a fit is made of."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Self, TypeVar

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.kernels.base import Kernel
from sturdygp.linalg import inverse_positive
from sturdygp.methods.adaptive.candidate import Candidate
from sturdygp.methods.adaptive.model import AdaptiveModel, Branches
from sturdygp.methods.alternating import Start, Trail
from sturdygp.methods.noise_profile import NoiseProfile
from sturdygp.optimise import Optimum

L = TypeVar("L")


@dataclass(frozen=True, eq=False)
class Reading:
    """A model, its parameters and branches, the bound, and the noise's profile.

    ``covariance`` is that of the kernel's parameters.
    """

    model: AdaptiveModel
    start: Start[Branches]
    bound: float
    covariance: FloatArray
    profile: NoiseProfile | None = None
    spent: int = 0

    @classmethod
    def at(cls, candidate: Candidate) -> Self:
        """Where a climb ended."""
        model, start, optimum = candidate.model, candidate.start, candidate.optimum
        return cls(model, start, optimum.value, parameter_covariance(optimum, start.kernel, model.prior.box))


def parameter_covariance(optimum: Optimum[Trail[L]], kernel: Kernel, box: FloatArray) -> FloatArray:
    """Covariance of the kernel's parameters, to judge by the curvature of the bound; none for those held.

    Parameters that a bound holds, those beside the kernel's too, are known: the others do not vary with them.
    A curvature that rounding has spoiled tells nothing.
    """
    size, covariance = kernel.theta.size, np.zeros((optimum.x.size, optimum.x.size))
    low, high = np.vstack([kernel.bounds, box]).T
    free = np.flatnonzero((optimum.x > low) & (optimum.x < high))
    if optimum.curvature is not None and free.size:
        among = np.ix_(free, free)
        with suppress(NotPositiveDefiniteError):
            covariance[among] = inverse_positive(optimum.curvature[among])
    return covariance[:size, :size]
