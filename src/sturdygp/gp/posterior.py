"""Interface between methods and linear algebra: priors and posteriors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Self, TypeAlias

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.inputs import Block, Inputs
from sturdygp.gp.sites import Sites
from sturdygp.kernels.base import Kernel
from sturdygp.linalg.cholesky import jittered_cholesky

# Entries of the cross-covariance held at a time while predicting (8 MB).
CHUNK_ENTRIES = 1 << 20


@dataclass(frozen=True, eq=False)
class Marginals(Block):
    """Means and variances of independent normal distributions."""

    BY_ROW = ("mean", "variance")

    mean: FloatArray
    variance: FloatArray

    def second_moment(self, y: FloatArray) -> FloatArray:
        """Expected squared distances from ``y``: ``S = (y - mu)^2 + C_ii`` (eq:residual_statistics)."""
        return (y - self.mean) ** 2 + self.variance


@dataclass(frozen=True, eq=False)
class EvidenceGradient:
    """Derivatives of the log evidence, the others held fixed.

    Both derivatives by site hold for fixed ``log_scale``, whose own derivative is one.
    """

    kernel: FloatArray
    mean: float
    target: FloatArray
    precision: FloatArray


@dataclass(frozen=True, eq=False)
class LeaveOneOutGradient:
    """Derivatives with respect to kernel parameters, site targets and site variances ``1 / precision``."""

    kernel: FloatArray
    target: FloatArray
    noise: FloatArray


MeanFunction: TypeAlias = Callable[[FloatArray], FloatArray]


class Posterior(ABC):
    """A Gaussian process conditioned on Gaussian sites."""

    kernel: Kernel
    sites: Sites
    mean: float

    @property
    @abstractmethod
    def inputs(self) -> Inputs:
        """The training inputs."""

    @property
    def left_out(self) -> FloatArray | float:
        """Prior variance at each training input that inducing inputs do not explain."""
        return 0.0

    @property
    @abstractmethod
    def log_evidence(self) -> float:
        """``log of the integral of N(f | mean, K) prod_i site_i(f_i)``."""

    @abstractmethod
    def gradient(self, by_left_out: FloatArray | None = None) -> EvidenceGradient:
        """Derivatives of the log evidence.

        ``by_left_out`` is the derivative by the variance that inducing inputs leave out, if it is not that of
        the ELBO.
        """

    @abstractmethod
    def marginals(self) -> Marginals:
        """The posterior of the function at each training input."""

    @abstractmethod
    def leave_one_out(self, power: float = 1.0) -> Marginals:
        """Posterior at each training input without a power of its site; kernel and mean stay."""

    def leave_one_out_gradient(self, by_mean: FloatArray, by_variance: FloatArray) -> LeaveOneOutGradient:
        """Derivatives of a function of the leave-one-out moments, given those with respect to the moments."""
        raise NotImplementedError(f"{type(self).__name__} has no parameters to derive by")

    @abstractmethod
    def predict_mean(self, Z: FloatArray) -> FloatArray:
        """Posterior mean of the function at the rows of ``Z``."""

    @abstractmethod
    def predict(self, Z: FloatArray) -> Marginals:
        """Posterior mean and variance of the function at the rows of ``Z``."""

    @abstractmethod
    def covariance(self, Z: FloatArray) -> FloatArray:
        """Posterior covariance of the function between the rows of ``Z``."""

    @property
    @abstractmethod
    def mean_function(self) -> MeanFunction:
        """Mean as a function, in as little memory as possible."""

    @abstractmethod
    def compact(self) -> Self:
        """Drop what only fitting needs; the rest is small enough to keep and to pickle."""

    def sample(self, Z: FloatArray, size: int, rng: np.random.Generator) -> FloatArray:
        """Joint draws of the function at the rows of ``Z``, shape (len(Z), size)."""
        prior_variance = float(self.kernel.diag(Z).mean())
        factor = jittered_cholesky(self.covariance(Z), scale=prior_variance)
        return self.predict_mean(Z)[:, None] + factor.lower @ rng.standard_normal((len(Z), size))


class Prior(ABC):
    """A Gaussian process at the rows of ``X``, its kernel evaluated once."""

    @property
    @abstractmethod
    def variance(self) -> FloatArray:
        """Prior variance of the function at each row."""

    @abstractmethod
    def condition(self, sites: Sites, mean: float | None = None) -> Posterior:
        """Condition on sites; the mean maximises the evidence unless it is given."""

    @abstractmethod
    def anticipate(self, sites: Sites, near: Posterior, warm_start: FloatArray | None) -> Anticipated | None:
        """Approximate the posterior mean for these sites without a factorisation; None if that is expensive.

        ``near`` is a posterior with a similar kernel and similar sites; ``warm_start`` is the solution of an
        earlier anticipation.
        """


@dataclass(frozen=True, eq=False)
class Anticipated:
    """Mean of the function at each row, and the solution from which a further anticipation can begin."""

    mean: FloatArray
    solution: FloatArray


def chunks(rows: int, columns: int) -> Iterator[slice]:
    """Slices of the rows of a matrix so that one slice stays within ``CHUNK_ENTRIES``."""
    step = max(1, CHUNK_ENTRIES // columns)
    return (slice(first, first + step) for first in range(0, rows, step))


def check_test_inputs(Z: FloatArray, columns: int) -> FloatArray:
    """Refuse inputs that do not match those of the fit."""
    Z = check_inputs(Z, "Z")
    if Z.shape[1] != columns:
        raise ValueError(f"Z has {Z.shape[1]} columns but the training inputs have {columns}")
    return Z


def check_inputs(X: FloatArray, name: str = "X") -> FloatArray:
    """Refuse inputs that are not a finite, non-empty table of numbers."""
    try:
        X = np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numeric; encode text and dates as numbers first") from None
    if X.ndim != 2:
        raise ValueError(
            f"{name} must have shape (rows, columns), got {X.shape}; use x[:, None] for one input"
        )
    if not X.size:
        raise ValueError(f"{name} must have at least one row and one column, got shape {X.shape}")
    if not np.isfinite(X).all():
        raise ValueError(
            f"{name} contains NaN or infinity; drop or impute those rows (only targets may be missing)"
        )
    return X
