"""Robust expectation propagation (Jylänki, Vanhatalo and Vehtari, JMLR 2011).

A robust likelihood is not log-concave: outliers get sites of negative precision, which widen the posterior,
and plain parallel updates may leave it improper. Updates are therefore damped, no marginal variance may more
than double at a time, and a step that would make the posterior or a cavity improper is halved. No moment is
clamped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Generic, Protocol, TypeVar

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.posterior import Marginals, Posterior, Prior
from sturdygp.gp.sites import TINY, Sites

# Damping and most sweeps: first as fast as it goes, then more and more carefully.
DAMPINGS = ((0.8, 60), (0.3, 150), (0.1, 400))


# Marginals and tilted moments agree, in marginal standard deviations; rounding may stop them earlier.
TOLERANCE = 1e-7


ROUNDING = 1e-4


# Sweeps without progress after which rounding is to blame.
PATIENCE = 5


HALVINGS = 12


# Least size of a site's precision relative to the nominal one: its target is shift / precision.
LEAST_PRECISION = 1e-8


# Size of a negative variance, in those of the prior, that is rounding.
NO_VARIANCE = 1e-10


# Variance, in nominal ones, at which a likelihood is looked at where the kernel knows the function: so little
# that it makes no difference, and enough for differences of moments to have digits.
KNOWN = 1e-6


class Tilted(Protocol):
    """Cavities times likelihood: log normalisers and moments. A likelihood may add derivatives."""

    @property
    def log_z(self) -> FloatArray:
        """Log normalisers."""

    @property
    def moments(self) -> Marginals:
        """Means and variances."""


T = TypeVar("T", bound=Tilted)


T_co = TypeVar("T_co", bound=Tilted, covariant=True)


class Likelihood(Protocol[T_co]):
    """A density of readings that can be integrated against normal cavities."""

    @property
    def noise(self) -> float:
        """Variance of a nominal reading."""

    def tilted(self, y: FloatArray, cavity: Marginals, share: float) -> T_co:
        """Integrate a power of the likelihood."""


@dataclass(frozen=True, eq=False)
class NaturalSites:
    """Precisions and precision-weighted targets."""

    precision: FloatArray
    shift: FloatArray

    def towards(self, other: NaturalSites, step: FloatArray | float) -> NaturalSites:
        """Part of the way to other sites."""
        return NaturalSites(
            self.precision + step * (other.precision - self.precision),
            self.shift + step * (other.shift - self.shift),
        )


@dataclass(frozen=True, eq=False)
class Propagated(Generic[T]):
    """The state after a sweep: posterior, cavities, tilted moments, and the sites they ask for."""

    natural: NaturalSites
    posterior: Posterior
    tilted: T
    cavity: Marginals
    moments: Marginals
    wanted: NaturalSites
    log_evidence: float
    n_factorizations: int = 0

    def by_left_out(self, share: float) -> FloatArray:
        """Derivative of the log evidence by the variance that is left out: that of wider cavities."""
        slope, bend = responses(self.tilted.moments, self.cavity)
        return (slope**2 + bend) / (2.0 * share)

    @property
    def disagreement(self) -> float:
        """Largest difference between marginals and tilted moments, in marginal standard deviations."""
        m, t = reached(self.posterior.marginals(), self.posterior.left_out), self.moments
        # What is known is what it was, in any unit.
        unit = np.where(m.variance > 0.0, m.variance, 1.0)
        return float(
            max(
                np.abs((m.mean - t.mean) / np.sqrt(unit)).max(),
                np.abs((t.variance - m.variance) / unit).max(),
            )
        )


@dataclass(frozen=True, eq=False)
class Propagation(Generic[T]):
    """Expectation propagation for one kernel and one likelihood; ``share`` below one is fractional."""

    prior: Prior
    y: FloatArray
    likelihood: Likelihood[T]
    share: float = 1.0
    tolerance: float = TOLERANCE

    def run(self, start: NaturalSites, *, careful: bool) -> Propagated[T]:
        """Sweep until marginals and tilted moments agree; raise if they do not.

        A careful run tries again with stronger damping before it gives up.
        """
        spent = 0
        for damping, sweeps in DAMPINGS if careful else DAMPINGS[:1]:
            state, tries = self._descend(self._start(start), damping, sweeps)
            spent += tries
            if state is not None:
                return replace(state, n_factorizations=spent)
        raise NotPositiveDefiniteError(f"expectation propagation did not converge in {spent} sweeps")

    def _descend(self, state: Propagated[T], damping: float, sweeps: int) -> tuple[Propagated[T] | None, int]:
        """Sweep with one damping; no state if it does not converge. Also say how many sweeps it took."""
        best, since, count = state.disagreement, 0, 1
        while state.disagreement > self.tolerance:
            reached, tries = self._sweep(state, damping)
            count += tries
            if reached is None or count > sweeps:
                return None, count
            state = reached
            since = 0 if state.disagreement < 0.95 * best else since + 1
            best = min(best, state.disagreement)
            if since >= PATIENCE and state.disagreement < ROUNDING:
                break
        return state, count

    def _start(self, natural: NaturalSites) -> Propagated[T]:
        """Where the given sites are improper for this kernel, go back towards none at all."""
        for _ in range(HALVINGS):
            state = self._assess(natural)
            if state is not None:
                return state
            natural = NaturalSites(0.5 * natural.precision, 0.5 * natural.shift)
        raise NotPositiveDefiniteError("expectation propagation found no proper start")

    def _sweep(self, state: Propagated[T], damping: float) -> tuple[Propagated[T] | None, int]:
        """One damped parallel update; the step is halved until posterior and cavities are proper."""
        change = state.wanted.precision - state.natural.precision
        # A marginal variance may at most double: its precision may fall by half.
        floor = -0.5 / np.maximum(state.posterior.marginals().variance, TINY)
        limit = np.divide(floor, change, out=np.ones_like(change), where=change < floor)
        step = np.minimum(damping, limit)
        for tries in range(1, HALVINGS + 1):
            reached = self._assess(state.natural.towards(state.wanted, step))
            if reached is not None:
                return reached, tries
            step = 0.5 * step
        return None, HALVINGS

    def _assess(self, natural: NaturalSites) -> Propagated[T] | None:
        """Condition on the sites and compute what they should be, or None if something is improper."""
        least = LEAST_PRECISION / self.likelihood.noise
        small = np.abs(natural.precision) < least
        precision = np.where(small, np.copysign(least, natural.precision), natural.precision)
        sites = Sites(natural.shift / precision, precision, np.zeros_like(precision))
        try:
            posterior = self.prior.condition(sites)
        except NotPositiveDefiniteError:
            return None
        cavity = posterior.leave_one_out(self.share)
        if not self._proper(cavity, posterior.left_out):
            return None
        free, cavity = reached(cavity, posterior.left_out), self._looked_at(cavity)
        tilted = self.likelihood.tilted(self.y, cavity, self.share)
        moments = reached_moments(tilted.moments, cavity, free)
        wanted = self._wanted(tilted.moments, cavity, free)
        log_scale = self._log_scale(tilted.log_z, sites, free)
        # Without what a variational bound takes off for the variance that is left out.
        evidence = posterior.log_evidence + 0.5 * float(np.sum(precision * posterior.left_out))
        return Propagated(
            natural, posterior, tilted, cavity, moments, wanted, evidence + float(log_scale.sum())
        )

    def _proper(self, cavity: Marginals, left_out: FloatArray | float) -> bool:
        """Whether all cavities have variances, and none that is much larger than that of the prior.

        Where the kernel knows the function there is none to have.
        """
        prior = self.prior.variance
        within = (cavity.variance > 0.0) & (cavity.variance < 2.0 * prior)
        site_acts_on = cavity.variance - left_out
        return bool(np.all((within & (site_acts_on > -NO_VARIANCE * prior)) | (prior == 0.0)))

    def _looked_at(self, cavity: Marginals) -> Marginals:
        """Cavities that all have a variance: where the function is known, a site still tells of its mean."""
        known, least = self.prior.variance == 0.0, KNOWN * self.likelihood.noise
        return Marginals(cavity.mean, np.where(known, least, cavity.variance))

    def _wanted(self, tilted: Marginals, cavity: Marginals, free: Marginals) -> NaturalSites:
        """The sites that turn the cavities into the tilted moments, as far as these are free to follow.

        No variance is divided by: inducing inputs may leave none of it free at some input.
        """
        slope, bend = responses(tilted, cavity)
        narrowing = self.share * (1.0 + bend * free.variance)
        return NaturalSites(-bend / narrowing, (slope - bend * free.mean) / narrowing)

    def _log_scale(self, log_z: FloatArray, sites: Sites, cavity: Marginals) -> FloatArray:
        """What makes each site, against its cavity, integrate to the tilted normaliser."""
        tau = self.share * sites.precision
        spread = 1.0 + tau * cavity.variance
        misfit = tau * (sites.target - cavity.mean) ** 2 / spread
        return (log_z + 0.5 * np.log(spread) + 0.5 * misfit) / self.share


def reached(function: Marginals, left_out: FloatArray | float) -> Marginals:
    """The part of the function that sites act on: all of it, unless inducing inputs leave some out."""
    return Marginals(function.mean, np.maximum(function.variance - left_out, 0.0))


def responses(tilted: Marginals, cavity: Marginals) -> tuple[FloatArray, FloatArray]:
    """First and second derivative of the log normalisers by the means of the cavities."""
    v = cavity.variance
    return (tilted.mean - cavity.mean) / v, (tilted.variance - cavity.variance) / v / v


def reached_moments(tilted: Marginals, cavity: Marginals, free: Marginals) -> Marginals:
    """Tilted moments of that part: it follows the function by its share of the cavity's variance."""
    share = free.variance / cavity.variance
    return Marginals(
        cavity.mean + share * (tilted.mean - cavity.mean),
        free.variance + share**2 * (tilted.variance - cavity.variance),
    )
