"""Conjugate gradients against a direct solution."""

import numpy as np

from sturdygp.linalg.cholesky import cholesky
from sturdygp.linalg.conjugate_gradients import conjugate_gradients


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
