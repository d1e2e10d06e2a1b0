"""What a search came to, with heteroscedastic noise if residuals ask for that."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from math import exp, inf
from typing import Self, TypeVar

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.posterior import Marginals, Posterior, Prior
from sturdygp.inference.variational import Alternation, Start, Trail
from sturdygp.kernels.base import Kernel
from sturdygp.likelihoods.contamination import ContaminationModel, FittedContamination, MixtureState
from sturdygp.likelihoods.gaussian import GaussianModel
from sturdygp.likelihoods.heteroscedastic import LEAST_SHARE, NoiseProfile
from sturdygp.linalg.cholesky import inverse_positive
from sturdygp.methods.robust.hypothesis import Hypothesis
from sturdygp.methods.robust.variance_function import Heteroscedasticity, NoiseParameters, Residuals
from sturdygp.optimise import Optimum
from sturdygp.status import Status

L = TypeVar("L")

# Rounds, and nats below which they end.
ROUNDS, ENOUGH = 30, 0.1


@dataclass(frozen=True, eq=False)
class Conclusion:
    """Model, parameters and latent part of the best hypothesis, its ELBO, and its variance function.

    ``covariance`` is that of the kernel's parameters.
    """

    model: ContaminationModel
    start: Start[MixtureState]
    elbo: float
    covariance: FloatArray
    variance_function: NoiseProfile | None = None
    n_factorizations: int = 0

    @classmethod
    def at(cls, hypothesis: Hypothesis) -> Self:
        """The same noise everywhere."""
        model, start, optimum = hypothesis.model, hypothesis.start, hypothesis.optimum
        return cls(model, start, optimum.value, parameter_covariance(optimum, start.kernel, model.prior.box))


def parameter_covariance(optimum: Optimum[Trail[L]], kernel: Kernel, box: FloatArray) -> FloatArray:
    """Covariance of the kernel's parameters, to judge by the curvature of the ELBO; zero for those held.

    Parameters that a bound holds, those beside the kernel's too, are known: the others do not vary with them.
    A curvature that rounding has spoiled tells nothing.
    """
    size, covariance = kernel.theta.size, np.zeros((optimum.x.size, optimum.x.size))
    low, high = np.vstack([kernel.bounds, box]).T
    free = np.flatnonzero((optimum.x > low) & (optimum.x < high))
    if optimum.curvature is not None and free.size:
        among = np.ix_(free, free)
        with suppress(NotPositiveDefiniteError):
            covariance[among] = inverse_positive(optimum.curvature[among])
    return covariance[:size, :size]


def with_variance_function(hypothesis: Hypothesis, max_iter: int, tol: float) -> Conclusion:
    """Give the hypothesis the noise that its residuals ask for, if the ELBO repays that."""
    problem, asked_for = hypothesis.problem, hypothesis.heteroscedasticity
    constant = Conclusion.at(hypothesis)
    if asked_for is None or hypothesis.optimum.status is Status.STOPPED:
        return constant
    optimum = optimised_on(asked_for.trusted, hypothesis, max_iter, tol)
    posterior = optimum.carry.posterior
    if posterior is None:
        return replace(constant, n_factorizations=optimum.n_evaluations)
    kernel = posterior.kernel
    covariance = parameter_covariance(optimum, kernel, hypothesis.model.prior.box[:1])
    before = replace(constant, start=replace(constant.start, kernel=kernel), covariance=covariance)
    found = Refinement(hypothesis, asked_for, problem.prior(kernel)).settled(before, posterior.marginals())
    best = found if found.elbo > constant.elbo + asked_for.cost else constant
    return replace(best, n_factorizations=optimum.n_evaluations + found.n_factorizations)


def optimised_on(
    trusted: BoolArray, hypothesis: Hypothesis, max_iter: int, tol: float
) -> Optimum[Trail[None]]:
    """Optimise the hypothesis's kernel on these observations as inliers, without the others.

    Their noise is the same everywhere: where it is not, a kernel would follow the observations with the least
    noise, at the price of all others.
    """
    problem, start = hypothesis.problem, hypothesis.start
    model = GaussianModel(problem.y, np.where(trusted, 0.0, np.inf), 1.0)
    loop = Alternation(model, problem, hypothesis.model.prior.box[:1], hypothesis.function_prior)
    # What was learned of the curvature: an optimisation of a few steps learns little, and uncertainty goes by
    # it.
    shared = start.kernel.theta.size + 1
    curvature = None if start.curvature is None else start.curvature[:shared, :shared]
    return loop.climb(Start(start.kernel, start.extra[:1], None, curvature), max_iter=max_iter, tol=tol)


@dataclass(frozen=True, eq=False)
class Refinement:
    """Updates of everything but the kernel in turn: function, noise, responsibilities, outliers."""

    hypothesis: Hypothesis
    asked_for: Heteroscedasticity
    prior: Prior

    def settled(self, constant: Conclusion, marginals: Marginals) -> Conclusion:
        """From where the noise is the same everywhere, until the ELBO hardly rises."""
        best, noise = replace(constant, elbo=-inf), self.asked_for.noise
        for _ in range(ROUNDS):
            now, noise = self._updated(best, noise, marginals)
            posterior = self.prior.condition(now.model.sites(now.start.extra, now.start.latent))
            elbo = self._elbo(now, noise, posterior)
            now = replace(now, elbo=elbo, n_factorizations=best.n_factorizations + 1)
            if now.elbo < best.elbo + ENOUGH:
                return now if now.elbo > best.elbo else replace(best, n_factorizations=now.n_factorizations)
            best, marginals = now, posterior.marginals()
        return best

    def _updated(
        self, before: Conclusion, noise: NoiseParameters, marginals: Marginals
    ) -> tuple[Conclusion, NoiseParameters]:
        """Noise, responsibilities and outliers for these moments of the function."""
        model, start, axis = before.model, before.start, self.asked_for.axis
        likelihood = FittedContamination.at(start.extra, start.latent, model)
        residuals = Residuals.expected(model.y, marginals, likelihood)
        noise, _ = residuals.likeliest(noise, axis.design)
        extra = np.append(noise.coefficients[0], start.extra[1:])
        model, _ = self._with_noise(model, extra, noise)
        latent = replace(start.latent, inlier_weight=np.array(noise.share))
        latent = model.update(extra, latent, marginals)
        burden = self.hypothesis.function_prior.burden(start.kernel)
        extra = model.best_extra(extra, latent, marginals, np.array(burden))
        model, function = self._with_noise(model, extra, noise)
        start = replace(start, extra=extra, latent=latent)
        now = replace(before, model=model, start=start, variance_function=function)
        return now, NoiseParameters(float(latent.inlier_weight), np.append(extra[0], function.bend))

    def _with_noise(
        self, model: ContaminationModel, extra: FloatArray, noise: NoiseParameters
    ) -> tuple[ContaminationModel, NoiseProfile]:
        """The model with this variance function, which has no less noise anywhere than there may be."""
        axis, bend = self.asked_for.axis, noise.coefficients[1:]
        largest = exp(float((bend @ axis.design[1:]).max()))
        least = max(exp(model.prior.box[0, 0] - extra[0]), LEAST_SHARE * largest)
        function = NoiseProfile(axis.along, axis.ranks, bend, least)
        return replace(model, relative_noise=function.at(axis.design[1:])), function

    def _elbo(self, now: Conclusion, noise: NoiseParameters, posterior: Posterior) -> float:
        """With the log densities of all parameters."""
        kernel, extra, latent = now.start.kernel, now.start.extra, now.start.latent
        assumed = self.hypothesis.function_prior.at(kernel, extra).value + noise.log_density
        return posterior.log_evidence + float(now.model.log_prior(extra, latent)) + assumed
