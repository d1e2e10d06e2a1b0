"""The objective that variational methods share: kernel steps on the evidence, latent updates for free.

For a fixed latent part, the ELBO of such a method is the evidence of its sites plus
the log prior of its parameters: everything the latent part contributes stands in ``log_scale``. One
factorisation therefore gives the ELBO, its gradient with respect to the kernel and the noise, and
the moments from which the latent part is updated.

A gradient taken with the weights of the last point misleads a quasi-Newton method. Before a new
point is factorised, the weights are therefore brought up to date for it by a few steps of
conjugate gradients, preconditioned with the last factor. That costs O(n^2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from math import ceil
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.gp.inputs import Rows, gather
from sturdygp.gp.posterior import Marginals, Posterior, Prior
from sturdygp.gp.sites import Sites
from sturdygp.inference.problem import LONGER, Problem, ResumeState, lengthened
from sturdygp.kernels.base import Kernel
from sturdygp.likelihoods.base import LatentModel
from sturdygp.optimise import Callback, Evaluation, Optimum, above, best_of, maximise
from sturdygp.status import Status

L = TypeVar("L")


# Latent updates made before a point is factorised.
ANTICIPATIONS = 2


# Iterations from every initialisation but the first, and how many of these are then continued.
SCREENING_ITERATIONS = 6


FOLLOWED_UP = 1


# Quantiles of the targets around which weights are initialised.
QUANTILES = (0.5, 0.1, 0.9, 0.3, 0.7)


@dataclass(frozen=True, eq=False)
class LogDensity:
    """A log density of all parameters, and its derivatives by those of kernel and likelihood."""

    value: float
    by_theta: FloatArray
    by_parameters: FloatArray


class ParameterPrior(Protocol):
    """A prior of kernel and likelihood parameters, in addition to the prior of the likelihood itself."""

    def at(self, kernel: Kernel, parameters: FloatArray) -> LogDensity:
        """Return the log density, up to a constant."""


@dataclass(frozen=True, eq=False)
class Initialisation(Generic[L]):
    """Kernel, likelihood parameters and latent part to begin with; curvature if they continue another."""

    kernel: Kernel
    parameters: FloatArray
    latent: L
    curvature: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class LatentState(Generic[L]):
    """The latent part that an optimiser carries; with ``posterior``, the next one can be anticipated."""

    latent: L
    posterior: Posterior | None = None
    variance: FloatArray = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False)
class VariationalObjective(Generic[L]):
    """The ELBO of a latent model as an objective for :func:`~sturdygp.optimise.maximise`."""

    model: LatentModel[L]
    problem: Problem
    parameter_bounds: FloatArray
    parameter_prior: ParameterPrior | None = None

    def optimise(
        self, initial: Initialisation[L], *, max_iter: int, tol: float, callback: Callback | None = None
    ) -> Optimum[LatentState[L]]:
        """Maximise the ELBO over kernel, likelihood parameters and latent part together."""
        size = initial.kernel.theta.size

        def objective(x: FloatArray, state: LatentState[L]) -> Evaluation[LatentState[L]]:
            return self.evaluate(initial.kernel.with_theta(x[:size]), x[size:], state)

        return maximise(
            objective,
            np.concatenate([initial.kernel.theta, initial.parameters]),
            np.vstack([initial.kernel.bounds, self.parameter_bounds]),
            carry=LatentState(initial.latent),
            max_iter=max_iter,
            tol=tol,
            callback=callback,
            curvature=initial.curvature,
        )

    def optimise_from_all(
        self,
        initialisations: list[Initialisation[L]],
        *,
        max_iter: int,
        tol: float,
        callback: Callback | None = None,
    ) -> tuple[Optimum[LatentState[L]], int]:
        """Optimise from the first initialisation, and from the most promising of the others.

        More initialisations therefore never end lower than one. Also return the number of evaluations.
        """
        first = self.optimise(initialisations[0], max_iter=max_iter, tol=tol, callback=callback)
        if first.status is Status.STOPPED or len(initialisations) == 1:
            return first, first.n_evaluations
        screening = min(SCREENING_ITERATIONS, max_iter)
        tried = [self.optimise(initial, max_iter=screening, tol=tol) for initial in initialisations[1:]]
        followed = []
        for before in sorted(tried, key=lambda optimum: -optimum.value)[:FOLLOWED_UP]:
            initial = initialisation_at_optimum(initialisations[0].kernel, before)
            hearing = above(callback, first.value)
            after = self.optimise(initial, max_iter=max_iter - before.n_iter, tol=tol, callback=hearing)
            followed.append(chained(before, after))
        count = sum(optimum.n_evaluations for optimum in (first, *tried, *followed))
        best = best_of([first, *followed])
        stopped = any(optimum.status is Status.STOPPED for optimum in followed)
        return (replace(best, status=Status.STOPPED) if stopped else best), count

    def initialisation_from_sample(self, kernel: Kernel, found: Optimum[LatentState[L]]) -> Initialisation[L]:
        """Initialise the optimisation of all observations with the optimum of a sample."""
        initial, posterior = initialisation_at_optimum(kernel, found), found.carry.posterior
        if posterior is None:
            raise RuntimeError("an optimisation that did not fail must come with a posterior")
        if self.problem.markov:
            there = self._leave_one_out_marginals(initial)
        else:
            there = gather(self.problem.X, posterior.predict, Marginals.joined)
        latent = self.model.update(initial.parameters, initial.latent, there)
        more = len(self.problem.X) / len(posterior.sites)
        return replace(
            initial, latent=latent, curvature=None if initial.curvature is None else more * initial.curvature
        )

    def _leave_one_out_marginals(self, initial: Initialisation[L]) -> Marginals:
        """Leave-one-out moments of the function with all observations as inliers.

        A sample that is one stretch of time does not predict the others.
        """
        y = self.problem.y
        trusting = self.model.update(initial.parameters, initial.latent, Marginals(y, np.zeros_like(y)))
        posterior = self.problem.prior(initial.kernel).condition(
            self.model.sites(initial.parameters, trusting)
        )
        return posterior.leave_one_out()

    def evaluate(
        self, kernel: Kernel, parameters: FloatArray, state: LatentState[L]
    ) -> Evaluation[LatentState[L]]:
        """Return the ELBO after a free latent update, and its gradient before."""
        prior = self.problem.prior(kernel)
        latent = self._anticipate(prior, parameters, state)
        sites = self.model.sites(parameters, latent)
        posterior = prior.condition(sites)
        # The inverse that the gradient needs gives the marginals as well.
        by_theta, marginals = posterior.gradient().kernel, posterior.marginals()
        updated = self.model.update(parameters, latent, marginals)
        before, after = (float(self.model.log_prior(parameters, part)) for part in (latent, updated))
        gain = after - before
        gain += expected_log_sites(self.model.sites(parameters, updated), marginals)
        gain -= expected_log_sites(sites, marginals)
        value = posterior.log_evidence + before + gain
        gradient = np.concatenate([by_theta, self.model.parameter_gradient(parameters, latent, marginals)])
        if self.parameter_prior is not None:
            assumed = self.parameter_prior.at(kernel, parameters)
            value += assumed.value
            gradient += np.concatenate([assumed.by_theta, assumed.by_parameters])
        return Evaluation(
            value=value,
            gradient=gradient,
            carry=LatentState(updated, posterior.compact(), marginals.variance),
            gain=gain,
            fallback=LatentState(updated),
            flatness=self.problem.flatness(kernel, sites.precision, parameters.size, marginals.variance),
        )

    def _anticipate(self, prior: Prior, parameters: FloatArray, state: LatentState[L]) -> L:
        """Update the latent part for this point, by approximate means that need no factorisation."""
        latent, near = state.latent, state.posterior
        if near is None or latent is None:
            return latent
        warm_start = None
        for _ in range(ANTICIPATIONS):
            anticipated = prior.anticipate(self.model.sites(parameters, latent), near, warm_start)
            if anticipated is None:
                return latent
            latent = self.model.update(parameters, latent, Marginals(anticipated.mean, state.variance))
            warm_start = anticipated.solution
        return latent


def initialisation_at_optimum(kernel: Kernel, optimum: Optimum[LatentState[L]]) -> Initialisation[L]:
    """Continue from where an optimisation ended."""
    size = kernel.theta.size
    theta, parameters = optimum.x[:size], optimum.x[size:]
    return Initialisation(kernel.with_theta(theta), parameters, optimum.carry.latent, optimum.curvature)


def resume_state(optimum: Optimum[LatentState[L]]) -> ResumeState:
    """State of an optimisation as plain arrays."""
    latent: Any = optimum.carry.latent
    parts = {} if latent is None else {each.name: getattr(latent, each.name) for each in fields(latent)}
    arrays = {name: np.asarray(part, dtype=np.float64) for name, part in parts.items()}
    return ResumeState(optimum.x, arrays, optimum.curvature)


def restored_initialisation(
    state: ResumeState, kernel: Kernel, n_parameters: int, like: L
) -> Initialisation[L]:
    """Continue from a saved state, whose latent part must have the shapes of ``like``."""
    template: Any = like
    names = [] if like is None else [each.name for each in fields(template)]
    shapes = {name: np.shape(getattr(like, name)) for name in names}
    size = kernel.theta.size
    if state.x.size != size + n_parameters or shapes != {
        name: part.shape for name, part in state.latent.items()
    }:
        raise ValueError(
            "the earlier fit was of other data, or with other settings; "
            "set warm_start=False, or delete the checkpoint"
        )
    latent = like if like is None else type(like)(**{name: part[()] for name, part in state.latent.items()})
    return Initialisation(kernel.with_theta(state.x[:size]), state.x[size:], latent, state.curvature)


def chained(before: Optimum[LatentState[L]], after: Optimum[LatentState[L]]) -> Optimum[LatentState[L]]:
    """Count an optimisation and its continuation as one; evaluations are those of the second."""
    return replace(after, n_iter=before.n_iter + after.n_iter, trace=before.trace + after.trace[1:])


def default_initialisations(
    problem: Problem, parameters: FloatArray, neutral: L, around: Callable[[FloatArray], L], n_starts: int
) -> list[Initialisation[L]]:
    """Initialise as the paper does; then with longer length scales; then around quantiles of the targets.

    ``around(squared)`` is the latent part for squared residuals from a constant function.
    """
    longer, initialisations = lengthened(problem.kernel, LONGER), []
    for index in range(n_starts):
        if index < 2:
            initialisations.append(Initialisation((problem.kernel, longer)[index], parameters, neutral))
            continue
        beyond = index - 2 - len(QUANTILES)
        kernel = longer if beyond < 0 else lengthened(problem.kernel, problem.rng.uniform(0.0, 2.0 * LONGER))
        level = QUANTILES[beyond] if beyond < 0 else problem.rng.uniform(0.05, 0.95)
        initialisations.append(
            Initialisation(kernel, parameters, around((problem.y - np.quantile(problem.y, level)) ** 2))
        )
    return initialisations


def expected_log_sites(sites: Sites, marginals: Marginals) -> float:
    """``sum_i E[log site_i(f_i)]`` under normal marginals."""
    return float(sites.log_scale.sum() - 0.5 * (sites.precision @ marginals.second_moment(sites.target)))


# Each stage has a fraction of the observations of the next; the smallest and largest sample. A sample is held
# in memory, and a larger one would hardly locate the optimum better.
STAGE_RATIO, SMALLEST_SAMPLE, LARGEST_SAMPLE = 4, 100, 50_000


# A sample of so few observations needs no inducing inputs.
EXACT_ROWS = 1000


# Tolerance for a sample relative to that for all observations: the sample only initialises.
COARSER = 3.0


def sampled(problem: Problem, rows: int) -> Problem:
    """Sample so many observations, in memory; the sample does not depend on the order of an array's rows."""
    X, y = problem.X, problem.y
    if y.size <= rows:
        return replace(problem, X=X[np.arange(y.size)]) if isinstance(X, Rows) else problem
    # Sorted by target, and equal targets by inputs where these are in memory.
    order = np.lexsort((y,) if isinstance(X, Rows) else (*X.T, y))
    if problem.markov:
        # Take a stretch from the middle: neighbours in time show short length scales and periods.
        first = (y.size - rows) // 2
        chosen = np.lexsort((y, problem.inputs[:, 0]))[first : first + rows]
    else:
        chosen = order[np.random.default_rng(0).choice(y.size, rows, replace=False)]
    inducing = problem.inducing if rows > EXACT_ROWS else None
    added = None if problem.added is None else problem.added[chosen]
    return replace(problem, X=X[chosen], y=y[chosen], added=added, callback=None, inducing=inducing)


