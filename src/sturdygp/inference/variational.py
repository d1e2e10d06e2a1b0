"""The loop that variational methods share: kernel steps on the evidence, latent updates for free.

For a fixed latent part, the variational bound of such a method is the evidence of its sites plus
the log prior of its parameters: everything the latent part contributes stands in ``log_scale``. One
factorisation therefore gives the bound, its gradient with respect to the kernel and the noise, and
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
from sturdygp.inference.problem import LONGER, Problem, Resume, lengthened
from sturdygp.kernels.base import Kernel
from sturdygp.likelihoods.base import LatentModel
from sturdygp.optimise import Callback, Evaluation, Optimum, above, best_of, maximise
from sturdygp.status import Status

L = TypeVar("L")


# Latent updates made before a point is factorised.
ANTICIPATIONS = 2


# Iterations from every start but the first before the most promising go on, and how many do.
SCREENING_ITERATIONS = 6


FOLLOWED_UP = 1


# Quantiles of the targets around which weights are started.
QUANTILES = (0.5, 0.1, 0.9, 0.3, 0.7)


@dataclass(frozen=True, eq=False)
class LogDensity:
    """A log density of all parameters, with its derivatives by the kernel's and by the others."""

    value: float
    by_theta: FloatArray
    by_extra: FloatArray


class ParameterPrior(Protocol):
    """What is assumed of the kernel's parameters, beside what the model assumes of its own."""

    def at(self, kernel: Kernel, extra: FloatArray) -> LogDensity:
        """Up to a constant."""


@dataclass(frozen=True, eq=False)
class Start(Generic[L]):
    """Where a climb begins, and the curvature there if it continues another."""

    kernel: Kernel
    extra: FloatArray
    latent: L
    curvature: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Trail(Generic[L]):
    """The latent part, and the posterior it came from if the next may be anticipated with it."""

    latent: L
    posterior: Posterior | None = None
    variance: FloatArray = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, eq=False)
