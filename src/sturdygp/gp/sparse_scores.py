"""How functions of leave-one-out moments change, where readings are seen through inducing inputs.

The exact pullback (:meth:`~sturdygp.gp.exact.ExactPosterior.leave_one_out_gradient`) with the kernel matrix
``Phi' Phi`` of the features: ``R = T - T Phi' A^-1 Phi T`` with ``A = I + Phi T Phi'``, so that every product
with ``R`` is one with the features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.features import Chunk, Solution, gram
from sturdygp.gp.rows import Block
from sturdygp.lapack import product


@dataclass(frozen=True, eq=False)
class ScoreSums(Block):
    """``sum precision a phi`` and ``sum precision^2 b phi phi'``."""

    pull: FloatArray
    bend: FloatArray


def score_sums(chunk: Chunk, precision: FloatArray, a: FloatArray, b: FloatArray) -> ScoreSums:
    """Of one chunk."""
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
    """One chunk, given the sums over all; of each row precision, ``alpha``, ``a``, ``b`` and ``by_variance``.

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
