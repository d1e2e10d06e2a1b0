"""The flagship: search, heteroscedastic noise, and a posterior calibrated by expectation propagation."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import numpy as np

from sturdygp._typing import FloatArray
from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp.hyperparameter_uncertainty import UncertainPosterior
from sturdygp.gp.posterior import Posterior, Prior
from sturdygp.inference.expectation_propagation import NaturalSites, Propagation
from sturdygp.inference.problem import Problem
from sturdygp.inference.variational import resume_state
from sturdygp.likelihoods.contamination import FittedContamination, OutlierMoments, TiltedMixture
from sturdygp.likelihoods.contamination_prior import ContaminationPrior
from sturdygp.methods.fit import Fit
from sturdygp.methods.robust.heteroscedastic import Conclusion, with_variance_function
from sturdygp.methods.robust.masking import SUSPICIONS, Masking, with_masked
from sturdygp.methods.robust.neighbours import Neighbourhood
from sturdygp.methods.robust.screening import LEVELS, levels
from sturdygp.methods.robust.search import Found, Search
from sturdygp.status import Status

# Targets are clipped to this many robust scales: a fill value such as 1e36 is no more of an outlier than a
# million, but leaves no digits of the others.
FARTHEST = 1e6
# Agreement of marginals and tilted moments, in marginal standard deviations.
AGREEMENT = 1e-3
# Without agreement: damping of the responsibilities, their largest change at convergence, and most
# iterations.
DAMPING, SETTLED_CHANGE, SETTLING_ROUNDS = 0.5, 0.01, 60
NOT_SETTLED = (
    "neither expectation propagation nor its fallback settled; intervals and outlier probabilities are rough"
)


@dataclass(frozen=True)
class RobustMethod:
    """Variational EM finds kernel and contamination, the score picks a hypothesis, EP gives the posterior.

    ``tol`` is the largest derivative of the ELBO, per observation, at convergence; ``noise_variance`` the
    fraction of the variance around a level that is initially noise.
    """

    prior: ContaminationPrior = field(default_factory=ContaminationPrior)
    noise_variance: float = 0.5
    n_starts: int = len(LEVELS)
    max_iter: int = 1000
    tol: float = 1e-4

    def fit(self, problem: Problem) -> Fit:
        """Fit one output, and again without observations that may mask outliers."""
        fit = self._fit_together(problem)
        for suspected, justified in SUSPICIONS:
            rows = suspected(problem, fit)
            if rows is None or fit.status is Status.STOPPED:
                continue
            masking = Masking(problem, fit, rows)
            rest = self.fit(masking.others)
            spent = fit.n_factorizations + rest.n_factorizations
            if justified(rest, masking):
                return replace(with_masked(rest, masking), n_factorizations=spent + 1)
            status = rest.status if rest.status is Status.STOPPED else fit.status
            fit = replace(fit, n_factorizations=spent, status=status)
        return fit

    def _fit_together(self, problem: Problem) -> Fit:
        """Fit all observations."""
        nearer = replace(problem, y=np.clip(problem.y, -FARTHEST, FARTHEST))
        tol = self.tol * problem.y.size
        neighbourhood = Neighbourhood.of(nearer)
        prior = self.prior.adapted(neighbourhood.unit, problem.least_noise)
        search = Search(nearer, prior, self.noise_variance, tol, self.max_iter, neighbourhood.dense)
        found = search.best(levels(self.n_starts, problem.rng))
        conclusion = with_variance_function(found.best, self.max_iter, tol)
        return calibrated_fit(replace(found.best.problem, y=problem.y), conclusion, found)


def calibrated_fit(problem: Problem, conclusion: Conclusion, found: Found) -> Fit:
    """Calibrate intervals and outlier probabilities of a conclusion, allowing for parameter uncertainty."""
    model, state, optimum = conclusion.model, conclusion.state, found.best.optimum
    likelihood = FittedContamination.at(state.parameters, state.latent, model)
    prior, sites = problem.prior(state.kernel), model.sites(state.parameters, state.latent)
    calibrated = propagate(prior, model.y, likelihood, prior.condition(sites))
    posterior = UncertainPosterior.around(
        calibrated.posterior, problem.X, problem.prior, conclusion.covariance
    )
    spent = found.n_factorizations + conclusion.n_factorizations + calibrated.n_factorizations
    outliers = outliers_in(problem.y, calibrated)
    return Fit(
        posterior=posterior.compact(),
        likelihood=replace(
            likelihood,
            found=outliers,
            relative_noise=np.ones(1),
            variance_function=conclusion.variance_function,
        ),
        n_densities=float(problem.y.size),
        weights=likelihood.weights(calibrated.responsibility),
        outlier_proba=calibrated.outlier,
        bound=conclusion.elbo,
        status=optimum.status,
        n_iter=optimum.n_iter,
        n_factorizations=spent + len(posterior.moved),
        trace=optimum.trace,
        note=calibrated.note,
        resume=resume_state(optimum),
        ledger=found.ledger,
    )


@dataclass(frozen=True, eq=False)
class Calibrated:
    """A posterior of the function, and responsibilities of each observation, those of inliers first."""

    posterior: Posterior
    responsibility: FloatArray
    n_factorizations: int
    note: str = ""

    @property
    def outlier(self) -> FloatArray:
        """Probability that each observation is an outlier."""
        return np.asarray(1.0 - self.responsibility[:, 0])


def outliers_in(y: FloatArray, fit: Calibrated) -> OutlierMoments | None:
    """Moments of the residuals of outliers; None if less than one is expected."""
    if fit.outlier.sum() < 1.0:
        return None
    m = fit.posterior.marginals()
    return OutlierMoments.among(y - m.mean, m.variance, fit.outlier)


def propagate(
    prior: Prior, y: FloatArray, likelihood: FittedContamination, variational: Posterior
) -> Calibrated:
    """Run expectation propagation from the variational posterior.

    Variational responsibilities ignore the uncertainty of the function; they and the posterior are
    overconfident.
    """
    sites = variational.sites
    initial = NaturalSites(sites.precision, sites.precision * sites.target)
    rule: Propagation[TiltedMixture] = Propagation(prior, y, likelihood, tolerance=AGREEMENT)
    try:
        result = rule.run(initial, careful=False)
    except NotPositiveDefiniteError:
        return settled(prior, y, likelihood, variational)
    return Calibrated(result.posterior, result.tilted.responsibility, 1 + result.n_factorizations)


def settled(prior: Prior, y: FloatArray, likelihood: FittedContamination, initial: Posterior) -> Calibrated:
    """Iterate leave-one-out responsibilities, where expectation propagation finds no fixed point.

    Each observation is judged under the leave-one-out distribution of the function, but its site is that of
    the variational method, which is never improper.
    """
    posterior, spent = initial, 1
    responsibility = judged_by_others(y, likelihood, posterior)
    for _ in range(SETTLING_ROUNDS):
        posterior = prior.condition(likelihood.sites(y, responsibility))
        change = judged_by_others(y, likelihood, posterior) - responsibility
        spent += 1
        if np.abs(change).max() < SETTLED_CHANGE:
            return Calibrated(posterior, responsibility, spent)
        responsibility = responsibility + DAMPING * change
    return Calibrated(posterior, responsibility, spent, NOT_SETTLED)


def judged_by_others(y: FloatArray, likelihood: FittedContamination, posterior: Posterior) -> FloatArray:
    """Responsibilities under the leave-one-out distributions of the function."""
    others = posterior.leave_one_out()
    if not np.isfinite(others.mean).all():
        raise NotPositiveDefiniteError(
            "the function goes through observations exactly, which leaves no noise"
        )
    return likelihood.tilted(y, others).responsibility
