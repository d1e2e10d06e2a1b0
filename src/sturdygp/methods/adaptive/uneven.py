"""Noise that is not the same everywhere: along what it changes, and how much better that describes readings.

Readings with large noise look like faults to a model of the same noise for all. What tells is how residuals
are spread along an input, or along the level of the function.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Self

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.gp.posterior import Posterior
from sturdygp.methods.adaptive.likelihood import BranchLikelihood
from sturdygp.methods.adaptive.residuals import Noise, Residuals
from sturdygp.methods.base import Problem
from sturdygp.methods.noise_profile import BENDS, Ranks, bends, input_at

# A profile is sought where the first step promises this share of what it costs.
PROMISING = 0.4
# Readings that are nominal with a higher probability are trusted.
TRUSTED = 0.5


@dataclass(frozen=True, eq=False)
class Axis:
    """What noise may change with: the input ``along``, or the level of the function if there is none.

    The design has a row of ones, then the slope and the curve of the readings' ranks.
    """

    along: int | None
    ranks: Ranks
    design: FloatArray

    @classmethod
    def of(cls, along: int | None, values: FloatArray) -> Self:
        """With these values at the readings."""
        ranks = Ranks.of(values)
        return cls(along, ranks, np.vstack([np.ones_like(values), bends(ranks(values))]))


@dataclass(frozen=True, eq=False)
class Unevenness:
    """Noise along an axis, its cost in nats, and what it gains beyond that; the readings it trusts."""

    axis: Axis
    noise: Noise
    trusted: BoolArray
    cost: float
    gain: float

    @classmethod
    def of(cls, problem: Problem, posterior: Posterior, likelihood: BranchLikelihood) -> Self | None:
        """That which describes the residuals best, if it does so better than even noise by its cost.

        Half a log of the number of readings for each coefficient, and a log of the number of axes.
        """
        residuals = Residuals.left_out(problem.y, posterior, likelihood)
        if residuals is None:
            return None
        axes, even = axes_of(problem, posterior), np.ones((1, problem.y.size))
        cost = 0.5 * BENDS * log(problem.y.size) + log(len(axes))
        starts = (Noise(likelihood.nominal, np.array([log(likelihood.noise)])), residuals.trusting)
        promised = [(start, promising(residuals, start, axes, cost)) for start in starts]
        if all(axis is None for _, axis in promised):
            return None
        without = max(residuals.likeliest(start, even)[1] for start in starts)
        found = [
            (axis, *residuals.likeliest(start.bending(BENDS), axis.design))
            for start, axis in promised
            if axis is not None
        ]
        axis, noise, value = max(found, key=lambda each: each[-1])
        gain = value - without - cost
        trusted = residuals.pull(noise, axis.design).nominal > TRUSTED
        return cls(axis, noise, trusted, cost, gain) if gain > 0.0 else None


def axes_of(problem: Problem, posterior: Posterior) -> list[Axis]:
    """The level of the function, and all inputs that are not the same everywhere."""
    inputs = [(index, input_at(problem.X, index)) for index in range(problem.X.shape[1])]
    values = [(None, posterior.marginals().mean), *(each for each in inputs if np.ptp(each[1]) > 0.0)]
    return [Axis.of(along, at) for along, at in values]


def promising(residuals: Residuals, noise: Noise, axes: list[Axis], cost: float) -> Axis | None:
    """The axis that promises most where the noise is even; None if that is little beside the cost."""
    even = axes[0].design[:1]
    pull = residuals.pull(noise, even)
    promises = [pull.promise(axis.design) for axis in axes]
    most = int(np.argmax(promises))
    return axes[most] if promises[most] - pull.promise(even) > PROMISING * cost else None
