"""Standard, oracle, RCGP, Student-t and mixture: each against something independent."""

from dataclasses import replace
from math import exp, log

import numpy as np
import pytest
from references import gibbs
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.stats import norm
from scipy.stats import t as student
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from sturdygp import (
    MixtureGPRegressor,
    MixturePrior,
    OracleGPRegressor,
    RCGPRegressor,
    StandardGPRegressor,
    StudentTGPRegressor,
)
from sturdygp.datasets import make_synthetic
from sturdygp.gp import Marginals, Sites, condition
from sturdygp.gp.exact import ExactPrior
from sturdygp.gp.sparse import SparsePrior
from sturdygp.inference.expectation_propagation import NaturalSites, Propagation
from sturdygp.inference.laplace import approximate
from sturdygp.inference.problem import Problem, default_kernel
from sturdygp.inference.variational import LatentState, VariationalObjective
from sturdygp.kernels import Linear, SquaredExponential
from sturdygp.likelihoods.base import LEAST_NOISE, log_noise_box
from sturdygp.likelihoods.mixture import Components, MixtureModel
from sturdygp.likelihoods.pseudo import Weighting
from sturdygp.likelihoods.student_t import TLikelihood, VbModel, best_dof, update_weights
from sturdygp.methods import student_t as student_t_method
from sturdygp.methods.gaussian import Standard
from sturdygp.methods.mixture import Mixture
from sturdygp.methods.rcgp import Rcgp
from sturdygp.methods.student_t import StudentT
from sturdygp.status import Status


def make_problem(n=30, rate=0.3, seed=0, kernel=None):
    data = make_synthetic(n, 1, rate=rate, seed=seed)
    return Problem(data.X, data.y[:, 0], kernel or default_kernel(data.X), np.random.default_rng(0))


