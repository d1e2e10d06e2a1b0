"""ASOR-GPR: both solvers against a literal transcription, the un-collapsed bound and an exact sampler."""

from dataclasses import replace
from itertools import islice
from math import exp, inf, log

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references import asor_literal as literal
from references import gibbs
from references.posteriors import variational_and_exact

from sturdygp.datasets import make_synthetic
from sturdygp.gp import Sites, condition
from sturdygp.inference import generalised_em as gem
from sturdygp.inference.problem import Problem, default_kernel, paper_length_scale
from sturdygp.inference.variational import LatentState, VariationalObjective
from sturdygp.kernels import Constant, Matern52, SquaredExponential
from sturdygp.likelihoods.base import LEAST_NOISE, log_noise_box
from sturdygp.likelihoods.spike_and_slab import (
    AsorModel,
    AsorPrior,
    FittedSpikeAndSlab,
    Multipliers,
    update_multipliers,
    update_rate,
)
from sturdygp.methods.asor import INITIAL_RATE, Asor, relative_change
from sturdygp.status import Status

PRIORS = st.builds(
    AsorPrior,
    slab_shape=st.floats(0.3, 4.0),
    inlier_proba=st.floats(0.05, 0.95),
    rate_shape=st.floats(1.5, 20.0),
    rate_rate=st.floats(0.05, 2.0),
    noise_dof=st.floats(0.5, 10.0),
    noise_scale=st.floats(0.05, 5.0),
)


def make_problem(n=30, rate=0.3, seed=0, kernel=None):
    data = make_synthetic(n, 1, rate=rate, seed=seed)
    return Problem(data.X, data.y[:, 0], kernel or default_kernel(data.X), np.random.default_rng(0))


def with_the_papers_start(p):
    length_scale = (paper_length_scale(p.X),) * p.X.shape[1]
    return replace(p, kernel=replace(p.kernel, length_scale=length_scale))


def constants_of(prior: AsorPrior) -> literal.Constants:
    return literal.Constants(
        a=prior.slab_shape,
        theta=prior.inlier_proba,
        A=prior.rate_shape,
        B=prior.rate_rate,
        nu0=prior.noise_dof,
        s0=prior.noise_scale,
    )


def phi_of(kernel: SquaredExponential) -> np.ndarray:
    """The paper's parameters: log sigma_f, then the log length scales."""
    return np.concatenate([[0.5 * log(kernel.variance)], np.log(kernel.length_scale)])


# ---------------------------------------------------------------------------------------------- the bound


@given(prior=PRIORS, seed=st.integers(0, 200), rate=st.sampled_from([0.0, 0.3, 0.7]))
@settings(deadline=None, max_examples=15)
def test_bound_rises_at_every_block_of_gem_and_equals_the_uncollapsed_one(prior, seed, rate):
    p = make_problem(14, rate, seed)
    model, constants = AsorModel(p.y, prior), constants_of(prior)
    state = gem.update_factors(
        gem.update_function(gem.initial_state(model, p.X, p.kernel, 0.5, INITIAL_RATE))
    )
    R = state.marginals.second_moment(p.y) / state.noise_variance
    a_tilde, b_tilde = prior.slab_shape + 0.5, state.multipliers.rate + 0.5 * R
    previous = state.elbo
    for block in (*gem.BLOCKS[2:], *gem.BLOCKS):
        state = block(state)
        if block is gem.update_factors:
            R = state.marginals.second_moment(p.y) / state.noise_variance
            b_tilde = state.multipliers.rate + 0.5 * R
        expected = literal.elbo(
            p.X,
            p.y,
            mu=state.mu,
            C=state.C,
            omega=state.multipliers.inlier_proba,
            a_tilde=a_tilde,
            b_tilde=b_tilde,
            noise=state.noise_variance,
            b=state.multipliers.rate,
            m=state.mean,
            phi=phi_of(state.kernel),
            constants=constants,
            jitter=gem.JITTER,
        )
        assert state.elbo == pytest.approx(expected, rel=1e-7, abs=1e-6), block.__name__
        assert state.elbo >= previous - 1e-7 * abs(previous), block.__name__
        previous = state.elbo


