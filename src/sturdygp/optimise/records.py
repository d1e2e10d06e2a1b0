"""What an ascent works with: evaluations, the optimum they lead to, and what is told on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from sturdygp._typing import FloatArray
from sturdygp.status import Status

C = TypeVar("C")


@dataclass(frozen=True, eq=False)
class Flatness:
    """By what factor each derivative may be small for another reason than that an optimum is near.

    Logarithms have flat regions that are no optima: where a variance nears zero, so does the derivative by
    its logarithm, however much a larger variance would gain. Derivatives count as small below ``goal`` times
    the tolerance. ``strength`` is the part of it that curvature is in proportion to as well.
    """

    strength: FloatArray
    goal: FloatArray


@dataclass(frozen=True, eq=False)
class Evaluation(Generic[C]):
    """An objective at one point: value, gradient, and the state to go on with from there.

    The value holds for the updated state, the gradient for the one that came in; ``gain`` is what
    the update added to the value, zero if nothing is carried. Going on from ``carry`` may be bold;
    ``fallback``, if there is one, is the careful alternative after a step that failed.
    ``flatness`` says where a small derivative does not mean that an optimum is near.
    """

    value: float
    gradient: FloatArray
    carry: C
    gain: float = 0.0
    fallback: C | None = None
    flatness: Flatness | None = None


@dataclass(frozen=True, eq=False)
class Optimum(Generic[C]):
    """Where the ascent ended. ``trace`` holds the value at every accepted point.

    Before the first of ``n_iter`` iterations the state that is carried may settle, which it holds as well.
    ``curvature`` is the model of the negative Hessian, for an ascent that goes on from here; None if no step
    was taken.
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
    """What is told after each iteration: the value, and by what factor the gradient exceeds its goal.

    ``optimum`` is the ascent as if it ended here, if it is one that can go on from there.
    """

    value: float
    excess: float
    optimum: Optimum[Any] | None = None


Objective = Callable[[FloatArray, C], Evaluation[C]]
# Hears of every iteration; if it answers True, that was the last.
Callback = Callable[[Step], bool | None]


def above(callback: Callback | None, best: float, by: float = 0.0) -> Callback | None:
    """The callback for another climb, which hears of no value below the best so far.

    A climb that is not yet better, by as much as it has to be, is none to go on from later.
    """
    if callback is None:
        return None

    def hear(step: Step) -> bool | None:
        better = step.optimum if step.value > best + by else None
        return callback(replace(step, value=max(step.value, best), optimum=better))

    return hear
