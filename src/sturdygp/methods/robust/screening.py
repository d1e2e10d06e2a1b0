"""Screening: expectation maximisation from many levels of the targets, with fixed length scales.

With a few features of the kernel an iteration costs O(n rank^2), so that many levels can be tried for the
cost of a few factorisations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.low_rank import RoughPrior
from sturdygp.inference.variational import Initialisation
from sturdygp.kernels.base import Kernel
from sturdygp.likelihoods.contamination import ContaminationModel, MixtureState
from sturdygp.methods.robust.prior import signal_floor

# Least number of observations near a level, and least variance of scaled targets around it.
LEAST_NEAR, LEAST_VARIANCE = 3, 1e-4
# Number of features of the kernel.
RANK = 30
# Iterations from every level, number of levels that are continued, and their further iterations.
EARLY_ITERATIONS, CONTINUED_LEVELS, LATE_ITERATIONS = 5, 6, 10
# Mean difference of inlier probabilities below which two hypotheses are the same.
SAME = 0.02


@dataclass(frozen=True, eq=False)
class InitialState:
    """Parameters, latent part and a factor of the kernel; or several of each, along the first axes."""

    parameters: FloatArray
    latent: MixtureState
    amplitude: FloatArray

    @classmethod
    def stacked(cls, states: list[Self]) -> Self:
        """Stack several states."""
        latent = MixtureState(
            np.stack([each.latent.responsibility for each in states]),
            np.stack([each.latent.inlier_weight for each in states]),
        )
        parameters, amplitude = (
            [getattr(each, name) for each in states] for name in ("parameters", "amplitude")
        )
        return cls(np.stack(parameters), latent, np.stack(amplitude))

    def __getitem__(self, index: int) -> Self:
        """Select one of several."""
        return type(self)(self.parameters[index], self.latent[index], self.amplitude[index])

    def at(self, kernel: Kernel) -> Initialisation[MixtureState]:
        """Initialise an optimisation with this kernel."""
        theta = np.clip(kernel.scaled(float(self.amplitude)).theta, *kernel.bounds.T)
        return Initialisation(kernel.with_theta(theta), self.parameters, self.latent)


@dataclass(frozen=True)
class Level:
    """A quantile of the targets, and the fraction of observations nearest to it that are initially inliers.

    ``near`` is the inlier probability of these, ``far`` that of the others.
    """

    quantile: float
    fraction: float
    near: float = 0.9
    far: float = 0.1

    def initial_state(self, model: ContaminationModel, noise_fraction: float) -> InitialState:
        """Set the noise to a fraction of the variance around the level, and the amplitude to all of it."""
        y = model.y
        residual = y - np.quantile(y, self.quantile)
        count = max(int(np.ceil(self.fraction * y.size)), LEAST_NEAR)
        inlier = np.full(y.size, self.far)
        inlier[np.argsort(np.abs(residual), kind="stable")[:count]] = self.near
        variance = max(float(inlier @ residual**2 / inlier.sum()), LEAST_VARIANCE)
        return InitialState(*model.initial(residual, inlier, noise_fraction * variance), np.array(variance))


TRUST_ALL = Level(0.5, 1.0, near=0.999)
# Levels around which inliers are sought; further ones are random.
LEVEL_QUANTILES, LEVEL_FRACTIONS = (0.5, 0.05, 0.95, 0.25, 0.75, 0.15, 0.85, 0.35, 0.65), (0.3, 0.15)
LEVELS = (
    Level(0.5, 0.7),
    *(Level(quantile, fraction) for quantile in LEVEL_QUANTILES for fraction in LEVEL_FRACTIONS),
)


def levels(count: int, rng: np.random.Generator) -> list[Level]:
    """Initial levels: fixed ones first, then random ones."""
    more = [Level(rng.uniform(0.05, 0.95), rng.uniform(0.2, 0.6)) for _ in range(count - len(LEVELS))]
    return [*LEVELS[:count], *more]


class Judgement(Protocol):
    """A value and inlier probabilities, partly or fully optimised."""

    @property
    def value(self) -> float:
        """ELBO or score."""

    @property
    def inlier(self) -> FloatArray:
        """Probability that each observation is an inlier."""


J = TypeVar("J", bound=Judgement)


@dataclass(frozen=True, eq=False)
class Screened:
    """Result of screening one level."""

    model: ContaminationModel
    kernel: Kernel
    state: InitialState
    value: float

    @property
    def inlier(self) -> FloatArray:
        """Probability that each observation is an inlier."""
        return np.asarray(self.state.latent.responsibility[0])

    @property
    def initialisation(self) -> Initialisation[MixtureState]:
        """Initialisation of an optimisation."""
        return self.state.at(self.kernel)


@dataclass(frozen=True, eq=False)
class Screening:
    """A kernel in a few features; its amplitude is rarely far below ``floor`` noise variances."""

    kernel: Kernel
    prior: RoughPrior
    floor: float

    @classmethod
    def of(cls, kernel: Kernel, X: FloatArray, signal: float) -> Self:
        """Choose the features; ``signal`` is that of the prior."""
        return cls(kernel, RoughPrior.of(kernel, X, RANK), signal_floor(signal, kernel, X))

    def improved(self, model: ContaminationModel, now: InitialState, iterations: int) -> list[Screened]:
        """Update function, responsibilities, contamination and amplitude in turn, for all states at once."""
        for _ in range(iterations):
            posterior = self.prior.condition(model.sites(now.parameters, now.latent), now.amplitude)
            latent = model.update(now.parameters, now.latent, posterior.marginals)
            parameters = model.best_parameters(
                now.parameters, latent, posterior.marginals, self.floor / now.amplitude
            )
            lifted = posterior.amplitude + self.floor * np.exp(parameters[..., 0]) / self.prior.rank
            now = InitialState(parameters, latent, lifted)
        posterior = self.prior.condition(model.sites(now.parameters, now.latent), now.amplitude)
        values = posterior.log_evidence + model.log_prior(now.parameters, now.latent)
        values -= 0.5 * self.floor * np.exp(now.parameters[..., 0]) / now.amplitude
        return [Screened(model, self.kernel, now[i], float(value)) for i, value in enumerate(values)]


def screened(
    model: ContaminationModel, screenings: list[Screening], levels: list[Level], noise_fraction: float
) -> list[Screened]:
    """Iterate from all levels with one kernel, and continue the most promising ones with each kernel.

    Noise under one kernel may be structure under another, so that each kernel is also initialised with nearly
    all observations as inliers.
    """
    states = InitialState.stacked([level.initial_state(model, noise_fraction) for level in levels])
    promising = distinct(screenings[0].improved(model, states, EARLY_ITERATIONS))[:CONTINUED_LEVELS]
    trusting = TRUST_ALL.initial_state(model, noise_fraction)
    going_on = InitialState.stacked([*(each.state for each in promising), trusting])
    return [each for screening in screenings for each in screening.improved(model, going_on, LATE_ITERATIONS)]


def distinct(judgements: list[J], margin: float = np.inf) -> list[J]:
    """Keep those that judge observations differently, best first, down to a margin below the best."""
    kept: list[J] = []
    for judgement in sorted(judgements, key=lambda j: j.value, reverse=True):
        possible = not kept or judgement.value > kept[0].value - margin
        if possible and all(np.abs(judgement.inlier - other.inlier).mean() > SAME for other in kept):
            kept.append(judgement)
    return kept
