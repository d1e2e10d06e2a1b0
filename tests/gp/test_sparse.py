"""The sparse posterior against the exact one, brute force and central differences."""

import numpy as np
import pytest

from sturdygp.gp import Sites, condition
from sturdygp.gp import posterior as seam
from sturdygp.gp.sparse import SparsePrior
from sturdygp.kernels import Constant, Linear, Matern32, Periodic, RationalQuadratic, SquaredExponential

KERNELS = [
    SquaredExponential((0.5, 0.8), 1.7),
    Matern32(0.6, 0.9) + Linear((0.4, 0.2)) * Constant(1.3),
    RationalQuadratic((0.7, 0.5), 1.2, alpha=0.8) * Periodic(1.1, 2.0, 0.7),
]


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1.0, 1.0, (40, 2))
    sites = Sites(5.0 + rng.normal(size=40), rng.uniform(0.2, 8.0, 40), rng.normal(size=40))
    return X, sites


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_sparse_with_all_inputs_inducing_is_exact(problem, kernel):
    X, sites = problem
    Z = np.random.default_rng(1).uniform(-1.0, 1.0, (7, 2))
    exact, sparse = condition(kernel, X, sites), SparsePrior.at(kernel, X, X).condition(sites)
    assert sparse.mean == pytest.approx(exact.mean, rel=1e-6)
    assert sparse.log_evidence == pytest.approx(exact.log_evidence, abs=1e-5)
    for name in ("kernel", "target", "precision"):
        ours, theirs = getattr(sparse.gradient(), name), getattr(exact.gradient(), name)
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    for ours, theirs in (
        (sparse.marginals(), exact.marginals()),
        (sparse.leave_one_out(), exact.leave_one_out()),
        (sparse.leave_one_out(0.5), exact.leave_one_out(0.5)),
        (sparse.predict(Z), exact.predict(Z)),
    ):
        np.testing.assert_allclose(ours.mean, theirs.mean, atol=1e-6)
        np.testing.assert_allclose(ours.variance, theirs.variance, atol=1e-6)
    np.testing.assert_allclose(sparse.predict_mean(Z), exact.predict_mean(Z), atol=1e-6)
    np.testing.assert_allclose(sparse.covariance(Z), exact.covariance(Z), atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_gradient_equals_central_differences(problem, kernel):
    X, sites = problem
    Z, step = X[::4], 1e-5

    def bound(theta):
        return SparsePrior.at(kernel.with_theta(theta), X, Z).condition(sites).log_evidence

    numeric = [
        (bound(kernel.theta + h) - bound(kernel.theta - h)) / (2 * step)
        for h in step * np.eye(kernel.theta.size)
    ]
    gradient = SparsePrior.at(kernel, X, Z).condition(sites).gradient().kernel
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_leave_one_out_equals_brute_force(problem, kernel):
    """Also where the inducing inputs leave out more variance than a site has."""
    X, sites = problem
    prior = SparsePrior.at(kernel, X, X[:6])
    posterior = prior.condition(sites)
    assert (posterior.left_out * sites.precision).max() > 1.0
    for share in (1.0, 0.5):
        found = posterior.leave_one_out(share)
        for i in range(0, 40, 7):
            precision = sites.precision.copy()
            precision[i] *= 1.0 - share
            without = prior.condition(Sites(sites.target, precision, sites.log_scale), posterior.mean)
            assert found.mean[i] == pytest.approx(without.marginals().mean[i], rel=1e-8)
            assert found.variance[i] == pytest.approx(without.marginals().variance[i], rel=1e-8)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_leave_one_out_gradient_equals_central_differences_and_the_exact_one(problem, kernel):
    X, sites = problem
    rng = np.random.default_rng(6)
    by_mean, by_variance = rng.normal(size=(2, 40))

    def score(theta=kernel.theta, target=sites.target, noise=1.0 / sites.precision, Z=X[::5]):
        prior = SparsePrior.at(kernel.with_theta(theta), X, Z)
        found = prior.condition(Sites(target, 1.0 / noise, sites.log_scale), 4.8).leave_one_out()
        return by_mean @ found.mean + by_variance @ found.variance

    posterior = SparsePrior.at(kernel, X, X[::5]).condition(sites, 4.8)
    gradient = posterior.leave_one_out_gradient(by_mean, by_variance)
    for name, at in (("theta", kernel.theta), ("target", sites.target), ("noise", 1.0 / sites.precision)):
        steps = 1e-5 * np.eye(at.size)[:6]
        numeric = [(score(**{name: at + h}) - score(**{name: at - h})) / 2e-5 for h in steps]
        ours = {"theta": gradient.kernel, "target": gradient.target, "noise": gradient.noise}[name]
        np.testing.assert_allclose(ours[:6], numeric, rtol=1e-5, atol=1e-6)
    exact = condition(kernel, X, sites, 4.8).leave_one_out_gradient(by_mean, by_variance)
    all_inducing = SparsePrior.at(kernel, X, X).condition(sites, 4.8)
    all_inducing = all_inducing.leave_one_out_gradient(by_mean, by_variance)
    for name in ("kernel", "target", "noise"):
        np.testing.assert_allclose(getattr(all_inducing, name), getattr(exact, name), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda k: type(k).__name__)
def test_inducing_gradient_equals_central_differences(problem, kernel):
    X, sites = problem
    Z, step = X[::8] + 0.05, 1e-5

    def bound(moved):
        return SparsePrior.at(kernel, X, Z + moved.reshape(Z.shape)).condition(sites).log_evidence

    numeric = [(bound(h) - bound(-h)) / (2 * step) for h in step * np.eye(Z.size)]
    gradient = SparsePrior.at(kernel, X, Z).condition(sites).inducing_gradient()
    np.testing.assert_allclose(gradient.ravel(), numeric, rtol=1e-4, atol=1e-5)


def test_elbo_rises_with_inducing_inputs_to_the_evidence(problem):
    X, sites = problem
    kernel = KERNELS[0]
    bounds = [SparsePrior.at(kernel, X, X[:m]).condition(sites).log_evidence for m in (1, 5, 10, 20, 30, 40)]
    assert np.all(np.diff(bounds) > 0.0)
    assert bounds[-1] <= condition(kernel, X, sites).log_evidence + 1e-5


def test_sparse_does_not_depend_on_chunks(problem, monkeypatch):
    X, sites = problem
    whole = SparsePrior.at(KERNELS[0], X, X[::4]).condition(sites)
    expected = whole.log_evidence, whole.gradient().kernel, whole.marginals().variance
    monkeypatch.setattr(seam, "CHUNK_ENTRIES", 30)
    chunked = SparsePrior.at(KERNELS[0], X, X[::4]).condition(sites)
    assert chunked.log_evidence == pytest.approx(expected[0], rel=1e-12)
    np.testing.assert_allclose(chunked.gradient().kernel, expected[1], rtol=1e-9)
    np.testing.assert_allclose(chunked.marginals().variance, expected[2], rtol=1e-9)


def test_sparse_passes_over_rows_once_for_values_and_once_for_derivatives(problem, monkeypatch):
    X, sites = problem
    looks, gather = [], SparsePrior.gather
    monkeypatch.setattr(SparsePrior, "gather", lambda *given: looks.append(given[1]) or gather(*given))
    prior = SparsePrior.at(KERNELS[0], X, X[::5])
    first, second = prior.condition(sites), prior.condition(sites)
    looks.clear()
    values = first.log_evidence, first.marginals().variance, first.leave_one_out().mean
    assert len(looks) == 1
    gradient = second.gradient().kernel
    again = second.log_evidence, second.marginals().variance, second.leave_one_out().mean
    assert len(looks) == 2
    for one, other in zip(values, again, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(first.gradient().kernel, gradient)


def test_sparse_takes_a_given_mean_and_silent_or_negative_sites(problem):
    X, sites = problem
    kernel = KERNELS[0]
    precision = sites.precision.copy()
    precision[:5], precision[5:8] = 0.0, -0.05
    mixed = Sites(sites.target, precision, sites.log_scale)
    exact = condition(kernel, X, mixed, 4.0)
    sparse = SparsePrior.at(kernel, X, X).condition(mixed, 4.0)
    assert sparse.mean == 4.0
    assert sparse.log_evidence == pytest.approx(exact.log_evidence, abs=1e-5)
    np.testing.assert_allclose(sparse.marginals().variance, exact.marginals().variance, atol=1e-6)
