"""Inducing points: a Gaussian process that looks at its readings through a few inputs ``Z`` (Titsias, 2009).

With ``K_zz = L L'`` and whitened features ``phi(x) = L^-1 k(Z, x)`` the function is ``mean + phi(x)' w`` plus
what the inducing points do not tell, and ``q(w)`` is normal. The bound on the evidence is that of the
features alone, less half of the precisions times the variance that is left out. Everything about the readings
enters through sums over rows, so that rows can be worked on in chunks, wherever they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import EvidenceGradient, Marginals, Posterior, check_inputs, chunks
from sturdygp.gp.sites import Sites
from sturdygp.kernels.base import Kernel
from sturdygp.linalg import Cholesky, cholesky, diagonal, jittered_cholesky

TINY = np.finfo(np.float64).tiny


@dataclass(frozen=True, eq=False)
class Features:
    """Inducing inputs, and the factor that whitens them."""

    kernel: Kernel
    Z: FloatArray
    whiten: Cholesky

    @classmethod
    def at(cls, kernel: Kernel, Z: FloatArray) -> Self:
        """Factorise the kernel between the inducing inputs."""
        return cls(kernel, Z, jittered_cholesky(kernel(Z)))

    def __call__(self, X: FloatArray) -> FloatArray:
        """One column for each row of ``X``."""
        return self.whiten.half_solve(self.kernel(self.Z, X))


@dataclass(frozen=True, eq=False)
class Sums:
    """What the readings of a chunk say, for targets less a centre; chunks add up.

    ``gram = sum precision phi phi'``, ``by_target`` and ``by_one`` are ``sum precision phi target`` and
    ``sum precision phi``; ``weights`` and ``weighted_target`` the same without ``phi``.
    """

    gram: FloatArray
    by_target: FloatArray
    by_one: FloatArray
    weights: float
    weighted_target: float

    def __add__(self, other: Sums) -> Sums:
        """Both chunks together."""
        return Sums(*(getattr(self, name) + getattr(other, name) for name in self.__dataclass_fields__))


def sums(phi: FloatArray, target: FloatArray, precision: FloatArray) -> Sums:
    """Of one chunk, given its features in columns."""
    weighted = phi * precision
    return Sums(
        weighted @ phi.T,
        weighted @ target,
        weighted.sum(axis=1),
        float(precision.sum()),
        float(precision @ target),
    )


@dataclass(frozen=True, eq=False)
class Solution:
    """``q(w) = N(weights, A^-1)`` with ``A = I + gram``, and the prior mean."""

    factor: Cholesky
    weights: FloatArray
    mean: float

    @classmethod
    def of(cls, total: Sums, centre: float, mean: float | None) -> Self:
        """Solve for the weights, and by generalised least squares for the mean unless it is given."""
        A = total.gram.copy()
        diagonal(A)[:] += 1.0
        factor = cholesky(A, overwrite=True)
        by_target, by_one = factor.solve(total.by_target), factor.solve(total.by_one)
        if mean is not None:
            return cls(factor, by_target - (mean - centre) * by_one, mean)
        certainty = total.weights - float(total.by_one @ by_one)
        shift = (
            (total.weighted_target - float(total.by_one @ by_target)) / certainty if certainty > 0.0 else 0.0
        )
        return cls(factor, by_target - shift * by_one, centre + shift)


@dataclass(frozen=True, eq=False)
class Local:
    """The posterior at the rows of a chunk, and what it adds to the bound and its gradient."""

    marginals: Marginals
    bound: float
    kernel: FloatArray


def local(features: Features, solution: Solution, X: FloatArray, sites: Sites) -> Local:
    """One chunk."""
    linear = features.kernel.linearise(X, features.Z)
    phi = features.whiten.half_solve(linear.value.T)
    half = solution.factor.half_solve(phi)
    left_out = np.maximum(features.kernel.diag(X) - np.einsum("ij,ij->j", phi, phi), 0.0)
    mean = solution.mean + solution.weights @ phi
    marginals = Marginals(mean, left_out + np.einsum("ij,ij->j", half, half))
    error, precision = sites.target - mean, sites.precision
    bound = float(sites.log_scale.sum() - 0.5 * (precision @ (error**2 + left_out)))
    by_phi = np.outer(solution.weights, precision * error)
    by_phi += precision * (phi - solution.factor.other_half_solve(half))
    by_kernel = linear.pullback(features.whiten.other_half_solve(by_phi).T)
    by_kernel += features.kernel.diag_pullback(X, -0.5 * precision)
    return Local(marginals, bound, by_kernel)


@dataclass(frozen=True, eq=False)
class SparsePrior:
    """A Gaussian process at the rows of ``X``, seen through inducing inputs."""

    features: Features
    X: FloatArray

    @classmethod
    def at(cls, kernel: Kernel, X: FloatArray, Z: FloatArray) -> Self:
        """Factorise the kernel between the inducing inputs."""
        return cls(Features.at(kernel, check_inputs(Z, "inducing inputs")), check_inputs(X))

    def condition(self, sites: Sites, mean: float | None = None) -> SparsePosterior:
        """Condition on sites; the mean maximises the bound unless it is given."""
        if sites.target.shape != (len(self.X),):
            raise ValueError(f"X has {len(self.X)} rows but there are {len(sites)} sites; they must match")
        size = np.abs(sites.precision)
        centre = float(sites.target @ size) / max(float(size.sum()), TINY)
        parts = (
            sums(self.features(self.X[rows]), sites.target[rows] - centre, sites.precision[rows])
            for rows in chunks(len(self.X), len(self.features.Z))
        )
        solution = Solution.of(added(parts), centre, mean)
        return SparsePosterior(self.features.kernel, sites, solution.mean, self.features, solution, self.X)


def added(parts: Iterable[Sums]) -> Sums:
    """All chunks together."""
    first, *others = parts
    return sum(others, start=first)


@dataclass(frozen=True, eq=False)
class SparsePosterior(Posterior):
    """Built by :class:`SparsePrior`; without ``X`` it can only predict."""

    kernel: Kernel
    sites: Sites
    mean: float
    features: Features
    solution: Solution
    X: FloatArray

    @property
    def log_evidence(self) -> float:
        """A lower bound on the log evidence of the exact process."""
        solution = self.solution
        penalty = solution.factor.log_det + float(solution.weights @ solution.weights)
        return sum(part.bound for part in self._parts) - 0.5 * penalty

    def gradient(self) -> EvidenceGradient:
        """Derivatives of the bound."""
        m = self.marginals()
        pull = self.sites.precision * (self.sites.target - m.mean)
        inducing = self.kernel.pullback(self.features.Z, None, self._by_inducing())
        return EvidenceGradient(
            kernel=inducing + np.sum([part.kernel for part in self._parts], axis=0),
            mean=float(pull.sum()),
            target=-pull,
            precision=-0.5 * ((self.sites.target - m.mean) ** 2 + m.variance),
        )

    def marginals(self) -> Marginals:
        """The posterior of the function at each training input."""
        return joined(part.marginals for part in self._parts)

    def leave_one_out(self, share: float = 1.0) -> Marginals:
        """The same without the site at that input, or without a share of it; kernel and mean stay."""
        m, precision = self.marginals(), self.sites.precision
        variance = m.variance / (1.0 - share * precision * m.variance)
        return Marginals(m.mean - share * precision * (self.sites.target - m.mean) * variance, variance)

    def predict_mean(self, Z: FloatArray) -> FloatArray:
        """Posterior mean of the function at the rows of ``Z``."""
        Z = self._check(Z)
        parts = [self.solution.weights @ self.features(Z[rows]) for rows in self._chunks(Z)]
        return self.mean + np.concatenate(parts)

    def predict(self, Z: FloatArray) -> Marginals:
        """Posterior mean and variance of the function at the rows of ``Z``."""
        Z = self._check(Z)
        return joined(self._predict(Z[rows]) for rows in self._chunks(Z))

    def covariance(self, Z: FloatArray) -> FloatArray:
        """Posterior covariance of the function between the rows of ``Z``."""
        Z = self._check(Z)
        phi = self.features(Z)
        half = self.solution.factor.half_solve(phi)
        return np.asarray(self.kernel(Z) - phi.T @ phi + half.T @ half)

    def compact(self) -> Self:
        """The same posterior without the inputs that it was conditioned at."""
        return replace(self, X=self.X[:0])

    @cached_property
    def _parts(self) -> list[Local]:
        """Every chunk."""
        sites, parts = self.sites, []
        for rows in self._chunks(self.X):
            own = Sites(sites.target[rows], sites.precision[rows], sites.log_scale[rows])
            parts.append(local(self.features, self.solution, self.X[rows], own))
        return parts

    def _by_inducing(self) -> FloatArray:
        """Derivative by the kernel between the inducing inputs.

        ``-L'^-1 S L^-1 / 2`` with ``S = w w' + A - 2 I + A^-1``: features are whitened by ``L``, and ``S`` is
        how the bound changes with them.
        """
        factor, whiten, w = self.solution.factor, self.features.whiten, self.solution.weights
        S = np.outer(w, w) + factor.lower @ factor.lower.T + factor.solve(np.eye(w.size))
        diagonal(S)[:] -= 2.0
        return -0.5 * whiten.other_half_solve(whiten.other_half_solve(S).T)

    def _predict(self, Z: FloatArray) -> Marginals:
        phi = self.features(Z)
        half = self.solution.factor.half_solve(phi)
        left_out = self.kernel.diag(Z) - np.einsum("ij,ij->j", phi, phi)
        return Marginals(
            self.mean + self.solution.weights @ phi,
            np.maximum(left_out, 0.0) + np.einsum("ij,ij->j", half, half),
        )

    def _chunks(self, X: FloatArray) -> Iterable[slice]:
        return chunks(len(X), len(self.features.Z))

    def _check(self, Z: FloatArray) -> FloatArray:
        Z = check_inputs(Z, "Z")
        inputs = self.features.Z.shape[1]
        if Z.shape[1] != inputs:
            raise ValueError(f"Z has {Z.shape[1]} columns but the training inputs have {inputs}")
        return Z


def joined(parts: Iterable[Marginals]) -> Marginals:
    """Chunks one after the other."""
    found = list(parts)
    return Marginals(
        np.concatenate([part.mean for part in found]), np.concatenate([part.variance for part in found])
    )
