"""Screening: expectation maximisation from many levels, for a kernel whose length scales stay as they are.

In a few features of the kernel an iteration costs O(n rank^2), so that many levels can be tried for the
price of a few factorisations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.rough import RoughPrior
from sturdygp.kernels.base import Kernel
from sturdygp.methods.adaptive.function import signal_floor
from sturdygp.methods.adaptive.model import AdaptiveModel, Branches
from sturdygp.methods.adaptive.starts import TRUSTING, Level, Supposition
from sturdygp.methods.alternating import Start

# Features of the kernel.
RANK = 30
# Iterations from every level, how many of them go on, and their further iterations.
EARLY, GOING_ON, LATE = 5, 6, 10
# Two ways to read the data are the same if their probabilities differ by less on average.
SAME = 0.02


class Judgement(Protocol):
    """One way to read the data."""

    @property
    def value(self) -> float:
        """Its bound."""

    @property
    def nominal(self) -> FloatArray:
        """Probability that each reading is nominal."""


J = TypeVar("J", bound=Judgement)


@dataclass(frozen=True, eq=False)
class Guess:
    """Where a level led."""

    model: AdaptiveModel
    kernel: Kernel
    supposition: Supposition
    value: float

    @property
    def nominal(self) -> FloatArray:
        """Probability that each reading is nominal."""
        return np.asarray(self.supposition.latent.responsibility[0])

    @property
    def start(self) -> Start[Branches]:
        """Where a climb goes on."""
        return self.supposition.at(self.kernel)


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

    def improved(self, model: AdaptiveModel, now: Supposition, iterations: int) -> list[Guess]:
        """Function, branches, contamination and the kernel's amplitude, in turn; for several at once."""
        for _ in range(iterations):
            posterior = self.prior.condition(model.sites(now.extra, now.latent), now.amplitude)
            latent = model.update(now.extra, now.latent, posterior.marginals)
            extra = model.best_extra(now.extra, latent, posterior.marginals, self.floor / now.amplitude)
            lifted = posterior.amplitude + self.floor * np.exp(extra[..., 0]) / self.prior.rank
            now = Supposition(extra, latent, lifted)
        posterior = self.prior.condition(model.sites(now.extra, now.latent), now.amplitude)
        values = posterior.log_evidence + model.log_prior(now.extra, now.latent)
        values -= 0.5 * self.floor * np.exp(now.extra[..., 0]) / now.amplitude
        return [Guess(model, self.kernel, now[i], float(value)) for i, value in enumerate(values)]


def screened(
    model: AdaptiveModel, screenings: list[Screening], levels: list[Level], noise_share: float
) -> list[Guess]:
    """Where the most promising levels lead: first with one kernel, then with each.

    What looks like noise through one kernel is a function through another, so that nearly all readings
    are also trusted afresh with each.
    """
    supposed = Supposition.stacked([level.supposition(model, noise_share) for level in levels])
    promising = distinct(screenings[0].improved(model, supposed, EARLY))[:GOING_ON]
    trusting = TRUSTING.supposition(model, noise_share)
    going_on = Supposition.stacked([*(guess.supposition for guess in promising), trusting])
    return [guess for screening in screenings for guess in screening.improved(model, going_on, LATE)]


def distinct(judgements: list[J], margin: float = np.inf) -> list[J]:
    """Those that judge the readings differently, best first, down to a margin below the best."""
    kept: list[J] = []
    for judgement in sorted(judgements, key=lambda j: j.value, reverse=True):
        hopeful = not kept or judgement.value > kept[0].value - margin
        if hopeful and all(np.abs(judgement.nominal - other.nominal).mean() > SAME for other in kept):
            kept.append(judgement)
    return kept
