"""Maximise an objective within bounds."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.optimise.ascent import Ascent, evaluate
from sturdygp.optimise.records import C, Callback, Objective, Optimum
from sturdygp.status import Status


def maximise(
    objective: Objective[C],
    initial: FloatArray,
    bounds: FloatArray,
    *,
    carry: C,
    max_iter: int = 200,
    tol: float = 1e-3,
    callback: Callback | None = None,
    curvature: FloatArray | None = None,
) -> Optimum[C]:
    """Maximise from ``initial`` within ``bounds`` until the projected gradient is at most ``tol``.

    ``objective(x, carry)`` returns an :class:`Evaluation` or raises
    :class:`~sturdygp.exceptions.NotPositiveDefiniteError`, in which case the point is rejected and
    a shorter step tried. Where the objective is flat for another reason than an optimum, the gradient has to
    be smaller: see :class:`~sturdygp.optimise.records.Flatness`. No accepted step lowers the value by more
    than rounding. ``curvature`` is that of an earlier ascent which this one continues.
    """
    lower, upper = check_box(bounds, initial)
    x = np.clip(initial, lower, upper)
    here = evaluate(objective, x, carry)
    if here is None:
        return Optimum(x, -np.inf, np.full_like(x, np.nan), carry, Status.FAILED, 0, 1, ())
    ascent = Ascent(objective, lower, upper, x, here, hessian=curvature, trace=[here.value])
    ascent.settle()
    status: Status | None = None
    while status is None and ascent.n_iter < max_iter:
        status = ascent.advance(tol)
        if status is not None:
            break
        ascent.n_iter += 1
        ascent.trace.append(ascent.here.value)
        if callback is not None and callback(ascent.report(tol)):
            status = Status.STOPPED
    return ascent.result(status or Status.MAX_ITER)


def best_of(optima: Iterable[Optimum[C]]) -> Optimum[C]:
    """Return the optimum with the highest value."""
    return max(optima, key=lambda optimum: optimum.value)


def check_box(bounds: FloatArray, initial: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Split bounds into lower and upper ones; raise ``ValueError`` if they are not valid."""
    box = np.asarray(bounds, dtype=np.float64)
    if box.shape != (initial.size, 2):
        raise ValueError(
            f"bounds must have shape ({initial.size}, 2), one pair for each parameter; got {box.shape}"
        )
    if not np.all(box[:, 0] <= box[:, 1]):
        raise ValueError("bounds must have low <= high in every row; also NaN is not a bound")
    return box[:, 0], box[:, 1]
