"""A sparse Gaussian process with inducing inputs (Titsias, 2009), behind the interface of posteriors.

The mathematics, chunk by chunk, is in :mod:`sturdygp.gp.features`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self, TypeVar

import numpy as np

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.gp.features import (
    ByKernel,
    Chunk,
    Features,
    Local,
    LocalGradient,
    Solution,
    SparseMean,
    Sums,
    by_inducing_inputs,
    evidence_by_kernel,
    gram,
    local,
    local_gradient,
    squares,
    sums,
)
from sturdygp.gp.inputs import Block, Inputs, Merge, Rows, Work, gather, joined, total
from sturdygp.gp.posterior import (
    Anticipated,
    EvidenceGradient,
    LeaveOneOutGradient,
    Marginals,
    Posterior,
    Prior,
    check_inputs,
    check_test_inputs,
    chunks,
)
from sturdygp.gp.sites import Sites
from sturdygp.kernels.base import Kernel
from sturdygp.linalg.conjugate_gradients import solve_nearly
from sturdygp.linalg.lapack import product

T = TypeVar("T")


# Entries of the features that are kept between uses (256 MB, and as much for the kernel).
KEPT_ENTRIES = 1 << 25


@dataclass(frozen=True, eq=False)
class SparsePrior(Prior):
    """A Gaussian process at the rows of ``X``, with inducing inputs."""

    features: Features
    X: Inputs

    @classmethod
    def at(cls, kernel: Kernel, X: Inputs, Z: FloatArray) -> Self:
        """Factorise the kernel between the inducing inputs."""
        inputs = X if isinstance(X, Rows) else check_inputs(X)
        return cls(Features.at(kernel, check_inputs(Z, "inducing inputs")), inputs)

    @property
    def variance(self) -> FloatArray:
        """Prior variance of the function at each row."""
        return gather(self.X, self.features.kernel.diag, joined)

    def condition(self, sites: Sites, mean: float | None = None) -> SparsePosterior:
        """Condition on sites; the mean maximises the ELBO unless it is given."""
        sites.check_rows(len(self.X))
        centre = sites.centre
        everything = self.gather(sums, Sums.joined, sites.target - centre, sites.precision)
        solution = Solution.of(everything, centre, mean)
        return SparsePosterior(self.features.kernel, sites, solution.mean, self.features, solution, self)

    def gather(self, work: Work[T], merge: Merge[T], *by_row: FloatArray) -> T:
        """Work on each chunk of rows with its part of the arrays, and join the results."""
        if isinstance(self.X, Rows):
            # Only the kernel and the inducing inputs are sent to a block.
            at_block = partial(gather_block, work, merge, self.features.kernel, self.features.Z)
            return self.X.gather(at_block, merge, *by_row)
        made = self._kept if self.few else self._made()
        return merge(work(chunk, *(values[chunk.rows] for values in by_row)) for chunk in made)

    @property
    def few(self) -> bool:
        """True if all features may stay in memory, so that they are computed once."""
        here = not isinstance(self.X, Rows)
        return here and len(self.X) * len(self.features.Z) <= KEPT_ENTRIES

    @cached_property
    def _kept(self) -> list[Chunk]:
        return list(self._made())

    def __getstate__(self) -> dict[str, Any]:
        """Leave features out of a copy: they are computed again where they are needed."""
        return {name: value for name, value in vars(self).items() if name != "_kept"}

    def _made(self) -> Iterator[Chunk]:
        if isinstance(self.X, Rows):
            raise TypeError("chunked rows are worked on where they are")
        X = self.X
        return (self.features.chunk(X, rows) for rows in chunks(len(X), len(self.features.Z)))

    def anticipate(self, sites: Sites, near: Posterior, warm_start: FloatArray | None) -> Anticipated | None:
        """Anticipate by conjugate gradients if features are kept; otherwise by two passes, and only once."""
        if not isinstance(near, SparsePosterior):
            raise TypeError(f"a sparse process is anticipated from a sparse posterior, got {type(near)}")
        if not self.few:
            return None if warm_start is not None else self._anticipate_once(sites, near)

        def gathered(values: FloatArray) -> FloatArray:
            return self.gather(lambda chunk, part: chunk.phi @ part, total, sites.precision * values)

        weights = solve_nearly(
            lambda v: v + gathered(self._weighted_features(v)),
            gathered(sites.target - near.mean),
            near.solution.weights if warm_start is None else warm_start,
            near.solution.factor.solve,
        )
        return Anticipated(near.mean + self._weighted_features(weights), weights)

    def _anticipate_once(self, sites: Sites, near: SparsePosterior) -> Anticipated:
        weights = self.condition(sites, near.mean).solution.weights
        return Anticipated(near.mean + self._weighted_features(weights), weights)

    def _weighted_features(self, weights: FloatArray) -> FloatArray:
        return self.gather(partial(weighted_features, weights), joined)


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
    def inputs(self) -> Inputs:
        """The training inputs."""
        return self.prior.X

    @property
    def log_evidence(self) -> float:
        """A lower bound on the log evidence of the exact process."""
        solution = self.solution
        penalty = solution.factor.log_det + float(solution.weights @ solution.weights)
        return self._local.elbo - 0.5 * penalty

    def gradient(self, by_left_out: FloatArray | None = None) -> EvidenceGradient:
        """Derivatives of the ELBO; with ``by_left_out``, of the evidence of the features and that term."""
        across = self._by_kernel(by_left_out)
        m = self.marginals()
        pull = self.sites.precision * (self.sites.target - m.mean)
        inducing = self.kernel.pullback(self.features.Z, None, self._by_inducing(self._known + across.outer))
        return EvidenceGradient(
            kernel=inducing + across.kernel,
            mean=float(pull.sum()),
            target=-pull,
            precision=-0.5 * m.second_moment(self.sites.target),
        )

    def inducing_gradient(self) -> FloatArray:
        """Derivatives of the ELBO by the inducing inputs, for the same sites and parameters."""
        work = partial(by_inducing_inputs, self.solution)
        across = self.prior.gather(work, total, self.sites.target, self.sites.precision)
        # Each inducing input stands on both sides of the kernel between them.
        return across + 2.0 * self.kernel.input_pullback(
            self.features.Z, None, self._by_inducing(self._known + self.solution.gram)
        )

    @property
    def left_out(self) -> FloatArray:
        """Prior variance at each training input that the inducing inputs do not explain."""
        return self._local.left_out

    def marginals(self) -> Marginals:
        """The posterior of the function at each training input."""
        return Marginals(self._local.mean, self._local.variance)

    def leave_one_out(self, power: float = 1.0) -> Marginals:
        """Posterior at each training input without a power of its site; kernel and mean stay."""
        m, tau = self.marginals(), power * self.sites.precision
        reached = m.variance - self.left_out
        variance = reached / (1.0 - tau * reached)
        return Marginals(m.mean - tau * (self.sites.target - m.mean) * variance, self.left_out + variance)

    def leave_one_out_gradient(self, by_mean: FloatArray, by_variance: FloatArray) -> LeaveOneOutGradient:
        """Derivatives of a function of the leave-one-out moments, given those with respect to the moments."""
        m, precision = self.marginals(), self.sites.precision
        alpha = precision * (self.sites.target - m.mean)
        q = precision * (1.0 - precision * (m.variance - self.left_out))
        a, b = by_mean / q, (by_mean * alpha - by_variance) / q**2
        total = self.prior.gather(score_sums, ScoreSums.joined, precision, a, b)
        work = partial(score_by_features, self.solution, total)
        rows = np.column_stack([precision, alpha, a, b, by_variance])
        found = self.prior.gather(work, ByFeatures.joined, rows)
        inducing = self.kernel.pullback(self.features.Z, None, self._by_inducing(found.outer))
        return LeaveOneOutGradient(
            kernel=found.kernel + inducing, target=by_mean - found.pulled, noise=found.diagonal - by_variance
        )

    def predict_mean(self, Z: FloatArray) -> FloatArray:
        """Posterior mean of the function at the rows of ``Z``."""
        return self.mean_function(self._check(Z))

    @property
    def mean_function(self) -> SparseMean:
        """Mean as a function, which needs no factor of the weights."""
        return SparseMean(self.features, self.solution.weights, self.mean)

    def predict(self, Z: FloatArray) -> Marginals:
        """Posterior mean and variance of the function at the rows of ``Z``."""
        Z = self._check(Z)
        pieces = chunks(len(Z), len(self.features.Z))
        return Marginals.joined(self._predict(Z[rows]) for rows in pieces)

    def covariance(self, Z: FloatArray) -> FloatArray:
        """Posterior covariance of the function between the rows of ``Z``."""
        Z = self._check(Z)
        phi = self.features(Z)
        half = self.solution.factor.half_solve(phi)
        return np.asarray(self.kernel(Z) - phi.T @ phi + half.T @ half)

    def compact(self) -> Self:
        """Drop the features of the training inputs."""
        return replace(self, prior=replace(self.prior))

    @property
    def _local(self) -> Local:
        """Results of another pass over all rows; with derivatives only if these were computed."""
        with_derivatives: Local | None = vars(self).get("_local_gradient")
        return self._local_values if with_derivatives is None else with_derivatives

    @cached_property
    def _local_values(self) -> Local:
        work, sites = partial(local, self.solution), self.sites
        return self.prior.gather(work, Local.joined, sites.target, sites.precision, sites.log_scale)

    @cached_property
    def _local_gradient(self) -> LocalGradient:
        work, sites = partial(local_gradient, self.solution), self.sites
        return self.prior.gather(work, LocalGradient.joined, sites.target, sites.precision, sites.log_scale)

    def _by_kernel(self, by_left_out: FloatArray | None) -> ByKernel:
        """Derivatives by the kernel at all rows; those of the ELBO are known already."""
        if by_left_out is None:
            return ByKernel(self._local_gradient.kernel, self.solution.gram)
        work, sites = partial(evidence_by_kernel, self.solution), self.sites
        return self.prior.gather(work, ByKernel.joined, sites.target, sites.precision, by_left_out)

    @property
    def _known(self) -> FloatArray:
        """``w w' - I + A^-1``: the part of ``S`` below that is known without a pass over rows."""
        w = self.solution.weights
        return np.outer(w, w) - self.solution.certainty

    def _by_inducing(self, S: FloatArray) -> FloatArray:
        """Derivative by the kernel between the inducing inputs, ``-L'^-1 S L^-1 / 2``.

        Features are whitened by ``L``, and ``S = sum by_phi phi'`` is how something changes with them. It is
        symmetric where that does not change when they are turned.
        """
        whiten = self.features.whiten
        return -0.5 * whiten.other_half_solve(whiten.other_half_solve(S).T)

    def _predict(self, Z: FloatArray) -> Marginals:
        phi = self.features(Z)
        half = self.solution.factor.half_solve(phi)
        left_out = np.maximum(self.kernel.diag(Z) - squares(phi), 0.0)
        return Marginals(self.mean + self.solution.weights @ phi, left_out + squares(half))

    def _check(self, Z: FloatArray) -> FloatArray:
        return check_test_inputs(Z, self.features.Z.shape[1])


