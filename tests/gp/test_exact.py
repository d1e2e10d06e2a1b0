"""The exact posterior against scikit-learn, brute force, higher precision and central differences."""

from functools import partial

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from references.problems import noisy_sine
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process import kernels as sk

from sturdygp.exceptions import NotPositiveDefiniteError
from sturdygp.gp import Sites, condition, posterior
from sturdygp.gp.exact import ExactPosterior, ExactPrior
from sturdygp.gp.hyperparameter_uncertainty import UncertainPosterior
from sturdygp.kernels import Matern32, Matern52, SquaredExponential


def dense(kernel, X, sites, mean, Z):
    """Textbook formulas with explicit inverses, for precisions of any sign but zero."""
    R = np.linalg.inv(kernel(X) + np.diag(1 / sites.precision))
    cross = kernel(X, Z)
    return mean + cross.T @ R @ (sites.target - mean), kernel(Z) - cross.T @ R @ cross


@pytest.mark.parametrize(("n", "d"), [(20, 1), (100, 2), (500, 8)])
@pytest.mark.parametrize("family", ["rbf", "matern32", "matern52"])
def test_condition_equals_scikit_learn(n, d, family):
    X, y, rng = noisy_sine(n, d)
    scale, noise, variance = np.linspace(0.8, 2.5, d), 0.1, 1.7
    ours = {"rbf": SquaredExponential, "matern32": Matern32, "matern52": Matern52}[family](scale, variance)
    inner = {"rbf": sk.RBF(scale), "matern32": sk.Matern(scale, nu=1.5), "matern52": sk.Matern(scale, nu=2.5)}
    reference = GaussianProcessRegressor(
        sk.ConstantKernel(variance) * inner[family], alpha=noise, optimizer=None
    )
    reference.fit(X, y)
    p = condition(ours, X, Sites.gaussian(y, noise), mean=0.0)
    evidence, gradient = reference.log_marginal_likelihood(reference.kernel_.theta, eval_gradient=True)
    np.testing.assert_allclose(p.log_evidence, evidence, rtol=1e-9)
    np.testing.assert_allclose(p.gradient().kernel, gradient, rtol=1e-9, atol=1e-9 * np.abs(gradient).max())
    Z = rng.normal(size=(30, d))
    mean, std = reference.predict(Z, return_std=True)
    _, cov = reference.predict(Z, return_cov=True)
    np.testing.assert_allclose(p.predict(Z).mean, mean, rtol=1e-9)
    np.testing.assert_allclose(np.sqrt(p.predict(Z).variance), std, rtol=1e-9)
    np.testing.assert_allclose(p.covariance(Z), cov, rtol=1e-9, atol=1e-9 * variance)