class Alternation(Generic[L]):
    """The bound of a latent model as an objective for :func:`~sturdygp.optimise.maximise`."""

    model: LatentModel[L]
    problem: Problem
    extra_bounds: FloatArray
    parameter_prior: ParameterPrior | None = None

    def climb(
        self, start: Start[L], *, max_iter: int, tol: float, callback: Callback | None = None
    ) -> Optimum[Trail[L]]:
        """Maximise the bound over kernel, extra parameters and the latent part together."""
        size = start.kernel.theta.size

        def objective(x: FloatArray, trail: Trail[L]) -> Evaluation[Trail[L]]:
            return self.evaluate(start.kernel.with_theta(x[:size]), x[size:], trail)

        return maximise(
            objective,
            np.concatenate([start.kernel.theta, start.extra]),
            np.vstack([start.kernel.bounds, self.extra_bounds]),
            carry=Trail(start.latent),
            max_iter=max_iter,
            tol=tol,
            callback=callback,
            curvature=start.curvature,
        )

    def best_climb(
        self, starts: list[Start[L]], *, max_iter: int, tol: float, callback: Callback | None = None
    ) -> tuple[Optimum[Trail[L]], int]:
        """Climb from the first start to the top, from the others a little and then from the most promising.

        More starts therefore never end lower than one. Also count the evaluations.
        """
        first = self.climb(starts[0], max_iter=max_iter, tol=tol, callback=callback)
        if first.status is Status.STOPPED or len(starts) == 1:
            return first, first.n_evaluations
        little = min(SCREENING_ITERATIONS, max_iter)
        tried = [self.climb(start, max_iter=little, tol=tol) for start in starts[1:]]
        followed = []
        for before in sorted(tried, key=lambda optimum: -optimum.value)[:FOLLOWED_UP]:
            start = resume(starts[0].kernel, before)
            hearing = above(callback, first.value)
            after = self.climb(start, max_iter=max_iter - before.n_iter, tol=tol, callback=hearing)
            followed.append(joined(before, after))
        count = sum(optimum.n_evaluations for optimum in (first, *tried, *followed))
        best = best_of([first, *followed])
        stopped = any(optimum.status is Status.STOPPED for optimum in followed)
        return (replace(best, status=Status.STOPPED) if stopped else best), count

    def start_from(self, kernel: Kernel, found: Optimum[Trail[L]]) -> Start[L]:
        """What a climb with a sample of the readings makes of all of them."""
        start, posterior = resume(kernel, found), found.carry.posterior
        if posterior is None:
            raise RuntimeError("a climb that did not fail has no posterior")
        if self.problem.markov:
            there = self._judged_by_neighbours(start)
        else:
            there = gather(self.problem.X, posterior.predict, Marginals.joined)
        latent = self.model.update(start.extra, start.latent, there)
        more = len(self.problem.X) / len(posterior.sites)
        return replace(
            start, latent=latent, curvature=None if start.curvature is None else more * start.curvature
        )

    def _judged_by_neighbours(self, start: Start[L]) -> Marginals:
        """The function at each observation as the others leave it, all being trusted; a stretch tells of no other."""
        y = self.problem.y
        trusting = self.model.update(start.extra, start.latent, Marginals(y, np.zeros_like(y)))
        posterior = self.problem.prior(start.kernel).condition(self.model.sites(start.extra, trusting))
        return posterior.leave_one_out()

    def evaluate(self, kernel: Kernel, extra: FloatArray, trail: Trail[L]) -> Evaluation[Trail[L]]:
        """The bound after its free latent update, and its gradient before."""
        prior = self.problem.prior(kernel)
        latent = self._anticipate(prior, extra, trail)
        sites = self.model.sites(extra, latent)
        posterior = prior.condition(sites)
        # Marginals come with the derivatives, for little more.
        by_theta, marginals = posterior.gradient().kernel, posterior.marginals()
        updated = self.model.update(extra, latent, marginals)
        before, after = (float(self.model.log_prior(extra, part)) for part in (latent, updated))
        gain = after - before
        gain += expected_log_sites(self.model.sites(extra, updated), marginals)
        gain -= expected_log_sites(sites, marginals)
        value = posterior.log_evidence + before + gain
        gradient = np.concatenate([by_theta, self.model.extra_gradient(extra, latent, marginals)])
        if self.parameter_prior is not None:
            assumed = self.parameter_prior.at(kernel, extra)
            value += assumed.value
            gradient += np.concatenate([assumed.by_theta, assumed.by_extra])
        return Evaluation(
            value=value,
            gradient=gradient,
            carry=Trail(updated, posterior.compact(), marginals.variance),
            gain=gain,
            fallback=Trail(updated),
            flatness=self.problem.flatness(kernel, sites.precision, extra.size, marginals.variance),
        )

    def _anticipate(self, prior: Prior, extra: FloatArray, trail: Trail[L]) -> L:
        """The latent part as it will be here, judged by residuals that cost no factorisation."""
        latent, near = trail.latent, trail.posterior
        if near is None or latent is None:
            return latent
        guess = None
        for _ in range(ANTICIPATIONS):
            anticipated = prior.anticipate(self.model.sites(extra, latent), near, guess)
            if anticipated is None:
                return latent
            latent = self.model.update(extra, latent, Marginals(anticipated.mean, trail.variance))
            guess = anticipated.guess
        return latent


def resume(kernel: Kernel, optimum: Optimum[Trail[L]]) -> Start[L]:
    """A start where an earlier climb ended."""
    size = kernel.theta.size
    theta, extra = optimum.x[:size], optimum.x[size:]
    return Start(kernel.with_theta(theta), extra, optimum.carry.latent, optimum.curvature)


def state_of(optimum: Optimum[Trail[L]]) -> Resume:
    """Where a climb is, as plain arrays."""
    latent: Any = optimum.carry.latent
    parts = {} if latent is None else {each.name: getattr(latent, each.name) for each in fields(latent)}
    arrays = {name: np.asarray(part, dtype=np.float64) for name, part in parts.items()}
    return Resume(optimum.x, arrays, optimum.curvature)


def start_at(state: Resume, kernel: Kernel, extra: int, like: L) -> Start[L]:
    """A start from such a state, whose latent part must be like that of the problem."""
    template: Any = like
    names = [] if like is None else [each.name for each in fields(template)]
    shapes = {name: np.shape(getattr(like, name)) for name in names}
    size = kernel.theta.size
    if state.x.size != size + extra or shapes != {name: part.shape for name, part in state.latent.items()}:
        raise ValueError("the earlier fit was of other data, or with other settings; start afresh")
    latent = like if like is None else type(like)(**{name: part[()] for name, part in state.latent.items()})
    return Start(kernel.with_theta(state.x[:size]), state.x[size:], latent, state.curvature)


