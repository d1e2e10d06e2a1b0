"""Factorisations and solves.

Everything that a Gaussian process computes from its observations goes through
``R = (K + T^-1)^-1`` with ``T = diag(precision)``.  :func:`factorise_sites` prepares it
without ever forming ``T^-1``, so precisions may be zero (a missing or rejected
observation) or negative (expectation propagation).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np

from sturdygp._caching import cached_property
from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.linalg.lapack import add_outer, factorise, invert, solve_triangular, solve_vector

# The one jitter policy: nothing, then these multiples of the scale of the matrix.
JITTERS = (0.0, *(10.0**exponent for exponent in range(-12, -3)))


# Below this product of precision and prior variance, (1 - [B^-1]_ii) / precision loses digits.
WEAK_SITE = 1e-4
# Fraction of the largest entry above which another is equal to it up to rounding.
TIE = 1.0 - 1e-6


@dataclass(frozen=True, eq=False)
class Cholesky:
    """``A + jitter I = L L'``; ``lower`` is zero above the diagonal and Fortran-ordered."""

    lower: FloatArray
    jitter: float = 0.0

    @cached_property
    def log_det(self) -> float:
        """Logarithm of the determinant of the factorised matrix."""
        return 2.0 * float(np.add.reduce(np.log(self.lower.diagonal())))

    def half_solve(self, b: FloatArray, *, overwrite: bool = False) -> FloatArray:
        """``L^-1 b`` for a vector or for each column of a matrix, in place if that may be overwritten."""
        return _triangular_solve(self.lower, b, transpose=False, overwrite=overwrite)

    def other_half_solve(self, b: FloatArray) -> FloatArray:
        """``L'^-1 b``."""
        return _triangular_solve(self.lower, b, transpose=True)

    def solve(self, b: FloatArray) -> FloatArray:
        """``(L L')^-1 b``."""
        if b.ndim > 1:
            return self.other_half_solve(self.half_solve(b))
        solved = b.copy()
        for transpose in (False, True):
            solve_vector(self.lower, solved, transpose=transpose)
        return solved

    def inverse_triangle(self) -> FloatArray:
        """Lower triangle of the inverse, with zeros above it: half the work and memory traffic."""
        inverse = self.lower.copy(order="F")
        if invert(inverse):
            raise NotPositiveDefiniteError("the triangular factor is singular")
        return inverse


def _triangular_solve(
    lower: FloatArray, b: FloatArray, *, transpose: bool, overwrite: bool = False
) -> FloatArray:
    if b.ndim == 1:
        solved = b.copy()
        solve_vector(lower, solved, transpose=transpose)
    elif b.flags.c_contiguous:
        # b' is Fortran-ordered for free: solve X L' = b' from the right instead of changing its order.
        solved = b if overwrite else b.copy(order="C")
        solve_triangular(lower, solved.T, right=True, transpose=not transpose)
    else:
        solved = b if overwrite and b.flags.f_contiguous else b.copy(order="F")
        solve_triangular(lower, solved, right=False, transpose=transpose)
    return solved


def cholesky(matrix: FloatArray, *, overwrite: bool = False) -> Cholesky:
    """Factorise a symmetric positive definite matrix, in place if it may be overwritten."""
    # A symmetric C-ordered matrix is its own Fortran-ordered transpose: LAPACK needs no copy.
    columns = matrix.T if matrix.flags.c_contiguous else matrix
    lower = columns if overwrite and columns.flags.f_contiguous else columns.copy(order="F")
    if factorise(lower) or not isfinite(lower[-1, -1]):
        raise NotPositiveDefiniteError(
            f"a {matrix.shape[0]} x {matrix.shape[0]} matrix is not positive definite"
        )
    return Cholesky(lower)


