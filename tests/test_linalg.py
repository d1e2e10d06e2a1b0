"""The jitter policy and the small solves; the rest of linalg is tested through the posterior."""

import numpy as np
import pytest

from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.linalg.cholesky import (
    cholesky,
    inverse_positive,
    jittered_cholesky,
    lapack,
    pivoted_cholesky,
    solve_positive,
)
from sturdygp.linalg.conjugate_gradients import conjugate_gradients


@pytest.fixture
def matrix():
    A = np.random.default_rng(0).normal(size=(6, 6))
    return A @ A.T + np.eye(6)


@pytest.mark.parametrize("order", ["C", "F"])
def test_factor_solves_and_inverse(matrix, order):
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


def test_in_place_factorisation_reuses_the_memory(matrix):
    A = matrix.copy()
    assert np.shares_memory(cholesky(A, overwrite=True).lower, A)


@pytest.mark.parametrize("bad", [-np.eye(3), np.full((3, 3), np.nan), np.diag([1.0, 1.0, -1e-20])])
def test_indefinite_matrices_are_refused(bad):
    with pytest.raises(NotPositiveDefiniteError):
        cholesky(bad)


def test_jitter_is_only_added_where_needed_and_reported(matrix):
    assert jittered_cholesky(matrix).jitter == 0.0
    singular = np.ones((5, 5))
    factor = jittered_cholesky(singular)
    assert 0.0 <= factor.jitter <= 1e-8
    np.testing.assert_allclose(
        factor.lower @ factor.lower.T, singular + factor.jitter * np.eye(5), atol=1e-12
    )
    with pytest.raises(NotPositiveDefiniteError, match="indefinite even with"):
        jittered_cholesky(-matrix)


def test_inverse_of_a_small_matrix(matrix):
    np.testing.assert_allclose(inverse_positive(matrix), np.linalg.inv(matrix), rtol=1e-11)


def test_conjugate_gradients_solve_in_as_many_steps_as_there_are_unknowns(matrix):
    b, start = np.arange(6.0), np.ones(6)
    solution = np.linalg.solve(matrix, b)
    plain = conjugate_gradients(lambda v: matrix @ v, b, start, np.copy, 6)
    np.testing.assert_allclose(plain, solution, rtol=1e-8)
    # With the inverse to precondition them, one step is enough; nothing that was given is changed.
    one = conjugate_gradients(lambda v: matrix @ v, b, start, cholesky(matrix).solve, 1)
    np.testing.assert_allclose(one, solution, rtol=1e-10)
    np.testing.assert_array_equal(start, np.ones(6))
    np.testing.assert_array_equal(b, np.arange(6.0))
    # The squared error that is small enough is that of the preconditioned residual.
    squared = float((b - matrix @ start) @ np.linalg.solve(matrix, b - matrix @ start))
    for enough, expected in ((1.001 * squared, start), (0.999 * squared, solution)):
        found = conjugate_gradients(lambda v: matrix @ v, b, start, cholesky(matrix).solve, 6, enough=enough)
        np.testing.assert_allclose(found, expected, rtol=1e-10)
    at_least = conjugate_gradients(
        lambda v: matrix @ v, b, start, cholesky(matrix).solve, 6, least=1, enough=1e9
    )
    np.testing.assert_allclose(at_least, solution, rtol=1e-10)


def test_pivoted_factor_of_full_rank_is_the_matrix(matrix):
    F, pivots = pivoted_cholesky(matrix.diagonal(), lambda i: matrix[:, i], 6, 0.0)
    assert sorted(pivots) == list(range(6))
    np.testing.assert_allclose(F @ F.T, matrix, atol=1e-12)


def test_pivoted_factor_stops_where_little_is_left():
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