def weighted_features(weights: FloatArray, chunk: Chunk) -> FloatArray:
    """Function less its mean, at each row of a chunk."""
    return weights @ chunk.phi


def gather_block(
    work: Work[T], merge: Merge[T], kernel: Kernel, Z: FloatArray, X: FloatArray, *by_row: FloatArray
) -> T:
    """Work on one block of rows, where it is."""
    return SparsePrior.at(kernel, X, Z).gather(work, merge, *by_row)


@dataclass(frozen=True, eq=False)
class ScoreSums(Block):
    """``sum precision a phi`` and ``sum precision^2 b phi phi'``."""

    pull: FloatArray
    bend: FloatArray


def score_sums(chunk: Chunk, precision: FloatArray, a: FloatArray, b: FloatArray) -> ScoreSums:
    """Sums of one chunk."""
    return ScoreSums(chunk.phi @ (precision * a), gram(chunk.phi, precision**2 * b))


@dataclass(frozen=True, eq=False)
class ByFeatures(Block):
    """Derivatives by the kernel's parameters, ``sum by_phi phi'``, and at each row ``R a`` and ``G_ii``."""

    BY_ROW = ("pulled", "diagonal")

    kernel: FloatArray
    outer: FloatArray
    pulled: FloatArray
    diagonal: FloatArray


