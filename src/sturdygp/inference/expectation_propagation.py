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

# Damping and largest number of sweeps, from fast to careful.
DAMPINGS = ((0.8, 60), (0.3, 150), (0.1, 400))


# Disagreement of marginals and tilted moments at convergence, in marginal standard deviations; and the one
# that is accepted where rounding stops progress.
TOLERANCE, ACCEPTED_AT_STALL = 1e-7, 1e-4


# Sweeps without progress after which rounding is taken for the cause.
PATIENCE = 5


# Halvings of a step, or of the initial sites, before they are given up.
STEP_HALVINGS = 12


# Least size of a site's precision relative to that of an inlier: its target is shift / precision.
LEAST_PRECISION = 1e-8


# Size of a negative variance, relative to the prior's, that is rounding.
NO_VARIANCE = 1e-10


# Cavity variance, relative to the noise variance, where the kernel has none: so small that it makes no
# difference, and large enough for differences of moments to have digits.
LEAST_CAVITY_VARIANCE = 1e-6


class Tilted(Protocol):
    """Tilted distributions, cavity times likelihood: log normalisers and moments."""

    @property
    def log_z(self) -> FloatArray:
        """Log normalisers."""

    @property
    def moments(self) -> Marginals:
        """Means and variances."""


T = TypeVar("T", bound=Tilted)


T_co = TypeVar("T_co", bound=Tilted, covariant=True)


class Likelihood(Protocol[T_co]):
    """A density of observations that can be integrated against normal cavities."""

    @property
    def noise(self) -> float:
        """Noise variance of inliers."""

    def tilted(self, y: FloatArray, cavity: Marginals, power: float) -> T_co:
        """Integrate a power of the likelihood against the cavities."""


@dataclass(frozen=True, eq=False)
class NaturalSites:
    """Precisions and precision-weighted targets."""

    precision: FloatArray
    shift: FloatArray

    def towards(self, other: NaturalSites, step: FloatArray | float) -> NaturalSites:
        """Interpolate between these sites and others."""
        return NaturalSites(
            self.precision + step * (other.precision - self.precision),
            self.shift + step * (other.shift - self.shift),
        )


@dataclass(frozen=True, eq=False)
class Propagated(Generic[T]):
    """State after a sweep: posterior, cavities, tilted moments, and the sites that match these."""

    natural: NaturalSites
    posterior: Posterior
    tilted: T
    cavity: Marginals
    moments: Marginals
    wanted: NaturalSites
    log_evidence: float
    n_factorizations: int = 0

    def by_left_out(self, power: float) -> FloatArray:
        """Derivative of the log evidence by the prior variance that inducing inputs leave out."""
        first, second = log_normaliser_derivatives(self.tilted.moments, self.cavity)
        return (first**2 + second) / (2.0 * power)

    @property
    def disagreement(self) -> float:
        """Largest difference between marginals and tilted moments, in marginal standard deviations."""
        m, t = _reachable(self.posterior.marginals(), self.posterior.left_out), self.moments
        # Where the kernel has no variance, nothing can disagree.
        unit = np.where(m.variance > 0.0, m.variance, 1.0)
        return float(
            max(
                np.abs((m.mean - t.mean) / np.sqrt(unit)).max(),
                np.abs((t.variance - m.variance) / unit).max(),
            )
        )


