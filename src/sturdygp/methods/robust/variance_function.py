"""Heteroscedastic noise: the axis along which residuals change, and the gain of a variance function.

Under homoscedastic noise, observations with large noise pass for outliers. Residuals along an input, or along
the function value, distinguish the two.
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
from sturdygp.likelihoods.heteroscedastic import BENDS, LEAST_RELATIVE_VARIANCE, Ranks, bends, input_at
from sturdygp.linalg.cholesky import solve_positive

# Scale of the Cauchy prior of each coefficient but the constant: most are small, but noise may grow a
# hundredfold.
BEND_SCALE = sqrt(2.0)
# Fisher scoring: most steps, longest step, halvings of each, and the gain in nats below which it ends.
SCORING_STEPS, LONGEST_SCORING_STEP, SCORING_HALVINGS, SCORING_GAIN = 30, 2.0, 6, 0.05
# Initial fraction of inliers where nearly all observations are trusted.
TRUSTING_FRACTION = 0.99
# Prior precision of the constant: nearly none.
FREE_PRECISION = 1e-9


@dataclass(frozen=True, eq=False)
class NoiseParameters:
    """Inlier weight, and coefficients of the log noise variance for the rows of a design.

    The first row of a design is one everywhere, the others are the polynomials of the variance function.
    """

    inlier_weight: float
    coefficients: FloatArray

    @property
    def log_density(self) -> float:
        """Log prior density of the coefficients but the constant."""
        return -float(np.log1p((self.coefficients[1:] / BEND_SCALE) ** 2).sum())

    @property
    def prior_precision(self) -> FloatArray:
        """Precision of a normal approximation to that density; hardly any for the constant."""
        return np.append(FREE_PRECISION, 2.0 / (BEND_SCALE**2 + self.coefficients[1:] ** 2))

    def moved(self, step: FloatArray, most: float) -> Self:
        """Move the coefficients by a step; the constant stays between the least noise and ``most``."""
        coefficients = self.coefficients + step
        coefficients[0] = np.clip(coefficients[0], 2.0 * log(LEAST_NOISE), most)
        return type(self)(self.inlier_weight, coefficients)

    def variance(self, design: FloatArray) -> FloatArray:
        """Noise variance at each observation, with a small fraction of the largest everywhere."""
        bent = np.exp(self.coefficients @ design)
        return np.asarray((bent + LEAST_RELATIVE_VARIANCE * bent.max()) / (1.0 + LEAST_RELATIVE_VARIANCE))

    def slopes(self, design: FloatArray) -> FloatArray:
        """Derivatives of the log noise variance by the coefficients."""
        bent = np.exp(self.coefficients @ design)
        top = int(np.argmax(bent))
        least = LEAST_RELATIVE_VARIANCE * bent[top]
        return np.asarray((bent * design + least * design[:, [top]]) / (bent + least))

    def extended(self, rows: int) -> Self:
        """Add zero coefficients for further rows of a design."""
        return type(self)(self.inlier_weight, np.append(self.coefficients, np.zeros(rows)))


@dataclass(frozen=True, eq=False)
class FisherInformation:
    """Gradient of the log likelihood by the log noise variance of each observation, and Fisher information.

    ``inlier`` are the probabilities of being an inlier.
    """

    inlier: FloatArray
    gradient: FloatArray
    information: FloatArray

    def step(self, noise: NoiseParameters, design: FloatArray) -> FloatArray:
        """Step of Fisher scoring, no longer than allowed: with few inliers it would overshoot."""
        slopes = noise.slopes(design)
        gradient = slopes @ self.gradient - noise.prior_precision * noise.coefficients
        step = solve_positive(
            (self.information * slopes) @ slopes.T + np.diag(noise.prior_precision), gradient
        )
        return np.asarray(step * LONGEST_SCORING_STEP / max(np.abs(step).max(), LONGEST_SCORING_STEP))

    def score_statistic(self, design: FloatArray) -> float:
        """Half of the score test statistic, with the scatter of the gradient for its covariance."""
        gradient = design @ self.gradient
        scatter = (self.gradient**2 * design) @ design.T
        return 0.5 * float(
            gradient @ solve_positive(scatter + FREE_PRECISION * np.eye(len(design)), gradient)
        )


@dataclass(frozen=True, eq=False)
class Residuals:
    """Squared residuals, variances of the function, and log densities as outliers."""

    squared: FloatArray
    variance: FloatArray
    as_outlier: FloatArray

    @classmethod
    def left_out(cls, y: FloatArray, posterior: Posterior, likelihood: FittedContamination) -> Self | None:
        """Leave-one-out residuals; None if they are not finite."""
        others = posterior.leave_one_out()
        if not np.isfinite(others.mean).all():
            return None
        by_component = likelihood.tilted(y, others).log_joint[:, 1:]
        as_outlier = np.logaddexp.reduce(by_component, axis=1) - log(1.0 - likelihood.inlier_weight)
        return cls((y - others.mean) ** 2, others.variance, as_outlier)

    @classmethod
    def expected(cls, y: FloatArray, marginals: Marginals, likelihood: FittedContamination) -> Self:
        """Expected squared residuals and log densities, as in the ELBO."""
        variance, shift = likelihood.variance[0, 1:], likelihood.shift[1:]
        by_component = ((y - marginals.mean)[:, None] - shift) ** 2 + marginals.variance[:, None]
        by_component = -0.5 * (LOG_2PI + np.log(variance) + by_component / variance)
        as_outlier = np.logaddexp.reduce(by_component, axis=1) - log(shift.size)
        return cls(marginals.second_moment(y), np.zeros_like(y), as_outlier)

    @property
    def trusting(self) -> NoiseParameters:
        """Homoscedastic noise that explains nearly all observations."""
        return NoiseParameters(TRUSTING_FRACTION, np.array([log(float(np.mean(self.squared)) + TINY)]))

    def log_joint(self, inlier_weight: float, variance: FloatArray) -> FloatArray:
        """Log joint density of each observation with being an inlier of this variance, and an outlier."""
        total = self.variance + variance
        inlier = -0.5 * (LOG_2PI + np.log(total) + self.squared / total)
        return np.stack([log(inlier_weight) + inlier, log(1.0 - inlier_weight) + self.as_outlier])

    def log_density(self, noise: NoiseParameters, design: FloatArray) -> float:
        """Log density of all observations and of the coefficients."""
        log_joint = self.log_joint(noise.inlier_weight, noise.variance(design))
        return float(np.logaddexp(*log_joint).sum()) + noise.log_density

    def information(self, noise: NoiseParameters, design: FloatArray) -> FisherInformation:
        """Gradient and Fisher information of the log density of observations."""
        variance = noise.variance(design)
        log_joint = self.log_joint(noise.inlier_weight, variance)
        inlier = np.exp(log_joint[0] - np.logaddexp(*log_joint))
        total = self.variance + variance
        weight, response = 0.5 * inlier, variance / total
        return FisherInformation(
            inlier, weight * response * (self.squared / total - 1.0), weight * response**2
        )

    def likeliest(self, noise: NoiseParameters, design: FloatArray) -> tuple[NoiseParameters, float]:
        """Maximise the log density by Fisher scoring; also return its value."""
        value = self.log_density(noise, design)
        for _ in range(SCORING_STEPS):
            further = self._further(noise, design, value)
            if further is None:
                break
            gained, (noise, value) = further[1] - value, further
            if gained < SCORING_GAIN:
                break
        return noise, value

    def _further(
        self, noise: NoiseParameters, design: FloatArray, value: float
    ) -> tuple[NoiseParameters, float] | None:
        """Take the longest halving of a scoring step that gains; None if none does."""
        information = self.information(noise, design)
        step = information.step(noise, design)
        inlier_weight = float(np.clip(information.inlier.mean(), 1.0 - MOST_INLIERS, MOST_INLIERS))
        noise, most = replace(noise, inlier_weight=inlier_weight), log(float(self.squared.max()) + 1.0)
        for halvings in range(SCORING_HALVINGS):
            nearer = noise.moved(0.5**halvings * step, most)
            there = self.log_density(nearer, design)
            if there > value:
                return nearer, there
        return None


# Least gain promised by the score statistic, as a fraction of the penalty, for a variance function to be
# fitted.
PROMISING = 0.4
# Inlier probability above which observations are trusted.
TRUSTED = 0.5


@dataclass(frozen=True, eq=False)
class Axis:
    """Axis along which noise may change: the input ``along``, or the function value if that is None.

    The design has a row of ones, then the polynomials of the observations' ranks.
    """

    along: int | None
    ranks: Ranks
    design: FloatArray

    @classmethod
    def of(cls, along: int | None, values: FloatArray) -> Self:
        """Build the axis from its values at the observations."""
        ranks = Ranks.of(values)
        return cls(along, ranks, np.vstack([np.ones_like(values), bends(ranks(values))]))


@dataclass(frozen=True, eq=False)
class Heteroscedasticity:
    """Noise along an axis, trusted observations, its penalty in nats, and its gain beyond that."""

    axis: Axis
    noise: NoiseParameters
    trusted: BoolArray
    cost: float
    gain: float

    @classmethod
    def of(cls, problem: Problem, posterior: Posterior, likelihood: FittedContamination) -> Self | None:
        """Find the noise that describes residuals best; None unless it beats constant noise by its penalty.

        The penalty is half a log of the number of observations for each coefficient, plus a log of the number
        of axes.
        """
        residuals = Residuals.left_out(problem.y, posterior, likelihood)
        if residuals is None:
            return None
        axes, constant = axes_of(problem, posterior), np.ones((1, problem.y.size))
        cost = 0.5 * BENDS * log(problem.y.size) + log(len(axes))
        initial_noises = (
            NoiseParameters(likelihood.inlier_weight, np.array([log(likelihood.noise)])),
            residuals.trusting,
        )
        promised = [(initial, promising(residuals, initial, axes, cost)) for initial in initial_noises]
        if all(axis is None for _, axis in promised):
            return None
        without = max(residuals.likeliest(initial, constant)[1] for initial in initial_noises)
        found = [
            (axis, *residuals.likeliest(initial.extended(BENDS), axis.design))
            for initial, axis in promised
            if axis is not None
        ]
        axis, noise, value = max(found, key=lambda each: each[-1])
        gain = value - without - cost
        trusted = residuals.information(noise, axis.design).inlier > TRUSTED
        return cls(axis, noise, trusted, cost, gain) if gain > 0.0 else None


def axes_of(problem: Problem, posterior: Posterior) -> list[Axis]:
    """Axes of the function value and of all inputs that are not constant."""
    inputs = [(index, input_at(problem.X, index)) for index in range(problem.X.shape[1])]
    values = [(None, posterior.marginals().mean), *(each for each in inputs if np.ptp(each[1]) > 0.0)]
    return [Axis.of(along, at) for along, at in values]


def promising(residuals: Residuals, noise: NoiseParameters, axes: list[Axis], cost: float) -> Axis | None:
    """Axis with the largest score statistic under constant noise; None if it is small for the penalty."""
    constant = axes[0].design[:1]
    information = residuals.information(noise, constant)
    promises = [information.score_statistic(axis.design) for axis in axes]
    most = int(np.argmax(promises))
    return axes[most] if promises[most] - information.score_statistic(constant) > PROMISING * cost else None