def random_problem(seed):
    """Gross outliers, tiny noise, clustered and repeated inputs, dof from 1.5 to 30."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 60)), int(rng.integers(1, 5))
    X = rng.normal(size=(n, d))
    if rng.uniform() < 0.4:
        X = X[rng.integers(0, max(2, n // 4), n)] + 1e-3 * rng.normal(size=(n, d))
    if rng.uniform() < 0.2:
        X[n // 2 :] = X[: n - n // 2]
    y = np.sin(2 * X[:, 0]) + X[:, -1] * (rng.uniform() < 0.5)
    y = y + 10 ** rng.uniform(-5, 0) * rng.standard_t(3, size=n)
    bad = rng.uniform(size=n) < rng.choice([0, 0.1, 0.3, 0.5])
    y[bad] += rng.choice([-1, 1], bad.sum()) * 10 ** rng.uniform(0, 4, bad.sum())
    scaled = (y - np.median(y)) / (1.4826 * np.median(np.abs(y - np.median(y))))
    dof = exp(rng.uniform(log(1.5), log(30)))
    return Problem(X, scaled, default_kernel(X), rng), dof


def numeric_gradient(value, x, step=1e-5):
    return np.array([(value(x + e) - value(x - e)) / (2 * step) for e in step * np.eye(x.size)])


# ----------------------------------------------------------------------------- standard and oracle


def test_standard_finds_the_optimum_of_scikit_learn():
    data = make_synthetic(60, 10, seed=3)
    y = data.y[:, 0] - data.y[:, 0].mean()
    ours = StandardGPRegressor(scale_targets=None).fit(data.X, y)
    kernel = sk.ConstantKernel(1.0) * sk.RBF((1.0, 1.0)) + sk.WhiteKernel(0.5)
    theirs = GaussianProcessRegressor(kernel, n_restarts_optimizer=2, random_state=0).fit(
        data.X, y - ours.mean_
    )
    assert ours.bound_ == pytest.approx(theirs.log_marginal_likelihood_value_, abs=1e-3)
    np.testing.assert_allclose(ours.predict(data.X_test), ours.mean_ + theirs.predict(data.X_test), atol=5e-3)


@pytest.mark.parametrize("learn_noise", [True, False])
def test_fixed_noise_stays_and_starts_are_ranked(learn_noise):
    p = make_problem(30, 0.0)
    fit = Standard(noise_variance=0.3, learn_noise=learn_noise, n_starts=3).fit(p)
    assert (fit.noise_variance == 0.3) is not learn_noise
    assert fit.bound >= Standard(noise_variance=0.3, learn_noise=learn_noise).fit(p).bound - 1e-6


def test_oracle_without_outliers_is_standard():
    data = make_synthetic(40, 10, seed=1)
    a = StandardGPRegressor().fit(data.X, data.y[:, 0])
    b = OracleGPRegressor().fit(data.X, data.y[:, 0], outlier_mask=np.zeros(40, dtype=bool))
    np.testing.assert_allclose(a.predict(data.X_test), b.predict(data.X_test), rtol=1e-10)


def test_oracle_with_infinite_outlier_variance_is_standard_on_the_clean_rows():
    data = make_synthetic(50, 10, rate=0.3, seed=2)
    told = OracleGPRegressor(scale_targets=None, tol=1e-9).fit(data.X, data.y, outlier_mask=data.outlier_mask)
    for j in range(4):
        clean = ~data.outlier_mask[:, j]
        y = data.y[clean, j]
        kernel = default_kernel(data.X)
        alone = StandardGPRegressor(scale_targets=None, kernel=kernel, tol=1e-9).fit(data.X[clean], y)
        same = OracleGPRegressor(scale_targets=None, kernel=kernel, tol=1e-9).fit(
            data.X, data.y[:, j], outlier_mask=data.outlier_mask[:, j]
        )
        np.testing.assert_allclose(same.predict(data.X_test), alone.predict(data.X_test), atol=1e-6)
        np.testing.assert_allclose(told.predict(data.X_test)[:, j], same.predict(data.X_test), atol=1e-6)
        np.testing.assert_array_equal(told.weights_[~clean, j], 0.0)


def test_oracle_uses_what_it_is_told_about_the_outliers():
    data = make_synthetic(80, 200, rate=0.6, seed=5)
    mask = data.outlier_mask
    dropped = OracleGPRegressor().fit(data.X, data.y, outlier_mask=mask)
    informed = OracleGPRegressor().fit(
        data.X, data.y, outlier_mask=mask, outlier_variance=100 / 12, outlier_mean=5.0
    )
    biased = OracleGPRegressor().fit(data.X, data.y, outlier_mask=mask, outlier_variance=100 / 12)
    errors = [np.mean((m.predict(data.X_test) - data.f_test) ** 2) for m in (informed, dropped, biased)]
    assert errors[0] < 1.05 * errors[1] < errors[2]
    with pytest.raises(ValueError, match="outlier_mask must be one number or have the shape of y"):
        OracleGPRegressor().fit(data.X, data.y, outlier_mask=mask[:, 0])
    with pytest.raises(ValueError, match="outlier_variance must not be negative"):
        OracleGPRegressor().fit(data.X, data.y, outlier_mask=mask, outlier_variance=-1.0)


# -------------------------------------------------------------------------------------------- RCGP


def weighted_score_loss(f, y, noise, centre, threshold):
    """The generalised-Bayes loss by definition: w^2 s^2 + 2 d/dy (w^2 s) with the score s = d/dy log p."""

    def squared_weight(y):
        return 0.5 * noise / (1 + ((y - centre) / threshold) ** 2)

    def weighted_score(y):
        return squared_weight(y) * (f - y) / noise

    h = 1e-5
    divergence = (weighted_score(y + h) - weighted_score(y - h)) / (2 * h)
    return (squared_weight(y) * ((f - y) / noise) ** 2 + 2 * divergence).sum()


def test_rcgp_posterior_minimises_the_generalised_loss():
    p = make_problem(12, 0.3, 1, kernel=SquaredExponential((1.5, 1.5), 1.3))
    noise, mean = 0.4, float(np.median(p.y))
    weighting = Weighting.around(p.y, mean, mean, 0.2, 1.0)
    posterior = condition(p.kernel, p.X, weighting.sites(noise), mean)
    K_inverse = np.linalg.inv(p.kernel(p.X) + 1e-10 * np.eye(12))

    def loss(f):
        prior = 0.5 * (f - mean) @ K_inverse @ (f - mean)
        return prior + weighted_score_loss(f, p.y, noise, mean, weighting.threshold)

    at = posterior.marginals().mean
    curvature = K_inverse + np.diag(weighting.sites(noise).precision)
    step = np.linalg.solve(curvature, numeric_gradient(loss, at, 1e-4))
    np.testing.assert_allclose(step, 0.0, atol=1e-6)
    # exactly: the sites in closed form against the loss in closed form
    w2 = 0.5 * noise / weighting.inflation
    slope = -2 * weighting.residual / weighting.threshold**2 / weighting.inflation
    linear = 2 * w2 / noise**2 * p.y - 2 * w2 * slope / noise
    direct = np.linalg.solve(K_inverse + np.diag(2 * w2 / noise**2), K_inverse @ np.full(12, mean) + linear)
    np.testing.assert_allclose(at, direct, rtol=1e-7, atol=1e-8)


def test_rcgp_with_the_other_sign_is_not_the_minimiser():
    p = make_problem(12, 0.3, 1, kernel=SquaredExponential((1.5, 1.5), 1.3))
    a, b = (
        condition(p.kernel, p.X, Weighting.around(p.y, 0.0, 0.0, 0.2, sign).sites(0.4), 0.0).marginals().mean
        for sign in (1.0, -1.0)
    )
    assert np.abs(a - b).max() > 0.01


@pytest.mark.parametrize("score", ["weighted", "plain"])
def test_rcgp_score_equals_brute_force_and_its_gradient_central_differences(score):
    p = make_problem(20, 0.3, 2)
    method, mean = Rcgp(score=score), float(np.median(p.y))
    weighting = Weighting.around(p.y, mean, mean, 0.1, 1.0)
    x = np.append(p.kernel.theta, log(0.4))

    def evaluate(x):
        return method.evaluate(p, p.kernel.with_theta(x[:-1]), exp(x[-1]), weighting)

    np.testing.assert_allclose(
        evaluate(x).gradient, numeric_gradient(lambda x: evaluate(x).value, x), rtol=1e-5, atol=1e-6
    )
    sites, total = weighting.sites(0.4), 0.0
    for i in range(20):
        rest = np.arange(20) != i
        without = Sites(sites.target[rest], sites.precision[rest], sites.log_scale[rest])
        there = condition(p.kernel, p.X[rest], without, mean).predict(p.X[i : i + 1])
        count = 1 / weighting.inflation[i] if score == "weighted" else 1.0
        total += count * norm.logpdf(p.y[i], there.mean[0], np.sqrt(there.variance[0] + 0.4))
    assert evaluate(x).value == pytest.approx(total, rel=1e-8)


def test_rcgp_with_an_infinite_threshold_is_standard():
    p = make_problem(25, 0.0, 3)
    weighting = Weighting.around(p.y, 0.1, 0.1, 0.0, 1.0)
    sites, plain = weighting.sites(0.3), Sites.gaussian(p.y, 0.3)
    np.testing.assert_allclose(sites.target, plain.target)
    np.testing.assert_allclose(sites.precision, plain.precision)
    np.testing.assert_array_equal(RCGPRegressor(epsilon=0.0).fit(p.X, p.y).weights_, 1.0)


def test_rcgp_never_fails():
    for seed in range(200):
        fit = Rcgp().fit(random_problem(seed)[0])
        assert fit.status in {Status.CONVERGED, Status.STALLED}


def test_rcgp_published_settings_and_recentring():
    data = make_synthetic(60, 100, rate=0.15, seed=1)

    def error(**arguments):
        model = RCGPRegressor(**arguments).fit(data.X, data.y)
        return np.sqrt(np.mean((model.predict(data.X_test) - data.f_test) ** 2))

    published = error(epsilon=0.05, recentre=0, centre="mean", loo_score="plain", shift_sign=-1)
    assert error() < published
    for bad in (
        {"epsilon": 1.0},
        {"recentre": -1},
        {"centre": "mode"},
        {"loo_score": "x"},
        {"shift_sign": 0},
    ):
        with pytest.raises(ValueError, match=next(iter(bad))):
            error(**bad)


# --------------------------------------------------------------------------------------- Student-t


def test_likelihood_derivatives_and_density():
    likelihood, r, h = TLikelihood(0.3, 4.0), np.array([-3.0, -0.5, 0.2, 1.7, 10.0]), 1e-4
    np.testing.assert_allclose(likelihood.log_density(r), student.logpdf(r, 4.0, 0, np.sqrt(0.3)), rtol=1e-12)
    first, second, third = likelihood.curvature(r)

    def by_f(values):
        return (values(r - h) - values(r + h)) / (2 * h)

    np.testing.assert_allclose(first, by_f(likelihood.log_density), rtol=1e-6)
    np.testing.assert_allclose(-second, by_f(lambda r: likelihood.curvature(r)[0]), rtol=1e-6)
    np.testing.assert_allclose(-third, by_f(lambda r: likelihood.curvature(r)[1]), rtol=1e-6)
    shifted = [
        (TLikelihood(0.3 * exp(h), 4.0), TLikelihood(0.3 * exp(-h), 4.0)),
        (TLikelihood(0.3, 4.0 * exp(h)), TLikelihood(0.3, 4.0 * exp(-h))),
    ]
    for i, (up, down) in enumerate(shifted):
        pairs = [(up.log_density(r), down.log_density(r))]
        pairs += [(up.curvature(r)[k], down.curvature(r)[k]) for k in (0, 1)]
        for analytic, (a, b) in zip(likelihood.by_parameters(r), pairs, strict=True):
            np.testing.assert_allclose(analytic[i], (a - b) / (2 * h), rtol=1e-6, atol=1e-8)
    power, constant = likelihood.to_power(0.5)
    np.testing.assert_allclose(power.log_density(r) + constant, 0.5 * likelihood.log_density(r), rtol=1e-12)


@pytest.mark.parametrize("dof", [1.5, 4.0, 29.0, 31.0, 1000.0, 1e6])
def test_tilted_moments_equal_numerical_integration(dof):
    likelihood = TLikelihood(0.3, dof)
    cavity = Marginals(np.array([0.1, -1.0, 2.0]), np.array([0.5, 0.01, 3.0]))
    y = np.array([0.3, 4.0, -5.0])
    tilted = likelihood.tilted(y, cavity)
    for i in range(3):
        m, sd = cavity.mean[i], np.sqrt(cavity.variance[i])

        def density(f, i=i, m=m, sd=sd):
            return student.pdf(y[i], dof, f, np.sqrt(0.3)) * norm.pdf(f, m, sd)

        low, high = min(m - 12 * sd, y[i] - 8), max(m + 12 * sd, y[i] + 8)
        options = {"points": sorted((m, y[i])), "limit": 400, "epsabs": 0.0, "epsrel": 1e-11}
        z = quad(density, low, high, **options)[0]
        mean = quad(lambda f: f * density(f), low, high, **options)[0] / z
        square = quad(lambda f: f**2 * density(f), low, high, **options)[0] / z
        variance = square - mean**2
        assert tilted.log_z[i] == pytest.approx(log(z), rel=1e-8)
        assert tilted.moments.mean[i] == pytest.approx(mean, rel=1e-7, abs=1e-9)
        assert tilted.moments.variance[i] == pytest.approx(variance, rel=1e-7)
    far = likelihood.tilted(np.array([1e7]), Marginals(np.zeros(1), np.ones(1)))
    assert far.log_z[0] == pytest.approx(likelihood.log_density(np.array([1e7]))[0], rel=1e-4)


NEAL = np.array([1.0871, 0.0321, -4.6357])


@pytest.fixture
def neal():
    """Neal's outlier data (older draws): the reference problem of GPstuff, if the data folder is there."""
    import os
    from pathlib import Path

    path = Path(os.environ.get("STURDYGP_DATA", "")) / "neal_odata_200.txt"
    if not path.is_file():
        pytest.skip("STURDYGP_DATA does not hold neal_odata_200.txt")
    table = np.loadtxt(path)[:100]
    return table[:, :1], table[:, 1]


