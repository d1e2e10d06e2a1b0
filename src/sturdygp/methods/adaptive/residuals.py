"""What residuals tell of the noise: the likeliest nominal share, and the likeliest noise along a design."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Self

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.posterior import Marginals, Posterior
from sturdygp.gp.sites import LOG_2PI, TINY
from sturdygp.linalg import solve_positive
from sturdygp.methods.adaptive.likelihood import BranchLikelihood
from sturdygp.methods.adaptive.model import MOST_NOMINAL

# Standard deviation of each coefficient but the constant before the data are looked at.
BEND = 1.0
# Steps towards the best noise, halvings of each, and nats below which they end.
STEPS, HALVINGS, ENOUGH = 30, 6, 0.05
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
        bend = self.coefficients[1:]
        return -0.5 * float(bend @ bend) / BEND**2

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
        """A step of Fisher scoring."""
        held = np.append(FREE, np.full(len(design) - 1, BEND**-2))
        gradient = design @ self.gradient - held * noise.coefficients
        return solve_positive((self.information * design) @ design.T + np.diag(held), gradient)

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

    def log_joint(self, noise: Noise, variance: FloatArray) -> FloatArray:
        """Log density of each reading: as a nominal one with this variance, and as a fault; and so shared."""
        total = self.variance + variance
        nominal = -0.5 * (LOG_2PI + np.log(total) + self.squared / total)
        return np.stack([log(noise.share) + nominal, log(1.0 - noise.share) + self.as_fault])

    def log_density(self, noise: Noise, design: FloatArray) -> float:
        """Of all readings, and of the bend."""
        log_joint = self.log_joint(noise, np.exp(noise.coefficients @ design))
        return float(np.logaddexp(*log_joint).sum()) + noise.log_density

    def pull(self, noise: Noise, design: FloatArray) -> Pull:
        """Derivatives of that."""
        variance = np.exp(noise.coefficients @ design)
        log_joint = self.log_joint(noise, variance)
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
        for halvings in range(HALVINGS):
            nearer = Noise(share, noise.coefficients + 0.5**halvings * step)
            there = self.log_density(nearer, design)
            if there > value:
                return nearer, there
        return None