@given(prior=PRIORS, seed=st.integers(0, 200), rate=st.sampled_from([0.0, 0.3, 0.7]))
@settings(deadline=None, max_examples=25)
def test_bound_rises_at_every_step_of_the_collapsed_solver(prior, seed, rate):
    p = make_problem(16, rate, seed)
    objective = VariationalObjective(AsorModel(p.y, prior), p, log_noise_box(LEAST_NOISE))
    trail, previous = LatentState(Multipliers.all_inliers(16, INITIAL_RATE, prior)), -np.inf
    for _ in range(4):
        step = objective.evaluate(p.kernel, np.array([log(0.5)]), LatentState(trail.latent))
        assert step.gain >= -1e-10
        assert step.value >= previous - 1e-9
        trail, previous = step.carry, step.value
    fit = Asor(prior=prior, max_iter=25).fit(p)
    assert np.all(np.diff(fit.trace) >= -1e-8 * np.abs(fit.trace[1:]))
    assert fit.trace[-1] - 1e-9 <= fit.bound <= fit.trace[-1] + 1e-2 * abs(fit.trace[-1])


@given(prior=PRIORS, seed=st.integers(0, 200))
@settings(deadline=None, max_examples=25)
def test_collapsed_bound_equals_the_uncollapsed_one(prior, seed):
    p = make_problem(15, 0.3, seed, kernel=SquaredExponential((0.7, 0.9), 1.3))
    model, log_noise = AsorModel(p.y, prior), log(0.4)
    latent = Multipliers.all_inliers(15, INITIAL_RATE, prior)
    objective = VariationalObjective(model, p, log_noise_box(LEAST_NOISE))
    latent = objective.evaluate(p.kernel, np.array([log_noise]), LatentState(latent)).carry.latent
    posterior = condition(p.kernel, p.X, model.sites(np.array([log_noise]), latent))
    value = objective.evaluate(p.kernel, np.array([log_noise]), LatentState(latent))
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
def test_gradient_of_the_bound_equals_central_differences(rate):
    p = make_problem(25, rate, seed=3)
    model = AsorModel(p.y, AsorPrior())
    latent = update_multipliers((p.y - np.median(p.y)) ** 2 / 0.5, 17.0, model.prior)
    objective = VariationalObjective(model, p, log_noise_box(LEAST_NOISE))
    x = np.append(p.kernel.theta, log(0.5))

    def bound(x):
        sites = model.sites(x[-1:], latent)
        return condition(p.kernel.with_theta(x[:-1]), p.X, sites).log_evidence + model.log_prior(
            x[-1:], latent
        )

    evaluation = objective.evaluate(p.kernel, x[-1:], LatentState(latent))
    assert evaluation.value - evaluation.gain == pytest.approx(bound(x), rel=1e-12)
    for i, step in enumerate(1e-5 * np.eye(x.size)):
        assert evaluation.gradient[i] == pytest.approx(
            (bound(x + step) - bound(x - step)) / 2e-5, rel=1e-6, abs=1e-6
        )


def test_rate_update_is_where_the_bound_is_flat():
    R, prior = np.random.default_rng(0).gamma(0.5, 20.0, 40), AsorPrior()
    rate = 20.0
    for _ in range(500):
        rate = update_rate(update_multipliers(R, rate, prior), prior)

    def profile(rate):
        q = update_multipliers(R, rate, prior)
        return (q.log_scale - 0.5 * q.weight * R).sum() + prior.log_rate_density(rate)

    assert profile(rate) > max(profile(rate * 1.01), profile(rate / 1.01))


def test_multipliers_do_not_overflow():
    q = update_multipliers(np.array([0.0, 1e3, 1e6, 1e300]), 20.0, AsorPrior())
    assert np.isfinite(q.log_scale).all()
    assert np.all(q.inlier_proba[1:] < 1e-200)
    assert np.all(np.diff(q.weight) < 0)