def test_ep_reproduces_the_public_reference_value(neal):
    """log evidence 16.8685, 11 negative sites, the least -13.04 (kernel matrix with 1e-4 on its diagonal)."""
    X, y = neal
    kernel = SquaredExponential(exp(NEAL[1]), exp(NEAL[0])) + sk.WhiteKernel(1e-4)

    class ZeroMean(ExactPrior):
        def condition(self, sites, mean=None):
            return super().condition(sites, 0.0)

    start = NaturalSites(np.full(100, 0.5 / exp(NEAL[2])), 0.5 * y / exp(NEAL[2]))
    result = Propagation(ZeroMean.at(kernel, X), y, TLikelihood(exp(NEAL[2]), 4.0)).run(start, careful=False)
    assert result.log_evidence == pytest.approx(16.8685, abs=1e-4)
    assert (result.natural.precision < 0).sum() == 11
    assert result.natural.precision.min() == pytest.approx(-13.04, abs=0.01)
    assert result.n_factorizations <= 20


@pytest.mark.parametrize("power", [1.0, 0.5])
def test_ep_gradient_equals_central_differences(power):
    p = make_problem(25, 0.3, 4)
    x = np.append(p.kernel.theta, [log(0.2), log(4.0)])
    start = NaturalSites(np.ones(25), p.y)

    def run(x):
        likelihood = TLikelihood(exp(x[-2]), exp(x[-1]))
        prior = ExactPrior.at(p.kernel.with_theta(x[:-2]), p.X)
        return Propagation(prior, p.y, likelihood, power).run(start, careful=True)

    result = run(x)
    by_noise = (result.tilted.by_log_noise.sum() + 0.5 * (1 - power) * 25) / power
    analytic = np.append(result.posterior.gradient().kernel, by_noise)
    numeric = numeric_gradient(lambda x: run(x).log_evidence, x, 1e-4)
    np.testing.assert_allclose(analytic, numeric[:-1], rtol=1e-4, atol=1e-4)
    if power == 1.0:
        assert result.tilted.by_log_dof.sum() == pytest.approx(numeric[-1], rel=1e-4, abs=1e-4)