def test_rounding_does_not_choose_among_equal_pivots():
    x = np.linspace(-1.0, 1.0, 41)
    K = np.exp(-0.5 * np.subtract.outer(x, x) ** 2 / 0.09)
    pivots = pivoted_cholesky(K.diagonal(), lambda i: K[:, i], 12, 1e-9)[1]
    for seed in range(20):
        noisy = K * (1.0 + 1e-15 * np.random.default_rng(seed).standard_normal(K.shape))
        assert pivoted_cholesky(noisy.diagonal(), lambda i: noisy[:, i], 12, 1e-9)[1] == pivots  # noqa: B023


@pytest.mark.parametrize("n", [1, 5, lapack.WHOLE + 1, lapack.SMALL, 300])
def test_routines_without_the_lock_do_what_the_wrappers_do(n):
    rng = np.random.default_rng(n)
    A = rng.normal(size=(n, n + 3))
    A = np.asfortranarray(A @ A.T + n * np.eye(n))
    lower = A.copy(order="F")
    assert lapack.factorise(lower) == 0
    np.testing.assert_allclose(lower, np.linalg.cholesky(A), rtol=1e-10, atol=1e-10)
    inverse = lower.copy(order="F")
    assert lapack.invert(inverse) == 0
    np.testing.assert_allclose(inverse, np.tril(np.linalg.inv(A)), atol=1e-10)
    for transpose in (False, True):
        factor, b = lower.T if transpose else lower, rng.normal(size=(n, 4))
        left, right = b.copy(order="F"), b.T.copy(order="F")
        lapack.solve_triangular(lower, left, right=False, transpose=transpose)
        lapack.solve_triangular(lower, right, right=True, transpose=transpose)
        np.testing.assert_allclose(factor @ left, b, atol=1e-9)
        np.testing.assert_allclose(right @ factor, b.T, atol=1e-9)
        vector = b[:, 0].copy()
        lapack.solve_vector(lower, vector, transpose=transpose)
        np.testing.assert_allclose(factor @ vector, b[:, 0], atol=1e-9)
    tall = np.asfortranarray(rng.normal(size=(n, 2 * n)))
    np.testing.assert_allclose(lapack.own_product(tall), tall @ tall.T, atol=1e-9)
    np.testing.assert_allclose(lapack.product(A, tall), A @ tall, rtol=1e-9, atol=1e-9)
    vector, total = rng.normal(size=n), A.copy(order="F")
    lapack.add_outer(0.3, vector, total)
    np.testing.assert_allclose(total, A + 0.3 * np.outer(vector, vector), atol=1e-10)


@pytest.mark.parametrize("n", [3, lapack.WHOLE, 100, 301])
@pytest.mark.parametrize("where", [0, -1])
def test_a_singular_factor_is_noticed(n, where):
    lower = np.eye(n, order="F")
    lower[where, where] = 0.0
    assert lapack.invert(lower) > 0


@pytest.mark.parametrize("n", [3, 300])
def test_an_indefinite_matrix_is_noticed(n):
    assert lapack.factorise(np.asfortranarray(np.diag(np.linspace(1.0, -1.0, n)))) > 0


def test_routines_refuse_what_would_be_read_wrongly():
    C = np.arange(12.0).reshape(3, 4)
    with pytest.raises(ValueError, match="Fortran-ordered"):
        lapack.solve_triangular(np.eye(3, order="F"), C, right=False, transpose=False)
    with pytest.raises(ValueError, match="does not fit"):
        lapack.solve_triangular(np.eye(3, order="F"), np.asfortranarray(C), right=True, transpose=False)
    with pytest.raises(ValueError, match="square"):
        lapack.factorise(np.asfortranarray(C))
    with pytest.raises(ValueError, match="does not fit a vector"):
        lapack.solve_vector(np.eye(3, order="F"), C[:, 0], transpose=False)
    with pytest.raises(ValueError, match="does not fit a matrix"):
        lapack.add_outer(1.0, np.ones(4), np.eye(3, order="F"))
    with pytest.raises(ValueError, match="do not fit"):
        lapack.product(np.eye(3, order="F"), np.eye(4, order="F"))
