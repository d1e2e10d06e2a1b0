"""Factorisations, the jitter policy and the small solves, against NumPy."""

import numpy as np
import pytest

from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.linalg.cholesky import (
    cholesky,
    inverse_positive,
    jittered_cholesky,
    pivoted_cholesky,
    solve_positive,
)


@pytest.mark.parametrize("order", ["C", "F"])
def test_cholesky_solves_and_inverts(matrix, order):
    A = np.array(matrix, order=order)
    factor = cholesky(A)
    np.testing.assert_array_equal(A, matrix)
    np.testing.assert_allclose(factor.lower @ factor.lower.T, matrix, rtol=1e-13)
    assert factor.log_det == pytest.approx(np.linalg.slogdet(matrix)[1])
    for b in (
        np.arange(6.0),
        np.arange(18.0).reshape(6, 3),
        np.asfortranarray(np.arange(18.0).reshape(6, 3)),
    ):
        np.testing.assert_allclose(factor.solve(b), np.linalg.solve(matrix, b), rtol=1e-11)
        np.testing.assert_allclose(factor.lower @ factor.half_solve(b), b, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(
        factor.inverse_triangle(), np.tril(np.linalg.inv(matrix)), rtol=1e-11, atol=1e-14
    )
    np.testing.assert_allclose(solve_positive(matrix, np.ones(6)), np.linalg.solve(matrix, np.ones(6)))


def test_cholesky_in_place_reuses_the_memory(matrix):
    A = matrix.copy()
    assert np.shares_memory(cholesky(A, overwrite=True).lower, A)


@pytest.mark.parametrize("bad", [-np.eye(3), np.full((3, 3), np.nan), np.diag([1.0, 1.0, -1e-20])])
def test_cholesky_refuses_indefinite_matrices(bad):
    with pytest.raises(NotPositiveDefiniteError):
        cholesky(bad)


def test_jittered_cholesky_adds_jitter_where_needed_and_reports_it(matrix):
    assert jittered_cholesky(matrix).jitter == 0.0
    singular = np.ones((5, 5))
    factor = jittered_cholesky(singular)
    assert 0.0 <= factor.jitter <= 1e-8
    np.testing.assert_allclose(
        factor.lower @ factor.lower.T, singular + factor.jitter * np.eye(5), atol=1e-12
    )
    with pytest.raises(NotPositiveDefiniteError, match="indefinite even with"):
        jittered_cholesky(-matrix)


def test_inverse_positive_equals_numpy(matrix):
    np.testing.assert_allclose(inverse_positive(matrix), np.linalg.inv(matrix), rtol=1e-11)


def test_pivoted_cholesky_of_full_rank_is_the_matrix(matrix):
    F, pivots = pivoted_cholesky(matrix.diagonal(), lambda i: matrix[:, i], 6, 0.0)
    assert sorted(pivots) == list(range(6))
    np.testing.assert_allclose(F @ F.T, matrix, atol=1e-12)


def test_pivoted_cholesky_stops_where_little_is_left():
    x = np.linspace(0.0, 1.0, 80)
    K = np.exp(-0.5 * (x[:, None] - x) ** 2)
    asked = []

    def column(i):
        asked.append(i)
        return K[:, i]

    F, pivots = pivoted_cholesky(K.diagonal(), column, 40, 1e-6)
    assert pivots == asked
    left = K - F @ F.T
    assert F.shape[1] == len(set(asked)) < 8
    assert left.diagonal().max() <= 1e-6
    assert np.linalg.eigvalsh(left).min() > -1e-12
    assert pivoted_cholesky(K.diagonal(), column, 2, 1e-6)[0].shape == (80, 2)


def test_pivoted_cholesky_does_not_choose_among_equal_pivots_by_rounding():
    x = np.linspace(-1.0, 1.0, 41)
    K = np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / 0.09)
    pivots = pivoted_cholesky(K.diagonal(), lambda i: K[:, i], 12, 1e-9)[1]
    for seed in range(20):
        noisy = K * (1.0 + 1e-15 * np.random.default_rng(seed).standard_normal(K.shape))
        assert pivoted_cholesky(noisy.diagonal(), lambda i: noisy[:, i], 12, 1e-9)[1] == pivots  # noqa: B023