def test_laplace_gradient_equals_central_differences_and_its_mode_is_one():
    p = make_problem(25, 0.3, 4)
    x = np.append(p.kernel.theta, [log(0.2), log(4.0), 0.1])

    def run(x):
        likelihood = TLikelihood(exp(x[-3]), exp(x[-2]))
        return approximate(ExactPrior.at(p.kernel.with_theta(x[:-3]), p.X), p.y, likelihood, x[-1], p.y)

    fit = run(x)
    analytic = np.append(fit.by_kernel, [fit.by_log_noise, fit.by_log_dof, fit.by_mean])
    numeric = numeric_gradient(lambda x: run(x).log_evidence, x, 1e-4)
    np.testing.assert_allclose(analytic, numeric, rtol=1e-4, atol=1e-4)
    slope = TLikelihood(0.2, 4.0).curvature(p.y - fit.mode)[0]
    np.testing.assert_allclose(p.kernel(p.X) @ slope, fit.mode - 0.1, atol=1e-6)


def test_vb_bound_rises_and_learned_dof_are_the_best():
    p = make_problem(30, 0.3, 1)
    for dof in (4.0, None):
        fit = StudentT("vb", dof).fit(p)
        assert np.all(np.diff(fit.trace) >= -1e-8 * np.abs(fit.trace[1:]))
    R = np.random.default_rng(0).standard_t(3, 300) ** 2
    best = best_dof(R, 50.0)
    bound = [
        -(update_weights(R, d).log_scale - 0.5 * update_weights(R, d).weight * R).sum()
        for d in (best, 1.05 * best, best / 1.05)
    ]
    assert bound[0] < min(bound[1:])
    assert StudentT("vb", None).fit(p).bound >= StudentT("vb", 4.0).fit(p).bound - 1e-3


