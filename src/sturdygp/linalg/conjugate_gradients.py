"""Conjugate gradients from an initial solution that is near."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from scipy.linalg.blas import daxpy, ddot

from sturdygp._typing import FloatArray

Operator: TypeAlias = Callable[[FloatArray], FloatArray]


# Most and least steps when a posterior mean is anticipated, and the error at which they end, in nats. The
# error perturbs the gradient, and the curvature that is learned from it. Near an optimum it is small
# initially, and a few steps reduce it below any tolerance.
MOST_STEPS, LEAST_STEPS, SMALL_ERROR = 50, 3, 1e-7


def solve_nearly(apply: Operator, b: FloatArray, x: FloatArray, precondition: Operator) -> FloatArray:
    """Solve ``apply(x) = b`` from a near solution, as accurately as an anticipation needs."""
    return conjugate_gradients(apply, b, x, precondition, MOST_STEPS, least=LEAST_STEPS, enough=SMALL_ERROR)


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
    """Take preconditioned steps from ``x`` towards the solution of ``apply(x) = b``.

    They end after ``least`` steps once the squared error, in the norm of the preconditioner's matrix, is at
    most ``enough``. Both operators return new arrays.
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
