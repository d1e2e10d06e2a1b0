"""Inducing points: a Gaussian process that looks at its readings through a few inputs ``Z`` (Titsias, 2009).

With ``K_zz = L L'`` and whitened features ``phi(x) = L^-1 k(Z, x)`` the function is ``mean + phi(x)' w`` plus
what the inducing points do not tell, and ``q(w)`` is normal. The bound on the evidence is that of the
features alone, less half of the precisions times the variance that is left out. Everything about the readings
enters through sums over rows, so that rows can be worked on in chunks, wherever they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import (
    Anticipated,
    EvidenceGradient,
    Marginals,
    Posterior,
    Prior,
    check_inputs,
    chunks,
)
from sturdygp.gp.sites import Sites
from sturdygp.kernels.base import Kernel, Linearised
from sturdygp.linalg import Cholesky, cholesky, conjugate_gradients, diagonal, jittered_cholesky

TINY = np.finfo(np.float64).tiny
CG_STEPS = 3
# Entries of the features that are kept between uses (256 MB, and as much for the kernel).
KEPT_ENTRIES = 1 << 25


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

    def chunk(self, X: FloatArray, rows: slice) -> Chunk:
        """Some of the rows of ``X``, with the derivative of the kernel."""
        linear = self.kernel.linearise(X[rows], self.Z)
        return Chunk(rows, X[rows], linear, self.whiten.half_solve(linear.value.T))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows: inputs, kernel with the inducing inputs, and features in columns."""

    rows: slice
    X: FloatArray
    linear: Linearised
    phi: FloatArray


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


def local(features: Features, solution: Solution, chunk: Chunk, sites: Sites) -> Local:
    """One chunk and its sites."""
    kernel, phi = features.kernel, chunk.phi
    half = solution.factor.half_solve(phi)
    left_out = np.maximum(kernel.diag(chunk.X) - squares(phi), 0.0)
    mean = solution.mean + solution.weights @ phi
    error, precision = sites.target - mean, sites.precision
    bound = float(sites.log_scale.sum() - 0.5 * (precision @ (error**2 + left_out)))
    by_phi = np.outer(solution.weights, precision * error)
    by_phi += precision * (phi - solution.factor.other_half_solve(half))
    by_kernel = chunk.linear.pullback(features.whiten.other_half_solve(by_phi).T)
    by_kernel += kernel.diag_pullback(chunk.X, -0.5 * precision)
    return Local(Marginals(mean, left_out + squares(half)), bound, by_kernel)


def squares(columns: FloatArray) -> FloatArray:
    """Squared length of each column."""
    return np.asarray(np.einsum("ij,ij->j", columns, columns))


@dataclass(frozen=True, eq=False)
class SparsePrior(Prior):
    """A Gaussian process at the rows of ``X``, seen through inducing inputs."""

    features: Features
    X: FloatArray

    @classmethod
    def at(cls, kernel: Kernel, X: FloatArray, Z: FloatArray) -> Self:
        """Factorise the kernel between the inducing inputs."""
        return cls(Features.at(kernel, check_inputs(Z, "inducing inputs")), check_inputs(X))

    @property
    def variance(self) -> FloatArray:
        """Prior variance of the function at each row."""
        return self.features.kernel.diag(self.X)

    def chunks(self) -> Iterable[Chunk]:
        """All rows; kept, if they are few enough, so that they are computed once."""
        return self._made if self._few else self._made_anew()

    @property
    def _few(self) -> bool:
        return len(self.X) * len(self.features.Z) <= KEPT_ENTRIES

    @cached_property
    def _made(self) -> list[Chunk]:
        return list(self._made_anew())

    def _made_anew(self) -> Iterator[Chunk]:
        pieces = chunks(len(self.X), len(self.features.Z))
        return (self.features.chunk(self.X, rows) for rows in pieces)

    def condition(self, sites: Sites, mean: float | None = None) -> SparsePosterior:
        """Condition on sites; the mean maximises the bound unless it is given."""
        if sites.target.shape != (len(self.X),):
            raise ValueError(f"X has {len(self.X)} rows but there are {len(sites)} sites; they must match")
        size = np.abs(sites.precision)
        centre = float(sites.target @ size) / max(float(size.sum()), TINY)
        target, precision = sites.target - centre, sites.precision
        parts = (sums(each.phi, target[each.rows], precision[each.rows]) for each in self.chunks())
        solution = Solution.of(added(parts), centre, mean)
        return SparsePosterior(self.features.kernel, sites, solution.mean, self.features, solution, self)

    def anticipate(self, sites: Sites, near: Posterior, guess: FloatArray | None) -> Anticipated | None:
        """Conjugate gradients for the weights, if the features are kept."""
        if not isinstance(near, SparsePosterior):
            raise TypeError(f"a sparse process is anticipated from a sparse posterior, got {type(near)}")
        if not self._few:
            return None
        phi = np.hstack([chunk.phi for chunk in self.chunks()])

        def apply(v: FloatArray) -> FloatArray:
            return v + phi @ (sites.precision * (v @ phi))

        b, start = phi @ (sites.precision * (sites.target - near.mean)), near.solution.weights
        weights = conjugate_gradients(
            apply, b, start if guess is None else guess, near.solution.factor.solve, CG_STEPS
        )
        return Anticipated(near.mean + weights @ phi, weights)


def added(parts: Iterable[Sums]) -> Sums:
    """All chunks together."""
    first, *others = parts
    return sum(others, start=first)


@dataclass(frozen=True, eq=False)
class SparseMean:
    """``mean + phi(x)' weights``."""

    features: Features
    weights: FloatArray
    mean: float

    def __call__(self, Z: FloatArray) -> FloatArray:
        """Its values at the rows of ``Z``."""
        pieces = chunks(len(Z), len(self.features.Z))
        return self.mean + np.concatenate([self.weights @ self.features(Z[rows]) for rows in pieces])


@dataclass(frozen=True, eq=False)
class SparsePosterior(Posterior):
    """Built by :class:`SparsePrior`."""

    kernel: Kernel
    sites: Sites
    mean: float
    features: Features
    solution: Solution
    prior: SparsePrior

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
        return self.mean_function(self._check(Z))

    @property
    def mean_function(self) -> SparseMean:
        """The mean by itself, which needs no factor of the weights."""
        return SparseMean(self.features, self.solution.weights, self.mean)

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
        """The same posterior without the features of its inputs."""
        return replace(self, prior=replace(self.prior))

    @cached_property
    def _parts(self) -> list[Local]:
        """Every chunk."""
        return [
            local(self.features, self.solution, chunk, self.sites[chunk.rows])
            for chunk in self.prior.chunks()
        ]

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
        left_out = np.maximum(self.kernel.diag(Z) - squares(phi), 0.0)
        return Marginals(self.mean + self.solution.weights @ phi, left_out + squares(half))

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