def test_interpolated_readings_do_not_run_off_with_the_bound():
    """Noise-free labels: an unbounded slab rate would end at weights of 1e15."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(15, 2)), 4, axis=0)
    p = Problem(X, np.repeat(rng.integers(0, 3, 15), 4).astype(float), default_kernel(X), rng)
    fit = Asor().fit(p)
    assert fit.status is Status.CONVERGED
    assert fit.weights.max() <= 1.0
    np.testing.assert_allclose(fit.posterior.predict(X).mean, p.y, atol=0.1)


# -------------------------------------------------------------------------------------------- the solvers


@pytest.mark.parametrize(("rate", "seed"), [(0.0, 0), (0.3, 1), (0.6, 2)])
def test_gem_agrees_with_the_literal_transcription_iteration_by_iteration(rate, seed):
    p = with_the_papers_start(make_problem(24, rate, seed))
    lower, upper = p.kernel.bounds.T * gem.parameter_units(p.kernel) ** -1
    reference = literal.iterate(p.X, p.y, 8, lower=lower, upper=upper)
    ours = gem.iterate(gem.initial_state(AsorModel(p.y, AsorPrior()), p.X, p.kernel, 0.5, INITIAL_RATE))
    for theirs, state in zip(reference, ours, strict=False):
        np.testing.assert_allclose(phi_of(state.kernel), theirs.phi, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(state.mu, theirs.mu, rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(state.multipliers.weight, theirs.w, rtol=1e-6)
        np.testing.assert_allclose(state.multipliers.inlier_proba, theirs.omega, rtol=1e-6, atol=1e-9)
        assert state.noise_variance == pytest.approx(theirs.noise, rel=1e-6)
        assert state.multipliers.rate == pytest.approx(theirs.b, rel=1e-6)
        assert state.mean == pytest.approx(theirs.m, rel=1e-5, abs=1e-6)


def test_gem_stops_and_closes_like_the_transcription():
    p = with_the_papers_start(make_problem(16, 0.2, 5))
    lower, upper = p.kernel.bounds.T * gem.parameter_units(p.kernel) ** -1
    states = list(literal.iterate(p.X, p.y, 60, lower=lower, upper=upper, tol=1e-2))
    closed = literal.final_e_step(p.X, p.y, states[-1], literal.Constants())
    fit = Asor(solver="gem", tol=1e-2, max_iter=60).fit(p)
    assert fit.status is Status.CONVERGED
    assert fit.n_iter == len(states) < 60
    np.testing.assert_allclose(fit.weights, closed.w, rtol=1e-5)
    np.testing.assert_allclose(fit.outlier_proba, 1 - closed.omega, rtol=1e-5, atol=1e-8)
    assert np.all(np.diff(fit.trace) > -1e-8)


@pytest.mark.parametrize("max_iter", [1, 2, 5, 60])
@pytest.mark.parametrize(("n", "rate", "seed"), [(24, 0.3, 1), (16, 0.2, 5)])
def test_gem_predicts_from_the_stored_function_like_the_transcription(n, rate, seed, max_iter):
    """After many iterations rounding has moved the parameters: at convergence they are taken as found."""
    p = make_problem(n, rate, seed)
    Z = np.vstack([p.X[:4], np.random.default_rng(1).uniform(-3, 3, (20, 2))])
    lower, upper = p.kernel.bounds.T * gem.parameter_units(p.kernel) ** -1
    states = list(literal.iterate(p.X, p.y, max_iter, lower=lower, upper=upper, tol=1e-2))
    start = gem.initial_state(AsorModel(p.y, AsorPrior()), p.X, p.kernel, 0.5, INITIAL_RATE)
    found = next(islice(gem.iterate(start), len(states) - 1, None))
    if max_iter == 60:
        states[-1] = replace(
            states[-1],
            w=found.multipliers.weight,
            noise=found.noise_variance,
            b=found.multipliers.rate,
            m=found.mean,
            phi=phi_of(found.kernel),
        )
    mean, variance = literal.predict(
        p.X, Z, literal.final_e_step(p.X, p.y, states[-1], literal.PAPER), literal.PAPER
    )
    fit = Asor(solver="gem", max_iter=max_iter, tol=1e-2).fit(p)
    predicted = fit.posterior.predict(Z)
    assert fit.n_iter == len(states)
    np.testing.assert_allclose(predicted.mean, mean, atol=1e-8)
    np.testing.assert_allclose(predicted.variance, variance, atol=1e-8)


@pytest.mark.parametrize("noise", [1e-18, 1e-30, 1e-60])
def test_gem_goes_on_from_hardly_any_noise(noise):
    """Variances are as small as that noise, and none is negative by rounding."""
    p = make_problem(12, 0.0)
    start = gem.initial_state(AsorModel(p.y, AsorPrior()), p.X, p.kernel, noise, INITIAL_RATE)
    assert np.all(gem.update_function(start).marginals.variance > 0.0)
    assert np.isfinite(Asor(solver="gem", noise_variance=noise, max_iter=3).fit(p).trace).all()


def test_a_residual_that_is_and_was_zero_has_not_changed():
    assert relative_change(0.0, 0.0) == 0.0
    assert relative_change(1.0, 0.0) == inf
    assert relative_change(3.0, 2.0) == pytest.approx(0.5)


def test_gem_out_of_iterations_says_so():
    assert Asor(solver="gem", max_iter=2).fit(make_problem(12)).status is Status.MAX_ITER


@pytest.mark.parametrize(("rate", "seed"), [(0.0, 0), (0.2, 1), (0.4, 2)])
def test_collapsed_ends_no_lower_than_gem(rate, seed):
    p = make_problem(20, rate, seed)
    assert Asor().fit(p).bound >= Asor(solver="gem", max_iter=40).fit(p).bound - 1e-3


@pytest.mark.parametrize("rate", [0.0, 0.2, 0.4, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_convergence_is_only_claimed_where_the_gradient_is_small(rate, seed):
    p = make_problem(60, rate, seed)
    method = Asor()
    fit = method.fit(p)
    kernel, parameters = fit.posterior.kernel, np.array([log(fit.noise_variance)])
    model = AsorModel(p.y, method.prior)
    # The latent part of the fit, to convergence at these parameters: what the claim is about.
    latent = Multipliers(1 - fit.outlier_proba, fit.weights, np.zeros(60), fit.outlier_model.rate)
    objective = VariationalObjective(model, p, log_noise_box(LEAST_NOISE))
    gradient = objective.evaluate(kernel, parameters, LatentState(latent)).gradient
    low, high = np.vstack([kernel.bounds, log_noise_box(LEAST_NOISE)]).T
    x = np.append(kernel.theta, parameters)
    held = ((x <= low + 1e-9) & (gradient < 0)) | ((x >= high - 1e-9) & (gradient > 0))
    assert fit.status is Status.CONVERGED
    assert np.abs(gradient[~held]).max() <= method.tol * 60


def test_factorisations_stay_few():
    """Medians at n = 100 are 23 to 31; Algorithm 1 needs tens of thousands."""
    for rate in (0.0, 0.2, 0.4):
        spent = [Asor().fit(make_problem(100, rate, seed)).n_factorizations for seed in range(7)]
        assert np.median(spent) <= 45


def test_starts_are_ranked_by_the_bound_and_reproducible():
    p = make_problem(50, 0.6, 1)
    single = Asor().fit(p)
    several = Asor(n_starts=9).fit(p)
    again = Asor(n_starts=9).fit(replace(p, rng=np.random.default_rng(0)))
    assert several.bound >= single.bound - 1e-3
    assert several.bound == again.bound
    assert several.n_factorizations > single.n_factorizations
    # Weights may settle before the first iteration.
    assert several.n_iter < len(several.trace) <= several.n_iter + 5
    assert np.all(np.diff(several.trace) >= -1e-8 * np.abs(several.trace[1:]))


def test_starts_work_with_any_kernel_and_callbacks_are_called():
    seen = []
    kernel = Matern52((1.0, 1.0)) + Constant(0.5)
    p = replace(make_problem(30, 0.3, 1, kernel), callback=lambda step: seen.append(step.value))
    fit = Asor(n_starts=3).fit(p)
    assert fit.status is Status.CONVERGED
    assert seen[-1] <= fit.bound
    assert Asor(solver="gem", max_iter=3).fit(p).n_iter == 3


# ----------------------------------------------------------------------------- limits, exact posterior


def test_a_certain_spike_gives_standard_regression():
    p = make_problem(40, 0.0, 2)
    prior = AsorPrior(inlier_proba=1 - 1e-13)
    fit = Asor(prior=prior, tol=1e-8).fit(p)
    np.testing.assert_allclose(fit.weights, 1.0, atol=1e-9)
    np.testing.assert_allclose(fit.outlier_proba, 0.0, atol=1e-9)
    standard = condition(fit.posterior.kernel, p.X, Sites.gaussian(p.y, fit.noise_variance))
    rate = fit.outlier_model.rate
    constant = prior.log_noise_density(fit.noise_variance) + prior.log_rate_density(rate)
    assert fit.bound == pytest.approx(standard.log_evidence + constant, rel=1e-9)
    # and the hyperparameters are those of penalised maximum likelihood
    np.testing.assert_allclose(standard.gradient().kernel, 0.0, atol=1e-4)
    Z = np.random.default_rng(1).uniform(-3, 3, (10, 2))
    np.testing.assert_allclose(fit.posterior.predict(Z).mean, standard.predict(Z).mean, rtol=1e-8)


def test_a_certain_spike_makes_the_variational_posterior_exact():
    p = make_problem(30, 0.0, 1, kernel=SquaredExponential((2.0, 2.0), 1.2))
    marginals, _, draws = variational_and_exact(p, 0.25, AsorPrior(inlier_proba=1 - 1e-12), seed=0)
    assert np.all(np.abs(marginals.mean - draws.f.mean(axis=0)) < 4.5 * gibbs.batch_error(draws.f))
    np.testing.assert_allclose(np.sqrt(marginals.variance), draws.f.std(axis=0), rtol=0.06)


@pytest.mark.parametrize("seed", range(3))
def test_variational_posterior_is_close_to_the_exact_one(seed):
    """Mean field is not exact; docs/asor.md has the measured differences."""
    p = make_problem(40, 0.25, seed, kernel=SquaredExponential((2.0, 2.0), 1.2))
    marginals, nominal, draws = variational_and_exact(p, 0.25, AsorPrior(), seed=seed)
    spread = draws.f.std(axis=0)
    difference = np.abs(marginals.mean - draws.f.mean(axis=0)) / spread
    assert np.median(difference) < 0.15
    assert difference.max() < 0.6
    disagreement = np.abs(nominal - draws.nominal.mean(axis=0))
    assert np.median(disagreement) < 0.03
    assert np.mean(disagreement < 0.1) >= 0.9
    # Its standard deviations are a little small, never large.
    assert 0.75 < np.median(np.sqrt(marginals.variance) / spread) < 1.0


def test_outlier_probability_of_new_readings_matches_numerical_integration():
    from scipy.integrate import quad
    from scipy.stats import norm
    from scipy.stats import t as student

    outliers = FittedSpikeAndSlab(
        noise_variance=0.3, rate=15.0, prior=AsorPrior(slab_shape=1.4, inlier_proba=0.7)
    )
    y, mean, variance = np.array([0.1, 1.5, 4.0]), np.array([0.0, 0.2, -0.3]), np.array([0.05, 0.5, 1e-6])
    for i, found in enumerate(outliers.judge(y, mean, variance, np.full(3, 0.3)).outlier_proba):
        sd = np.sqrt(variance[i])

        def slab(f, i=i, sd=sd):
            return student.pdf(y[i], 2.8, f, np.sqrt(15.0 * 0.3 / 1.4)) * norm.pdf(f, mean[i], sd)

        a = 0.3 * quad(slab, mean[i] - 9 * sd, mean[i] + 9 * sd, points=[mean[i]])[0]
        b = 0.7 * norm.pdf(y[i], mean[i], np.sqrt(variance[i] + 0.3))
        assert found == pytest.approx(a / (a + b), rel=1e-5)
    assert outliers.judge(np.array([1e8]), np.zeros(1), np.ones(1), np.full(1, 0.3)).outlier_proba[0] == 1.0


@pytest.mark.parametrize("shape", [0.3, 1.0, 30.0, 1000.0, 1e5])
def test_densities_of_new_readings_are_those_of_the_mixture_without_multipliers(shape):
    """Where the function is known the slab is a Student-t, narrow in the multiplier if a is large."""
    from scipy.stats import norm
    from scipy.stats import t as student

    outliers = FittedSpikeAndSlab(0.3, rate=4.0 * shape, prior=AsorPrior(slab_shape=shape, inlier_proba=0.7))
    y = np.array([0.0, 0.5, 3.0, 20.0])
    found = outliers.judge(y, np.zeros(4), np.full(4, 1e-12), np.full(4, 0.3)).log_density
    slab = student.logpdf(y, 2.0 * shape, scale=np.sqrt(4.0 * 0.3))
    expected = np.logaddexp(log(0.7) + norm.logpdf(y, scale=np.sqrt(0.3)), log(0.3) + slab)
    np.testing.assert_allclose(found, expected, atol=1e-4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"slab_shape": 0.0}, "slab_shape must be positive"),
        ({"rate_shape": 1.0}, "rate_shape must exceed 1"),
        ({"inlier_proba": 1.0}, "inlier_proba must lie between 0 and 1"),
        ({"noise_scale": float("nan")}, "noise_scale must be positive"),
    ],
)
def test_bad_priors_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        AsorPrior(**arguments)


def test_kernel_parameter_at_its_bound_is_reported():
    rng = np.random.default_rng(0)
    X = np.column_stack([np.linspace(-3, 3, 60), rng.uniform(-1, 1, 60)])
    p = Problem(X, np.sin(X[:, 0]) + 0.1 * rng.normal(size=60), default_kernel(X), rng)
    assert Asor().fit(p).at_bounds == ("length_scale[1]",)
