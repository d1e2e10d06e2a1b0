"""Screening: expectation maximisation from many levels of the targets, with fixed length scales.

In a few features of the kernel an iteration costs O(n rank^2), so that many levels can be tried for the
price of a few factorisations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.low_rank import RoughPrior
from sturdygp.inference.variational import Start
from sturdygp.kernels.base import Kernel
from sturdygp.likelihoods.contamination import ContaminationModel, MixtureState
from sturdygp.methods.robust.prior import signal_floor

# Least number of observations near a level, and least variance of scaled targets around it.
LEAST_NEAR, LEAST_VARIANCE = 3, 1e-4
# Features of the kernel.
RANK = 30
# Iterations from every level, how many of them go on, and their further iterations.
EARLY, GOING_ON, LATE = 5, 6, 10
# Two hypotheses are the same if their probabilities differ by less on average.
SAME = 0.02


@dataclass(frozen=True, eq=False)
class InitialState:
    """Parameters, latent part and a factor of the kernel; or several of each, along the first axes."""

    extra: FloatArray
    latent: MixtureState
    amplitude: FloatArray

    @classmethod
    def stacked(cls, states: list[Self]) -> Self:
        """Several as one."""
        latent = MixtureState(
            np.stack([each.latent.responsibility for each in states]),
            np.stack([each.latent.inlier_weight for each in states]),
        )
        extra, amplitude = ([getattr(each, name) for each in states] for name in ("extra", "amplitude"))
        return cls(np.stack(extra), latent, np.stack(amplitude))

    def __getitem__(self, index: int) -> Self:
        """One out of several."""
        return type(self)(self.extra[index], self.latent[index], self.amplitude[index])

    def at(self, kernel: Kernel) -> Start[MixtureState]:
        """Begin an optimisation with this kernel."""
        theta = np.clip(kernel.scaled(float(self.amplitude)).theta, *kernel.bounds.T)
        return Start(kernel.with_theta(theta), self.extra, self.latent)


@dataclass(frozen=True)
class Level:
    """A quantile of the targets; the share of all observations that is nearest to it are probably inliers."""

    quantile: float
    share: float
    near: float = 0.9
    far: float = 0.1

    def initial_state(self, model: ContaminationModel, noise_share: float) -> InitialState:
        """A share of the variance around the level is noise, and all of it signal."""
        y = model.y
        residual = y - np.quantile(y, self.quantile)
        count = max(int(np.ceil(self.share * y.size)), LEAST_NEAR)
        inlier = np.full(y.size, self.far)
        inlier[np.argsort(np.abs(residual), kind="stable")[:count]] = self.near
        variance = max(float(inlier @ residual**2 / inlier.sum()), LEAST_VARIANCE)
        return InitialState(*model.initial(residual, inlier, noise_share * variance), np.array(variance))


TRUST_ALL = Level(0.5, 1.0, near=0.999)
# Where inliers are sought; beyond these, at random.
QUANTILES, SHARES = (0.5, 0.05, 0.95, 0.25, 0.75, 0.15, 0.85, 0.35, 0.65), (0.3, 0.15)
LEVELS = (Level(0.5, 0.7), *(Level(quantile, share) for quantile in QUANTILES for share in SHARES))


def levels(count: int, rng: np.random.Generator) -> list[Level]:
    """Levels to begin at, the first few of them fixed."""
    more = [Level(rng.uniform(0.05, 0.95), rng.uniform(0.2, 0.6)) for _ in range(count - len(LEVELS))]
    return [*LEVELS[:count], *more]


class Judgement(Protocol):
    """A value and the verdicts that belong to it, however far it has been optimised."""

    @property
    def value(self) -> float:
        """Its ELBO or score."""

    @property
    def inlier(self) -> FloatArray:
        """Probability that each observation is an inlier."""


J = TypeVar("J", bound=Judgement)


@dataclass(frozen=True, eq=False)
class Screened:
    """Where a level led."""

    model: ContaminationModel
    kernel: Kernel
    state: InitialState
    value: float

    @property
    def inlier(self) -> FloatArray:
        """Probability that each observation is an inlier."""
        return np.asarray(self.state.latent.responsibility[0])

    @property
    def start(self) -> Start[MixtureState]:
        """Where an optimisation goes on."""
        return self.state.at(self.kernel)


@dataclass(frozen=True, eq=False)
class Screening:
    """A kernel in a few features; its factor is rarely far below ``floor`` noise variances."""

    kernel: Kernel
    prior: RoughPrior
    floor: float

    @classmethod
    def of(cls, kernel: Kernel, X: FloatArray, signal: float) -> Self:
        """Choose the features; ``signal`` is that of the prior."""
        return cls(kernel, RoughPrior.of(kernel, X, RANK), signal_floor(signal, kernel, X))

    def improved(self, model: ContaminationModel, now: InitialState, iterations: int) -> list[Screened]:
        """Update function, responsibilities, contamination and amplitude in turn; for several at once."""
        for _ in range(iterations):
            posterior = self.prior.condition(model.sites(now.extra, now.latent), now.amplitude)
            latent = model.update(now.extra, now.latent, posterior.marginals)
            extra = model.best_extra(now.extra, latent, posterior.marginals, self.floor / now.amplitude)
            lifted = posterior.amplitude + self.floor * np.exp(extra[..., 0]) / self.prior.rank
            now = InitialState(extra, latent, lifted)
        posterior = self.prior.condition(model.sites(now.extra, now.latent), now.amplitude)
        values = posterior.log_evidence + model.log_prior(now.extra, now.latent)
        values -= 0.5 * self.floor * np.exp(now.extra[..., 0]) / now.amplitude
        return [Screened(model, self.kernel, now[i], float(value)) for i, value in enumerate(values)]


def screened(
    model: ContaminationModel, screenings: list[Screening], levels: list[Level], noise_share: float
) -> list[Screened]:
    """Follow the most promising levels: first with one kernel, then with each.

    What looks like noise through one kernel is a function through another, so that nearly all observations
    are also trusted afresh with each.
    """
    states = InitialState.stacked([level.initial_state(model, noise_share) for level in levels])
    promising = distinct(screenings[0].improved(model, states, EARLY))[:GOING_ON]
    trusting = TRUST_ALL.initial_state(model, noise_share)
    going_on = InitialState.stacked([*(each.state for each in promising), trusting])
    return [each for screening in screenings for each in screening.improved(model, going_on, LATE)]


def distinct(judgements: list[J], margin: float = np.inf) -> list[J]:
    """Keep those that judge observations differently, best first, down to a margin below the best."""
    kept: list[J] = []
    for judgement in sorted(judgements, key=lambda j: j.value, reverse=True):
        possible = not kept or judgement.value > kept[0].value - margin
        if possible and all(np.abs(judgement.inlier - other.inlier).mean() > SAME for other in kept):
            kept.append(judgement)
    return kept
