"""Student-t regression as a method: variational Bayes initialises the other approximations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from math import exp, log
from typing import Literal, TypeVar

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.exact import ExactPrior
from sturdygp.gp.posterior import Posterior
from sturdygp.inference.expectation_propagation import NaturalSites, Propagated, Propagation
from sturdygp.inference.laplace import LaplaceFit, approximate
from sturdygp.inference.problem import Problem
from sturdygp.inference.variational import (
    Initialisation,
    VariationalObjective,
    default_initialisations,
    optimise_in_stages,
    resume_state,
)
from sturdygp.likelihoods.student_t import (
    LOG_DOF_BOX,
    FittedStudentT,
    TiltedT,
    TLikelihood,
    VbModel,
    Weights,
    update_weights,
)
from sturdygp.methods.fit import Fit
from sturdygp.optimise import Evaluation, Flatness, Optimum, maximise
from sturdygp.status import Status

INITIAL_DOF = 4.0


# Power of the fallback, fractional EP.
FALLBACK_POWER = 0.5


# Factorisations charged for a point that fails.
FAILURE_COST = 60


FRACTIONAL = "expectation propagation did not converge; this fit is fractional ({:.2g}), which is coarser"


NOT_PROPAGATED = (
    "expectation propagation did not converge, not even fractional; this fit is variational Bayes"
)


NO_LAPLACE = "Laplace's approximation does not exist at the initial parameters; this fit is variational Bayes"


Inference = Literal["ep", "vb", "laplace"]


C = TypeVar("C")


R = TypeVar("R", Propagated[TiltedT], LaplaceFit)


@dataclass
class Budget:
    """Factorisations spent in a fit, and the most allowed: some posteriors are close to improper."""

    spent: int
    most: int

    @property
    def exhausted(self) -> bool:
        """True if no further point is tried."""
        return self.spent >= self.most

    def charge(self, run: Callable[[], R]) -> R:
        """Run an approximation unless the budget is spent, in which case its point is rejected."""
        if self.exhausted:
            raise NotPositiveDefiniteError(f"the budget of {self.most} factorisations is spent")
        self.spent += FAILURE_COST
        result = run()
        self.spent += result.n_factorizations - FAILURE_COST
        return result


@dataclass(frozen=True)
class StudentT:
    """Student-t noise; ``dof=None`` learns the degrees of freedom.

    ``tol`` is the largest derivative of the log evidence, or of the ELBO, per observation.
    """

    inference: Inference = "ep"
    dof: float | None = INITIAL_DOF
    noise_variance: float = 0.5
    n_starts: int = 1
    max_iter: int = 1000
    tol: float = 1e-5
    max_factorizations: int = 3000

    def fit(self, problem: Problem) -> Fit:
        """Fit one output."""
        if self.inference == "laplace":
            problem.require_exact('inference="laplace"', 'use "ep" or "vb" with inducing inputs')
        first = self._fit_vb(problem)
        if self.inference == "vb" or first.fit.status is Status.STOPPED:
            return first.fit
        fit = self._fit_ep if self.inference == "ep" else self._fit_laplace
        return replace(fit(problem, first), resume=first.fit.resume)

    # ------------------------------------------------------------------------ variational Bayes

    def _fit_vb(self, problem: Problem) -> Found:
        best, count = optimise_in_stages(
            problem, self._objective, self._initialisations, max_iter=self.max_iter, tol=self.tol
        )
        model, size = VbModel(problem.y, self.dof is None), problem.kernel.theta.size
        kernel, latent = problem.kernel.with_theta(best.x[:size]), best.carry.latent
        posterior = problem.prior(kernel).condition(model.sites(best.x[size:], latent))
        likelihood = TLikelihood(exp(best.x[size]), latent.dof)
        fit = self._result(problem, posterior, likelihood, best, count + 1)
        return Found(replace(fit, resume=resume_state(best)), likelihood)

    def _objective(self, problem: Problem) -> VariationalObjective[Weights]:
        return VariationalObjective(VbModel(problem.y, self.dof is None), problem, problem.noise_box)

    def _initialisations(self, problem: Problem) -> list[Initialisation[Weights]]:
        dof = self.dof or INITIAL_DOF

        def around(squared: FloatArray) -> Weights:
            return update_weights(squared / self.noise_variance, dof)

        neutral = around(np.full(problem.y.size, self.noise_variance))
        return default_initialisations(
            problem, np.array([log(self.noise_variance)]), neutral, around, self.n_starts
        )

    # --------------------------------------------------------------------- expectation propagation

    def _fit_ep(self, problem: Problem, first: Found) -> Fit:
        found = self._propagate(problem, first, 1.0)
        if found is not None:
            return found
        power = first.likelihood.least_power(FALLBACK_POWER)
        found = self._propagate(problem, first, power) if power < 1.0 else None
        if found is not None:
            return replace(found, note=FRACTIONAL.format(power))
        return replace(first.fit, note=NOT_PROPAGATED)

    def _propagate(self, problem: Problem, first: Found, power: float) -> Fit | None:
        budget = self._budget(first)
        # The power of the likelihood mixes noise and dof, so the fallback keeps the dof it has.
        learn = self.dof is None and power == 1.0
        size = problem.kernel.theta.size

        def run(x: FloatArray, initial: NaturalSites, *, careful: bool) -> Propagated[TiltedT]:
            likelihood = self._likelihood(x[size:], first.likelihood, learn=learn)
            prior = problem.prior(problem.kernel.with_theta(x[:size]))
            return Propagation(prior, problem.y, likelihood, power).run(initial, careful=careful)

        def objective(x: FloatArray, initial: NaturalSites) -> Evaluation[NaturalSites]:
            # The first point must converge; for others a shorter step will do.
            careful = budget.spent == first.fit.n_factorizations
            result = budget.charge(lambda: run(x, initial, careful=careful))
            by_noise = result.tilted.by_log_noise.sum() + 0.5 * (1.0 - power) * problem.y.size
            by_likelihood = [by_noise / power] + [result.tilted.by_log_dof.sum()] * learn
            gradient = np.append(result.posterior.gradient(result.by_left_out(power)).kernel, by_likelihood)
            flatness = self._flatness(problem, x)
            return Evaluation(result.log_evidence, gradient, result.natural, flatness=flatness)

        sites = first.fit.posterior.sites
        initial = NaturalSites(sites.precision, sites.precision * sites.target)
        best = self._optimise(
            problem, objective, self._initial_parameters(first, learn=learn), initial, budget, learn=learn
        )
        if best.status is Status.FAILED:
            return None
        final = run(best.x, best.carry, careful=True)
        likelihood = self._likelihood(best.x[size:], first.likelihood, learn=learn)
        spent = budget.spent + final.n_factorizations
        return self._result(problem, final.posterior, likelihood, best, spent)

    # -------------------------------------------------------------------------------------- Laplace

    def _fit_laplace(self, problem: Problem, first: Found) -> Fit:
        budget, learn = self._budget(first), self.dof is None
        size = problem.kernel.theta.size

        def run(x: FloatArray, initial: FloatArray) -> LaplaceFit:
            likelihood = self._likelihood(x[size:-1], first.likelihood, learn=learn)
            prior = ExactPrior.at(problem.kernel.with_theta(x[:size]), problem.inputs)
            return approximate(prior, problem.y, likelihood, float(x[-1]), initial)

        def objective(x: FloatArray, initial: FloatArray) -> Evaluation[FloatArray]:
            result = budget.charge(lambda: run(x, initial))
            by_likelihood = [result.by_log_noise, *[result.by_log_dof] * learn, result.by_mean]
            gradient, flatness = np.append(result.by_kernel, by_likelihood), self._flatness(problem, x)
            return Evaluation(result.log_evidence, gradient, result.mode, flatness=flatness)

        mode = first.fit.posterior.marginals().mean
        x = np.append(self._initial_parameters(first, learn=learn), first.fit.posterior.mean)
        box = np.array([[problem.y.min(), problem.y.max()]])
        best = self._optimise(problem, objective, x, mode, budget, learn=learn, more_bounds=box)
        if best.status is Status.FAILED:
            return replace(first.fit, note=NO_LAPLACE)
        final = run(best.x, best.carry)
        likelihood = self._likelihood(best.x[size:-1], first.likelihood, learn=learn)
        spent = budget.spent + final.n_factorizations
        return self._result(problem, final.posterior, likelihood, best, spent)

    # ---------------------------------------------------------------------------------- common parts

    def _budget(self, first: Found) -> Budget:
        """Allow at least one evaluation after variational Bayes."""
        spent = first.fit.n_factorizations
        return Budget(spent, max(self.max_factorizations, spent + 1))

    def _initial_parameters(self, first: Found, *, learn: bool) -> FloatArray:
        parameters = [log(first.likelihood.noise)] + [log(first.likelihood.dof)] * learn
        return np.append(first.fit.posterior.kernel.theta, parameters)

    def _likelihood(self, parameters: FloatArray, first: TLikelihood, *, learn: bool) -> TLikelihood:
        return TLikelihood(exp(parameters[0]), exp(parameters[1]) if learn else first.dof)

    def _flatness(self, problem: Problem, x: FloatArray) -> Flatness:
        kernel, size = problem.kernel, problem.kernel.theta.size
        return problem.flatness(kernel.with_theta(x[:size]), np.exp(-x[size : size + 1]), x.size - size)

    def _optimise(
        self,
        problem: Problem,
        objective: Callable[[FloatArray, C], Evaluation[C]],
        initial: FloatArray,
        carry: C,
        budget: Budget,
        *,
        learn: bool,
        more_bounds: FloatArray | None = None,
    ) -> Optimum[C]:
        dof_box = [np.array([LOG_DOF_BOX])] * learn
        more = [] if more_bounds is None else [more_bounds]
        bounds = np.vstack([problem.kernel.bounds, problem.noise_box, *dof_box, *more])
        best = maximise(
            objective,
            initial,
            bounds,
            carry=carry,
            max_iter=self.max_iter,
            tol=self.tol * problem.y.size,
            callback=problem.callback,
        )
        # No step was found because the budget allowed none.
        stalled = best.status is Status.STALLED and budget.exhausted
        return replace(best, status=Status.EXHAUSTED) if stalled else best

    def _result(
        self,
        problem: Problem,
        posterior: Posterior,
        likelihood: TLikelihood,
        best: Optimum[C],
        n_factorizations: int,
    ) -> Fit:
        weight = likelihood.weight(posterior.marginals().second_moment(problem.y))
        return Fit(
            posterior=posterior.compact(),
            likelihood=FittedStudentT(likelihood),
            n_densities=float(problem.y.size),
            # Relative to an observation that the function interpolates.
            weights=weight * likelihood.dof / (likelihood.dof + 1.0),
            bound=best.value,
            status=best.status,
            n_iter=best.n_iter,
            n_factorizations=n_factorizations,
            trace=best.trace,
        )


@dataclass(frozen=True, eq=False)
class Found:
    """A fit and its likelihood."""

    fit: Fit
    likelihood: TLikelihood
