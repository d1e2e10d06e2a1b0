"""Records of an ascent: evaluations, the optimum, and steps for callbacks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from sturdygp._typing import FloatArray
from sturdygp.status import Status

C = TypeVar("C")


@dataclass(frozen=True, eq=False)
class Flatness:
    """Factors by which derivatives may be small although no optimum is near.

    Logarithms have flat regions that are no optima: where a variance nears zero, so does the derivative by
    its logarithm, however much a larger variance would gain. Derivatives count as small below ``goal`` times
    the tolerance. ``strength`` is the part of it to which curvature is proportional as well.
    """

    strength: FloatArray
    goal: FloatArray


@dataclass(frozen=True, eq=False)
class Evaluation(Generic[C]):
    """An objective at one point: value, gradient, and the state to carry on from there.

    The value holds for the updated state, the gradient for the one that came in; ``gain`` is what
    the update added to the value, zero if nothing is carried. ``carry`` may anticipate the next
    latent state; ``fallback``, if any, is the careful alternative after a step that failed. ``flatness`` says
    where a small derivative does not mean that an optimum is near.
    """

    value: float
    gradient: FloatArray
    carry: C
    gain: float = 0.0
    fallback: C | None = None
    flatness: Flatness | None = None


@dataclass(frozen=True, eq=False)
class Optimum(Generic[C]):
    """End of an ascent. ``trace`` holds the value at every accepted point.

    It includes the values while the carried state settled, before the first of ``n_iter`` iterations.
    ``curvature`` is the model of the negative Hessian, for an ascent that continues; None if no step was
    taken.
    """

    x: FloatArray
    value: float
    gradient: FloatArray
    carry: C
    status: Status
    n_iter: int
    n_evaluations: int
    trace: tuple[float, ...]
    curvature: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Step:
    """Report of one iteration: the value, and the factor by which the gradient exceeds its goal.

    ``optimum`` is the ascent as if it ended here, if it can be continued from there.
    """

    value: float
    excess: float
    optimum: Optimum[Any] | None = None


Objective = Callable[[FloatArray, C], Evaluation[C]]
# Called after every iteration; returns True to stop.
Callback = Callable[[Step], bool | None]


def above(callback: Callback | None, best: float, by: float = 0.0) -> Callback | None:
    """Wrap a callback for another optimisation: it hears of no value below the best so far.

    The optimum is withheld until it is better than the best by the required margin.
    """
    if callback is None:
        return None

    def hear(step: Step) -> bool | None:
        better = step.optimum if step.value > best + by else None
        return callback(replace(step, value=max(step.value, best), optimum=better))

    return hear