def score_by_features(solution: Solution, total: ScoreSums, chunk: Chunk, by_row: FloatArray) -> ByFeatures:
    """Derivatives of one chunk, given the sums over all.

    Each row of ``by_row`` holds precision, ``alpha``, ``a``, ``b`` and ``by_variance``.

    The function changes by ``sum_ij G_ij d(phi_i' phi_j) + sum_i by_variance_i d left_i`` with
    ``G = R a alpha' - R diag(b) R`` and ``left_i`` the prior variance that the features leave out.
    """
    precision, alpha, a, b, by_variance = by_row.T
    phi, features = chunk.phi, chunk.features
    solved = solution.factor.solve(phi)
    pull = solution.factor.solve(total.pull)
    pulled = precision * (a - pull @ phi)
    bent = product(np.asfortranarray(total.bend), solved)
    quadratic = precision * (b * precision * solved - solution.factor.solve(bent))
    by_phi = np.outer(pull, alpha) + np.outer(solution.weights, pulled) - 2.0 * quadratic
    by_phi -= 2.0 * by_variance * phi
    by_kernel = chunk.linear.pullback(features.whiten.other_half_solve(by_phi).T)
    by_kernel += features.kernel.diag_pullback(chunk.X, by_variance)
    reached = np.einsum("ij,ij->j", phi, solved)
    bend = b * (1.0 - 2.0 * precision * reached) + np.einsum("ij,ij->j", solved, bent)
    return ByFeatures(by_kernel, by_phi @ phi.T, pulled, pulled * alpha - precision**2 * bend)
