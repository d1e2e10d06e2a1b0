"""The method: search, climb, and a posterior by expectation propagation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.posterior import Posterior, Prior
from sturdygp.gp.uncertain import UncertainPosterior
from sturdygp.methods.adaptive.alike import equal_readings, improbable
from sturdygp.methods.adaptive.aside import SetAside, with_aside
from sturdygp.methods.adaptive.far import clearer, far_faults
from sturdygp.methods.adaptive.likelihood import BranchLikelihood, Faults, TiltedBranches
from sturdygp.methods.adaptive.model import Branches
from sturdygp.methods.adaptive.neighbours import Neighbourhood
from sturdygp.methods.adaptive.prior import ContaminationPrior
from sturdygp.methods.adaptive.profiled import profiled
from sturdygp.methods.adaptive.reading import Reading
from sturdygp.methods.adaptive.search import Search
from sturdygp.methods.adaptive.starts import LEVELS, levels
from sturdygp.methods.alternating import Trail, state_of
from sturdygp.methods.base import Fit, Problem
from sturdygp.methods.propagation import NaturalSites, Propagation
from sturdygp.optimise import Optimum
from sturdygp.status import Status

# Targets are brought as near as this, in robust scales: a fill value such as 1e36 is no more of a fault than
# a million, but leaves nothing of the others.
FARTHEST = 1e6
# Agreement of marginals and tilted moments, in marginal standard deviations.
AGREEMENT = 1e-3
# Where it does not agree: how much of the way to new probabilities of the branches, how near they must come,
# and how often that is tried.
DAMPING, NEAR, ROUNDS = 0.5, 0.01, 60
# What readings may hide others, and whether a fit without them shows that they did.
SUSPICIONS = ((far_faults, clearer), (equal_readings, improbable))
NOT_SETTLED = (
    "neither expectation propagation nor its fallback settled; intervals and outlier probabilities are rough"
)


@dataclass(frozen=True)
class Adaptive:
    """Variational EM finds kernel and contamination, the bound picks among variants, EP gives the posterior.

    ``tol`` is the largest derivative of the bound, per observation, at convergence; ``noise_variance`` the
    share of the variance around a level that is taken for noise at the start.
    """

    prior: ContaminationPrior = field(default_factory=ContaminationPrior)
    noise_variance: float = 0.5
    n_starts: int = len(LEVELS)
    max_iter: int = 1000
    tol: float = 1e-4

    def fit(self, problem: Problem) -> Fit:
        """Fit one output; once more without readings that may hide what there is to be seen."""
        fit = self._fit_together(problem)
        for suspected, justified in SUSPICIONS:
            readings = suspected(problem, fit)
            if readings is None or fit.status is Status.STOPPED:
                continue
            case = SetAside(problem, fit, readings)
            rest = self.fit(case.others)
            spent = fit.n_factorizations + rest.n_factorizations
            if justified(rest, case):
                return replace(with_aside(rest, case), n_factorizations=spent + 1)
            status = rest.status if rest.status is Status.STOPPED else fit.status
            fit = replace(fit, n_factorizations=spent, status=status)
        return fit

    def _fit_together(self, problem: Problem) -> Fit:
        """Fit all readings."""
        nearer = replace(problem, y=np.clip(problem.y, -FARTHEST, FARTHEST))
        tol = self.tol * problem.y.size
        beside = Neighbourhood.of(nearer)
        prior = self.prior.adapted(beside.unit, problem.least_noise)
        search = Search(nearer, prior, self.noise_variance, tol, self.max_iter, beside.dense)
        best, spent = search.best(levels(self.n_starts, problem.rng))
        return concluded(
            replace(best.problem, y=problem.y), profiled(best, self.max_iter, tol), best.optimum, spent
        )


def concluded(problem: Problem, reading: Reading, optimum: Optimum[Trail[Branches]], spent: int) -> Fit:
    """What a climb comes to, with intervals and probabilities that allow for doubt."""
    model, start = reading.model, reading.start
    likelihood = BranchLikelihood.at(start, model)
    prior, sites = problem.prior(start.kernel), model.sites(start.extra, start.latent)
    calibrated = propagate(prior, model.y, likelihood, prior.condition(sites))
    posterior = UncertainPosterior.around(calibrated.posterior, problem.X, problem.prior, reading.covariance)
    return Fit(
        posterior=posterior.compact(),
        noise_variance=likelihood.noise,
        weights=likelihood.weights(calibrated.responsibility),
        outlier_proba=calibrated.faulty,
        outlier_model=replace(likelihood, found=faults_in(problem.y, calibrated), relative_noise=np.ones(1)),
        noise_profile=reading.profile,
        bound=reading.bound,
        status=optimum.status,
        n_iter=optimum.n_iter,
        n_factorizations=spent + reading.spent + calibrated.n_factorizations + len(posterior.moved),
        trace=optimum.trace,
        note=calibrated.note,
        resume=state_of(optimum),
    )


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A posterior of the function, and the probabilities of the branches of each reading, nominal first."""

    posterior: Posterior
    responsibility: FloatArray
    n_factorizations: int
    note: str = ""

    @property
    def faulty(self) -> FloatArray:
        """The probability that each reading is faulty."""
        return np.asarray(1.0 - self.responsibility[:, 0])


def faults_in(y: FloatArray, fit: Calibrated) -> Faults | None:
    """What the faulty readings are off by; None if there is not one."""
    if fit.faulty.sum() < 1.0:
        return None
    m = fit.posterior.marginals()
    return Faults.among(y - m.mean, m.variance, fit.faulty)


def propagate(
    prior: Prior, y: FloatArray, likelihood: BranchLikelihood, variational: Posterior
) -> Calibrated:
    """Expectation propagation from the variational posterior, whose branches ignore the function's doubt.

    That makes the variational posterior, and the probabilities, too sure.
    """
    sites = variational.sites
    start = NaturalSites(sites.precision, sites.precision * sites.target)
    rule: Propagation[TiltedBranches] = Propagation(prior, y, likelihood, tolerance=AGREEMENT)
    try:
        result = rule.run(start, careful=False)
    except NotPositiveDefiniteError:
        return settled(prior, y, likelihood, variational)
    return Calibrated(result.posterior, result.tilted.responsibility, 1 + result.n_factorizations)


def settled(prior: Prior, y: FloatArray, likelihood: BranchLikelihood, start: Posterior) -> Calibrated:
    """Where expectation propagation finds no fixed point: branches judged by all other readings.

    Each reading is judged where the function is as the others leave it, doubt included, but its site is that
    of the variational method, which is never improper.
    """
    posterior, spent = start, 1
    responsibility = judged_by_others(y, likelihood, posterior)
    for _ in range(ROUNDS):
        posterior = prior.condition(likelihood.sites(y, responsibility))
        change = judged_by_others(y, likelihood, posterior) - responsibility
        spent += 1
        if np.abs(change).max() < NEAR:
            return Calibrated(posterior, responsibility, spent)
        responsibility = responsibility + DAMPING * change
    return Calibrated(posterior, responsibility, spent, NOT_SETTLED)


def judged_by_others(y: FloatArray, likelihood: BranchLikelihood, posterior: Posterior) -> FloatArray:
    """Probabilities of the branches where the function is as all other readings leave it."""
    others = posterior.leave_one_out()
    if not np.isfinite(others.mean).all():
        raise NotPositiveDefiniteError("the function goes through readings exactly, which leaves no noise")
    return likelihood.tilted(y, others).responsibility
