"""Heteroscedastic noise: along what residuals say that it changes, and how much better that fits.

Observations with large noise look like outliers to a model of the same noise for all. What tells is how
residuals are spread along an input, or along the function value.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Self

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.gp.posterior import Marginals, Posterior
from sturdygp.gp.sites import LOG_2PI, TINY
from sturdygp.inference.problem import Problem
from sturdygp.likelihoods.base import LEAST_NOISE
from sturdygp.likelihoods.contamination import MOST_INLIERS, FittedContamination
from sturdygp.likelihoods.heteroscedastic import BENDS, LEAST_SHARE, Ranks, bends, input_at
from sturdygp.linalg.cholesky import solve_positive

# Scale of the Cauchy density of each coefficient but the constant, a priori: most are
# small, but noise may grow a hundredfold.
BEND = sqrt(2.0)
# Steps towards the best noise, how far one goes, halvings of each, and nats below which they end.
STEPS, LONGEST, HALVINGS, ENOUGH = 30, 2.0, 6, 0.05
# The fraction of inliers where all observations are trusted.
TRUSTING_FRACTION = 0.99
# Precision of the constant, which may be anything.
FREE = 1e-9


@dataclass(frozen=True, eq=False)
class NoiseParameters:
    """The fraction of inliers, and the logarithm of their variance: coefficients of the rows of a design.

    The first row is one everywhere; in the others the logarithm bends.
    """

    share: float
    coefficients: FloatArray

    @property
    def log_density(self) -> float:
        """That of the bend."""
        return -float(np.log1p((self.coefficients[1:] / BEND) ** 2).sum())

    @property
    def held(self) -> FloatArray:
        """Precision with which that density holds each coefficient; the constant hardly at all."""
        return np.append(FREE, 2.0 / (BEND**2 + self.coefficients[1:] ** 2))

    def moved(self, step: FloatArray, most: float) -> Self:
        """The same further along; the constant no larger than that, nor less than any noise."""
        coefficients = self.coefficients + step
        coefficients[0] = np.clip(coefficients[0], 2.0 * log(LEAST_NOISE), most)
        return type(self)(self.share, coefficients)

    def variance(self, design: FloatArray) -> FloatArray:
        """At each observation, with a small share of the largest everywhere."""
        bent = np.exp(self.coefficients @ design)
        return np.asarray((bent + LEAST_SHARE * bent.max()) / (1.0 + LEAST_SHARE))

    def slopes(self, design: FloatArray) -> FloatArray:
        """Derivatives of its logarithm by the coefficients."""
        bent = np.exp(self.coefficients @ design)
        top = int(np.argmax(bent))
        least = LEAST_SHARE * bent[top]
        return np.asarray((bent * design + least * design[:, [top]]) / (bent + least))

    def bending(self, rows: int) -> Self:
        """The same for a design with further rows."""
        return type(self)(self.share, np.append(self.coefficients, np.zeros(rows)))


@dataclass(frozen=True, eq=False)
class FisherInformation:
    """Gradient of the likelihood by the log noise variance of each observation, and its Fisher information.

    ``inlier`` are the probabilities to be an inlier.
    """

    inlier: FloatArray
    gradient: FloatArray
    information: FloatArray

    def step(self, noise: NoiseParameters, design: FloatArray) -> FloatArray:
        """A step of Fisher scoring, no longer than allowed: few inliers would be stepped far beyond."""
        slopes = noise.slopes(design)
        gradient = slopes @ self.gradient - noise.held * noise.coefficients
        step = solve_positive((self.information * slopes) @ slopes.T + np.diag(noise.held), gradient)
        return np.asarray(step * LONGEST / max(np.abs(step).max(), LONGEST))

    def promise(self, design: FloatArray) -> float:
        """What a step may gain, to judge by how the gradient scatters, to which outliers add."""
        gradient = design @ self.gradient
        scatter = (self.gradient**2 * design) @ design.T
        return 0.5 * float(gradient @ solve_positive(scatter + FREE * np.eye(len(design)), gradient))


@dataclass(frozen=True, eq=False)
class Residuals:
    """Squared distances from the function, its variance there, and log densities as outliers."""

    squared: FloatArray
    variance: FloatArray
    as_outlier: FloatArray

    @classmethod
    def left_out(cls, y: FloatArray, posterior: Posterior, likelihood: FittedContamination) -> Self | None:
        """From where all other observations leave the function; None if they leave it nowhere."""
        others = posterior.leave_one_out()
        if not np.isfinite(others.mean).all():
            return None
        by_cell = likelihood.tilted(y, others).log_joint[:, 1:]
        as_outlier = np.logaddexp.reduce(by_cell, axis=1) - log(1.0 - likelihood.inlier_weight)
        return cls((y - others.mean) ** 2, others.variance, as_outlier)

    @classmethod
    def expected(cls, y: FloatArray, marginals: Marginals, likelihood: FittedContamination) -> Self:
        """As the ELBO sees them: in expectation, and so are the log densities."""
        variance, shift = likelihood.variance[0, 1:], likelihood.shift[1:]
        by_cell = ((y - marginals.mean)[:, None] - shift) ** 2 + marginals.variance[:, None]
        by_cell = -0.5 * (LOG_2PI + np.log(variance) + by_cell / variance)
        as_outlier = np.logaddexp.reduce(by_cell, axis=1) - log(shift.size)
        return cls(marginals.second_moment(y), np.zeros_like(y), as_outlier)

    @property
    def trusting(self) -> NoiseParameters:
        """NoiseParameters that is the same everywhere and explains all observations."""
        return NoiseParameters(TRUSTING_FRACTION, np.array([log(float(np.mean(self.squared)) + TINY)]))

    def log_joint(self, share: float, variance: FloatArray) -> FloatArray:
        """Log density of each observation: as an inlier with this variance, and as an outlier."""
        total = self.variance + variance
        inlier = -0.5 * (LOG_2PI + np.log(total) + self.squared / total)
        return np.stack([log(share) + inlier, log(1.0 - share) + self.as_outlier])

    def log_density(self, noise: NoiseParameters, design: FloatArray) -> float:
        """Of all observations, and of the bend."""
        log_joint = self.log_joint(noise.share, noise.variance(design))
        return float(np.logaddexp(*log_joint).sum()) + noise.log_density

    def information(self, noise: NoiseParameters, design: FloatArray) -> FisherInformation:
        """Derivatives of that."""
        variance = noise.variance(design)
        log_joint = self.log_joint(noise.share, variance)
        inlier = np.exp(log_joint[0] - np.logaddexp(*log_joint))
        total = self.variance + variance
        weight, response = 0.5 * inlier, variance / total
        return FisherInformation(
            inlier, weight * response * (self.squared / total - 1.0), weight * response**2
        )

    def likeliest(self, noise: NoiseParameters, design: FloatArray) -> tuple[NoiseParameters, float]:
        """The likeliest noise from there, and its log density."""
        value = self.log_density(noise, design)
        for _ in range(STEPS):
            further = self._further(noise, design, value)
            if further is None:
                break
            gained, (noise, value) = further[1] - value, further
            if gained < ENOUGH:
                break
        return noise, value

    def _further(
        self, noise: NoiseParameters, design: FloatArray, value: float
    ) -> tuple[NoiseParameters, float] | None:
        """A step that is as long as it may be to gain something; None if none does."""
        information = self.information(noise, design)
        step = information.step(noise, design)
        share = float(np.clip(information.inlier.mean(), 1.0 - MOST_INLIERS, MOST_INLIERS))
        noise, most = replace(noise, share=share), log(float(self.squared.max()) + 1.0)
        for halvings in range(HALVINGS):
            nearer = noise.moved(0.5**halvings * step, most)
            there = self.log_density(nearer, design)
            if there > value:
                return nearer, there
        return None


# A variance function is sought where the first step promises this share of what it costs.
PROMISING = 0.4
# Observations that are inliers with a higher probability are trusted.
TRUSTED = 0.5


@dataclass(frozen=True, eq=False)
class Axis:
    """What noise may change with: the input ``along``, or the function value if there is none.

    The design has a row of ones, then the slope and the curve of the observations' ranks.
    """

    along: int | None
    ranks: Ranks
    design: FloatArray

    @classmethod
    def of(cls, along: int | None, values: FloatArray) -> Self:
        """With these values at the observations."""
        ranks = Ranks.of(values)
        return cls(along, ranks, np.vstack([np.ones_like(values), bends(ranks(values))]))


@dataclass(frozen=True, eq=False)
class Heteroscedasticity:
    """Noise along an axis, its cost in nats, and what it gains beyond that; the observations it trusts."""

    axis: Axis
    noise: NoiseParameters
    trusted: BoolArray
    cost: float
    gain: float

    @classmethod
    def of(cls, problem: Problem, posterior: Posterior, likelihood: FittedContamination) -> Self | None:
        """Find the noise that describes residuals best, if it beats constant noise by its cost.

        Half a log of the number of observations for each coefficient, and a log of the number of axes.
        """
        residuals = Residuals.left_out(problem.y, posterior, likelihood)
        if residuals is None:
            return None
        axes, constant = axes_of(problem, posterior), np.ones((1, problem.y.size))
        cost = 0.5 * BENDS * log(problem.y.size) + log(len(axes))
        starts = (
            NoiseParameters(likelihood.inlier_weight, np.array([log(likelihood.noise)])),
            residuals.trusting,
        )
        promised = [(start, promising(residuals, start, axes, cost)) for start in starts]
        if all(axis is None for _, axis in promised):
            return None
        without = max(residuals.likeliest(start, constant)[1] for start in starts)
        found = [
            (axis, *residuals.likeliest(start.bending(BENDS), axis.design))
            for start, axis in promised
            if axis is not None
        ]
        axis, noise, value = max(found, key=lambda each: each[-1])
        gain = value - without - cost
        trusted = residuals.information(noise, axis.design).inlier > TRUSTED
        return cls(axis, noise, trusted, cost, gain) if gain > 0.0 else None


def axes_of(problem: Problem, posterior: Posterior) -> list[Axis]:
    """The function value, and all inputs that are not the same everywhere."""
    inputs = [(index, input_at(problem.X, index)) for index in range(problem.X.shape[1])]
    values = [(None, posterior.marginals().mean), *(each for each in inputs if np.ptp(each[1]) > 0.0)]
    return [Axis.of(along, at) for along, at in values]


def promising(residuals: Residuals, noise: NoiseParameters, axes: list[Axis], cost: float) -> Axis | None:
    """The axis that promises most where the noise is constant; None if that is little beside the cost."""
    constant = axes[0].design[:1]
    information = residuals.information(noise, constant)
    promises = [information.promise(axis.design) for axis in axes]
    most = int(np.argmax(promises))
    return axes[most] if promises[most] - information.promise(constant) > PROMISING * cost else None