def joined(before: Optimum[Trail[L]], after: Optimum[Trail[L]]) -> Optimum[Trail[L]]:
    """A climb and its continuation as one; evaluations stay those of the second."""
    return replace(after, n_iter=before.n_iter + after.n_iter, trace=before.trace + after.trace[1:])


def spread_starts(
    problem: Problem, extra: FloatArray, neutral: L, around: Callable[[FloatArray], L], n_starts: int
) -> list[Start[L]]:
    """The paper's start; then longer length scales; then also weights around quantiles of the targets.

    ``around(squared)`` is the latent part for squared residuals from a constant.
    """
    longer, starts = lengthened(problem.kernel, LONGER), []
    for index in range(n_starts):
        if index < 2:
            starts.append(Start((problem.kernel, longer)[index], extra, neutral))
            continue
        beyond = index - 2 - len(QUANTILES)
        kernel = longer if beyond < 0 else lengthened(problem.kernel, problem.rng.uniform(0.0, 2.0 * LONGER))
        level = QUANTILES[beyond] if beyond < 0 else problem.rng.uniform(0.05, 0.95)
        starts.append(Start(kernel, extra, around((problem.y - np.quantile(problem.y, level)) ** 2)))
    return starts


def expected_log_sites(sites: Sites, marginals: Marginals) -> float:
    """``sum_i E[log site_i(f_i)]`` under normal marginals."""
    return float(sites.log_scale.sum() - 0.5 * (sites.precision @ marginals.second_moment(sites.target)))


# Divides the readings from stage to stage, down to the fewest in one. A sample is held in memory, and more
# than so many readings would hardly tell more of where the optimum is.
FEWER, FEWEST, MOST = 4, 100, 50_000


# A stage of so few readings needs no inducing inputs.
EXACT_ROWS = 1000


# Precision to which a sample is fitted, relative to that asked for all: it only leads the way.
COARSER = 3.0


def sampled(problem: Problem, rows: int) -> Problem:
    """The same problem with so many of its readings, in memory: the same in whichever order they come."""
    X, y = problem.X, problem.y
    if y.size <= rows:
        return replace(problem, X=X[np.arange(y.size)]) if isinstance(X, Rows) else problem
    # Equal readings are told apart by their inputs, where these are at hand.
    order = np.lexsort((y,) if isinstance(X, Rows) else (*X.T, y))
    if problem.markov:
        # Neighbours in time tell of short length scales and rhythms: a stretch from the middle.
        first = (y.size - rows) // 2
        chosen = np.lexsort((y, problem.inputs[:, 0]))[first : first + rows]
    else:
        chosen = order[np.random.default_rng(0).choice(y.size, rows, replace=False)]
    inducing = problem.inducing if rows > EXACT_ROWS else None
    added = None if problem.added is None else problem.added[chosen]
    return replace(problem, X=X[chosen], y=y[chosen], added=added, callback=None, inducing=inducing)


def climb_by_stages(
    problem: Problem,
    loop_for: Callable[[Problem], Alternation[L]],
    starts_for: Callable[[Problem], list[Start[L]]],
    *,
    max_iter: int,
    tol: float,
) -> tuple[Optimum[Trail[L]], int]:
    """The best climb from all starts, and the factorisations it took; ``tol`` is per reading.

    Those of a sample count by their share of the work. A problem that is resumed goes on with all readings:
    where there are samples, they have chosen among the starts.
    """
    loop, limit, callback = loop_for(problem), tol * problem.y.size, problem.callback
    few = sampled(problem, min(problem.y.size // FEWER, MOST))
    staged = few.y.size >= FEWEST
    if problem.resume is not None:
        first, *others = starts_for(problem)
        start = start_at(problem.resume, problem.kernel, len(loop.extra_bounds), first.latent)
        starts = [start, *([] if staged or problem.resume.searched else others)]
        return loop.best_climb(starts, max_iter=max_iter, tol=limit, callback=callback)
    if staged:
        found, spent = climb_by_stages(few, loop_for, starts_for, max_iter=max_iter, tol=COARSER * tol)
        if found.status is not Status.FAILED:
            start = loop.start_from(problem.kernel, found)
            optimum = loop.climb(start, max_iter=max_iter, tol=limit, callback=callback)
            return optimum, ceil(spent * few.work / problem.work) + optimum.n_evaluations
    return loop.best_climb(starts_for(problem), max_iter=max_iter, tol=limit, callback=callback)
