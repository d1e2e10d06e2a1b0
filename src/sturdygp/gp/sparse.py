"""A Gaussian process that looks at its readings through a few inducing inputs (Titsias, 2009).

The seam's side of it; the mathematics, chunk by chunk, is in :mod:`sturdygp.gp.features`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.features import Chunk, Features, Local, Solution, added, local, squares, sums
from sturdygp.gp.posterior import (
    CG_STEPS,
    Anticipated,
    EvidenceGradient,
    Marginals,
    Posterior,
    Prior,
    check_inputs,
    check_test_inputs,
    chunks,
)
from sturdygp.gp.sites import Sites
from sturdygp.kernels.base import Kernel
from sturdygp.linalg import conjugate_gradients, diagonal

# Entries of the features that are kept between uses (256 MB, and as much for the kernel).
KEPT_ENTRIES = 1 << 25


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
        sites.check_rows(len(self.X))
        centre, precision = sites.centre, sites.precision
        target = sites.target - centre
        parts = (sums(each.phi, target[each.rows], precision[each.rows]) for each in self.chunks())
        solution = Solution.of(added(parts), centre, mean)
        return SparsePosterior(self.features.kernel, sites, solution.mean, self.features, solution, self)

    def anticipate(self, sites: Sites, near: Posterior, guess: FloatArray | None) -> Anticipated | None:
        """Conjugate gradients for the weights, if the features are kept."""
        if not isinstance(near, SparsePosterior):
            raise TypeError(f"a sparse process is anticipated from a sparse posterior, got {type(near)}")
        if not self._few:
            return None

        def mean(weights: FloatArray) -> FloatArray:
            return np.concatenate([weights @ chunk.phi for chunk in self.chunks()])

        def gathered(values: FloatArray) -> FloatArray:
            weighted = sites.precision * values
            parts = [chunk.phi @ weighted[chunk.rows] for chunk in self.chunks()]
            return np.asarray(np.sum(parts, axis=0))

        weights = conjugate_gradients(
            lambda v: v + gathered(mean(v)),
            gathered(sites.target - near.mean),
            near.solution.weights if guess is None else guess,
            near.solution.factor.solve,
            CG_STEPS,
        )
        return Anticipated(near.mean + mean(weights), weights)


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
        return self._marginals

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
        pieces = chunks(len(Z), len(self.features.Z))
        return joined(self._predict(Z[rows]) for rows in pieces)

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

    @cached_property
    def _marginals(self) -> Marginals:
        return joined(part.marginals for part in self._parts)

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

    def _check(self, Z: FloatArray) -> FloatArray:
        return check_test_inputs(Z, self.features.Z.shape[1])


def joined(parts: Iterable[Marginals]) -> Marginals:
    """Chunks one after the other."""
    found = list(parts)
    return Marginals(
        np.concatenate([part.mean for part in found]), np.concatenate([part.variance for part in found])
    )