def jittered_cholesky(matrix: FloatArray, scale: float | None = None) -> Cholesky:
    """Factorise a positive semi-definite matrix, adding as little to its diagonal as possible.

    Smallest eigenvalues of covariances without noise are rounding errors. Multiples of ``scale`` are added,
    by default of the mean diagonal; for a difference of two matrices, give the scale of these. The result
    records what was added in ``jitter``.
    """
    scale = float(matrix.diagonal().mean()) if scale is None else scale
    for relative in JITTERS:
        jitter = relative * scale
        shifted = matrix.copy()
        diagonal(shifted)[:] += jitter
        try:
            return Cholesky(cholesky(shifted, overwrite=True).lower, jitter)
        except NotPositiveDefiniteError:
            continue
    raise NotPositiveDefiniteError(
        f"a covariance matrix is indefinite even with {JITTERS[-1]:g} of its scale "
        f"({scale:g}) added: its kernel is not positive semi-definite, or its entries are not finite"
    )


def diagonal(matrix: FloatArray) -> FloatArray:
    """Return the diagonal as a view that can be written to."""
    view = matrix.diagonal()
    view.flags.writeable = True
    return view


def solve_positive(matrix: FloatArray, b: FloatArray) -> FloatArray:
    """``matrix^-1 b`` for a small symmetric positive definite matrix."""
    return cholesky(matrix).solve(b)


def inverse_positive(matrix: FloatArray) -> FloatArray:
    """Inverse of a small symmetric positive definite matrix."""
    triangle = cholesky(matrix).inverse_triangle()
    return np.asarray(triangle + np.tril(triangle, -1).T)


