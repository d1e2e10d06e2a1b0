"""Hypotheses that were compared in a fit, and what spoke for each: terms of a score, in nats."""

from __future__ import annotations

from dataclasses import dataclass, fields


@dataclass(frozen=True)
class Score:
    """What speaks for a hypothesis, in nats: terms that add up, each a property of the hypothesis alone.

    ``elbo`` is the evidence lower bound, ``parameter_prior`` the log density of all parameters, ``occam``
    what a second part of the kernel costs, ``variance_function`` what heteroscedastic noise would add beyond
    its own cost, ``structure_prior`` the log prior odds of such an explanation, and ``bounded_noise`` what
    noise with bounds would add.
    """

    elbo: float
    parameter_prior: float
    occam: float
    variance_function: float
    structure_prior: float
    bounded_noise: float

    @property
    def total(self) -> float:
        """The sum of all terms."""
        return float(sum(getattr(self, each.name) for each in fields(self)))


@dataclass(frozen=True)
class LedgerEntry:
    """A hypothesis that was compared, for :meth:`RobustGPRegressor.explain`.

    ``outliers`` is the expected fraction, ``noise`` the standard deviation of the noise in units of the
    scaled targets, ``iterations`` how far it was optimised. ``convinced`` marks the one exception to the
    order of scores: a hypothesis that takes more observations for inliers and predicts them better, each from
    all others.
    """

    name: str
    score: Score
    outliers: float
    noise: float
    iterations: int
    convinced: bool = False
