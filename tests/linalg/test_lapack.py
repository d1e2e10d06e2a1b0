"""Routines without the interpreter's lock against NumPy."""

import numpy as np
import pytest

from sturdygp.linalg import lapack


@pytest.mark.parametrize("n", [1, 5, lapack.WHOLE + 1, lapack.SMALL, 300])
def test_lapack_equals_numpy(n):
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
def test_invert_notices_a_singular_factor(n, where):
    lower = np.eye(n, order="F")
    lower[where, where] = 0.0
    assert lapack.invert(lower) > 0


@pytest.mark.parametrize("n", [3, 300])
def test_factorise_notices_an_indefinite_matrix(n):
    assert lapack.factorise(np.asfortranarray(np.diag(np.linspace(1.0, -1.0, n)))) > 0


def test_lapack_refuses_arrays_of_other_shapes_or_orders():
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
