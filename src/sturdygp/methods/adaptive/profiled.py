"""What a search came to, with noise that is not the same everywhere, if residuals ask for that."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import exp, inf

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.gp.posterior import Marginals, Posterior, Prior
from sturdygp.methods.adaptive.candidate import Candidate
from sturdygp.methods.adaptive.likelihood import BranchLikelihood
from sturdygp.methods.adaptive.model import AdaptiveModel
from sturdygp.methods.adaptive.reading import Reading, parameter_covariance
from sturdygp.methods.adaptive.residuals import Noise, Residuals
from sturdygp.methods.adaptive.uneven import Unevenness
from sturdygp.methods.alternating import Alternation, Start, Trail
from sturdygp.methods.gaussian import GaussianModel
from sturdygp.methods.noise_profile import LEAST_SHARE, NoiseProfile
from sturdygp.optimise import Optimum
from sturdygp.status import Status

# Rounds, and nats below which they end.
ROUNDS, ENOUGH = 30, 0.1


def profiled(candidate: Candidate, max_iter: int, tol: float) -> Reading:
    """The candidate with the noise that its residuals ask for, if the bound repays that."""
    problem, uneven = candidate.problem, candidate.uneven
    even = Reading.at(candidate)
    if uneven is None or candidate.optimum.status is Status.STOPPED:
        return even
    climb = trusting_climb(candidate, uneven.trusted, max_iter, tol)
    posterior = climb.carry.posterior
    if posterior is None:
        return replace(even, spent=climb.n_evaluations)
    kernel = posterior.kernel
    covariance = parameter_covariance(climb, kernel, candidate.model.prior.box[:1])
    before = replace(even, start=replace(even.start, kernel=kernel), covariance=covariance)
    found = Profiling(candidate, uneven, problem.prior(kernel)).settled(before, posterior.marginals())
    best = found if found.bound > even.bound + uneven.cost else even
    return replace(best, spent=climb.n_evaluations + found.spent)


def trusting_climb(
    candidate: Candidate, trusted: BoolArray, max_iter: int, tol: float
) -> Optimum[Trail[None]]:
    """A climb from the candidate's kernel that takes these readings for nominal, and drops the others.

    Their noise is the same everywhere: where it is not, a kernel would follow the readings with the least
    noise, at the price of all others.
    """
    problem, start = candidate.problem, candidate.start
    model = GaussianModel(problem.y, np.where(trusted, 0.0, np.inf), 1.0)
    loop = Alternation(model, problem, candidate.model.prior.box[:1], candidate.assumed)
    # What was learned of the curvature: a climb of a few steps learns little, and uncertainty goes by it.
    shared = start.kernel.theta.size + 1
    curvature = None if start.curvature is None else start.curvature[:shared, :shared]
    return loop.climb(Start(start.kernel, start.extra[:1], None, curvature), max_iter=max_iter, tol=tol)


@dataclass(frozen=True, eq=False)
class Profiling:
    """Everything but the kernel in turn: the function; noise and branches; what the faults are like."""

    candidate: Candidate
    uneven: Unevenness
    prior: Prior

    def settled(self, even: Reading, marginals: Marginals) -> Reading:
        """From where the noise is the same everywhere, until the bound hardly rises."""
        best, noise = replace(even, bound=-inf), self.uneven.noise
        for _ in range(ROUNDS):
            now, noise = self._adapted(best, noise, marginals)
            posterior = self.prior.condition(now.model.sites(now.start.extra, now.start.latent))
            now = replace(now, bound=self._bound(now, noise, posterior), spent=best.spent + 1)
            if now.bound < best.bound + ENOUGH:
                return now if now.bound > best.bound else replace(best, spent=now.spent)
            best, marginals = now, posterior.marginals()
        return best

    def _adapted(self, before: Reading, noise: Noise, marginals: Marginals) -> tuple[Reading, Noise]:
        """Noise, branches and faults for these moments of the function."""
        model, start, axis = before.model, before.start, self.uneven.axis
        residuals = Residuals.expected(model.y, marginals, BranchLikelihood.at(start, model))
        noise, _ = residuals.likeliest(noise, axis.design)
        extra = np.append(noise.coefficients[0], start.extra[1:])
        model, _ = self._with_noise(model, extra, noise)
        latent = replace(start.latent, nominal=np.array(noise.share))
        latent = model.update(extra, latent, marginals)
        burden = self.candidate.assumed.burden(start.kernel)
        extra = model.best_extra(extra, latent, marginals, np.array(burden))
        model, profile = self._with_noise(model, extra, noise)
        now = replace(before, model=model, start=replace(start, extra=extra, latent=latent), profile=profile)
        return now, Noise(float(latent.nominal), np.append(extra[0], profile.bend))

    def _with_noise(
        self, model: AdaptiveModel, extra: FloatArray, noise: Noise
    ) -> tuple[AdaptiveModel, NoiseProfile]:
        """The model with this profile, which has no less noise anywhere than there may be."""
        axis, bend = self.uneven.axis, noise.coefficients[1:]
        largest = exp(float((bend @ axis.design[1:]).max()))
        least = max(exp(model.prior.box[0, 0] - extra[0]), LEAST_SHARE * largest)
        profile = NoiseProfile(axis.along, axis.ranks, bend, least)
        return replace(model, relative_noise=profile.at(axis.design[1:])), profile

    def _bound(self, now: Reading, noise: Noise, posterior: Posterior) -> float:
        """With all that is assumed of the parameters."""
        kernel, extra, latent = now.start.kernel, now.start.extra, now.start.latent
        assumed = self.candidate.assumed.at(kernel, extra).value + noise.log_density
        return posterior.log_evidence + float(now.model.log_prior(extra, latent)) + assumed
