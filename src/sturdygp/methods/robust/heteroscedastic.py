"""Conclusion of a search: the best hypothesis, with heteroscedastic noise if residuals support it."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from math import exp, inf
from typing import Self, TypeVar

import numpy as np

from sturdygp._typing import BoolArray, FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.posterior import Marginals, Posterior, Prior
from sturdygp.inference.variational import Initialisation, LatentState, VariationalObjective
from sturdygp.kernels.base import Kernel
from sturdygp.likelihoods.contamination import ContaminationModel, FittedContamination, MixtureState
from sturdygp.likelihoods.gaussian import GaussianModel
from sturdygp.likelihoods.heteroscedastic import LEAST_RELATIVE_VARIANCE, VarianceFunction
from sturdygp.linalg.cholesky import inverse_positive
from sturdygp.methods.robust.hypothesis import Hypothesis
from sturdygp.methods.robust.variance_function import Heteroscedasticity, NoiseParameters, Residuals
from sturdygp.optimise import Optimum
from sturdygp.status import Status

L = TypeVar("L")

# Most rounds of refinement, and the gain in nats below which they end.
REFINEMENT_ROUNDS, REFINEMENT_GAIN = 30, 0.1


@dataclass(frozen=True, eq=False)
class Conclusion:
    """Model and state of the best hypothesis, its ELBO, and its variance function.

    ``covariance`` is that of the kernel's parameters.
    """

    model: ContaminationModel
    state: Initialisation[MixtureState]
    elbo: float
    covariance: FloatArray
    variance_function: VarianceFunction | None = None
    n_factorizations: int = 0

    @classmethod
    def at(cls, hypothesis: Hypothesis) -> Self:
        """Conclude with homoscedastic noise."""
        model, state, optimum = hypothesis.model, hypothesis.state, hypothesis.optimum
        return cls(model, state, optimum.value, parameter_covariance(optimum, state.kernel, model.prior.box))


def parameter_covariance(optimum: Optimum[LatentState[L]], kernel: Kernel, box: FloatArray) -> FloatArray:
    """Covariance of the kernel's parameters by the curvature of the ELBO; zero for those at a bound.

    Parameters at a bound, those of the likelihood too, are taken for known: the others do not vary with them.
    A curvature that rounding has made indefinite is ignored.
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
    """Give the hypothesis a variance function if its residuals suggest one and the ELBO gains by it."""
    problem, heteroscedasticity = hypothesis.problem, hypothesis.heteroscedasticity
    constant = Conclusion.at(hypothesis)
    if heteroscedasticity is None or hypothesis.optimum.status is Status.STOPPED:
        return constant
    optimum = optimised_on(heteroscedasticity.trusted, hypothesis, max_iter, tol)
    posterior = optimum.carry.posterior
    if posterior is None:
        return replace(constant, n_factorizations=optimum.n_evaluations)
    kernel = posterior.kernel
    covariance = parameter_covariance(optimum, kernel, hypothesis.model.prior.box[:1])
    before = replace(constant, state=replace(constant.state, kernel=kernel), covariance=covariance)
    found = Refinement(hypothesis, heteroscedasticity, problem.prior(kernel)).settled(
        before, posterior.marginals()
    )
    best = found if found.elbo > constant.elbo + heteroscedasticity.cost else constant
    return replace(best, n_factorizations=optimum.n_evaluations + found.n_factorizations)


def optimised_on(
    trusted: BoolArray, hypothesis: Hypothesis, max_iter: int, tol: float
) -> Optimum[LatentState[None]]:
    """Optimise the kernel of the hypothesis on the trusted observations, as inliers.

    The noise is homoscedastic here: otherwise the kernel would follow the observations with the least noise,
    at the expense of all others.
    """
    problem, state = hypothesis.problem, hypothesis.state
    model = GaussianModel(problem.y, np.where(trusted, 0.0, np.inf), 1.0)
    objective = VariationalObjective(
        model, problem, hypothesis.model.prior.box[:1], hypothesis.function_prior
    )
    # Keep the curvature, from which the uncertainty of parameters follows: a few steps learn little of it.
    shared = state.kernel.theta.size + 1
    curvature = None if state.curvature is None else state.curvature[:shared, :shared]
    return objective.optimise(
        Initialisation(state.kernel, state.parameters[:1], None, curvature), max_iter=max_iter, tol=tol
    )


@dataclass(frozen=True, eq=False)
class Refinement:
    """Coordinate updates of everything but the kernel: function, noise, responsibilities, outliers."""

    hypothesis: Hypothesis
    heteroscedasticity: Heteroscedasticity
    prior: Prior

    def settled(self, constant: Conclusion, marginals: Marginals) -> Conclusion:
        """Update from homoscedastic noise until the ELBO hardly rises."""
        best, noise = replace(constant, elbo=-inf), self.heteroscedasticity.noise
        for _ in range(REFINEMENT_ROUNDS):
            now, noise = self._updated(best, noise, marginals)
            posterior = self.prior.condition(now.model.sites(now.state.parameters, now.state.latent))
            elbo = self._elbo(now, noise, posterior)
            now = replace(now, elbo=elbo, n_factorizations=best.n_factorizations + 1)
            if now.elbo < best.elbo + REFINEMENT_GAIN:
                return now if now.elbo > best.elbo else replace(best, n_factorizations=now.n_factorizations)
            best, marginals = now, posterior.marginals()
        return best

    def _updated(
        self, before: Conclusion, noise: NoiseParameters, marginals: Marginals
    ) -> tuple[Conclusion, NoiseParameters]:
        """Update noise, responsibilities and outliers for these moments of the function."""
        model, state, axis = before.model, before.state, self.heteroscedasticity.axis
        likelihood = FittedContamination.at(state.parameters, state.latent, model)
        residuals = Residuals.expected(model.y, marginals, likelihood)
        noise, _ = residuals.likeliest(noise, axis.design)
        parameters = np.append(noise.coefficients[0], state.parameters[1:])
        model, _ = self._with_noise(model, parameters, noise)
        latent = replace(state.latent, inlier_weight=np.array(noise.inlier_weight))
        latent = model.update(parameters, latent, marginals)
        burden = self.hypothesis.function_prior.burden(state.kernel)
        parameters = model.best_parameters(parameters, latent, marginals, np.array(burden))
        model, function = self._with_noise(model, parameters, noise)
        state = replace(state, parameters=parameters, latent=latent)
        now = replace(before, model=model, state=state, variance_function=function)
        return now, NoiseParameters(float(latent.inlier_weight), np.append(parameters[0], function.bend))

    def _with_noise(
        self, model: ContaminationModel, parameters: FloatArray, noise: NoiseParameters
    ) -> tuple[ContaminationModel, VarianceFunction]:
        """Give the model this variance function, with the least noise that its prior allows."""
        axis, bend = self.heteroscedasticity.axis, noise.coefficients[1:]
        largest = exp(float((bend @ axis.design[1:]).max()))
        least = max(exp(model.prior.box[0, 0] - parameters[0]), LEAST_RELATIVE_VARIANCE * largest)
        function = VarianceFunction(axis.along, axis.ranks, bend, least)
        return replace(model, relative_noise=function.at(axis.design[1:])), function

    def _elbo(self, now: Conclusion, noise: NoiseParameters, posterior: Posterior) -> float:
        """Return the ELBO with the log densities of all parameters."""
        kernel, parameters, latent = now.state.kernel, now.state.parameters, now.state.latent
        assumed = self.hypothesis.function_prior.at(kernel, parameters).value + noise.log_density
        return posterior.log_evidence + float(now.model.log_prior(parameters, latent)) + assumed