def symmetric_eigen(matrix: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues in ascending order, and eigenvectors in columns."""
    values, vectors = np.linalg.eigh(matrix)
    return np.asarray(values), np.asarray(vectors)


def orthonormal(columns: FloatArray) -> FloatArray:
    """Orthonormal columns that span the given ones."""
    return np.linalg.qr(columns)[0]


def small_factors(matrices: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Lower Cholesky factors of many small matrices along the last two axes, and the inverses of these.

    For small, well-conditioned matrices, explicit inverses are one call for all of them.
    """
    lower: FloatArray = np.asarray(np.linalg.cholesky(matrices), dtype=np.float64)
    return lower, np.asarray(np.linalg.inv(lower), dtype=np.float64)


@dataclass(frozen=True, eq=False)
class SiteFactor:
    """``R = (K + T^-1)^-1`` as ``S B^-1 S - W W'``.

    ``S^2`` holds the positive precisions, ``B = I + S K S`` has eigenvalues of at least
    one, and ``W`` has one column for each negative precision (none, as a rule).
    """

    precision: FloatArray
    root: FloatArray
    chol: Cholesky
    W: FloatArray
    log_det: float

    def apply(self, b: FloatArray) -> FloatArray:
        """``R b``."""
        product = _scale_rows(self.root, self.chol.solve(_scale_rows(self.root, b)))
        if self.W.shape[1]:
            product -= self.W @ (self.W.T @ b)
        return product

    def matrix(self) -> FloatArray:
        """``R`` itself."""
        R = self.chol.inverse_triangle()
        R += np.tril(R, -1).T
        R *= self.root
        R *= self.root[:, None]
        return R - self.W @ self.W.T if self.W.shape[1] else R

    def half(self, b: FloatArray) -> FloatArray:
        """``L^-1 S b``, whose squared columns are ``b' R b`` (before ``W``)."""
        return self.chol.half_solve(_scale_rows(self.root, b), overwrite=True)

    def quadratic(self, b: FloatArray) -> FloatArray:
        """``diag(b' R b)``: how much the sites reduce the variance at each column of ``b``."""
        h = self.half(b)
        reduction: FloatArray = np.einsum("ij,ij->j", h, h)
        if self.W.shape[1]:
            w = self.W.T @ b
            reduction -= np.einsum("ij,ij->j", w, w)
        return reduction

    def quadratic_matrix(self, b: FloatArray) -> FloatArray:
        """``b' R b``."""
        h, w = self.half(b), self.W.T @ b
        return np.asarray(h.T @ h - w.T @ w)

    def variances(self, K: FloatArray, inverse_diagonal: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Posterior variances ``v`` at the training inputs, and ``1 - precision * v``.

        ``B^-1 = I - S V S`` gives both from the diagonal of ``B^-1`` without cancellation
        in the second; a site too weak for the first is treated like a test point.
        """
        prior, shrinkage = K.diagonal(), inverse_diagonal.copy()
        weak = self.precision * prior < WEAK_SITE
        some_weak = np.logical_or.reduce(weak)
        v = (1.0 - shrinkage) / (np.where(weak, 1.0, self.precision) if some_weak else self.precision)
        if some_weak:
            h = self.half(K[:, weak])
            v[weak] = prior[weak] - np.einsum("ij,ij->j", h, h)
            shrinkage[weak] = 1.0 - self.precision[weak] * v[weak]
        if self.W.shape[1]:
            gain = np.square(K @ self.W).sum(axis=1)
            v += gain
            shrinkage -= self.precision * gain
        return np.maximum(v, 0.0), shrinkage

    def cotangent(self, inverse: FloatArray, alpha: FloatArray) -> FloatArray:
        """A matrix ``G`` with ``G + G' = alpha alpha' - R``, written over the triangle of ``B^-1``.

        A gradient needs no more of ``R``: the derivative of a kernel matrix is symmetric, so that twice one
        triangle stands for both.
        """
        G = inverse.T
        G *= self.root
        G *= -self.root[:, None]
        diagonal(G)[:] *= 0.5
        for column in (alpha, *np.ascontiguousarray(self.W.T)):
            add_outer(0.5, column, inverse)
        return G


def factorise_sites(K: FloatArray, precision: FloatArray) -> SiteFactor:
    """Prepare ``(K + diag(precision)^-1)^-1``, or raise if the posterior is not a proper Gaussian."""
    root = np.sqrt(np.maximum(precision, 0.0))
    B = K * root[:, None]
    B *= root
    diagonal(B)[:] += 1.0
    chol = cholesky(B, overwrite=True)
    if np.minimum.reduce(precision) >= 0.0:
        return SiteFactor(precision, root, chol, np.empty((K.shape[0], 0)), chol.log_det)
    W, log_det = _negative_part(K, root, chol, precision)
    return SiteFactor(precision, root, chol, W, chol.log_det + log_det)


def _negative_part(
    K: FloatArray, root: FloatArray, chol: Cholesky, precision: FloatArray
) -> tuple[FloatArray, float]:
    """Take the negative sites out of the posterior of the positive ones.

    The Cholesky factor exists exactly when the posterior stays positive definite.
    """
    negative = np.flatnonzero(precision < 0.0)
    size = np.sqrt(-precision[negative])
    columns = K[:, negative] * size
    V = -root[:, None] * chol.solve(root[:, None] * columns)
    V[negative, np.arange(negative.size)] += size
    remainder = -(columns.T @ V)
    diagonal(remainder)[:] += 1.0
    inner = cholesky(0.5 * (remainder + remainder.T), overwrite=True)
    return inner.half_solve(V.T).T, inner.log_det


def pivoted_cholesky(
    diagonal: FloatArray, column: Callable[[int], FloatArray], rank: int, tolerance: float
) -> tuple[FloatArray, list[int]]:
    """Columns ``F`` with ``F F'`` near a positive semi-definite matrix, and the pivots.

    The next pivot has the largest remaining diagonal entry; the first of those equal up to rounding, so that
    rounding does not decide. It ends when the largest is at most ``tolerance`` of that of the matrix.
    """
    left = diagonal.copy()
    F = np.zeros((left.size, rank), order="F")
    enough, pivots = tolerance * float(left.max()), list[int]()
    for k in range(rank):
        most = float(left.max())
        pivot = int(np.argmax(left >= TIE * most))
        if most <= enough:
            break
        pivots.append(pivot)
        F[:, k] = (column(pivot) - F[:, :k] @ F[pivot, :k]) / sqrt(left[pivot])
        left -= F[:, k] ** 2
    return F[:, : len(pivots)], pivots


def _scale_rows(scale: FloatArray, b: FloatArray) -> FloatArray:
    return scale * b if b.ndim == 1 else scale[:, None] * b