@pytest.mark.parametrize("inference", ["ep", "laplace"])
def test_a_fit_that_ran_out_of_factorisations_says_so(inference):
    p = make_problem(30, 0.3, 1)
    enough = StudentT(inference).fit(p)
    assert enough.status is Status.CONVERGED
    few = StudentT(inference, max_factorizations=enough.n_factorizations // 2).fit(p)
    assert few.status is Status.EXHAUSTED
    assert "max_factorizations" in few.status.message
    assert few.bound < enough.bound


@pytest.mark.parametrize("seed", range(3))
def test_expectation_propagation_against_long_sampling(seed):
    """docs/baselines.md tabulates all three approximations."""
    p = make_problem(30, 0.15, seed, kernel=SquaredExponential((2.0, 2.0), 1.2))
    noise, dof = 0.2, 4.0
    draws = gibbs.sample(
        p.kernel(p.X), p.y, m=0.0, noise=noise, a=dof / 2, b=dof / 2, theta=1e-12,
        n_samples=8000, burn_in=500, rng=np.random.default_rng(seed),
    )  # fmt: skip
    prior, likelihood = ExactPrior.at(p.kernel, p.X), TLikelihood(noise, dof)

    class ZeroMean(ExactPrior):
        def condition(self, sites, mean=None):
            return super().condition(sites, 0.0)

    zero = ZeroMean(prior.kernel, prior.X, prior.linearised)
    ep = Propagation(zero, p.y, likelihood).run(NaturalSites(np.ones(30), p.y), careful=True).posterior
    mean, spread = draws.f.mean(axis=0), draws.f.std(axis=0)
    error = gibbs.batch_error(draws.f)
    assert np.all(np.abs(ep.marginals().mean - mean) < 5 * error + 0.03 * spread)
    assert np.abs(np.sqrt(ep.marginals().variance) / spread - 1).max() < 0.15


def test_ep_where_a_kernel_knows_the_function_is_the_limit_of_where_it_hardly_varies():
    """There an observation still tells of the mean."""
    rng, x = np.random.default_rng(0), np.linspace(0, 6, 40)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(40)
    y[::8] += 4.0
    known, near = (
        Propagation(ExactPrior.at(Linear(0.1), x + shift), y, TLikelihood(0.3, 4.0)).run(
            NaturalSites(np.full(40, 1.0), y), careful=True
        )
        for shift in (0.0, 1e-4)
    )
    assert known.log_evidence == pytest.approx(near.log_evidence, abs=1e-4)
    np.testing.assert_allclose(known.natural.precision, near.natural.precision, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(known.posterior.mean, near.posterior.mean, rtol=1e-4)


def test_ep_where_inducing_inputs_leave_nothing_of_the_function_free():
    """Their kernel does not reach some observations: what these would say moves nothing."""
    data = make_synthetic(40, 1, rate=0.5, seed=0)
    prior = SparsePrior.at(SquaredExponential((0.05, 0.05)), data.X, data.X[:8])
    propagated = Propagation(prior, data.y[:, 0], TLikelihood(0.3, 4.0)).run(
        NaturalSites(np.full(40, 1.0), data.y[:, 0]), careful=True
    )
    free = propagated.cavity.variance - propagated.posterior.left_out
    assert free.min() == 0.0
    assert np.isfinite(propagated.natural.precision).all()
    assert propagated.disagreement < 1e-6
    assert np.isfinite(propagated.by_left_out(1.0)).all()


def test_ep_fits_random_problems_without_an_exception():
    fallen = 0
    for seed in range(200):
        p, dof = random_problem(seed)
        fit = StudentT("ep", dof).fit(p)
        assert np.isfinite(fit.posterior.predict(p.X).mean).all()
        fallen += bool(fit.note)
    assert fallen <= 4


def test_fallbacks_say_so(monkeypatch):
    p = make_problem(15, 0.3, 0)
    calls = []
    original = student_t_method.Propagation.run

    def failing(self, start, *, careful):
        calls.append(self.power)
        if self.power == 1.0:
            raise student_t_method.NotPositiveDefiniteError("on purpose")
        return original(self, start, careful=careful)

    monkeypatch.setattr(student_t_method.Propagation, "run", failing)
    assert "fractional" in StudentT("ep").fit(p).note
    monkeypatch.setattr(student_t_method, "FALLBACK_POWER", 1.0)
    assert "variational Bayes" in StudentT("ep").fit(p).note


@pytest.mark.parametrize(("dof", "note"), [(0.2, "variational Bayes"), (0.7, "fractional (0.76)")])
def test_long_tails_leave_little_to_fractions(dof, note, monkeypatch):
    original = student_t_method.Propagation.run

    def failing(self, start, *, careful):
        if self.power == 1.0:
            raise student_t_method.NotPositiveDefiniteError("on purpose")
        return original(self, start, careful=careful)

    monkeypatch.setattr(student_t_method.Propagation, "run", failing)
    assert note in StudentT("ep", dof).fit(make_problem(15, 0.3, 0)).note


@pytest.mark.parametrize("inference", ["vb", "laplace", "ep"])
def test_many_degrees_of_freedom_are_standard(inference):
    p = make_problem(25, 0.0, 3)
    kernel = SquaredExponential(1.5, 1.2, length_scale_bounds="fixed", variance_bounds="fixed")
    a = StandardGPRegressor(kernel=kernel, scale_targets=None, tol=1e-10).fit(p.X, p.y)
    b = StudentTGPRegressor(kernel=kernel, scale_targets=None, inference=inference, dof=1e8, tol=1e-10)
    b.fit(p.X, p.y)
    np.testing.assert_allclose(b.predict(p.X), a.predict(p.X), atol=1e-6)
    with pytest.raises(ValueError, match="dof must be"):
        StudentTGPRegressor(dof="many").fit(p.X, p.y)


# ----------------------------------------------------------------------------------------- mixture


@pytest.mark.parametrize("seed", range(4))
def test_mixture_bound_rises_and_its_gradient_is_right(seed):
    p = make_problem(25, 0.3, seed)
    model = MixtureModel(p.y, MixturePrior())
    objective = VariationalObjective(model, p, log_noise_box(LEAST_NOISE))
    trail, previous = LatentState(Components.even(25, np.array([1.0, 10.0, 100.0]))), -np.inf
    for _ in range(4):
        step = objective.evaluate(p.kernel, np.array([log(0.5)]), LatentState(trail.latent))
        assert step.gain >= -1e-10
        assert step.value >= previous - 1e-9
        trail, previous = step.carry, step.value
    x, latent = np.append(p.kernel.theta, log(0.5)), trail.latent

    def bound(x):
        evidence = condition(p.kernel.with_theta(x[:-1]), p.X, model.sites(x[-1:], latent)).log_evidence
        return evidence + model.log_prior(x[-1:], latent)

    gradient = objective.evaluate(p.kernel, x[-1:], LatentState(latent)).gradient
    np.testing.assert_allclose(gradient, numeric_gradient(bound, x), rtol=1e-5, atol=1e-6)
    assert np.all(np.diff(Mixture().fit(p).trace) >= -1e-6)


def test_mixture_bound_is_below_the_exact_evidence():
    """One reading: the bound is an integral that can be done."""
    y, share, ratio, noise = 1.7, np.array([0.7, 0.3]), np.array([1.0, 20.0]), 0.3
    model = MixtureModel(np.array([y]), MixturePrior(noise_scale=1e-12))
    latent = Components(np.array([[0.5, 0.5]]), share, ratio)
    for _ in range(50):
        sites = model.sites(np.array([log(noise)]), latent)
        m = condition(SquaredExponential(), np.zeros((1, 1)), sites, 0.0).marginals()
        R = ((y - m.mean) ** 2 + m.variance) / noise
        g = share * ratio**-0.5 * np.exp(-0.5 * R[:, None] / ratio)
        latent = replace(latent, responsibility=g / g.sum())
    bound = condition(
        SquaredExponential(), np.zeros((1, 1)), model.sites(np.array([log(noise)]), latent), 0.0
    )
    exact = log(share @ norm.pdf(y, 0.0, np.sqrt(1.0 + noise * ratio)))
    assert exact - 0.5 < bound.log_evidence < exact


def test_mixture_does_not_collapse_on_noise_free_data():
    x = np.linspace(0, 6, 60)[:, None]
    model = MixtureGPRegressor().fit(x, np.sin(x[:, 0]))
    assert model.noise_variance_ > 1e-6
    assert model.outlier_proba_.max() < 0.5
    np.testing.assert_allclose(model.predict(x), np.sin(x[:, 0]), atol=1e-2)


def test_a_single_component_is_standard():
    p = make_problem(30, 0.0, 2)
    a = StandardGPRegressor(tol=1e-9).fit(p.X, p.y)
    b = MixtureGPRegressor(start_ratios=(), prior=MixturePrior(noise_scale=1e-12), tol=1e-9).fit(p.X, p.y)
    np.testing.assert_allclose(b.predict(p.X), a.predict(p.X), atol=1e-6)
    assert b.bound_ == pytest.approx(a.bound_, abs=1e-6)


def test_mixture_needs_its_starts():
    """At 40 % outliers one start ends without a nominal component, seven find it."""
    p = make_problem(100, 0.4, 1)
    one, seven = Mixture().fit(p), Mixture(n_starts=7).fit(p)
    assert seven.bound > one.bound + 5
    assert one.outlier_proba.max() == 0.0
    assert 0.3 < np.mean(seven.outlier_proba > 0.5) < 0.6


def test_mixture_of_three_and_bad_arguments():
    data = make_synthetic(50, 10, rate=0.3, seed=1)
    model = MixtureGPRegressor(start_ratios=(10.0, 100.0), n_starts=2).fit(data.X, data.y[:, 0])
    assert np.isfinite(model.bound_)
    with pytest.raises(ValueError, match="start_ratios"):
        MixtureGPRegressor(start_ratios=(-1.0,)).fit(data.X, data.y[:, 0])
    with pytest.raises(ValueError, match="prior must be a MixturePrior"):
        MixtureGPRegressor(prior="none").fit(data.X, data.y[:, 0])


def test_vb_reaches_what_a_general_optimiser_reaches():
    """The alternating objective against SciPy on the profiled bound, weights iterated to convergence."""
    p = make_problem(20, 0.2, 6)
    model = VbModel(p.y, learn_dof=False)

    def negative(x):
        latent = update_weights(np.ones(20), 4.0)
        kernel = p.kernel.with_theta(x[:-1])
        for _ in range(60):
            m = condition(kernel, p.X, model.sites(x[-1:], latent)).marginals()
            latent = model.update(x[-1:], latent, m)
        return -condition(kernel, p.X, model.sites(x[-1:], latent)).log_evidence

    fit = StudentT("vb", 4.0).fit(p)
    x = np.append(fit.posterior.kernel.theta, log(fit.noise_variance))
    polished = minimize(
        negative, x, method="Nelder-Mead", options={"maxfev": 120, "xatol": 1e-4, "fatol": 1e-7}
    )
    assert fit.bound >= -polished.fun - 1e-3


def test_leaving_out_a_reading_without_which_laplace_has_no_variance_is_nan_without_a_warning():
    rng, x = np.random.default_rng(0), np.linspace(0, 10, 80)[:, None]
    y = np.sin(x[:, 0]) + 0.1 * rng.standard_normal(80)
    y[::9] += 4.0
    with pytest.warns(ConvergenceWarning):
        model = StudentTGPRegressor(inference="laplace", dof=1.0).fit(x, y)
    mean, std = model.leave_one_out()
    assert np.isfinite(mean).all()
    assert np.all(np.isnan(std) | (std > 0.0))
    assert 0 < np.isnan(std).sum() < 10
