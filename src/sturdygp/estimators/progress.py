"""What is heard of a fit while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, log
from typing import TypeAlias

from sturdygp.optimise import Step


@dataclass(frozen=True)
class Progress:
    """How far a fit is.

    Attributes
    ----------
    output : int
        The column of y.
    iteration : int
        Iterations with all readings so far, in all climbs.
    bound : float
        The highest bound so far, or evidence, for scaled targets. It may fall where a method goes on with
        another objective: Student-t from variational Bayes to what is asked for, RCGP with new weights.
    seconds : float
        Time since the first of these iterations.
    seconds_left : float or None
        A rough estimate: derivatives fall by about the same factor with each iteration. None while
        nothing is known.
    """

    output: int
    iteration: int
    bound: float
    seconds: float
    seconds_left: float | None

    def __str__(self) -> str:
        """One line."""
        left = "" if self.seconds_left is None else f", about {self.seconds_left:.0f} s left"
        return f"output {self.output}: iteration {self.iteration}, bound {self.bound:.6f}{left}"


# If it answers True, the fit ends there.
FitCallback: TypeAlias = Callable[[Progress], bool | None]


@dataclass
class Pace:
    """The time that one output still needs."""

    output: int
    clock: Callable[[], float] = time.monotonic
    began: float | None = None
    most: float = field(default=-inf)
    iterations: int = 0

    def progress(self, step: Step) -> Progress:
        """What to tell of a step.

        Examples
        --------
        >>> pace = Pace(0, clock=iter([10.0, 12.0]).__next__)
        >>> print(pace.progress(Step(-50.0, 1e4)))
        output 0: iteration 1, bound -50.000000
        >>> print(pace.progress(Step(-40.0, 1e2)))
        output 0: iteration 2, bound -40.000000, about 2 s left
        """
        now = self.clock()
        if self.began is None:
            self.began = now
        self.iterations += 1
        if step.excess < inf:
            self.most = max(self.most, step.excess)
        seconds = now - self.began
        return Progress(self.output, self.iterations, step.value, seconds, self._left(seconds, step.excess))

    def _left(self, seconds: float, excess: float) -> float | None:
        if excess <= 1.0:
            return 0.0
        return seconds * log(excess) / log(self.most / excess) if excess < self.most else None