@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_condition_on_zero_precision_equals_dropping_the_row(share):
    X, y, rng = noisy_sine(60)
    keep = rng.uniform(size=60) >= share
    y = np.where(keep, y, 1e6)
    full = Sites.gaussian(y, 0.1)
    with_zeros = Sites(y, np.where(keep, full.precision, 0.0), np.where(keep, full.log_scale, 0.0))
    kernel, Z = SquaredExponential((1.0, 2.0)), rng.normal(size=(10, 2))
    a = condition(kernel, X, with_zeros)
    b = condition(kernel, X[keep], Sites.gaussian(y[keep], 0.1))
    assert a.mean == pytest.approx(b.mean, rel=1e-10)
    assert a.log_evidence == pytest.approx(b.log_evidence, rel=1e-10)
    np.testing.assert_allclose(a.gradient().kernel, b.gradient().kernel, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(a.predict(Z).mean, b.predict(Z).mean, rtol=1e-10)
    np.testing.assert_allclose(a.predict(Z).variance, b.predict(Z).variance, rtol=1e-10)
    np.testing.assert_allclose(a.marginals().mean, b.predict(X).mean, rtol=1e-9)
    np.testing.assert_allclose(a.marginals().variance, b.predict(X).variance, rtol=1e-9, atol=1e-12)


def high_precision(kernel, X, sites, mean, Z):
    """The same posterior with 60 digits, from the double-precision kernel matrix."""
    with mpmath.workdps(60):
        K, cross = mpmath.matrix(kernel(X)), mpmath.matrix(kernel(X, Z))
        noise = mpmath.diag([1 / mpmath.mpf(float(t)) for t in sites.precision])
        R = (K + noise) ** -1
        residual = mpmath.matrix(list(sites.target - mean))
        predicted = cross.T * (R * residual)
        reduction = cross.T * R * cross
        inside = K - K * R * K
        at_inputs = K * (R * residual)
        logdet = mpmath.log(mpmath.det(K + noise)) + sum(
            mpmath.log(mpmath.mpf(float(t))) for t in sites.precision
        )
        evidence = sum(sites.log_scale) - (logdet + (residual.T * R * residual)[0]) / 2
        n, m = len(X), len(Z)
        return (
            float(evidence),
            np.array([float(predicted[i]) + mean for i in range(m)]),
            np.array([float(kernel.diag(Z)[i] - reduction[i, i]) for i in range(m)]),
            np.array([float(at_inputs[i]) + mean for i in range(n)]),
            np.array([float(inside[i, i]) for i in range(n)]),
        )


def test_condition_is_accurate_for_precisions_over_22_decades():
    X, y, rng = noisy_sine(30)
    precision = 10.0 ** rng.permutation(np.linspace(-14, 8, 30))
    sites = Sites(y, precision, 0.5 * np.log(precision / (2 * np.pi)))
    kernel, Z = Matern32((0.7, 1.1), 1.4), rng.normal(size=(6, 2))
    p = condition(kernel, X, sites, mean=2.0)
    evidence, mean, variance, inner_mean, inner_variance = high_precision(kernel, X, sites, 2.0, Z)
    assert p.log_evidence == pytest.approx(evidence, rel=1e-11)
    np.testing.assert_allclose(p.predict(Z).mean, mean, rtol=1e-9)
    np.testing.assert_allclose(p.predict(Z).variance, variance, rtol=1e-9)
    np.testing.assert_allclose(p.marginals().mean, inner_mean, rtol=1e-9)
    # Absolute accuracy is that of the prior variance: a difference of numbers of its size.
    np.testing.assert_allclose(p.marginals().variance, inner_variance, rtol=1e-9, atol=1e-12)
    assert all(np.isfinite(part).all() for part in vars(p.gradient()).values())


def signed_sites(seed=1, n=25):
    X, y, rng = noisy_sine(n, seed=seed)
    precision = rng.uniform(1.0, 10.0, n)
    precision[:6] = [-0.3, -0.1, -0.05, -0.6, -1e-7, -0.2]
    return X, Sites(y, rng.permutation(precision), rng.normal(size=n)), rng


def test_condition_on_negative_precisions_equals_the_dense_formula():
    X, sites, rng = signed_sites()
    kernel, Z = SquaredExponential((0.6, 0.9), 1.2), rng.normal(size=(7, 2))
    p = condition(kernel, X, sites, mean=0.5)
    mean, cov = dense(kernel, X, sites, 0.5, Z)
    inside_mean, inside = dense(kernel, X, sites, 0.5, X)
    np.testing.assert_allclose(p.predict(Z).mean, mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(p.covariance(Z), cov, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(p.predict(Z).variance, cov.diagonal(), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(p.marginals().mean, inside_mean, rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(p.marginals().variance, inside.diagonal(), rtol=1e-7, atol=1e-9)
    sign, logdet = np.linalg.slogdet(np.eye(25) + kernel(X) @ np.diag(sites.precision))
    assert sign > 0
    r = sites.target - 0.5
    quadratic = r @ np.linalg.solve(kernel(X) + np.diag(1 / sites.precision), r)
    assert p.log_evidence == pytest.approx(sites.log_scale.sum() - 0.5 * (logdet + quadratic), rel=1e-9)


def test_condition_refuses_an_improper_posterior():
    X, sites, _ = signed_sites()
    worse = Sites(sites.target, np.where(sites.precision < 0, -50.0, sites.precision), sites.log_scale)
    with pytest.raises(NotPositiveDefiniteError):
        condition(SquaredExponential(), X, worse)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("mean", [0.3, None])
def test_gradient_equals_central_differences(signed, mean):
    X, sites, _ = signed_sites(seed=4)
    if not signed:
        sites = Sites(sites.target, np.maximum(sites.precision, 0.0), sites.log_scale)
    kernel = Matern52((0.6, 0.9), 1.2)

    def evidence(theta, target, precision, mean):
        return condition(
            kernel.with_theta(theta), X, Sites(target, precision, sites.log_scale), mean
        ).log_evidence

    g = condition(kernel, X, sites, mean).gradient()
    arguments = [kernel.theta, sites.target, sites.precision]
    for position, analytic in enumerate([g.kernel, g.target, g.precision]):
        for i, entry in enumerate(analytic):
            up, down = ([a.copy() for a in arguments] for _ in range(2))
            up[position][i] += 1e-5
            down[position][i] -= 1e-5
            numeric = (evidence(*up, mean) - evidence(*down, mean)) / 2e-5
            assert entry == pytest.approx(numeric, rel=1e-5, abs=1e-6)
    if mean is not None:
        numeric = (evidence(*arguments, mean + 1e-5) - evidence(*arguments, mean - 1e-5)) / 2e-5
        assert g.mean == pytest.approx(numeric, rel=1e-6)
    else:
        assert g.mean == pytest.approx(0.0, abs=1e-8)


def test_profiled_mean_maximises_evidence():
    X, y, _ = noisy_sine()
    sites, kernel = Sites.gaussian(y + 1e6, 0.1), SquaredExponential()
    p = condition(kernel, X, sites)
    assert all(
        p.log_evidence > condition(kernel, X, sites, p.mean + shift).log_evidence for shift in (-0.01, 0.01)
    )


@pytest.mark.parametrize("signed", [False, True])
def test_leave_one_out_equals_brute_force(signed):
    X, sites, _ = signed_sites()
    if not signed:
        sites = Sites(sites.target, np.maximum(sites.precision, 0.0), sites.log_scale)
    kernel = SquaredExponential((0.6, 0.9), 1.2)
    loo = condition(kernel, X, sites, mean=0.5).leave_one_out()
    for i in range(len(sites)):
        rest = np.arange(len(sites)) != i
        without = Sites(sites.target[rest], sites.precision[rest], sites.log_scale[rest])
        predicted = condition(kernel, X[rest], without, mean=0.5).predict(X[i : i + 1])
        assert loo.mean[i] == pytest.approx(predicted.mean[0], rel=1e-8, abs=1e-8)
        assert loo.variance[i] == pytest.approx(predicted.variance[0], rel=1e-8)


def test_predict_does_not_depend_on_chunks(monkeypatch):
    X, y, rng = noisy_sine()
    p = condition(SquaredExponential(), X, Sites.gaussian(y, 0.1))
    Z = rng.normal(size=(101, 2))
    whole = p.predict(Z)
    monkeypatch.setattr(posterior, "CHUNK_ENTRIES", 400)
    parts = p.predict(Z)
    np.testing.assert_allclose(parts.mean, whole.mean, rtol=1e-13)
    np.testing.assert_allclose(parts.variance, whole.variance, rtol=1e-11)
    np.testing.assert_allclose(p.predict_mean(Z), whole.mean, rtol=1e-13)


def test_variance_without_observations_is_the_prior_one():
    X, y, rng = noisy_sine(200)
    p = condition(SquaredExponential(), X, Sites(y, np.zeros(len(X)), np.zeros(len(X))))
    np.testing.assert_array_equal(p.predict(rng.normal(size=(800, 2))).variance, 1.0)


def test_sample_has_the_posterior_moments():
    X, y, rng = noisy_sine()
    p = condition(SquaredExponential(), X, Sites.gaussian(y, 0.1))
    Z = rng.normal(size=(5, 2))
    draws = p.sample(Z, 40_000, rng)
    cov = p.covariance(Z)
    error = np.sqrt(cov.diagonal() / 40_000)
    assert np.all(np.abs(draws.mean(axis=1) - p.predict_mean(Z)) < 5 * error)
    np.testing.assert_allclose(np.cov(draws), cov, rtol=0.1, atol=3e-2 * cov.diagonal().max())


def test_compact_posterior_predicts_the_same_and_pickles_small():
    import pickle

    X, y, rng = noisy_sine(300)
    p = condition(SquaredExponential(), X, Sites.gaussian(y, 0.1))
    p.gradient()
    small = pickle.loads(pickle.dumps(p.compact()))
    Z = rng.normal(size=(5, 2))
    np.testing.assert_array_equal(small.predict(Z).variance, p.predict(Z).variance)
    np.testing.assert_allclose(small.leave_one_out().mean, p.leave_one_out().mean, rtol=1e-12)
    assert len(pickle.dumps(p.compact())) < 1.1 * 8 * 300**2


@given(
    n=st.sampled_from([1, 2, 3, 12]),
    d=st.sampled_from([1, 30]),
    log_scale=st.floats(-8, 8),
    log_noise=st.floats(-8, 4),
    duplicated=st.booleans(),
    constant=st.booleans(),
)
@settings(deadline=None, max_examples=120)
def test_posterior_of_any_geometry_is_finite_and_proper(n, d, log_scale, log_noise, duplicated, constant):
    rng = np.random.default_rng(n + d)
    X = rng.normal(size=(n, d)) * 10.0**log_scale
    if duplicated:
        X[n // 2] = X[0]
    if constant:
        X[:, 0] = 7.0
    y = rng.normal(size=n) * 10.0**log_scale
    kernel = SquaredExponential(np.full(d, 10.0**log_scale * np.sqrt(d)), 10.0 ** (2 * log_scale))
    noise = 10.0 ** (2 * log_scale + log_noise)
    p = condition(kernel, X, Sites.gaussian(y, noise))
    marginals, loo = p.marginals(), p.leave_one_out()
    prior = kernel.variance * (1 + 1e-9)
    assert np.isfinite(p.log_evidence)
    assert np.isfinite(p.gradient().kernel).all()
    assert np.all((marginals.variance > -1e-9 * prior) & (marginals.variance <= prior))
    assert np.all(loo.variance >= marginals.variance * (1 - 1e-6))
    assert np.all(p.predict(X).variance <= prior)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: condition(SquaredExponential(), np.zeros(3), Sites.gaussian(np.ones(3), 1.0)), "x[:, None]"),
        (
            lambda: condition(SquaredExponential(), np.zeros((0, 2)), Sites.gaussian(np.ones(0), 1.0)),
            "at least one row",
        ),
        (
            lambda: condition(SquaredExponential(), [["a"]], Sites.gaussian(np.ones(1), 1.0)),
            "X must be numeric",
        ),
        (
            lambda: condition(SquaredExponential(), [[np.nan]], Sites.gaussian(np.ones(1), 1.0)),
            "NaN or infinity",
        ),
        (
            lambda: condition(SquaredExponential(), [[np.inf]], Sites.gaussian(np.ones(1), 1.0)),
            "NaN or infinity",
        ),
        (
            lambda: condition(SquaredExponential(), np.zeros((3, 1)), Sites.gaussian(np.ones(2), 1.0)),
            "3 rows but there are 2",
        ),
        (lambda: Sites.gaussian(np.ones(2), -1.0), "variance must be positive"),
        (lambda: Sites.gaussian(np.array([1.0, np.nan]), 1.0), "target must be finite"),
        (lambda: Sites(np.ones(2), np.ones(3), np.ones(2)), "precision must have the shape of target"),
    ],
)
def test_condition_refuses_bad_input(make, message):
    with pytest.raises(ValueError) as error:
        make()
    assert message in str(error.value)


def test_predict_refuses_a_wrong_number_of_columns():
    X, y, _ = noisy_sine()
    p = condition(SquaredExponential(), X, Sites.gaussian(y, 0.1))
    with pytest.raises(ValueError, match="Z has 3 columns but the training inputs have 2"):
        p.predict(np.zeros((2, 3)))


def test_predict_computes_the_mean_once(monkeypatch):
    X, y = np.linspace(0.0, 1.0, 7)[:, None], np.arange(7.0)
    best = condition(SquaredExponential((0.4,)), X, Sites.gaussian(y, 0.1))
    uncertain = UncertainPosterior.around(best, X, partial(ExactPrior.at, X=X), 0.01 * np.eye(2))
    expected = best.predict(X).variance + uncertain.covariance(X).diagonal() - best.covariance(X).diagonal()
    monkeypatch.setattr(ExactPosterior, "predict_mean", lambda *_: pytest.fail("a second mean"))
    np.testing.assert_allclose(uncertain.predict(X).variance, expected, rtol=1e-9)
