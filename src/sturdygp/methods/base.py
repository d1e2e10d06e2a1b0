"""What every method takes and returns, and where the kernel starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy.spatial.distance import pdist

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Posterior
from sturdygp.kernels.base import Kernel
from sturdygp.kernels.stationary import SquaredExponential
from sturdygp.optimise import Status

# The box of the kernel: length scales relative to the range of an input, variance for scaled targets.
LENGTH_SCALE_BOX = (0.02, 20.0)
VARIANCE_BOX = (1e-4, 1e3)
START_LENGTH_SCALE = 0.2
# Rows from which the median distance is taken; all pairs of more would only cost time.
DISTANCE_ROWS = 2000
# How close to its bound, in the logarithm, a parameter counts as held by it.
AT_BOUND = 1e-6

Callback = Callable[[int, float], None]


@dataclass(frozen=True, eq=False)
class Problem:
    """One output without missing entries, targets of about unit scale, and a kernel to start from."""

    X: FloatArray
    y: FloatArray
    kernel: Kernel
    rng: np.random.Generator
    callback: Callback | None = None


class OutlierModel(Protocol):
    """How a fitted method judges a reading."""

    def outlier_proba(self, y: FloatArray, mean: FloatArray, variance: FloatArray) -> FloatArray:
        """Probability that ``y`` is an outlier where the function is ``N(mean, variance)``."""


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted method. ``bound`` is the evidence, or the variational bound on it, with all constants.

    ``weights`` multiply the nominal precision; ``outlier_proba`` has one entry for each observation.
    """

    posterior: Posterior
    noise_variance: float
    weights: FloatArray
    outlier_proba: FloatArray
    outlier_model: OutlierModel
    bound: float
    status: Status
    n_iter: int
    n_factorizations: int
    trace: tuple[float, ...]

    @property
    def at_bounds(self) -> tuple[str, ...]:
        """Names of the kernel's parameters that ended at an end of their box."""
        kernel = self.posterior.kernel
        low, high = kernel.bounds.T if kernel.theta.size else np.empty((2, 0))
        held = (kernel.theta - low < AT_BOUND) | (high - kernel.theta < AT_BOUND)
        return tuple(name for name, at in zip(kernel.parameter_names, held, strict=True) if at)


class Method(Protocol):
    """A robust method: a rule that chooses the sites."""

    def fit(self, problem: Problem) -> Fit:
        """Fit one output."""


def median_distance(X: FloatArray) -> float:
    """Median Euclidean distance between rows, or 1 if all rows are the same."""
    rows = X if len(X) <= DISTANCE_ROWS else X[np.linspace(0, len(X) - 1, DISTANCE_ROWS).astype(int)]
    distances = pdist(rows)
    positive = distances[distances > 0.0]
    return float(np.median(distances)) or float(np.median(positive)) if positive.size else 1.0


def default_kernel(X: FloatArray) -> SquaredExponential:
    """The paper's kernel and start, in a box that follows the inputs."""
    spread = np.ptp(X, axis=0)
    spread[spread == 0.0] = 1.0
    box = spread[:, None] * np.array(LENGTH_SCALE_BOX)
    start = np.clip(START_LENGTH_SCALE * median_distance(X), box[:, 0], box[:, 1])
    bounds = tuple((low, high) for low, high in box.tolist())
    return SquaredExponential(
        tuple(start.tolist()), 1.0, length_scale_bounds=bounds, variance_bounds=VARIANCE_BOX
    )
