"""What residuals tell of the noise: the likeliest nominal share, and the likeliest noise along a design."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log, sqrt
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals, Posterior
from sturdygp.gp.sites import LOG_2PI, TINY
from sturdygp.linalg import solve_positive
from sturdygp.methods.adaptive.likelihood import BranchLikelihood
from sturdygp.methods.adaptive.model import MOST_NOMINAL
from sturdygp.methods.base import LEAST_NOISE
from sturdygp.methods.noise_profile import LEAST_SHARE

# Scale of the Cauchy density of each coefficient but the constant, before the data are looked at: most are
# small, but noise may grow a hundredfold.
BEND = sqrt(2.0)
# Steps towards the best noise, how far one goes, halvings of each, and nats below which they end.
STEPS, LONGEST, HALVINGS, ENOUGH = 30, 2.0, 6, 0.05
# The nominal share where all readings are trusted.
TRUSTING = 0.99
# Precision of the constant, which may be anything.
FREE = 1e-9


@dataclass(frozen=True, eq=False)
class Noise:
    """The nominal share, and the logarithm of the nominal variance: coefficients of the rows of a design.

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
        """At each reading, with a small share of the largest everywhere."""
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
class Pull:
    """Where the likelihood of the noise pulls, reading by reading: by its logarithm, with the information.

    ``nominal`` are the probabilities to be nominal.
    """

    nominal: FloatArray
    gradient: FloatArray
    information: FloatArray

    def step(self, noise: Noise, design: FloatArray) -> FloatArray:
        """A step of Fisher scoring, or a part of it: few nominal readings would be stepped far beyond."""
        slopes = noise.slopes(design)
        gradient = slopes @ self.gradient - noise.held * noise.coefficients
        step = solve_positive((self.information * slopes) @ slopes.T + np.diag(noise.held), gradient)
        return np.asarray(step * LONGEST / max(np.abs(step).max(), LONGEST))

    def promise(self, design: FloatArray) -> float:
        """What a step may gain, to judge by how the gradient scatters, to which faults add."""
        gradient = design @ self.gradient
        scatter = (self.gradient**2 * design) @ design.T
        return 0.5 * float(gradient @ solve_positive(scatter + FREE * np.eye(len(design)), gradient))


@dataclass(frozen=True, eq=False)
class Residuals:
    """Squared distances of readings from the function, its variance there, and log densities as faults."""

    squared: FloatArray
    variance: FloatArray
    as_fault: FloatArray

    @classmethod
    def left_out(cls, y: FloatArray, posterior: Posterior, likelihood: BranchLikelihood) -> Self | None:
        """From where all other readings leave the function; None if they leave it nowhere."""
        others = posterior.leave_one_out()
        if not np.isfinite(others.mean).all():
            return None
        by_cell = likelihood.tilted(y, others).log_joint[:, 1:]
        as_fault = np.logaddexp.reduce(by_cell, axis=1) - log(1.0 - likelihood.nominal)
        return cls((y - others.mean) ** 2, others.variance, as_fault)

    @classmethod
    def expected(cls, y: FloatArray, marginals: Marginals, likelihood: BranchLikelihood) -> Self:
        """As the bound sees them: in expectation, and so are the log densities."""
        variance, shift = likelihood.variance[0, 1:], likelihood.shift[1:]
        by_cell = ((y - marginals.mean)[:, None] - shift) ** 2 + marginals.variance[:, None]
        by_cell = -0.5 * (LOG_2PI + np.log(variance) + by_cell / variance)
        as_fault = np.logaddexp.reduce(by_cell, axis=1) - log(shift.size)
        return cls(marginals.second_moment(y), np.zeros_like(y), as_fault)

    @property
    def trusting(self) -> Noise:
        """Noise that is the same everywhere and explains all readings."""
        return Noise(TRUSTING, np.array([log(float(np.mean(self.squared)) + TINY)]))

    def log_joint(self, share: float, variance: FloatArray) -> FloatArray:
        """Log density of each reading: as a nominal one with this variance, and as a fault; and so shared."""
        total = self.variance + variance
        nominal = -0.5 * (LOG_2PI + np.log(total) + self.squared / total)
        return np.stack([log(share) + nominal, log(1.0 - share) + self.as_fault])

    def log_density(self, noise: Noise, design: FloatArray) -> float:
        """Of all readings, and of the bend."""
        log_joint = self.log_joint(noise.share, noise.variance(design))
        return float(np.logaddexp(*log_joint).sum()) + noise.log_density

    def pull(self, noise: Noise, design: FloatArray) -> Pull:
        """Derivatives of that."""
        variance = noise.variance(design)
        log_joint = self.log_joint(noise.share, variance)
        nominal = np.exp(log_joint[0] - np.logaddexp(*log_joint))
        total = self.variance + variance
        weight, response = 0.5 * nominal, variance / total
        return Pull(nominal, weight * response * (self.squared / total - 1.0), weight * response**2)

    def likeliest(self, noise: Noise, design: FloatArray) -> tuple[Noise, float]:
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

    def _further(self, noise: Noise, design: FloatArray, value: float) -> tuple[Noise, float] | None:
        """A step that is as long as it may be to gain something; None if none does."""
        pull = self.pull(noise, design)
        step = pull.step(noise, design)
        share = float(np.clip(pull.nominal.mean(), 1.0 - MOST_NOMINAL, MOST_NOMINAL))
        noise, most = replace(noise, share=share), log(float(self.squared.max()) + 1.0)
        for halvings in range(HALVINGS):
            nearer = noise.moved(0.5**halvings * step, most)
            there = self.log_density(nearer, design)
            if there > value:
                return nearer, there
        return None
