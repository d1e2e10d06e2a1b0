"""The mathematics of inducing points, for one chunk of rows: sums that add up, and what they lead to.

With ``K_zz = L L'`` and whitened features ``phi(x) = L^-1 k(Z, x)`` the function is ``mean + phi(x)' w`` plus
a part that the inducing points do not explain, and ``q(w)`` is normal. The ELBO is the evidence of the
features alone, less half of the precisions times the variance that is left out. Observations enter only
through sums over rows, so that rows can be worked on in chunks, in memory or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.gp.inputs import Block
from sturdygp.gp.posterior import chunks
from sturdygp.kernels.base import Kernel, Linearised
from sturdygp.linalg.cholesky import Cholesky, cholesky, diagonal, jittered_cholesky
from sturdygp.linalg.lapack import own_product, product


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
        """Compute features of some rows of ``X``, with the derivative of the kernel."""
        linear = self.kernel.linearise(X[rows], self.Z)
        return Chunk(self, rows, X[rows], linear, self.whiten.half_solve(linear.value.T))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Some rows: inputs, kernel with the inducing inputs, and features in columns."""

    features: Features
    rows: slice
    X: FloatArray
    linear: Linearised
    phi: FloatArray


@dataclass(frozen=True, eq=False)
class Sums(Block):
    """Sufficient statistics of the observations of a chunk, for targets less a centre.

    ``gram = sum precision phi phi'``, ``by_target`` and ``by_one`` are ``sum precision phi target`` and
    ``sum precision phi``; ``weights`` and ``weighted_target`` the same without ``phi``.
    """

    gram: FloatArray
    by_target: FloatArray
    by_one: FloatArray
    weights: float
    weighted_target: float


def sums(chunk: Chunk, target: FloatArray, precision: FloatArray) -> Sums:
    """Sums of one chunk, given its targets less a centre and its precisions."""
    phi = chunk.phi
    return Sums(
        gram=gram(phi, precision),
        by_target=phi @ (precision * target),
        by_one=phi @ precision,
        weights=float(precision.sum()),
        weighted_target=float(precision @ target),
    )


def gram(phi: FloatArray, precision: FloatArray) -> FloatArray:
    """``sum precision phi phi'``; a matrix times its own transpose costs half."""
    if precision.min() < 0.0:
        return (phi * precision) @ phi.T
    return own_product(phi * np.sqrt(precision))


@dataclass(frozen=True, eq=False)
class Solution:
    """``q(w) = N(weights, A^-1)`` with ``A = I + gram``, and the prior mean."""

    factor: Cholesky
    weights: FloatArray
    mean: float

    @property
    def gram(self) -> FloatArray:
        """``A - I``."""
        gram = self.factor.lower @ self.factor.lower.T
        diagonal(gram)[:] -= 1.0
        return gram

    @cached_property
    def certainty(self) -> FloatArray:
        """``I - A^-1``: prior less posterior covariance of the weights."""
        known = -self.factor.solve(np.eye(self.weights.size, order="F"))
        diagonal(known)[:] += 1.0
        return known

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
        excess = total.weighted_target - float(total.by_one @ by_target)
        shift = excess / certainty if certainty > 0.0 else 0.0
        return cls(factor, by_target - shift * by_one, centre + shift)


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


def squares(columns: FloatArray) -> FloatArray:
    """Squared length of each column."""
    return np.asarray(np.einsum("ij,ij->j", columns, columns))


@dataclass(frozen=True, eq=False)
class Local(Block):
    """Posterior at the rows of a chunk, and their contribution to the ELBO."""

    BY_ROW = ("mean", "variance", "left_out")

    mean: FloatArray
    variance: FloatArray
    left_out: FloatArray
    elbo: float


@dataclass(frozen=True, eq=False)
class LocalGradient(Local):
    """Posterior and ELBO with derivatives by the kernel's parameters, at twice the cost."""

    kernel: FloatArray


def local(
    solution: Solution, chunk: Chunk, target: FloatArray, precision: FloatArray, log_scale: FloatArray
) -> Local:
    """Compute the posterior at one chunk, given its sites."""
    return _local(solution, chunk, product(solution.certainty, chunk.phi), target, precision, log_scale)


def local_gradient(
    solution: Solution, chunk: Chunk, target: FloatArray, precision: FloatArray, log_scale: FloatArray
) -> LocalGradient:
    """Compute the posterior at one chunk with derivatives."""
    known = product(solution.certainty, chunk.phi)
    values = _local(solution, chunk, known, target, precision, log_scale)
    G = cross_cotangent(solution, chunk, known, precision, target - values.mean)
    by_kernel = chunk.linear.pullback(G) + chunk.features.kernel.diag_pullback(chunk.X, -0.5 * precision)
    return LocalGradient(**vars(values), kernel=by_kernel)


def _local(
    solution: Solution,
    chunk: Chunk,
    known: FloatArray,
    target: FloatArray,
    precision: FloatArray,
    log_scale: FloatArray,
) -> Local:
    """Compute it, given ``known = certainty phi``, which derivatives need as well."""
    phi = chunk.phi
    squared = squares(phi)
    left_out = np.maximum(chunk.features.kernel.diag(chunk.X) - squared, 0.0)
    mean = solution.mean + solution.weights @ phi
    elbo = float(log_scale.sum() - 0.5 * (precision @ ((target - mean) ** 2 + left_out)))
    reached = np.maximum(squared - np.einsum("ij,ij->j", phi, known), 0.0)
    return Local(mean, left_out + reached, left_out, elbo)


def cross_cotangent(
    solution: Solution, chunk: Chunk, known: FloatArray, precision: FloatArray, error: FloatArray
) -> FloatArray:
    """Derivative of the ELBO by the kernel between a chunk and the inducing inputs; overwrites ``known``."""
    by_phi = np.multiply(known, precision, out=known)
    by_phi += np.outer(solution.weights, precision * error)
    return chunk.features.whiten.other_half_solve(by_phi).T


def by_inducing_inputs(
    solution: Solution, chunk: Chunk, target: FloatArray, precision: FloatArray
) -> FloatArray:
    """Derivative of a chunk's part of the ELBO by the inducing inputs, for a fixed kernel between these."""
    phi, features = chunk.phi, chunk.features
    error = target - (solution.mean + solution.weights @ phi)
    G = cross_cotangent(solution, chunk, product(solution.certainty, phi), precision, error)
    return features.kernel.input_pullback(chunk.X, features.Z, G)


@dataclass(frozen=True, eq=False)
class ByKernel(Block):
    """Derivatives of a chunk's part by the kernel's parameters, and ``sum -2 by_left_out phi phi'``."""

    kernel: FloatArray
    outer: FloatArray


def evidence_by_kernel(
    solution: Solution, chunk: Chunk, target: FloatArray, precision: FloatArray, by_left_out: FloatArray
) -> ByKernel:
    """Derivatives of the evidence of the features, plus a term whose derivative is ``by_left_out``."""
    phi, features = chunk.phi, chunk.features
    error = target - (solution.mean + solution.weights @ phi)
    # Replace -precision / 2, the derivative of the ELBO by left_out, with by_left_out.
    known = product(solution.certainty, phi)
    G = cross_cotangent(solution, chunk, known, precision, error)
    G -= features.whiten.other_half_solve((precision + 2.0 * by_left_out) * phi).T
    by_kernel = chunk.linear.pullback(G)
    by_kernel += features.kernel.diag_pullback(chunk.X, by_left_out)
    return ByKernel(by_kernel, gram(phi, -2.0 * by_left_out))
