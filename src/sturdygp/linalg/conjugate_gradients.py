"""Solving without factorising, from where the solution is near already."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from scipy.linalg.blas import daxpy, ddot

from sturdygp._typing import FloatArray

Operator: TypeAlias = Callable[[FloatArray], FloatArray]


# When a posterior mean is anticipated: steps of conjugate gradients at most and at least, and the error that
# may be left, in nats. It is in the gradient, and misleads the curvature that is learned from that. Near an
# optimum it is small from the start; a few steps make it smaller than any tolerance.
STEPS, LEAST_STEPS, SMALL_ERROR = 50, 3, 1e-7


def solve_nearly(apply: Operator, b: FloatArray, x: FloatArray, precondition: Operator) -> FloatArray:
    """The solution of ``apply(x) = b``, as near as an anticipation must be, from where it is near already."""
    return conjugate_gradients(apply, b, x, precondition, STEPS, least=LEAST_STEPS, enough=SMALL_ERROR)


def conjugate_gradients(
    apply: Operator,
    b: FloatArray,
    x: FloatArray,
    precondition: Operator,
    steps: int,
    *,
    least: int = 0,
    enough: float = 0.0,
) -> FloatArray:
    """A few preconditioned steps from ``x`` towards the solution of ``apply(x) = b``.

    After the least number of them they end where the squared error, in the norm of the preconditioner's
    matrix, is small enough. Both operators return new arrays.
    """
    # Vectors are short and steps many: BLAS, which adds in place, costs less than NumPy's operators.
    x, residual = x.copy(), b - apply(x)
    direction = precondition(residual)
    decrease = ddot(residual, direction)
    for step in range(steps):
        if not decrease > (0.0 if step < least else enough):
            break
        image = apply(direction)
        curvature = ddot(direction, image)
        if not curvature > 0.0:
            break
        length = decrease / curvature
        x = daxpy(direction, x, a=length)
        residual = daxpy(image, residual, a=-length)
        z = precondition(residual)
        previous, decrease = decrease, ddot(residual, z)
        direction = daxpy(direction, z, a=decrease / previous)
    return x
