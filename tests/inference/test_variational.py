"""The collapsed ELBO against the un-collapsed one and central differences; fits that begin with a sample."""

from math import exp, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import asor_literal as literal
from references.problems import make_problem
from references.transcription import PRIORS, constants_of, phi_of

from sturdygp.datasets import make_synthetic
from sturdygp.gp import condition
from sturdygp.inference import variational as stages
from sturdygp.inference.problem import Problem, default_kernel
from sturdygp.inference.variational import LatentState, VariationalObjective
from sturdygp.kernels import SquaredExponential
from sturdygp.likelihoods.base import LEAST_NOISE, log_noise_box
from sturdygp.likelihoods.spike_and_slab import AsorModel, AsorPrior, Multipliers, update_multipliers
from sturdygp.methods.asor import INITIAL_RATE, Asor
from sturdygp.methods.mixture import Mixture
from sturdygp.methods.student_t import StudentT
from sturdygp.status import Status


@given(prior=PRIORS, seed=st.integers(0, 200), rate=st.sampled_from([0.0, 0.3, 0.7]))
@settings(deadline=None, max_examples=25)
def test_variational_objective_raises_elbo_at_every_step(prior, seed, rate):
    p = make_problem(16, rate, seed)
    loop = VariationalObjective(AsorModel(p.y, prior), p, log_noise_box(LEAST_NOISE))
    trail, previous = LatentState(Multipliers.all_inliers(16, INITIAL_RATE, prior)), -np.inf
    for _ in range(4):
        step = loop.evaluate(p.kernel, np.array([log(0.5)]), LatentState(trail.latent))
        assert step.gain >= -1e-10
        assert step.value >= previous - 1e-9
        trail, previous = step.carry, step.value
    fit = Asor(prior=prior, max_iter=25).fit(p)
    assert np.all(np.diff(fit.trace) >= -1e-8 * np.abs(fit.trace[1:]))
    assert fit.trace[-1] - 1e-9 <= fit.bound <= fit.trace[-1] + 1e-2 * abs(fit.trace[-1])


@given(prior=PRIORS, seed=st.integers(0, 200))
@settings(deadline=None, max_examples=25)
def test_variational_objective_elbo_equals_the_uncollapsed_one(prior, seed):
    p = make_problem(15, 0.3, seed, kernel=SquaredExponential((0.7, 0.9), 1.3))
    model, log_noise = AsorModel(p.y, prior), log(0.4)
    latent = Multipliers.all_inliers(15, INITIAL_RATE, prior)
    loop = VariationalObjective(model, p, log_noise_box(LEAST_NOISE))
    latent = loop.evaluate(p.kernel, np.array([log_noise]), LatentState(latent)).carry.latent
    posterior = condition(p.kernel, p.X, model.sites(np.array([log_noise]), latent))
    value = loop.evaluate(p.kernel, np.array([log_noise]), LatentState(latent))
    updated = value.carry.latent
    S = (p.y - posterior.marginals().mean) ** 2 + posterior.marginals().variance
    expected = literal.elbo(
        p.X,
        p.y,
        mu=posterior.marginals().mean,
        C=posterior.covariance(p.X),
        omega=updated.inlier_proba,
        a_tilde=prior.slab_shape + 0.5,
        b_tilde=updated.rate + 0.5 * S / exp(log_noise),
        noise=exp(log_noise),
        b=updated.rate,
        m=posterior.mean,
        phi=phi_of(p.kernel),
        constants=constants_of(prior),
        jitter=0.0,
    )
    assert value.value == pytest.approx(expected, rel=1e-8)


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_variational_objective_gradient_equals_central_differences(rate):
    p = make_problem(25, rate, seed=3)
    model = AsorModel(p.y, AsorPrior())
    latent = update_multipliers((p.y - np.median(p.y)) ** 2 / 0.5, 17.0, model.prior)
    loop = VariationalObjective(model, p, log_noise_box(LEAST_NOISE))
    x = np.append(p.kernel.theta, log(0.5))

    def bound(x):
        sites = model.sites(x[-1:], latent)
        return condition(p.kernel.with_theta(x[:-1]), p.X, sites).log_evidence + model.log_prior(
            x[-1:], latent
        )

    evaluation = loop.evaluate(p.kernel, x[-1:], LatentState(latent))
    assert evaluation.value - evaluation.gain == pytest.approx(bound(x), rel=1e-12)
    for i, step in enumerate(1e-5 * np.eye(x.size)):
        assert evaluation.gradient[i] == pytest.approx(
            (bound(x + step) - bound(x - step)) / 2e-5, rel=1e-6, abs=1e-6
        )


METHODS = [Asor(), Mixture(), StudentT(inference="vb")]


@pytest.fixture(scope="module")
def problem():
    data = make_synthetic(450, rate=0.3, seed=2)
    y = data.y[:, 0]
    return Problem(data.X, (y - np.median(y)) / 2.0, default_kernel(data.X), np.random.default_rng(0))


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__)
def test_optimise_in_stages_ends_at_the_same_optimum_with_fewer_factorisations(problem, method):
    steps = method._objective, method._initialisations
    staged, spent = stages.optimise_in_stages(problem, *steps, max_iter=1000, tol=1e-5)
    objective, initialisations = (step(problem) for step in steps)
    limit = 1e-5 * problem.y.size
    direct, all_spent = objective.optimise_from_all(initialisations, max_iter=1000, tol=limit)
    assert staged.status is direct.status is Status.CONVERGED
    assert staged.value == pytest.approx(direct.value, abs=1e-3)
    assert spent < all_spent


def test_sampled_does_not_depend_on_the_order_of_rows(problem):
    order = np.random.default_rng(1).permutation(problem.y.size)
    shuffled = Problem(problem.X[order], problem.y[order], problem.kernel, problem.rng)
    few, same = stages.sampled(problem, 50), stages.sampled(shuffled, 50)
    np.testing.assert_array_equal(few.X, same.X)
    np.testing.assert_array_equal(few.y, same.y)
    assert stages.sampled(problem, 450) is problem


def test_callback_hears_of_the_last_stage_alone(problem):
    seen = []
    told = Problem(problem.X, problem.y, problem.kernel, problem.rng, seen.append)
    fit = Asor().fit(told)
    assert tuple(step.value for step in seen) == fit.trace[-len(seen) :]
