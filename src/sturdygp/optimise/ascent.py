"""State and steps of a quasi-Newton ascent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.linalg.cholesky import solve_positive
from sturdygp.optimise.records import C, Evaluation, Objective, Optimum, Step
from sturdygp.status import Status

# Longest first step and longest step, for each logarithmic parameter.
FIRST_STEP = 0.5
LONGEST_STEP = 2.0
SUFFICIENT_INCREASE = 1e-4
# Relative rounding error of an objective, and the fall of the slope that counts as progress within it.
VALUE_ROUNDING = 1e-8
SLOPE_FALL = 0.9
# Relative size of a gain that is rounding.
NO_GAIN = 1e-12
# Gain above which the latent state is refreshed before the first step, and how often.
LARGE_GAIN = 1.0
FIRST_REFRESHES = 4
# Least factor of :class:`Flatness`: below it there is only rounding.
LEAST_STRENGTH = 1e-8
# Halvings and interpolations before a direction is given up.
LINE_SEARCH_TRIES = 12


@dataclass
class Ascent(Generic[C]):
    """The running state: a point, and a positive definite model of the negative Hessian."""

    objective: Objective[C]
    lower: FloatArray
    upper: FloatArray
    x: FloatArray
    here: Evaluation[C]
    hessian: FloatArray | None = None
    n_iter: int = 0
    n_evaluations: int = 1
    confirmed: bool = False
    trace: list[float] = field(default_factory=list)

    def advance(self, tol: float) -> Status | None:
        """One iteration, or the status to end with."""
        flat = self.scaled_gradient_norm() <= tol
        if not flat and self.step():
            return None
        moving = self.here.gain > NO_GAIN * max(1.0, abs(self.here.value))
        if moving and not (flat and self.confirmed and self.here.gain <= tol):
            # The gradient belongs to the previous latent state: refresh it and test again.
            return self.confirm(tol, flat=flat)
        return Status.CONVERGED if flat else Status.STALLED

    def confirm(self, tol: float, *, flat: bool) -> Status | None:
        """Refresh the latent state; confirm a flat gradient that another such change leaves flat."""
        before = self.here.gradient
        if not self.refresh():
            return Status.STALLED
        change = float(np.abs((self.here.gradient - before) / self.goal()).max(initial=0.0))
        self.confirmed = flat and self.scaled_gradient_norm() + change <= tol
        return None

    def settle(self) -> None:
        """Refresh the latent state at the initial point before curvature is learned from gradients."""
        for _ in range(FIRST_REFRESHES):
            if self.here.gain <= LARGE_GAIN or not self.refresh():
                return
            self.trace.append(self.here.value)

    def refresh(self) -> bool:
        """Evaluate again at the same point, with the updated latent state."""
        again = self.try_point(self.x, careful=True)
        if again is None or again.value < self.here.value - VALUE_ROUNDING * max(1.0, abs(self.here.value)):
            return False
        self.move(self.x, again)
        return True

    def step(self) -> bool:
        """Take one step uphill; False if there is none."""
        direction, length = self.direction(), 1.0
        for attempt in range(LINE_SEARCH_TRIES):
            target = np.clip(self.x + length * direction, self.lower, self.upper)
            step = target - self.x
            if not step.any():
                return False
            there = self.try_point(target, careful=attempt > 0)
            slope = float(self.here.gradient @ step)
            if there is None:
                length *= 0.25
            elif self.acceptable(there, step, slope):
                self.learn(step, self.here.gradient - there.gradient)
                self.move(target, there)
                self.confirmed = False
                return True
            else:
                length *= _interpolate(self.here.value, slope, there.value)
        return False

    def acceptable(self, there: Evaluation[C], step: FloatArray, slope: float) -> bool:
        """A sufficient increase; or, where the value is flat to rounding, a sufficient fall of the slope.

        The second is the approximate Wolfe condition of Hager and Zhang (2005): near an optimum
        of an ill-conditioned problem gradients can still be trusted when differences cannot.
        """
        if there.value >= self.here.value + SUFFICIENT_INCREASE * max(slope, 0.0):
            return True
        flat = there.value >= self.here.value - VALUE_ROUNDING * max(1.0, abs(self.here.value))
        return flat and abs(float(there.gradient @ step)) <= SLOPE_FALL * slope

    def free(self) -> BoolArray:
        """Parameters that are not held at a bound by the gradient."""
        g = self.here.gradient
        return ~(((self.x <= self.lower) & (g < 0.0)) | ((self.x >= self.upper) & (g > 0.0)))

    def scaled_gradient_norm(self) -> float:
        """Largest entry of the gradient among the free parameters, relative to its goal."""
        scaled = self.here.gradient / self.goal()
        return float(np.abs(np.where(self.free(), scaled, 0.0)).max(initial=0.0))

    def goal(self) -> FloatArray:
        """Required size of each derivative, in units of the tolerance."""
        flatness = self.here.flatness
        return np.ones_like(self.x) if flatness is None else np.clip(flatness.goal, LEAST_STRENGTH, 1.0)

    def strength(self) -> FloatArray:
        """Factors to which derivatives and curvature are proportional."""
        flatness = self.here.flatness
        return np.ones_like(self.x) if flatness is None else np.clip(flatness.strength, LEAST_STRENGTH, 1.0)

    def move(self, x: FloatArray, there: Evaluation[C]) -> None:
        """Move to a point, and rescale the curvature that was learned by the change of strength."""
        before = self.strength()
        self.x, self.here = x, there
        if self.hessian is not None:
            root = np.sqrt(self.strength() / before)
            self.hessian = root[:, None] * self.hessian * root

    def direction(self) -> FloatArray:
        """The quasi-Newton step among the free parameters, no longer than allowed."""
        free, g = self.free(), self.here.gradient
        step = np.zeros_like(g)
        if self.hessian is not None:
            try:
                step[free] = solve_positive(self.hessian[np.ix_(free, free)], g[free])
            except NotPositiveDefiniteError:
                # Rounding errors have spoiled the curvature: discard it.
                self.hessian = None
        if self.hessian is None:
            step[free] = (g / self.strength())[free]
        size = float(np.abs(step).max(initial=0.0))
        longest = FIRST_STEP if self.hessian is None else LONGEST_STEP
        return step * (longest / size) if size > longest or self.hessian is None else step

    def try_point(self, x: FloatArray, *, careful: bool) -> Evaluation[C] | None:
        """Evaluate, or report a rejected point."""
        self.n_evaluations += 1
        fallback = self.here.fallback
        return evaluate(self.objective, x, fallback if careful and fallback is not None else self.here.carry)

    def learn(self, step: FloatArray, fall: FloatArray) -> None:
        """BFGS update of the negative Hessian from a step and the fall of the gradient along it."""
        curvature = float(step @ fall)
        if self.hessian is None:
            scale = curvature / float(step @ step)
            if scale <= 0.0:
                scale = float(np.linalg.norm(self.here.gradient)) / FIRST_STEP
            self.hessian = np.diag(scale * self.strength())
        pushed = self.hessian @ step
        expected = float(step @ pushed)
        if curvature < 0.2 * expected:
            # Powell's damping: the model stays positive definite where the objective is not concave.
            damping = 0.8 * expected / (expected - curvature)
            fall = damping * fall + (1.0 - damping) * pushed
            curvature = float(step @ fall)
        self.hessian = self.hessian + np.outer(fall, fall) / curvature - np.outer(pushed, pushed) / expected

    def report(self, tol: float) -> Step:
        """Report the current state to a callback."""
        excess = self.scaled_gradient_norm() / tol if tol > 0.0 else np.inf
        return Step(self.here.value, excess, self.result(Status.STOPPED))

    def result(self, status: Status) -> Optimum[C]:
        """Return the current state as an optimum."""
        here = self.here
        return Optimum(
            x=self.x,
            value=here.value,
            gradient=here.gradient,
            carry=here.carry,
            status=status,
            n_iter=self.n_iter,
            n_evaluations=self.n_evaluations,
            trace=tuple(self.trace),
            curvature=self.hessian,
        )


def evaluate(objective: Objective[C], x: FloatArray, carry: C) -> Evaluation[C] | None:
    """Evaluate the objective; None where it cannot be evaluated."""
    try:
        evaluation = objective(x, carry)
    except NotPositiveDefiniteError:
        return None
    finite = np.isfinite(evaluation.value) and np.isfinite(evaluation.gradient).all()
    return evaluation if finite else None


def _interpolate(value: float, slope: float, reached: float) -> float:
    """Step factor to the top of the parabola through value and slope here and the value there, clipped."""
    drop = value + slope - reached
    return float(np.clip(0.5 * slope / drop, 0.1, 0.5)) if drop > 0.0 else 0.5