@dataclass(frozen=True, eq=False)
class Propagation(Generic[T]):
    """Expectation propagation for one kernel and one likelihood; fractional with a ``power`` below one."""

    prior: Prior
    y: FloatArray
    likelihood: Likelihood[T]
    power: float = 1.0
    tolerance: float = TOLERANCE

    def run(self, initial: NaturalSites, *, careful: bool) -> Propagated[T]:
        """Sweep until marginals and tilted moments agree; raise if they do not.

        A careful run tries again with stronger damping before it gives up.
        """
        spent = 0
        for damping, sweeps in DAMPINGS if careful else DAMPINGS[:1]:
            state, tries = self._descend(self._first_state(initial), damping, sweeps)
            spent += tries
            if state is not None:
                return replace(state, n_factorizations=spent)
        raise NotPositiveDefiniteError(f"expectation propagation did not converge in {spent} sweeps")

    def _descend(self, state: Propagated[T], damping: float, sweeps: int) -> tuple[Propagated[T] | None, int]:
        """Sweep with one damping; no state if it does not converge. Also return the number of sweeps."""
        best, since, count = state.disagreement, 0, 1
        while state.disagreement > self.tolerance:
            reached, tries = self._sweep(state, damping)
            count += tries
            if reached is None or count > sweeps:
                return None, count
            state = reached
            since = 0 if state.disagreement < 0.95 * best else since + 1
            best = min(best, state.disagreement)
            if since >= PATIENCE and state.disagreement < ACCEPTED_AT_STALL:
                break
        return state, count

    def _first_state(self, natural: NaturalSites) -> Propagated[T]:
        """Assess the initial sites, halved until they are proper for this kernel."""
        for _ in range(STEP_HALVINGS):
            state = self._assess(natural)
            if state is not None:
                return state
            natural = NaturalSites(0.5 * natural.precision, 0.5 * natural.shift)
        raise NotPositiveDefiniteError("expectation propagation found no proper initial posterior")

    def _sweep(self, state: Propagated[T], damping: float) -> tuple[Propagated[T] | None, int]:
        """One damped parallel update; the step is halved until posterior and cavities are proper."""
        change = state.wanted.precision - state.natural.precision
        # A marginal variance may at most double: its precision may fall by half.
        floor = -0.5 / np.maximum(state.posterior.marginals().variance, TINY)
        limit = np.divide(floor, change, out=np.ones_like(change), where=change < floor)
        step = np.minimum(damping, limit)
        for tries in range(1, STEP_HALVINGS + 1):
            reached = self._assess(state.natural.towards(state.wanted, step))
            if reached is not None:
                return reached, tries
            step = 0.5 * step
        return None, STEP_HALVINGS

    def _assess(self, natural: NaturalSites) -> Propagated[T] | None:
        """Condition on the sites and match tilted moments; None if posterior or cavities are improper."""
        least = LEAST_PRECISION / self.likelihood.noise
        small = np.abs(natural.precision) < least
        precision = np.where(small, np.copysign(least, natural.precision), natural.precision)
        sites = Sites(natural.shift / precision, precision, np.zeros_like(precision))
        try:
            posterior = self.prior.condition(sites)
        except NotPositiveDefiniteError:
            return None
        cavity = posterior.leave_one_out(self.power)
        if not self._proper(cavity, posterior.left_out):
            return None
        free, cavity = _reachable(cavity, posterior.left_out), self._with_some_variance(cavity)
        tilted = self.likelihood.tilted(self.y, cavity, self.power)
        moments = _reachable_moments(tilted.moments, cavity, free)
        wanted = self._wanted(tilted.moments, cavity, free)
        log_scale = self._log_scale(tilted.log_z, sites, free)
        # The sparse ELBO subtracts precision * left_out / 2, which is no part of EP's evidence.
        evidence = posterior.log_evidence + 0.5 * float(np.sum(precision * posterior.left_out))
        return Propagated(
            natural, posterior, tilted, cavity, moments, wanted, evidence + float(log_scale.sum())
        )

    def _proper(self, cavity: Marginals, left_out: FloatArray | float) -> bool:
        """Check that cavity variances are positive and at most twice those of the prior.

        Inputs where the prior has no variance are exempt.
        """
        prior = self.prior.variance
        within = (cavity.variance > 0.0) & (cavity.variance < 2.0 * prior)
        site_acts_on = cavity.variance - left_out
        return bool(np.all((within & (site_acts_on > -NO_VARIANCE * prior)) | (prior == 0.0)))

    def _with_some_variance(self, cavity: Marginals) -> Marginals:
        """Give cavities a small variance where the kernel has none: their log normalisers still matter."""
        known, least = self.prior.variance == 0.0, LEAST_CAVITY_VARIANCE * self.likelihood.noise
        return Marginals(cavity.mean, np.where(known, least, cavity.variance))

    def _wanted(self, tilted: Marginals, cavity: Marginals, free: Marginals) -> NaturalSites:
        """Return the sites that turn the free part of the cavities into the tilted moments.

        No variance is divided by: at some inputs inducing inputs may leave none of it free.
        """
        first, second = log_normaliser_derivatives(tilted, cavity)
        narrowing = self.power * (1.0 + second * free.variance)
        return NaturalSites(-second / narrowing, (first - second * free.mean) / narrowing)

    def _log_scale(self, log_z: FloatArray, sites: Sites, cavity: Marginals) -> FloatArray:
        """Scale each site so that, against its cavity, it integrates to the tilted normaliser."""
        tau = self.power * sites.precision
        variance_ratio = 1.0 + tau * cavity.variance
        misfit = tau * (sites.target - cavity.mean) ** 2 / variance_ratio
        return (log_z + 0.5 * np.log(variance_ratio) + 0.5 * misfit) / self.power


def _reachable(function: Marginals, left_out: FloatArray | float) -> Marginals:
    """Marginals of the part of the function that sites act on; inducing inputs may leave some out."""
    return Marginals(function.mean, np.maximum(function.variance - left_out, 0.0))


def log_normaliser_derivatives(tilted: Marginals, cavity: Marginals) -> tuple[FloatArray, FloatArray]:
    """First and second derivatives of the log normalisers by the cavity means."""
    v = cavity.variance
    return (tilted.mean - cavity.mean) / v, (tilted.variance - cavity.variance) / v / v


def _reachable_moments(tilted: Marginals, cavity: Marginals, free: Marginals) -> Marginals:
    """Tilted moments of the part that sites act on, in proportion to its fraction of the cavity variance."""
    fraction = free.variance / cavity.variance
    return Marginals(
        cavity.mean + fraction * (tilted.mean - cavity.mean),
        free.variance + fraction**2 * (tilted.variance - cavity.variance),
    )