def optimise_in_stages(
    problem: Problem,
    objective_for: Callable[[Problem], VariationalObjective[L]],
    initialisations_for: Callable[[Problem], list[Initialisation[L]]],
    *,
    max_iter: int,
    tol: float,
) -> tuple[Optimum[LatentState[L]], int]:
    """Optimise samples of growing size, each initialised by the one before; ``tol`` is per observation.

    Also return the number of factorisations; those of a sample count by their fraction of the work. A resumed
    problem is continued with all observations: samples have already selected among the initialisations.
    """
    objective, limit, callback = objective_for(problem), tol * problem.y.size, problem.callback
    sample = sampled(problem, min(problem.y.size // STAGE_RATIO, LARGEST_SAMPLE))
    staged = sample.y.size >= SMALLEST_SAMPLE
    if problem.resume is not None:
        first, *others = initialisations_for(problem)
        initial = restored_initialisation(
            problem.resume, problem.kernel, len(objective.parameter_bounds), first.latent
        )
        initialisations = [initial, *([] if staged or problem.resume.searched else others)]
        return objective.optimise_from_all(initialisations, max_iter=max_iter, tol=limit, callback=callback)
    if staged:
        found, spent = optimise_in_stages(
            sample, objective_for, initialisations_for, max_iter=max_iter, tol=COARSER * tol
        )
        if found.status is not Status.FAILED:
            initial = objective.initialisation_from_sample(problem.kernel, found)
            optimum = objective.optimise(initial, max_iter=max_iter, tol=limit, callback=callback)
            return optimum, ceil(spent * sample.work / problem.work) + optimum.n_evaluations
    return objective.optimise_from_all(
        initialisations_for(problem), max_iter=max_iter, tol=limit, callback=callback
    )
